package spmd_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/kernels/tune"
	"distaff/spmd"
)

// TestWork checks that the work of leaves follows from the sizes of arrays and the numbers of
// entries, for any number of ranks, except for data that several ranks read.
func TestWork(t *testing.T) {
	sparse, dense := spmd.Generated("uniform:120"), spmd.Generated("dense")
	type inputs = map[string]spmd.Input
	type sizes = map[string][]int64
	for _, c := range []struct {
		name         string
		job          spmd.Job
		bytes, flops int64
		estimated    bool
	}{
		// Of 40 rows: positions, coordinates and values; x and y.
		{"SpMV", spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Inputs: inputs{"A": sparse, "x": dense},
			Formats: map[string]string{"A": "ds"}, Sizes: sizes{"A": {40, 30}}},
			41*4 + 120*12 + 30*8 + 40*8, 240, false},
		{"SpMV of float32", spmd.Job{Statement: "y(i) = A(i,j)*x(j)",
			Inputs: inputs{"A": sparse, "x": dense}, Formats: map[string]string{"A": "ds"},
			Sizes: sizes{"A": {40, 30}},
			Types: map[string]string{"A": "float32", "x": "float32"}}, 41*4 + 120*8 + 30*4 + 40*4, 240,
			false},
		{"SpMV of complex values",
			spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Inputs: inputs{"A": sparse, "x": dense},
				Formats: map[string]string{"A": "ds"}, Sizes: sizes{"A": {40, 30}},
				Types: map[string]string{"A": "complex128", "x": "complex128"}}, 41*4 + 120*20 + 30*16 + 40*16,
			8 * 120, false},
		{"values that are not used",
			spmd.Job{Statement: "y(i) = A(i,j)*x(j)",
				Inputs:  inputs{"A": spmd.Generated("uniform:7"), "x": dense},
				Formats: map[string]string{"A": "ss", "y": "d"},
				Sizes:   sizes{"A": {1, 100}}}, (2+1)*4 + (2+7)*4 + 7*8 + 7*8 + 8, 14, false},
		{"a dense product", spmd.Job{Statement: "C(i,k) = A(i,j)*B(j,k)",
			Inputs: inputs{"A": dense, "B": dense}, Sizes: sizes{"A": {8, 9}, "B": {9, 10}}},
			8 * (72 + 90 + 80), 2 * 720, false},
		{"a pattern that the result shares",
			spmd.Job{Statement: "B(i,j) = A(i,j)*2", Inputs: inputs{"A": sparse},
				Formats: map[string]string{"A": "ds", "B": "ds"}, Sizes: sizes{"A": {40, 30}}},
			41*4 + 120*12 + 120*8, 120, false},
		{"patterns that meet", spmd.Job{Statement: "a = A(i,j)*B(i,j)",
			Inputs: inputs{"A": sparse, "B": sparse}, Formats: map[string]string{"A": "ds", "B": "ds"},
			Sizes: sizes{"A": {40, 30}}},
			-1, 24, true}, // a tenth of the entries
	} {
		for _, ranks := range []int{1, 2, 3} {
			job := c.job
			job.Target, job.Threads, job.Ranks, job.Repeat, job.Detail = spmd.Interpreter, 1, ranks, 3,
				func(string) {}
			report, err := job.Run(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			w := report.Stats.Work
			if ranks == 1 && c.bytes >= 0 && w.Bytes != c.bytes {
				t.Errorf("%s: got %d bytes, want %d", c.name, w.Bytes, c.bytes)
			}
			if w.Flops != c.flops && !(c.estimated && ranks > 1) || w.Estimated != c.estimated {
				t.Errorf("%s, %d ranks: got %d flops (estimated: %v), want %d (%v)", c.name, ranks, w.Flops,
					w.Estimated, c.flops, c.estimated)
			}
			if w.Share != nil {
				t.Errorf("%s: a share of a machine's limit by the interpreter", c.name)
			}
		}
	}
}

// TestWorkShare checks that a job reports its share of the machine's limit if the cache has a model
// of the machine, and only then.
func TestWorkShare(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler")
	}
	root := t.TempDir()
	t.Setenv("DISTAFF_CACHE", root)
	run := func() (*spmd.Report, string) {
		said := ""
		job := spmd.Job{Statement: "y(i) = A(i,j)*x(j)",
			Inputs:  map[string]spmd.Input{"A": spmd.Generated("dense"), "x": spmd.Generated("dense")},
			Sizes:   map[string][]int64{"A": {40, 30}},
			Options: spmd.Options{Threads: 1, Detail: func(s string) { said += s + "\n" }}}
		report, err := job.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return report, said
	}
	if report, said := run(); report.Stats.Work.Share != nil ||
		!strings.Contains(said, "distaff doctor --tune") {
		t.Errorf("no model: got a share of %v, and %s", report.Stats.Work.Share, said)
	}
	rate := tune.Pair{One: 1e9, All: 1e9}
	m := &tune.Model{Threads: 1, Levels: []tune.Level{{Name: "memory", Read: rate, Write: rate}},
		Gathers: []tune.Gather{{Bytes: 1, Values: rate, Rows: rate}}, MultiplyAdds64: rate,
		MultiplyAdds32: rate, Branch: 1, Segment: 1, Compile: 1,
		Files: tune.Files{Load: 1, Parse: 1, Store: 1}}
	if err := tune.Keep(root, m); err != nil {
		t.Fatal(err)
	}
	if report, said := run(); report.Stats.Work.Share == nil || !(*report.Stats.Work.Share > 0) ||
		!strings.Contains(said, "of its limit") {
		t.Errorf("got a share of %v, and %s", report.Stats.Work.Share, said)
	}
	list, err := filepath.Glob(filepath.Join(root, "machine", "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	m.Levels = nil
	if err := tune.Keep(root, m); err != nil {
		t.Fatal(err)
	}
	if report, said := run(); report.Stats.Work.Share != nil ||
		!strings.Contains(said, "cannot be used") {
		t.Errorf("a model that is none: got a share of %v, and %s", report.Stats.Work.Share, said)
	}
}
