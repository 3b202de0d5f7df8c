package spmd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/io/tensor"
	"distaff/spmd"
)

// fitting are statements whose memory is partly known before they run.
var fitting = []struct {
	stmt    string
	inputs  map[string]string // generated, or the name of a file
	formats map[string]string
	sizes   map[string][]int64
	o       spmd.Options
	all     bool // on one rank the plan knows the exact memory
}{
	{"y(i) = A(i,j)*x(j)", map[string]string{"A": "dense", "x": "dense"}, nil,
		map[string][]int64{"A": {130, 110}}, spmd.Options{}, true},
	{"A(i,j) = B(j,i)", map[string]string{"B": "dense"}, nil, map[string][]int64{"B": {90, 70}},
		spmd.Options{}, true},
	{"s = A(i,j)*A(j,i)", map[string]string{"A": "dense:int"}, nil, map[string][]int64{"A": {70, 70}},
		spmd.Options{}, false},
	{"y(i) += A(i,j)*x(j)", map[string]string{"A": "dense", "x": "dense", "y": "dense"}, nil,
		map[string][]int64{"A": {130, 110}}, spmd.Options{}, false},
	{"y(i) = 2*y(i)", map[string]string{"y": "dense"}, nil, map[string][]int64{"y": {5000}},
		spmd.Options{}, false},
	{"C(i,k) = A(i,j)*D(j,k)", map[string]string{"A": "dense", "D": "dense"}, nil,
		map[string][]int64{"A": {60, 50}, "D": {50, 40}},
		spmd.Options{Splits: []string{"i:2", "j:3"}, Extend: []string{"j"}, Map: "i,j"}, false},
	{"y(j) = A(i,j)*x(i)", map[string]string{"A": "dense", "x": "dense"}, nil,
		map[string][]int64{"A": {130, 110}}, spmd.Options{}, false},
	{"y(i) = B(i,j)*x(j)", map[string]string{"B": "uniform:5000:int", "x": "dense"},
		map[string]string{"B": "ds"}, map[string][]int64{"B": {300, 200}}, spmd.Options{}, false},
	{"y(i) = B(i,j)*x(j)", map[string]string{"B": "zipf:3000:1.1:int", "x": "dense"},
		map[string]string{"B": "ss"}, map[string][]int64{"B": {300, 200}}, spmd.Options{}, false},
	{"C(i,j) = B(i,j)*x(j)", map[string]string{"B": "banded:3", "x": "dense"},
		map[string]string{"B": "uq", "C": "ds"}, map[string][]int64{"B": {900, 900}}, spmd.Options{},
		false},
	{"C(i,j) = B(i,j) + 1", map[string]string{"B": "uniform:100"},
		map[string]string{"B": "ss", "C": "ds"}, map[string][]int64{"B": {100, 90}}, spmd.Options{},
		false},
	{"C(i,j) = B(i,j) + 1", map[string]string{"B": "uniform:100"},
		map[string]string{"B": "ss", "C": "ss"}, map[string][]int64{"B": {100, 90}},
		spmd.Options{Splits: []string{"j:3"}, Map: "j"}, false},
	{"y(i) = F(i,j)*x(j)", map[string]string{"F": "file", "x": "dense"}, nil, nil, spmd.Options{},
		false},
	{"y(i) = F(i,j)*x(j)", map[string]string{"F": "file", "x": "dense"},
		map[string]string{"F": "ds:1,0"}, nil, spmd.Options{}, false},
	{"y(i) = F(i,j)*x(j)", map[string]string{"F": "file", "x": "dense"}, map[string]string{"F": "dd"},
		nil, spmd.Options{}, false},
	{"y(i) = F(i,j)*x(j)", map[string]string{"F": "file", "x": "dense"}, nil, nil,
		spmd.Options{Splits: []string{"i:3", "j:2"}}, false},
}

// TestRefusedIsPlanned checks that the smallest limit with which a run may begin is the least
// memory of a rank in the plan. A run with one byte less is refused with that number. No run that
// was allowed used less.
func TestRefusedIsPlanned(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.tcs")
	made := spmd.Job{Statement: "F(i,j) = G(i,j)", Formats: map[string]string{"F": "ds", "G": "ds"},
		Sizes:   map[string][]int64{"G": {400, 300}},
		Inputs:  map[string]spmd.Input{"G": spmd.Generated("uniform:2000")},
		Outputs: []spmd.Output{{Tensor: "F", File: file}}}
	made.Target = spmd.Interpreter
	if _, err := made.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range fitting {
		for ranks := 1; ranks <= 4; ranks++ {
			job := spmd.Job{Statement: c.stmt, Formats: c.formats, Sizes: c.sizes,
				Inputs: map[string]spmd.Input{}, Options: c.o}
			for name, in := range c.inputs {
				if job.Inputs[name] = spmd.Generated(in); in == "file" {
					job.Inputs[name] = spmd.File(file)
				}
			}
			job.Target, job.Threads, job.Ranks = spmd.Interpreter, 1, ranks
			what := fmt.Sprintf("%s, %v, split %v, on %d ranks", c.stmt, c.formats, c.o.Splits, ranks)
			p, err := job.Plan(context.Background(), 0)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			least := p.Least
			report, err := job.Run(context.Background())
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got := slices.Max(report.Allocated); got < least {
				t.Errorf("%s: the run took %d bytes, the plan says %d at least", what, got, least)
			}
			if most := slices.Max(p.Memory); least > most {
				t.Errorf("%s: the plan says %d bytes at least and %d at most", what, least, most)
			}
			if least == 0 {
				t.Errorf("%s: nothing is known", what)
				continue
			}
			const early = "but the memory limit is"
			job.MemoryLimit = least
			if _, err := job.Run(context.Background()); err != nil &&
				(exitCode(err) != diag.ExitMemory || strings.Contains(err.Error(), early)) {
				t.Errorf("%s, with the %d bytes of the plan: %v", what, least, err)
			}
			job.MemoryLimit += 4096 // arrays begin at multiples of more than their width
			if _, err := job.Run(context.Background()); err != nil && c.all && ranks == 1 {
				t.Errorf("%s, with a page more than %d bytes: %v", what, least, err)
			}
			if job.MemoryLimit = least - 1; job.MemoryLimit == 0 {
				continue
			}
			_, err = job.Run(context.Background())
			if err == nil || exitCode(err) != diag.ExitMemory || !strings.Contains(err.Error(), early) {
				t.Errorf("%s, with a byte less than %d: got %v, want it refused", what, least, err)
			} else if s := err.Error(); !strings.Contains(s, tensor.Bytes(least)) &&
				!strings.Contains(s, tensor.Count(least, "byte")) {
				t.Errorf("%s: it is refused with other figures than %d bytes: %v", what, least, err)
			}
		}
	}
}

// TestProgramsAreRefusedEarly checks that a statement of a program that certainly needs more than
// the limit is refused at every rank before it allocates, and that the program can continue.
// Tensors that the program holds do not count, because they may be in the caller's memory.
func TestProgramsAreRefusedEarly(t *testing.T) {
	const n, limit = 1 << 10, 1 << 20
	for ranks := 1; ranks <= 3; ranks++ {
		err := spmd.Start(context.Background(),
			spmd.Options{Ranks: ranks, Target: spmd.Interpreter, MemoryLimit: limit},
			func(p *spmd.Program) error {
				if err := setDense(p, "x", make([]float64, n), n); err != nil {
					return err
				}
				// A has four times the limit, and its memory is the caller's.
				if err := setDense(p, "A", make([]float64, 1<<19), 1, 1<<19); err != nil {
					return err
				}
				for _, text := range []string{"C(i,j) = x(i)*x(j)", "C(i,j) = x(i) + x(j)"} {
					err := p.Do(text)
					if err == nil || exitCode(err) != diag.ExitMemory ||
						!strings.Contains(err.Error(), "C (1024x1024) stored as dd in float64 needs") ||
						!strings.Contains(err.Error(), "but the memory limit is 1 MiB (--memory-limit)") {
						t.Errorf("%s on %d ranks: got %v", text, ranks, err)
					}
				}
				if err := p.Do("y(i) = 2*x(i)"); err != nil {
					return err
				}
				if ranks > 1 {
					return nil // rank 0 sends its values to other ranks
				}
				for _, text := range []string{"s = A(i,j)", "r(i) = A(i,j)", "r(i) = 2*A(i,j)"} {
					if err := p.Do(text); err != nil {
						return fmt.Errorf("%s: %w", text, err)
					}
				}
				return nil
			})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}
