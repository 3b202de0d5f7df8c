package spmd_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"distaff/spmd"
)

// TestProgramSparseOver checks that a sparse result with the level arrays of an operand overwrites
// its former values: the second run allocates nothing.
func TestProgramSparseOver(t *testing.T) {
	onRanks(t, []int{1}, func(t *testing.T, p *spmd.Program) error {
		const n = 1 << 13
		if err := errors.Join(p.Declare("y", spmd.Storage{Sizes: []int64{n}}), p.Do("y(i) = 1"),
			diagonal(p, n), p.Declare("C", spmd.Storage{Format: "ds"})); err != nil {
			return err
		}
		var took [3]int64
		for k := range took {
			if err := p.Do("C(i,j) = 2*B(i,j)*y(j) + B(i,j)"); err != nil {
				return err
			}
			ranks, err := p.Statistics()
			if err != nil {
				return err
			}
			took[k] = ranks[0].Allocated
		}
		if took[2] != took[0] {
			t.Errorf("the first run brings memory to %d bytes, the third to %d", took[0], took[2])
		}
		return nil
	})
}

// TestProgramSparseOverSeen checks that overwritten values are visible to statements that read the
// tensor before, and that a new pattern of the operand makes a new result.
func TestProgramSparseOverSeen(t *testing.T) {
	onRanks(t, []int{1, 2}, func(t *testing.T, p *spmd.Program) error {
		set := func(pos, crd []int32, values ...float64) error {
			A, err := spmd.CSR(2, 3, pos, crd, values)
			if err != nil {
				return err
			}
			return p.Set("A", spmd.InMemory(A), spmd.Storage{})
		}
		run := func(want, both map[string]float64) error {
			for _, s := range []string{"C(i,j) = A(i,j)*y(j)", "E(i,j) = C(i,j)",
				"G(i,j) = C(i,j) + H(j,i)"} {
				if err := p.Do(s); err != nil {
					return err
				}
			}
			return errors.Join(holds(t, p, "C", want), holds(t, p, "G", both))
		}
		H, err := spmd.CSR(3, 2, []int32{0, 0, 1, 1}, []int32{1}, []float64{100})
		if err != nil {
			return err
		}
		if err := errors.Join(p.Set("H", spmd.InMemory(H), spmd.Storage{}),
			p.Declare("C", spmd.Storage{Format: "ds"}), p.Declare("G", spmd.Storage{Format: "ds"}),
			p.Declare("E", spmd.Storage{Format: "ds"}), set([]int32{0, 2, 3}, []int32{0, 2, 1}, 1, 2, 3),
			setDense(p, "y", []float64{1, 10, 100}, 3)); err != nil {
			return err
		}
		if err := run(map[string]float64{"[0 0]": 1, "[0 2]": 200, "[1 1]": 30},
			map[string]float64{"[0 0]": 1, "[0 2]": 200, "[1 1]": 130}); err != nil {
			return err
		}
		if err := setDense(p, "y", []float64{2, 20, 200}, 3); err != nil {
			return err
		}
		if err := run(map[string]float64{"[0 0]": 2, "[0 2]": 400, "[1 1]": 60},
			map[string]float64{"[0 0]": 2, "[0 2]": 400, "[1 1]": 160}); err != nil {
			return err
		}
		// The number of entries is the same, and their coordinates are others.
		if err := set([]int32{0, 1, 3}, []int32{1, 0, 2}, 1, 2, 3); err != nil {
			return err
		}
		if err := run(map[string]float64{"[0 1]": 20, "[1 0]": 4, "[1 2]": 600},
			map[string]float64{"[0 1]": 20, "[1 0]": 4, "[1 1]": 100, "[1 2]": 600}); err != nil {
			return err
		}
		return errors.Join(p.Do("C(i,j) = A(i,j)*C(i,j)*y(j)"),
			holds(t, p, "C", map[string]float64{"[0 1]": 400, "[1 0]": 16, "[1 2]": 3 * 600 * 200}),
			holds(t, p, "E", map[string]float64{"[0 1]": 20, "[1 0]": 4, "[1 2]": 600}))
	})
}

// TestProgramRanksOver checks that the results of each rank overwrite the former results, including
// sums and scalars, and that gathered rows reuse their memory: steps of conjugate gradients make
// hardly any objects.
func TestProgramRanksOver(t *testing.T) {
	if detected {
		t.Skip("the race detector makes objects of its own")
	}
	// objects for a run of a statement at a rank, including messages; 44 if each run makes a tensor
	const most = 20
	for _, ranks := range []int{1, 2} {
		err := spmd.Start(context.Background(), spmd.Options{Ranks: ranks, Threads: 1},
			func(p *spmd.Program) error {
				n, pos, crd, values, b := poisson(12)
				A, err := spmd.CSR(n, n, pos, crd, values)
				if err != nil {
					return err
				}
				defer A.Close()
				if err := errors.Join(p.Set("A", spmd.InMemory(A), spmd.Storage{}), setDense(p, "b", b, n),
					p.Declare("x", spmd.Storage{Sizes: []int64{n}}), conjugate(p, 2)); err != nil {
					return err
				}
				const steps = 200
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if err := conjugate(p, steps); err != nil {
					return err
				}
				runtime.ReadMemStats(&after)
				if made := float64(after.Mallocs-before.Mallocs) / float64(7*steps*ranks); p.Rank() == 0 &&
					made > most {
					t.Errorf("%d ranks: a run of a statement makes %.1f objects, want at most %d", ranks, made,
						most)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestProgramRanksOverSeen checks that other statements see overwritten values, wherever they read
// them and whoever moved them meanwhile, and that a tensor that the program has taken out keeps its
// values.
func TestProgramRanksOverSeen(t *testing.T) {
	onRanks(t, []int{2, 3}, func(t *testing.T, p *spmd.Program) error {
		A, err := spmd.CSR(3, 3, []int32{0, 1, 2, 3}, []int32{2, 0, 1}, []float64{1, 10, 100})
		if err != nil {
			return err
		}
		if err := p.Set("A", spmd.InMemory(A), spmd.Storage{}); err != nil {
			return err
		}
		run := func(a, b, c float64) error {
			if err := setDense(p, "x", []float64{a, b, c}, 3); err != nil {
				return err
			}
			for _, s := range []string{"q(i) = 2*x(i)", "z(i) = A(i,j)*q(j)", "w(i) = A(i,j)*q(j) + q(i)",
				"s = q(i)*x(i)", "u = s + 1", "y(i) = u*q(i)"} {
				if err := p.Do(s); err != nil {
					return err
				}
			}
			s := 2 * (a*a + b*b + c*c)
			return errors.Join(
				holds(t, p, "z", map[string]float64{"[0]": 2 * c, "[1]": 20 * a, "[2]": 200 * b}),
				holds(t, p, "w", map[string]float64{"[0]": 2*c + 2*a, "[1]": 20*a + 2*b, "[2]": 200*b + 2*c}),
				holds(t, p, "y", map[string]float64{"[0]": 2 * a * (s + 1), "[1]": 2 * b * (s + 1),
					"[2]": 2 * c * (s + 1)}))
		}
		if err := errors.Join(run(1, 2, 3), run(4, 5, 6)); err != nil {
			return err
		}
		before, err := p.Tensor("q")
		if err != nil {
			return err
		}
		if before != nil {
			defer before.Close()
		}
		if err := errors.Join(run(7, 8, 9), p.Place("q", -1), run(3, 2, 1), p.Place("q", 0),
			p.Place("z", -1), run(2, 4, 6)); err != nil {
			return err
		}
		if p.Rank() == 0 && (before.Value(0).C != 8 || before.Value(2).C != 12) {
			t.Errorf("the tensor that was asked for has %v and %v now, want 8 and 12", before.Value(0),
				before.Value(2))
		}
		return nil
	})
}
