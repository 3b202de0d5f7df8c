package check_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/memory"
	"distaff/io/tcs"
	"distaff/io/tensor"
	_ "distaff/kernels/verified"
	"distaff/spmd/check"
	"distaff/spmd/comm/local"
	"distaff/spmd/env"
	"distaff/spmd/input"
)

// vector makes a sparse vector in a format of one level.
func vector(t *testing.T, size int64, at []int64, values []float64, levels string) *tcs.Tensor {
	t.Helper()
	x, err := memory.COO([]int64{size}, [][]int64{at}, values)
	if err == nil {
		x, err = coo.Repack(x, tensor.FormatOf(levels, nil), coo.KeepAll, coo.Config{Threads: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// problem returns y(i) = 2*x(i), where x has the value 3 at 1 and 5 at 4.
func problem(t *testing.T, e *env.Env, size int64) *check.Problem {
	t.Helper()
	x := vector(t, size, []int64{1, 4}, []float64{3, 5}, "s")
	g := input.Given{Statement: "y(i) = 2*x(i)", Formats: map[string]string{"x": "s", "y": "s"},
		Inputs: map[string]input.Input{"x": {Tensor: x}}}
	parsed, err := g.Parse(true)
	if err != nil {
		t.Fatal(err)
	}
	r := input.NewReader(e, parsed, input.Options{Inputs: parsed.Inputs, Sizes: parsed.UserSizes})
	t.Cleanup(r.Close)
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	if err := r.Infer(); err != nil {
		t.Fatal(err)
	}
	return &check.Problem{Env: e, Norm: parsed.Norm, Sizes: r.Sizes, Compute: r.ComputeType,
		Types: r.Types, Tensors: map[string]*tcs.Tensor{"x": x}, Seed: 1}
}

// TestCompare checks that a result agrees if it has the reference's values, in any format and with
// any stored zeros. Otherwise the first coordinate that differs is reported, with the number of
// others. For a vector with very many coordinates a sample is compared, half of it at the vector's
// entries.
func TestCompare(t *testing.T) {
	c, end := local.Alone(context.Background())
	defer end()
	for _, threads := range []int{1, 3} {
		e := env.New(c, env.Settings{Threads: threads}, 1, 1)
		defer e.Close()
		for _, size := range []int64{7, 1 << 40} {
			p := problem(t, e, size)
			all := size == 7
			for _, w := range []struct {
				at     []int64
				values []float64
				want   string // of the difference
				hidden bool   // from a sample, which hardly meets a coordinate without an entry
			}{
				{[]int64{1, 4}, []float64{6, 10}, "", false},
				{[]int64{1, 3, 4}, []float64{6, 0, 10}, "", false},
				{[]int64{1, 4}, []float64{6, 9}, "y at i = 4 (counted from 0): got 9, want 10", false},
				{[]int64{4}, []float64{10}, "y at i = 1 (counted from 0): got 0, want 6", true},
				{[]int64{1, 4, 6}, []float64{6, 10, 1}, "y at i = 6 (counted from 0): got 1, want 0 (absent)",
					false},
				{[]int64{0, 1, 4}, []float64{1, 6, 10}, "y at i = 0 (counted from 0): got 1, want 0 (absent)",
					false},
				{nil, nil, "y at i = 1 (counted from 0): got 0, want 6; 1 coordinate more", true},
			} {
				for _, levels := range []string{"s", "u", "d"}[:map[bool]int{true: 3, false: 2}[all]] {
					y := vector(t, size, w.at, w.values, levels)
					said, difference, err := p.Compare(y)
					y.Close()
					what := fmt.Sprintf("%v %v as %s of %d, on %d threads", w.at, w.values, levels, size, threads)
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if w.want == "" || w.hidden && !all {
						line := "check: 10000 sampled coordinates of y agree with the reference"
						if all {
							line = "check: all 7 coordinates of y agree with the reference"
						}
						if difference != nil || said != line {
							t.Errorf("%s: got %q, %v", what, said, difference)
						}
						continue
					}
					want := "--check: " + w.want
					if !all { // a sample meets an entry more than once, and does not tell zero from absence
						want = strings.TrimSuffix(want, " (absent)")
					}
					if difference == nil || said != "" || difference.ExitCode() != 4 ||
						!strings.HasPrefix(difference.Error(), want) || all && difference.Error() != want {
						t.Errorf("%s: got %q, %v, want %s", what, said, difference, want)
					}
				}
			}
		}
	}
}

// TestTooLarge checks that the evaluator's copies count against the memory limit.
func TestTooLarge(t *testing.T) {
	c, end := local.Alone(context.Background())
	defer end()
	e := env.New(c, env.Settings{Threads: 1, MemoryLimit: 40}, 1, 1)
	defer e.Close()
	p := problem(t, e, 7)
	y := vector(t, 7, []int64{1, 4}, []float64{6, 10}, "s")
	defer y.Close()
	if _, _, err := p.Compare(y); err == nil ||
		!strings.Contains(err.Error(), "the reference evaluator's copy of x needs 48 bytes") {
		t.Errorf("got %v", err)
	}
}
