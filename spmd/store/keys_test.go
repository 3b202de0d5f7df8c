package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// keyed cuts a tensor between random keys of its outermost levels, some of which are equal.
func keyed(t *testing.T, rng *rand.Rand, whole *tcs.Tensor, ranks int) *partition.Partition {
	modes := whole.Format().Order
	n := 1 + rng.IntN(len(modes))
	parts := 1 + rng.Int64N(6)
	a := partition.Axis{Modes: modes[:n],
		Ordered: &place.Ordered{Modes: modes[:n], Cuts: []place.OrderedCut{{N: parts, Level: n - 1}}}}
	lo, hi := whole.Interval(n - 1)
	for range parts - 1 {
		key := make([]int64, n)
		if hi > lo {
			at, err := whole.Key(n-1, lo+rng.Int64N(hi-lo))
			if err != nil {
				t.Fatal(err)
			}
			if at[n-1]++; slices.Min(at) >= 0 {
				key = at
			}
		}
		a.Keys = append(a.Keys, key)
	}
	slices.SortFunc(a.Keys, slices.Compare)
	a.Keys = append(append([][]int64{nil}, a.Keys...), nil)
	turn := rng.IntN(ranks)
	return &partition.Partition{Order: len(modes), Axes: []partition.Axis{a},
		Owner: func(at []int64) int { return (int(at[0]) + turn) % ranks }}
}

// between returns the blocks between keys that a rank has.
func between(whole *tcs.Tensor, part *partition.Partition, rank int) (*store.Blocks, error) {
	b := (&load.Target{Partition: part,
		Spec: coo.Spec{Format: whole.Format(), Dims: whole.Header.Dims,
			Type: whole.Header.Type}}).Blocks()
	for k := range plan.Block(part.Pieces()) {
		if part.OwnerOf(k) != rank {
			continue
		}
		v, err := whole.View(tcs.Block{Box: b.Boxes[k], From: b.From[k], To: b.To[k]})
		if err != nil {
			return nil, err
		}
		defer v.Close()
		spec := coo.Spec{Format: whole.Format(), Dims: whole.Header.Dims, Type: whole.Header.Type,
			Name: "T", Box: b.Boxes[k]}
		if b.Own[int(k)], err = coo.Assemble(coo.FromTensor(v, coo.KeepAll), spec,
			coo.Config{}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// TestKeysAreThoseOfOneRank checks that blocks between keys, whose boxes overlap, are written to
// the same files and have the same sums, in every format.
func TestKeysAreThoseOfOneRank(t *testing.T) {
	dir := t.TempDir()
	for order := 1; order <= 4; order++ {
		for _, kinds := range formats[order] {
			for seed := range uint64(8) {
				rng := rand.New(rand.NewPCG(seed, uint64(order)+40))
				whole := sample(t, rng, kinds)
				ranks := 1 + rng.IntN(6)
				part := keyed(t, rng, whole, ranks)
				for _, name := range []string{"t.tcs", "t.tns", "t.npy", "t.tns.gz"} {
					what := fmt.Sprintf("%s, seed %d, %d ranks, keys %v, sizes %v: %s", whole.Format().String(),
						seed,
						ranks, part.Axes[0].Keys, whole.Header.Dims, name)
					var file *outfile.File
					entries := int64(0)
					err := local.Run(context.Background(), ranks, func(c comm.Comm) (err error) {
						b, err := between(whole, part, c.Rank())
						if err != nil {
							return err
						}
						defer func() {
							for _, x := range b.Own {
								x.Close()
							}
						}()
						var f *outfile.File
						if c.Rank() == 0 {
							if f, err = convert.Create(filepath.Join(dir, name)); err != nil {
								return err
							}
							file = f
						}
						cfg := coo.Config{Tmp: dir, Threads: 1}
						if err := store.Write(c, b, f, filepath.Join(dir, name), store.Mode(seed%3),
							cfg); err != nil {
							return err
						}
						n, err := store.Summary(c, b, cfg, func([]byte) {})
						if c.Rank() == 0 {
							entries = n
						}
						return err
					})
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					got, err := contents(file)
					file.Abort()
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					same(t, what, got, oneRank(t, whole, name))
					if entries != whole.Vals.Len {
						t.Fatalf("%s: %d entries, want %d", what, entries, whole.Vals.Len)
					}
				}
				whole.Close()
			}
		}
	}
}
