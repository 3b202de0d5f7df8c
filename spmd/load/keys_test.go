package load_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// TestRedistributeBetweenKeys moves blocks between keys, whose boxes overlap, to even rows.
func TestRedistributeBetweenKeys(t *testing.T) {
	dims := []int64{7, 5, 3}
	for _, kinds := range []string{"ddd", "sdd", "dds", "sss", "dsd"} {
		whole, err := coo.Assemble(random(rand.New(rand.NewPCG(1, 2)), dims, 2, false, false),
			coo.Spec{Format: tensor.FormatOf(kinds, tensor.Identity(3)), Name: "T"}, coo.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, keys := range [][][]int64{{{0, 2}, {0, 4}}, {{3, 5}, {3, 5}}, {{0, 0}, {6, 1}}} {
			for ranks := 1; ranks <= 4; ranks++ {
				err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
					o := &place.Ordered{Modes: []int{0, 1}, Cuts: []place.OrderedCut{{N: 3, Level: 1}}}
					part := &partition.Partition{Order: 3,
						Owner: func(at []int64) int { return int(at[0]) % ranks },
						Axes: []partition.Axis{{Modes: o.Modes, Ordered: o,
							Keys: [][]int64{nil, keys[0], keys[1], nil}}}}
					spec := coo.Spec{Format: tensor.FormatOf(kinds, tensor.Identity(3)), Dims: dims,
						Type: tensor.Float64,
						Name: "T"}
					from := (&load.Target{Partition: part, Spec: spec}).Blocks()
					for b := range plan.Block(3) {
						if part.OwnerOf(b) != c.Rank() {
							continue
						}
						v, err := whole.View(tcs.Block{Box: from.Boxes[b], From: from.From[b], To: from.To[b]})
						if err != nil {
							return err
						}
						own := spec
						own.Box = from.Boxes[b]
						from.Own[int(b)], err = coo.Assemble(coo.FromTensor(v, coo.KeepAll), own, coo.Config{})
						v.Close()
						if err != nil {
							return err
						}
						defer from.Own[int(b)].Close()
					}
					g := &load.Target{Partition: partition.Evenly(dims, 0, ranks), Spec: spec,
						Cfg: coo.Config{Threads: 1}}
					own, moved, err := g.Redistribute(c, from, true)
					if err != nil {
						return err
					}
					for b, x := range own {
						want, err := whole.View(tcs.Block{Box: g.Partition.Box(b, dims)})
						if err != nil {
							return err
						}
						if got, want := list(x), list(want); !moved || !slices.Equal(got, want) {
							return fmt.Errorf("block %d: got %v\nwant %v", b, got, want)
						}
						want.Close()
						x.Close()
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%s cut at %v, %d ranks: %v", kinds, keys, ranks, err)
				}
			}
		}
		whole.Close()
	}
}
