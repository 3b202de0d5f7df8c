package spmd_test

import (
	"errors"
	"testing"

	"distaff/spmd"
)

// TestProgramSparseOver: a sparse result with the level arrays of an operand is written over its former
// values: the second run takes no memory.
func TestProgramSparseOver(t *testing.T) {
	onRanks(t, []int{1}, func(t *testing.T, p *spmd.Program) error {
		const n = 1 << 13
		if err := errors.Join(p.Declare("y", spmd.Storage{Sizes: []int64{n}}), p.Do("y(i) = 1"), diagonal(p, n), p.Declare("C", spmd.Storage{Format: "ds"})); err != nil {
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

// TestProgramSparseOverSeen: what is written over is seen where it was read before; a
// new pattern of the operand makes a new result.
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
			for _, s := range []string{"C(i,j) = A(i,j)*y(j)", "E(i,j) = C(i,j)", "G(i,j) = C(i,j) + H(j,i)"} {
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
		if err := errors.Join(p.Set("H", spmd.InMemory(H), spmd.Storage{}), p.Declare("C", spmd.Storage{Format: "ds"}), p.Declare("G", spmd.Storage{Format: "ds"}),
			p.Declare("E", spmd.Storage{Format: "ds"}), set([]int32{0, 2, 3}, []int32{0, 2, 1}, 1, 2, 3), setDense(p, "y", []float64{1, 10, 100}, 3)); err != nil {
			return err
		}
		if err := run(map[string]float64{"[0 0]": 1, "[0 2]": 200, "[1 1]": 30}, map[string]float64{"[0 0]": 1, "[0 2]": 200, "[1 1]": 130}); err != nil {
			return err
		}
		if err := setDense(p, "y", []float64{2, 20, 200}, 3); err != nil {
			return err
		}
		if err := run(map[string]float64{"[0 0]": 2, "[0 2]": 400, "[1 1]": 60}, map[string]float64{"[0 0]": 2, "[0 2]": 400, "[1 1]": 160}); err != nil {
			return err
		}
		// As many entries as before, elsewhere.
		if err := set([]int32{0, 1, 3}, []int32{1, 0, 2}, 1, 2, 3); err != nil {
			return err
		}
		if err := run(map[string]float64{"[0 1]": 20, "[1 0]": 4, "[1 2]": 600}, map[string]float64{"[0 1]": 20, "[1 0]": 4, "[1 1]": 100, "[1 2]": 600}); err != nil {
			return err
		}
		return errors.Join(p.Do("C(i,j) = A(i,j)*C(i,j)*y(j)"), holds(t, p, "C", map[string]float64{"[0 1]": 400, "[1 0]": 16, "[1 2]": 3 * 600 * 200}),
			holds(t, p, "E", map[string]float64{"[0 1]": 20, "[1 0]": 4, "[1 2]": 600}))
	})
}
