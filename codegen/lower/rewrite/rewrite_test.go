package rewrite_test

import (
	"strings"
	"testing"

	"distaff/codegen/ir"
	"distaff/codegen/lower/rewrite"
)

// parse returns a function with the given parameters and body.
func parse(t *testing.T, params, body string) *ir.Func {
	t.Helper()
	f, err := ir.Parse("func leaf\n" + params + "\n{\n" + body + "\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const vectors = `param y float64 = t0.vals
param x float64 const = t1.vals
param crd int32 const = t1.level0.crd
param n = t1.nnz`

// TestStrip removes the stores to an array, and everything that only they need.
func TestStrip(t *testing.T) {
	f := parse(t, vectors, `var k int64 = 0
for p in 0 : n {
  var v float64 = x[p]
  if v != 0.0 {
    y[k] = v * 2.0
    k += 1
  }
}
y[0] = 1.0
fail divide(k)`)
	rewrite.Strip(f.Body, map[*ir.Array]bool{f.Params[0].A: true})
	got := ir.Print(f)
	if strings.Contains(got, "y[") || !strings.Contains(got, "k += 1") || !strings.Contains(got, "v != 0.0") {
		t.Errorf("got\n%s\nwant the count without the stores", got)
	}
}

func TestGemm(t *testing.T) {
	const params = `param C float64 = t0.vals
param A float64 const = t1.vals
param B float64 const = t2.vals
bounds m_lo m
bounds n_lo n
bounds k_lo k`
	loops := func(body string) string {
		return "for i in 0 : m {\nfor j in 0 : n {\nfor l in 0 : k {\n" + body + "\n}\n}\n}"
	}
	for _, c := range []struct{ body, why string }{
		{"C[i * n + j] += A[i * k + l] * B[l * n + j]", ""},
		{"C[i * n + j] += -(A[l * m + i] * 3.0 * B[j * k + l])", ""},
		{"C[i * n + j] = A[i * k + l] * B[l * n + j]", "only add products"},
		{"C[i * n + j] += A[i * k + l]", "multiply 1 tensors"},
		{"C[i * n + j] += A[i * l + l] * B[l * n + j]", "fixed stride"},
		{"C[i * n + l] += A[i * k + l] * B[l * n + j]", "must index two"},
	} {
		f := parse(t, params, loops(c.body))
		_, why := rewrite.Gemm(f.Body, 3, false, false, func(*ir.Array) string { return "" })
		if c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s: got %q, want %q", c.body, why, c.why)
		}
		if _, ok := f.Body.List[0].(*ir.Gemm); ok != (c.why == "") {
			t.Errorf("%s: got\n%s", c.body, ir.Print(f))
		}
	}
}

// TestVectorize marks loops along contiguous memory, and loops that gather if they are asked for.
func TestVectorize(t *testing.T) {
	for _, c := range []struct {
		body         string
		gather, want bool
	}{
		{"y[p] = x[p] * 2.0", false, true},
		{"y[p * 2] = x[p]", false, false},
		{"y[p] = y[p + 1]", false, false},
		{"s += x[crd[p:64]]", false, false},
		{"s += x[crd[p:64]]", true, true},
		{"y[crd[p:64]] = x[p]", true, false},
	} {
		f := parse(t, vectors, "var s float64 = 0.0\nfor p in 0 : n {\n"+c.body+"\n}\ny[0] += s")
		loop := f.Body.List[1].(*ir.For)
		lanes := &rewrite.Lanes{Over: map[*ir.For]string{}, Segments: map[*ir.For]string{}}
		if c.gather {
			lanes.Segments[loop] = "j"
		}
		gathered := rewrite.Vectorize(f.Body, lanes)
		if got := loop.Kind == ir.Vector; got != c.want || gathered["j"] != (c.want && c.gather) {
			t.Errorf("%s: in lanes %t, gathered %v, want %t", c.body, got, gathered, c.want)
		}
	}
}
