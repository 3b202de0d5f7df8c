package spmd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/io/tcs"
	"distaff/spmd"
)

// Generated data whose entries, counted beforehand, cannot fit is refused with the count before
// anything is made. Data that fits is made, however large the sizes are.
func TestGeneratedThatCannotFit(t *testing.T) {
	const huge = 1 << 60
	for _, c := range []struct {
		kind string
		size []int64
		want string // a part of the message; "" if the data fits
		exit int
	}{
		{"banded:1000", []int64{huge, huge}, "has 2.307e+21 entries", diag.ExitMemory},
		{"banded:1:int", []int64{1_000_000, 1_000_000},
			" has 2999998 entries, which stored as ss in float64 need", diag.ExitMemory},
		{"uniform:1e15", []int64{huge, huge}, "has 1000000000000000 entries", diag.ExitMemory},
		{"zipf:4e18:1", []int64{huge, huge}, "has 4e+18 entries", diag.ExitMemory},
		{"dense", []int64{1 << 30, 1 << 30}, "has 1.153e+18 entries", diag.ExitMemory},
		{"uniform:1e15", []int64{10, 10}, "got 1000000000000000 entries for B, which has only 100 coordinates",
			diag.ExitCommand},
		{"banded:0", []int64{huge, 100}, "", 0},
		{"banded:1", []int64{100, huge}, "", 0},
		{"uniform:100", []int64{huge, huge}, "", 0},
		{"zipf:100:1", []int64{huge, huge}, "", 0},
	} {
		for _, ranks := range []int{1, 3} {
			j := &spmd.Job{Statement: "a = B(i,j)", Formats: map[string]string{"B": "ss"},
				Sizes:  map[string][]int64{"B": c.size},
				Inputs: map[string]spmd.Input{"B": spmd.Generated(c.kind)}}
			j.Target, j.Ranks, j.MemoryLimit = spmd.Interpreter, ranks, 4<<20
			_, err := j.Run(context.Background())
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s of %v on %d ranks: %v", c.kind, c.size, ranks, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				exitCode(err) != c.exit):
				t.Errorf("%s of %v on %d ranks: got %v (exit %d), want %q (exit %d)", c.kind, c.size, ranks,
					err, exitCode(err), c.want, c.exit)
			}
		}
	}
}

// The one entry of a generated scalar exists once, on any number of ranks.
func TestGeneratedScalarOnRanks(t *testing.T) {
	for _, kind := range []string{"dense", "uniform:1", "zipf:1:2", "banded:3"} {
		var lines [2]string
		for i, ranks := range []int{1, 3} {
			j := &spmd.Job{Statement: "y = x", Inputs: map[string]spmd.Input{"x": spmd.Generated(kind)}}
			j.Target, j.Ranks = spmd.Interpreter, ranks
			report, err := j.Run(context.Background())
			if err != nil {
				t.Fatalf("%s on %d ranks: %v", kind, ranks, err)
			}
			lines[i] = report.Lines[0]
		}
		if lines[0] != lines[1] {
			t.Errorf("%s: got %s on 3 ranks, %s on one", kind, lines[1], lines[0])
		}
	}
}

// exitCode returns the exit code of an error, or 1 if it has none.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return diag.ExitRun
}

// Ranks together can hold a tensor that is too large for one of them. A tensor that is too large
// for all of them is refused before anything is made.
func TestDenseTensorsOverRanks(t *testing.T) {
	for _, c := range []struct {
		ranks int
		want  string // a part of the message; "" if the data fits
	}{
		{1,
			"A (1000x1000) stored as dd in float64 needs 7.629 MiB of 7.645 MiB for all tensors, but the memory limit is 4 MiB (--memory-limit): raise --memory-limit"},
		{2, ""}, {4, ""},
	} {
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Sizes: map[string][]int64{"A": {1000, 1000}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("dense"), "x": spmd.Generated("dense")}}
		j.Target, j.Ranks, j.MemoryLimit = spmd.Interpreter, c.ranks, 4<<20
		_, err := j.Run(context.Background())
		if c.want == "" && err != nil ||
			c.want != "" && (exitCode(err) != diag.ExitMemory || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d ranks: got %v, want %q", c.ranks, err, c.want)
		}
	}
	j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Sizes: map[string][]int64{"A": {4000, 1000}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("dense"), "x": spmd.Generated("dense")}}
	j.Target, j.Ranks, j.MemoryLimit = spmd.Interpreter, 2, 4<<20
	if _, err := j.Run(context.Background()); exitCode(err) != diag.ExitMemory ||
		!strings.Contains(err.Error(), "(--memory-limit) at each of 2 ranks") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// A refusal for lack of memory proposes a way out only if that way works: the test follows it.
func TestWaysOutOfMemory(t *testing.T) {
	for _, c := range []struct {
		statement, kind string
		formats         map[string]string
		sizes           int64
		want            string // the message's end
		followed        string // a tensor with the format that the message proposes
	}{
		{"C(i,j) = A(i,j)", "uniform:1000", map[string]string{"A": "ds", "C": "dd"}, 1000,
			": store it sparse (-f=C:ds), or raise --memory-limit", "C:ds"},
		{"y(i) = A(i,j)", "uniform:1000", map[string]string{"A": "dd"}, 1000,
			": store it sparse (-f=A:ds), or raise --memory-limit", "A:ds"},
		{"y(i) = A(i,j)", "dense", map[string]string{"A": "dd"}, 1000,
			"(--memory-limit): raise --memory-limit", ""},
		{"C(i,j) = b(i) * c(j)", "dense", nil, 1000, "(--memory-limit): raise --memory-limit", ""},
		{"C(i,j) = A(i,j) + 1", "uniform:1000", map[string]string{"C": "dd"}, 1000,
			"(--memory-limit): raise --memory-limit", ""},
		// compressed columns have room, and an array over all rows has none
		{"s = A(i,j)", "uniform:1000", map[string]string{"A": "dd"}, 9000000000,
			"(--memory-limit): store it sparse (-f=A:ss)", "A:ss"},
		// more than any machine has
		{"C(i,j) = b(i) * c(j)", "dense", nil, 4000000, "(--memory-limit)", ""},
		{"y(i) = A(i,j)", "dense", map[string]string{"A": "ds"}, 4000000,
			"(--memory-limit): make it smaller", ""},
	} {
		j := &spmd.Job{Statement: c.statement, Formats: c.formats,
			Sizes: map[string][]int64{"i": {c.sizes}, "j": {c.sizes}}, Inputs: map[string]spmd.Input{}}
		for _, name := range []string{"A", "b", "c"} {
			if strings.Contains(c.statement, name+"(") {
				j.Inputs[name] = spmd.Generated(c.kind)
			}
		}
		j.Target, j.MemoryLimit = spmd.Interpreter, 4<<20
		_, err := j.Run(context.Background())
		if exitCode(err) != diag.ExitMemory || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s of %s, %v: got %v, want %q at the end", c.statement, c.kind, c.formats, err, c.want)
			continue
		}
		if name, format, ok := strings.Cut(c.followed, ":"); ok {
			j.Formats[name] = format
			if _, err := j.Run(context.Background()); err != nil {
				t.Errorf("%s of %s with -f=%s: %v", c.statement, c.kind, c.followed, err)
			}
		}
	}
}

// The old value of a result is the data generated under the result's name, on each side of a
// statement.
func TestGeneratedOldValue(t *testing.T) {
	run := func(statement, name, kind, format string, ranks int) []float64 {
		j := &spmd.Job{Statement: statement, Formats: map[string]string{name: format},
			Sizes: map[string][]int64{name: {30}}, Keep: true,
			Inputs: map[string]spmd.Input{name: spmd.Generated(kind)}}
		j.Target, j.Ranks = spmd.Interpreter, ranks
		report, err := j.Run(context.Background())
		if err != nil {
			t.Fatalf("%s on %d ranks: %v", statement, ranks, err)
		}
		defer report.Result.Close()
		out := make([]float64, 30)
		v := tcs.Values[float64](report.Result)
		report.Result.Entries(func(at []int64, i int64) bool { out[at[0]] = v[i]; return true })
		return out
	}
	for _, x := range [][2]string{{"dense:int", "d"}, {"uniform:12:int", "s"}} {
		want := run("y(i) = z(i) + z(i)", "z", x[0], x[1], 1)
		for _, statement := range []string{"z(i) += z(i)", "z(i) = z(i) + z(i)", "z(i) = 2 * z(i)"} {
			for _, ranks := range []int{1, 3} {
				if got := run(statement, "z", x[0], x[1], ranks); !slices.Equal(got, want) {
					t.Errorf("%s on %d ranks: got %v, want %v", statement, ranks, got, want)
				}
			}
		}
	}
}
