package spmd_test

import (
	"math"
	"testing"

	"distaff/codegen/place"
	"distaff/spmd"
)

// sparse sets a tensor of order 2 or 3 with the given levels, whose entries are at coordinates.
func sparse(p *spmd.Program, name, levels string, dims []int64, at [][]int32,
	values []float64) error {
	x, err := spmd.COO(dims, at, values)
	if err != nil {
		return err
	}
	return p.Set(name, spmd.InMemory(x), spmd.Storage{Format: levels})
}

// TestProgramStoresRowsAtAllRanks checks that all pieces of a result store a row if one piece does.
// The row's dense level has a place for every column, so its zeros take part in products.
func TestProgramStoresRowsAtAllRanks(t *testing.T) {
	onRanks(t, []int{1, 2, 3}, func(t *testing.T, p *spmd.Program) error {
		dims := []int64{2, 2}
		if err := sparse(p, "A", "sd", dims, [][]int32{{}, {}}, nil); err != nil {
			return err
		}
		if err := sparse(p, "B", "sd", dims, [][]int32{{0}, {0}}, []float64{math.Inf(1)}); err != nil {
			return err
		}
		if err := p.Do("A(j,i) = B(i,j) + B(i,j)"); err != nil { // columns of A are at different ranks
			return err
		}
		if err := holds(t, p, "A",
			map[string]float64{"[0 0]": math.Inf(1), "[0 1]": 0, "[1 0]": 0, "[1 1]": 0}); err != nil {
			return err
		}
		if err := p.Do("A(i,j) = A(i,j) * A(j,i)"); err != nil {
			return err
		}
		return holds(t, p, "A", map[string]float64{"[0 0]": math.Inf(1), "[0 1]": 0, "[1 0]": 0,
			"[1 1]": 0})
	})
}

// TestProgramStoresRowsWherePlaced checks the same for dense modes that a placement or the
// schedule's blocks cut, on one rank too, for results that are written again, added to and moved.
func TestProgramStoresRowsWherePlaced(t *testing.T) {
	split, err := place.ParseSplit("k:2")
	if err != nil {
		t.Fatal(err)
	}
	machine, err := place.ParseMachine("2")
	if err != nil {
		t.Fatal(err)
	}
	_, along, err := place.ParsePlaced("A(x,y,z) -> M(z)")
	if err != nil {
		t.Fatal(err)
	}
	for _, levels := range []string{"ssd", "sdd", "dsd", "dds", "sdd:2,1,0"} {
		t.Run(levels, func(t *testing.T) {
			onRanks(t, []int{1, 2, 3}, func(t *testing.T, p *spmd.Program) error {
				dims := []int64{2, 3, 4}
				if err := sparse(p, "A", levels, dims, [][]int32{{}, {}, {}}, nil); err != nil {
					return err
				}
				if err := sparse(p, "D", "sss", dims, [][]int32{{}, {}, {}}, nil); err != nil {
					return err
				}
				if err := sparse(p, "B", "sss", dims, [][]int32{{0, 0, 1, 1}, {0, 2, 1, 2}, {0, 3, 1, 2}},
					[]float64{1, 2, 3, 0}); err != nil {
					return err
				}
				s, err := p.Prepare("A(i,j,k) = B(i,j,k)",
					spmd.How{Blocks: &place.BlockSpec{Splits: []place.SplitSpec{split}}})
				if err != nil {
					return err
				}
				defer s.Close()
				product, err := p.Prepare("D(i,j,k) = A(i,j,k) * A(i,j,k)",
					spmd.How{Blocks: &place.BlockSpec{Splits: []place.SplitSpec{split}}})
				if err != nil {
					return err
				}
				defer product.Close()
				for pass := range 3 {
					if err := s.Run(); err != nil {
						return err
					}
					if pass == 1 {
						if err := p.PlaceOn("A", machine, along); err != nil {
							return err
						}
					}
					stored, err := entriesOf(p, "A")
					if err != nil {
						return err
					}
					if err := product.Run(); err != nil {
						return err
					}
					for at, v := range stored {
						stored[at] = v * v
					}
					if err := holds(t, p, "D", stored); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
