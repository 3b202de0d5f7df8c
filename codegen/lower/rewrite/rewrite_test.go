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

// rowLoop is a loop over warps, whose iterations add to a table, sum and store.
const rowLoop = `for b in 0 : n blocks {
  for w in 0 : 8 warps(8) {
    for p in 0 : n {
      var q int64 = crd[p:64]
      for k in 0 : q lanes(32) {
        atomic y[k] += x[k]
      }
    }
    var s float64 = 0.0
    for p2 in 0 : n {
      for k2 in 0 : n lanes(32) reduce(s) {
        s += x[k2]
      }
    }
    for k3 in 0 : n lanes(32) {
      y[k3] = s
    }
  }
}`

// TestRowsOfBlocks gives the rows of a block's warps to the whole block.
func TestRowsOfBlocks(t *testing.T) {
	f := parse(t, vectors, rowLoop)
	before := ir.Print(f)
	rewrite.RowsOfBlocks(f.Body, 0)
	if got := ir.Print(f); got != before {
		t.Errorf("without warps, got\n%s", got)
	}
	rewrite.RowsOfBlocks(f.Body, 4)
	got := ir.Print(f)
	for _, want := range []string{"for w in 0 : 8 {", "for p in 0 : n warps(4) {",
		"for k in 0 : q lanes(32) {", "for p2 in 0 : n {", "for k2 in 0 : n lanes(128) reduce(s) {",
		"for k3 in 0 : n lanes(128) {"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
		}
	}
	if err := ir.Verify(f); err != nil {
		t.Error(err)
	}
}

// TestTally makes additions of loops that only count, and shares the loops around them.
func TestTally(t *testing.T) {
	f := parse(t, vectors, `for b in 0 : n blocks {
  var count int64 = 0
  for p in 0 : n {
    var q int64 = crd[p:64]
    for k in q : n lanes(32) reduce(count) {
      count += 3
    }
  }
  var last int64 = 0
  for p2 in 0 : n {
    last = crd[p2:64]
  }
  y[b] = float64(count + last)
}`)
	rewrite.Tally(f.Body, true)
	got := ir.Print(f)
	for _, want := range []string{"for p in 0 : n lanes(32) reduce(count) {", "count += max(n - q, 0) * 3",
		"for p2 in 0 : n {"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q", got, want)
		}
	}
	if err := ir.Verify(f); err != nil {
		t.Error(err)
	}
}
