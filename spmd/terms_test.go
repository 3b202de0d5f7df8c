package spmd_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/schedule"
	"distaff/io/tcs"
	"distaff/spmd"
)

// TestTerms checks that sums over the outermost mode of a tensor, with more coordinates than a
// workspace has places, are sorted lists of terms by default. The printed schedule makes the same
// leaf, and hash tables give the same entries and sums.
func TestTerms(t *testing.T) {
	for _, c := range []struct {
		name, stmt, result, operand string
		sizes                       []int64
		nnz                         string
	}{
		{"mode 0 of order 3", "y(j,k) = A(i,j,k)*x(i)", "ss", "sss", []int64{30, 400, 300},
			"uniform:5000:int"},
		{"rows of a dense level", "y(j,k) = A(i,j,k)*x(i)", "ds", "sss", []int64{30, 400, 300},
			"zipf:3000:1.1:int"},
		{"order 4", "y(j,k,m) = A(i,j,k,m)*x(i)", "sss", "ssss", []int64{9, 60, 50, 40},
			"uniform:2000:int"},
		{"no dense factor", "y(j,k) = A(i,j,k)", "ss", "sss", []int64{30, 400, 300}, "uniform:5000:int"},
		{"an empty operand", "y(j,k) = A(i,j,k)*x(i)", "ss", "sss", []int64{30, 400, 300},
			"uniform:0:int"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := func(ranks int, target string, commands ...string) *spmd.Job {
				j := &spmd.Job{Statement: c.stmt, Formats: map[string]string{"y": c.result, "A": c.operand},
					Sizes:  map[string][]int64{"A": c.sizes},
					Inputs: map[string]spmd.Input{"A": spmd.Generated(c.nnz)}, Keep: true}
				if strings.Contains(c.stmt, "x(i)") {
					j.Inputs["x"] = spmd.Generated("dense:int")
				}
				j.Ranks, j.Target, j.Schedule, j.Check, j.Threads = ranks, target, commands, true, 1
				return j
			}
			made, err := job(1, "").Compile(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			lines, err := codegen.Schedule(made.Unit.Request)
			if err != nil {
				t.Fatal(err)
			}
			printed := schedule.Text(lines)
			if want := "workspace(w,Terms)"; !strings.Contains(printed, want) {
				t.Errorf("got\n%swant %s", printed, want)
			}
			sameResults(t, job(1, spmd.Interpreter, "workspace(w,Hash)"), job(1, spmd.Interpreter),
				job(1, ""), job(1, "", printed),
				job(1, "", "workspace(w,Terms)"), job(2, spmd.Interpreter), job(3, ""))
		})
	}
}

// sameResults runs jobs that must all have the result of the first.
func sameResults(t *testing.T, jobs ...*spmd.Job) {
	t.Helper()
	var first *tcs.Tensor
	for _, j := range jobs {
		r, err := j.Run(t.Context())
		if err != nil {
			t.Fatalf("%d ranks, %q: %v", j.Ranks, j.Schedule, err)
		}
		if first == nil {
			first = r.Result
			defer first.Close()
			continue
		}
		if !sameArrays(first, r.Result) {
			t.Errorf("%d ranks, target %q, %q: another result than that of %q", j.Ranks, j.Target,
				j.Schedule, jobs[0].Schedule)
		}
		r.Result.Close()
	}
}

// sameArrays reports whether two tensors have the same coordinates and values.
func sameArrays(a, b *tcs.Tensor) bool {
	list := func(t *tcs.Tensor) (out []int64) {
		t.Entries(func(c []int64, p int64) bool {
			out = append(out, c...)
			out = append(out, int64(math.Float64bits(tcs.Slice[float64](t.Vals)[p])))
			return true
		})
		return out
	}
	return slices.Equal(list(a), list(b))
}
