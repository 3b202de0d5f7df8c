package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/kernels"
	"distaff/spmd"
)

// stored returns a tensor of generated entries, which the test closes.
func stored(t *testing.T, name, formats, kind string, dims ...int64) *tcs.Tensor {
	t.Helper()
	vars := strings.Join(strings.Split("ijkl"[:len(dims)], ""), ",")
	j := spmd.Job{Statement: fmt.Sprintf("T(%s) = %s(%s)", vars, name, vars),
		Sizes: map[string][]int64{name: dims}, Inputs: map[string]spmd.Input{name: spmd.Generated(kind)},
		Formats: map[string]string{"T": formats, name: strings.Repeat("s", len(dims))}, Keep: true}
	j.Target, j.Threads = spmd.Interpreter, 1
	r, err := j.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Result.Close() })
	return r.Result
}

// text returns a tensor's format and entries.
func text(x *tcs.Tensor) string {
	s := x.Format().String() + "\n"
	x.Entries(func(at []int64, i int64) bool {
		s += fmt.Sprintln(at, x.Value(i).Text())
		return true
	})
	return s
}

func newJob(statement, result string, threads int, operands map[string]*tcs.Tensor) *spmd.Job {
	j := &spmd.Job{Statement: statement, Inputs: map[string]spmd.Input{}, Keep: true}
	if result != "" {
		j.Formats = map[string]string{statement[:1]: result}
	}
	for name, x := range operands {
		j.Inputs[name] = spmd.InMemory(x)
	}
	j.Target, j.Threads = spmd.Interpreter, threads
	return j
}

// keep runs a job, and closes its result at the end of the test.
func keep(t *testing.T, j *spmd.Job) *tcs.Tensor {
	t.Helper()
	r, err := j.Run(context.Background())
	if err != nil {
		t.Fatalf("%s, %v: %v", j.Statement, j.Formats, err)
	}
	t.Cleanup(func() { r.Result.Close() })
	return r.Result
}

// Values that are computed into a former result are the values of the whole statement, in every
// format that a result may have.
func TestInto(t *testing.T) {
	matrix := func(name, format string) *tcs.Tensor {
		return stored(t, name, format, "uniform:60:int",
			20, 20)
	}
	for _, c := range []struct {
		statement string
		formats   []string
		operands  map[string]*tcs.Tensor
	}{
		{"Y(i,j) = A(i,j) + B(i,j)", []string{"ds", "ss", "sd", "dd", "uq", "uc"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "B": matrix("B", "ss")}},
		{"Y(i,j) = A(i,j) + B(i,j) - C(i,j)", []string{"ds", "ss"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "B": matrix("B", "ds"), "C": matrix("C", "ds")}},
		{"Y(i,j) = A(i,k) * B(k,j)", []string{"ds", "ss", "ds:1,0", "dd", "uq"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "B": matrix("B", "ds")}},
		{"Y(i,j) = A(i,j) * B(i,j)", []string{"ds", "ss", "uq"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "B": matrix("B", "ds")}},
		{"Y(i,j) = A(i,j) * C(i,k) * D(j,k)", []string{"ds", "uq", "dd"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "C": stored(t, "C", "dd", "dense", 20, 4),
				"D": stored(t, "D", "dd", "dense", 20, 4)}},
		{"Y(i,j) += A(i,j)", []string{"ds", "ss", "uq"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "Y": matrix("Y", "ds")}},
		{"Y(i) = A(i,j) * B(i,j)", []string{"s", "d", "u"},
			map[string]*tcs.Tensor{"A": matrix("A", "ds"), "B": matrix("B", "ds")}},
		{"Y(i,j) = A(i,j)", []string{"dp"},
			map[string]*tcs.Tensor{"A": stored(t, "A", "ds", "banded:0:int", 20, 20)}},
		{"Y(i,j,l) = A(i,j,k) * B(k,l)", []string{"sss", "ssd", "ucq"},
			map[string]*tcs.Tensor{"A": stored(t, "A", "sss", "uniform:40:int", 8, 9, 20),
				"B": matrix("B", "ds")}},
	} {
		for k, format := range c.formats {
			threads := 1 + 2*(k%2)
			into := keep(t, newJob(c.statement, format, threads, c.operands))
			before := text(into)
			for name, x := range c.operands { // other values
				for i := range x.Vals.Len {
					v := x.Value(i)
					v.C = v.C*3 + complex(float64(len(name)), 0)
					x.SetValue(i, v)
				}
			}
			want := keep(t, newJob(c.statement, format, threads, c.operands))
			again := newJob(c.statement, "", threads, c.operands)
			again.FixedPattern, again.Repeat, again.Check = into, 2, true
			got := keep(t, again)
			switch {
			case text(got) != text(want):
				t.Errorf("%s, %s: got %s, want %s", c.statement, format, text(got), text(want))
			case text(into) != text(want):
				t.Errorf("%s, %s: the result is not in the tensor that was given", c.statement, format)
			case text(into) == before:
				t.Errorf("%s, %s: the values are the former ones", c.statement, format)
			}
		}
	}
}

// A pattern with more coordinates has zeros at them; a pattern with fewer is an error.
func TestIntoOtherPatterns(t *testing.T) {
	for _, c := range []struct{ statement, format string }{
		{"Y(i,j) = A(i,j) + B(i,j)", "ds"}, {"Y(i,j) = A(i,k) * B(k,j)", "ds"},
		{"Y(i,j) = 2 * A(i,j)", "ds"}, {"Y(i,j) = A(i,j) * B(i,j)", "ss"},
		{"Y(i,j) = A(i,j) + B(i,j)", "uq"},
	} {
		few := map[string]*tcs.Tensor{"A": stored(t, "A", "ds", "banded:0", 12, 12)}
		many := map[string]*tcs.Tensor{"A": stored(t, "B", "ds", "banded:2", 12, 12)}
		if strings.Contains(c.statement, "B(") {
			few["B"], many["B"] = stored(t, "C", "ds", "banded:1", 12, 12),
				stored(t, "D", "ds", "banded:2", 12, 12)
		}
		large := newJob(c.statement, c.format, 2, few)
		large.FixedPattern = keep(t, newJob(c.statement, c.format, 2, many))
		want := keep(t, newJob(c.statement, c.format, 2, few))
		nonzero := func(s string) []string {
			return slices.DeleteFunc(strings.Split(s, "\n"),
				func(line string) bool { return strings.HasSuffix(line, "] 0") })
		}
		if got := keep(t, large); !slices.Equal(nonzero(text(got)), nonzero(text(want))) {
			t.Errorf("%s: got %s, want %s", c.statement, text(got), text(want))
		}
		small := newJob(c.statement, c.format, 2, many)
		small.FixedPattern = want
		_, err := small.Run(context.Background())
		var e *kernels.PatternError
		if !errors.As(err, &e) || e.ExitCode() != 3 || len(e.Coord) < 2 || e.Coord[0] < 0 {
			t.Errorf("%s: got error %v, want a PatternError with coordinates", c.statement, err)
		}
	}
}

// A result that cannot be computed into is refused with the reason.
func TestIntoRefuses(t *testing.T) {
	a := stored(t, "A", "ds", "uniform:20", 10, 10)
	y := keep(t, newJob("Y(i,j) = 2 * A(i,j)", "ds", 1, map[string]*tcs.Tensor{"A": a}))
	file := filepath.Join(t.TempDir(), "y.tcs")
	write := newJob("Y(i,j) = 2 * A(i,j)", "ds", 1, map[string]*tcs.Tensor{"A": a})
	write.Outputs = []spmd.Output{{Tensor: "Y", File: file}}
	keep(t, write)
	opened, err := tcsfile.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, c := range []struct {
		change func(j *spmd.Job)
		want   string
	}{
		{func(j *spmd.Job) { j.FixedPattern = a }, "a result to compute into: it shares its values with the operand A; want values of its own"},
		{func(j *spmd.Job) { j.FixedPattern = opened }, "which must not be changed; want a tensor in memory"},
		{func(j *spmd.Job) { j.Formats = map[string]string{"Y": "ss"} },
			"got 10x10, ds, float64, want 10x10, ss, float64"},
		{func(j *spmd.Job) { j.Types = map[string]string{"Y": "float32"} }, "want 10x10, ds, float32"},
		{func(j *spmd.Job) { j.Ranks = 2 }, "needs a job of one rank"},
		{func(j *spmd.Job) { j.Splits = []string{"i:2"} }, "needs a job of one rank"},
		{func(j *spmd.Job) { j.Schedule = []string{"reorder(j,i)"} }, "a result to compute into: got a schedule, want none: only the default schedule computes values alone"},
	} {
		j := newJob("Y(i,j) = 2 * A(i,j)", "", 1, map[string]*tcs.Tensor{"A": a})
		j.FixedPattern = y
		c.change(j)
		_, err := j.Run(context.Background())
		var coded interface{ ExitCode() int }
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &coded) ||
			coded.ExitCode() != 2 {
			t.Errorf("got error %v, want %q with exit code 2", err, c.want)
		}
	}
}
