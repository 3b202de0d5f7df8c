package oracle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"distaff/kernels/cc"
)

// longStatements contains statements with sparse results, and the formats of their tensors. Rows of
// the results may be distributed over threads.
var longStatements = []struct{ stmt, tensors string }{
	{"A(i,j) = B(i,j) + C(i,j)", "A:ds B:ds C:ds"},
	{"A(i,j) = B(i,j) - C(i,j) + 2*D(i,j)", "A:ds B:ds C:ds D:ds"},
	{"A(i,j) = B(i,j)*2 - (-C(i,j)) - 3*D(i,j)", "A:ds B:ds C:ds D:ds"},
	{"A(i,j) = B(i,j) + C(i,j)*D(i,j)", "A:ds B:ds C:ss D:ds"},
	{"A(i,j) = B(i,j) + C(i,j) + B(i,j)", "A:ds B:ds C:du"},
	{"A(i,j,k) = B(i,j,k) - C(i,j,k)", "A:dss B:dss C:dsd"},
	{"A(i,j) = B(i,k)*C(k,j)", "A:ds B:ds C:ds"},
	{"A(i,j) = B(i,k)*C(k,j)", "A:ds B:ds C:ss"},
	{"A(i,j) = B(i,k)*C(k,l)*D(l,j)", "A:ds B:ds C:ds D:ds"},
	{"A(i,j) = B(i,k)*C(k,j) - D(i,j)", "A:ds B:ds C:ds D:ds"},
	{"A(i,j) = B(i,k)*C(k,j)*D(i,k)", "A:ds B:ds C:ds D:ds"},
	{"A(i,j) = B(i,k)*C(k,j) + D(i,k)*E(k,j)", "A:ds B:ds C:ds D:ds E:ds"},
	{"A(i,j,k) = B(i,l)*C(l,j,k)", "A:dsd B:ds C:dsd"},
}

// longCase generates a case of one of these statements. A few rows have most of the entries.
func longCase(r *rand.Rand) (*Case, error) {
	s := longStatements[r.IntN(len(longStatements))]
	sizes := map[byte]int{}
	for _, v := range "ijkl" {
		sizes[byte(v)] = 1 + r.IntN(8)
	}
	sizes['j'] = 1 + r.IntN(200)
	sizes['k'] = 1 + r.IntN(30)
	if strings.Contains(s.stmt, "A(i,j,k)") {
		sizes['j'], sizes['k'] = 1+r.IntN(40), 1+r.IntN(4)
	}
	typ := []string{"float64", "float32", "int64", "complex128"}[r.IntN(4)]
	var text strings.Builder
	// The variant determines the number of threads, whether counts are unknown or very large, and
	// that every row is long.
	fmt.Fprintf(&text, "%s\nvariant %d\n", s.stmt, 512*r.IntN(3)+8*r.IntN(2)+r.IntN(3))
	for k, tensor := range strings.Fields(s.tensors) {
		name, levels, _ := strings.Cut(tensor, ":")
		_, vars, _ := strings.Cut(s.stmt, name+"(")
		vars = strings.ReplaceAll(vars[:strings.IndexByte(vars, ')')], ",", "")
		var dims []string
		for _, v := range []byte(vars) {
			dims = append(dims, fmt.Sprint(sizes[v]))
		}
		if k == 0 {
			fmt.Fprintf(&text, "result %s %s - %s\n", name, levels, strings.Join(dims, "x"))
			continue
		}
		fmt.Fprintf(&text, "tensor %s %s %s %s\n", name, levels, typ, strings.Join(dims, "x"))
		full := r.IntN(sizes[vars[0]])
		at := make([]int, len(vars))
		var walk func(k int)
		walk = func(k int) {
			if k == len(vars) {
				if share := 0.03 + 0.6*b2f(at[0] == full); r.Float64() < share {
					for _, c := range at {
						fmt.Fprintf(&text, "%d ", c)
					}
					fmt.Fprintln(&text, r.IntN(9)-4)
				}
				return
			}
			for at[k] = 0; at[k] < sizes[vars[k]]; at[k]++ {
				walk(k + 1)
			}
		}
		walk(0)
	}
	return ParseCase(text.String())
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// longRows compares n of these cases with the reference.
func longRows(t *testing.T, e Engine, n uint64) {
	t.Helper()
	if *nFlag > 0 {
		n = *nFlag
	}
	const some = 50
	for from := *firstFlag; from < *firstFlag+n; from += some {
		var cases []*Case
		for k := from; k < min(from+some, *firstFlag+n); k++ {
			c, err := longCase(rand.New(rand.NewPCG(*seedFlag, k)))
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, c)
		}
		for k, err := range checkAll(t, e, cases) {
			if err != nil {
				t.Errorf("%s: seed %d, case %d: %v\n%s", e.Name(), *seedFlag, from+uint64(k), err,
					cases[k].Text())
			}
		}
	}
}

// TestLongRows compares results with the reference if a few rows have most of the work. These rows
// may be distributed over the threads.
func TestLongRows(t *testing.T) {
	t.Parallel()
	longRows(t, Interp{}, 200)
	e, err := NewC(os.Getenv, "-O0")
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	longRows(t, e, 20)
}

// TestLongRowsSanitized does what TestLongRows does, under sanitizers.
func TestLongRowsSanitized(t *testing.T) {
	t.Parallel()
	longRows(t, newSanitized(t), 2)
}
