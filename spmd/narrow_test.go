package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd"
)

// ints returns a tensor of int64 values from a list of entries.
func ints(t *testing.T, format string, dims []int64, entries map[[2]int64]int64) *tcs.Tensor {
	t.Helper()
	l := &readertest.List{Sizes: dims, Of: tensor.Int64}
	for c, v := range entries {
		l.Entries = append(l.Entries, readertest.Entry{Coords: c[:len(dims)], Int: v})
	}
	x, err := coo.Assemble(l, coo.Spec{Format: tensor.FormatOf(format, nil)}, coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// An int32 result of an int64 statement is correct, or the error names the coordinate that does not
// fit. Partial sums may exceed int32. It holds for every kind of result, on ranks and in blocks, in
// compiled and interpreted leaves.
func TestNarrowResult(t *testing.T) {
	t.Parallel()
	const g = 1_000_000_000
	// Row 1 of A sums to 3e9, row 4 to -2^31; the parts of row 2 pass int32 both ways.
	a := map[[2]int64]int64{{0, 0}: 7, {1, 1}: g, {1, 3}: g, {1, 5}: g, {2, 0}: 2 * g, {2, 1}: 2 * g,
		{2, 4}: -2 * g, {2, 5}: -g, {4, 2}: -g, {4, 3}: -g, {4, 5}: 2*g - 1<<31}
	fits := map[[2]int64]int64{}
	for c, v := range a {
		if c[0] != 1 {
			fits[c] = v
		}
	}
	for _, c := range []struct {
		statement string
		formats   []string
		splits    []string
		at        []int64 // of the value that does not fit
	}{
		{"Y(i) = A(i,j) * x(j)", []string{"d", "s"}, []string{"", "i:2", "j:3"}, []int64{1}},
		{"Y(i) = A(i,j)", []string{"d", "s"}, []string{"", "j:2"}, []int64{1}},
		{"Y(k,i) = A(i,j) * B(j,k)", []string{"dd", "ds", "ss", "ss:1,0", "sd", "uq"},
			[]string{"", "j:3", "i:2"}, []int64{0, 1}},
		{"Y = A(i,j) * b(i)", []string{""}, []string{"", "j:2"}, []int64{}},
		{"Y(i) += A(i,j)", []string{"d", "s"}, []string{"", "j:2"}, []int64{1}},
	} {
		for _, format := range c.formats {
			for _, split := range c.splits {
				for _, ranks := range []int{1, 2, 3} {
					for _, entries := range []map[[2]int64]int64{fits, a} {
						what := fmt.Sprintf("%s as %q, split %q, %d ranks", c.statement, format, split, ranks)
						j := newJob(c.statement, format, 2,
							map[string]*tcs.Tensor{"A": ints(t, "ds", []int64{5, 6}, entries)})
						for name, x := range map[string]*tcs.Tensor{
							"x": ints(t, "d", []int64{6},
								map[[2]int64]int64{{0}: 1, {1}: 1, {2}: 1, {3}: 1, {4}: 1, {5}: 1}),
							"b": ints(t, "d", []int64{5}, map[[2]int64]int64{{1}: 1, {2}: 1}),
							"B": ints(t, "ds", []int64{6, 1},
								map[[2]int64]int64{{0}: 1, {1}: 1, {2}: 1, {3}: 1, {4}: 1, {5}: 1}),
						} {
							if strings.Contains(c.statement, name+"(") {
								j.Inputs[name] = spmd.InMemory(x)
							}
						}
						if strings.Contains(c.statement, "+=") {
							j.Inputs["Y"] = spmd.InMemory(ints(t, "d", []int64{5}, map[[2]int64]int64{{0}: 1}))
						}
						j.Types = map[string]string{"Y": "int32"}
						j.Ranks, j.Check = ranks, true
						if split != "" {
							j.Splits = []string{split}
						}
						if ranks != 2 || format == "uq" {
							j.Target = spmd.Interpreter
						}
						r, err := j.Run(context.Background())
						if len(entries) == len(fits) {
							if err != nil {
								t.Errorf("%s: %v", what, err)
								continue
							}
							if r.Result.Header.Type != tensor.Int32 || r.Result.Vals.Width != 4 {
								t.Errorf("%s: the result is %v", what, r.Result.Header.Type)
							}
							r.Result.Close()
							continue
						}
						var e *kernels.NarrowError
						if !errors.As(err, &e) || fmt.Sprint(e.Coord) != fmt.Sprint(c.at) {
							t.Errorf("%s: got error %v, want one at %v", what, err, c.at)
						} else if err := err.(interface{ ExitCode() int }); err.ExitCode() != 3 {
							t.Errorf("%s: got exit code %d, want 3", what, err.ExitCode())
						}
					}
				}
			}
		}
	}
}

// Values that are computed into a former result are narrowed too.
func TestNarrowInto(t *testing.T) {
	for _, format := range []string{"ds", "ss", "dd", "uq", "dp"} {
		a := ints(t, "ds", []int64{3, 3}, map[[2]int64]int64{{0, 1}: 5, {2, 0}: -7})
		job := func() *spmd.Job {
			j := newJob("Y(i,j) = 2 * A(i,j)", format, 1, map[string]*tcs.Tensor{"A": a})
			j.Types = map[string]string{"Y": "int32"}
			return j
		}
		y := keep(t, job())
		a.SetValue(0, tensor.Value{Type: tensor.Int64, I: 1 << 29})
		again := job()
		again.FixedPattern, again.Repeat, again.Check = y, 2, true
		if got := text(keep(t, again)); !strings.Contains(got, "[0 1] 1073741824\n[2 0] -14\n") &&
			format != "dd" || got != text(y) {
			t.Errorf("%s: got %s in %s", format, got, text(y))
		}
		a.SetValue(1, tensor.Value{Type: tensor.Int64, I: -1<<30 - 1})
		_, err := again.Run(context.Background())
		var e *kernels.NarrowError
		if !errors.As(err, &e) || fmt.Sprint(e.Coord) != "[2 0]" || e.Value.I != -1<<31-2 {
			t.Errorf("%s: got error %v, want one at [2 0]", format, err)
		}
	}
}
