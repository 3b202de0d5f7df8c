package spmd_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"distaff/spmd"
)

// TestProgramInPlace checks when a statement needs a second array for its left side. If it reads
// only the elements of its left side that it writes at the same time, it needs no second array, on
// any number of ranks. If it reads other elements, it needs one.
func TestProgramInPlace(t *testing.T) {
	const n, bytes = 1 << 13, 8 << 13
	for _, ranks := range []int{1, 3} {
		for text, inPlace := range map[string]bool{
			"x(i) = x(i) + a*y(i)":     true,
			"x(i) += a*y(i)":           true,
			"x(i) = x(i)*x(i) - x(i)":  true,
			"x(i) = y(i) - a*x(i)":     true,
			"X(i,k) += X(i,k)*Y(i,k)":  false, // two uses of two kinds
			"X(i,k) = X(i,k) + Y(i,k)": true,
			"W(i,j) = W(j,i)":          false,
			"W(i,j) = W(i,j) + W(j,i)": false,
			"B(i,j) = 3*B(i,j)":        true, // sparse
		} {
			if sparse := text[0] == 'B'; ranks > 1 && (!inPlace || sparse) {
				continue // moves between ranks take memory too
			}
			err := spmd.Start(context.Background(),
				spmd.Options{Ranks: ranks, Threads: 1, Target: spmd.Interpreter}, func(p *spmd.Program) error {
					for name, sizes := range map[string][]int64{"x": {n}, "y": {n}, "X": {n / 16, 16},
						"Y": {n / 16, 16}, "W": {91, 91}} {
						if err := p.Declare(name, spmd.Storage{Sizes: sizes}); err != nil {
							return err
						}
					}
					for _, first := range []string{"a = 2", "x(i) = 1", "y(i) = 1", "X(i,k) = 1", "Y(i,k) = 1",
						"W(i,j) = 1"} {
						if err := p.Do(first); err != nil {
							return err
						}
					}
					if text[0] == 'B' {
						if err := diagonal(p, n); err != nil {
							return err
						}
					}
					before, err := p.Statistics()
					for k := 0; err == nil && k < 2; k++ {
						err = p.Do(text)
					}
					if err != nil {
						return err
					}
					after, err := p.Statistics()
					for r := range after {
						if took := after[r].Allocated - before[r].Allocated; (took < bytes/int64(ranks)/2) !=
							inPlace {
							t.Errorf("%d ranks, %s: rank %d takes %d bytes more, of a tensor of %d; in place: want %v",
								ranks, text, r, took, bytes, inPlace)
						}
					}
					return err
				})
			if err != nil {
				t.Errorf("%d ranks, %s: %v", ranks, text, err)
			}
		}
	}
}

// diagonal makes a tensor B with n entries.
func diagonal(p *spmd.Program, n int) error {
	var at []int32
	for i := range int32(n) {
		at = append(at, i)
	}
	D, err := spmd.COO([]int64{int64(n), int64(n)}, [][]int32{at, at}, make([]float64, n))
	if err != nil {
		return err
	}
	return errors.Join(p.Set("D", spmd.InMemory(D), spmd.Storage{Format: "ds"}),
		p.Declare("B", spmd.Storage{Format: "ds"}), p.Do("B(i,j) = D(i,j)"))
}

// TestProgramInPlaceSeen checks that values written in place are visible to statements that read
// the tensor before, also through a conversion, and that memory of the caller, or of a tensor that
// shares it, does not change.
func TestProgramInPlaceSeen(t *testing.T) {
	onRanks(t, []int{1, 2}, func(t *testing.T, p *spmd.Program) error {
		values := []float64{1, 2, 3}
		if err := setDense(p, "x", values, 3); err != nil {
			return err
		}
		A, err := spmd.COO([]int64{3, 3}, [][]int32{{0, 1}, {2, 0}}, []float64{1, 5})
		if err != nil {
			return err
		}
		if err := errors.Join(p.Set("A", spmd.InMemory(A), spmd.Storage{Format: "ds"}),
			p.Declare("B", spmd.Storage{Format: "ds"}), p.Declare("C", spmd.Storage{Format: "ds"}),
			p.Do("B(i,j) = A(i,j)")); err != nil {
			return err
		}
		for k := range 3 {
			if err := errors.Join(p.Do("x(i) = 2*x(i)"), p.Do("y(i) = x(i) + 1"), p.Do("B(i,j) = 2*B(i,j)"),
				p.Do("C(i,j) = A(i,j) + B(j,i)")); err != nil {
				return err
			}
			f := float64(int(2) << k)
			if err := errors.Join(holds(t, p, "y",
				map[string]float64{"[0]": f + 1, "[1]": 2*f + 1, "[2]": 3*f + 1}),
				holds(t, p, "C", map[string]float64{"[0 1]": 5 * f, "[0 2]": 1, "[1 0]": 5,
					"[2 0]": f})); err != nil {
				return err
			}
		}
		if !slices.Equal(values, []float64{1, 2, 3}) {
			t.Errorf("the caller's values became %v", values)
		}
		if p.Ranks() > 1 {
			return nil
		}
		x, err := p.Tensor("x")
		if err != nil {
			return err
		}
		defer x.Close()
		if err := errors.Join(p.Set("z", spmd.InMemory(x), spmd.Storage{}),
			p.Do("x(i) = x(i) + A(i,j)*z(j)")); err != nil {
			return err
		}
		return holds(t, p, "x", map[string]float64{"[0]": 8 + 24, "[1]": 16 + 5*8, "[2]": 24})
	})
}
