package assemble

import (
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tensor"
	"distaff/spmd/transfer"
)

// The normal form of a region has the same coordinates and the smallest box, and regions with equal
// coordinates have equal normal forms.
func TestNormalForm(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 9))
		x := &trial{
			sum: Sum{Like: transfer.Like{
				Layout: tensor.Layout{Dims: []int64{3, 1 + r.Int64N(4), 3},
					Format: tensor.Format{Order: [][]int{{0, 1, 2}, {2, 0, 1}}[r.IntN(2)]}}}}}
		one := func() Region {
			p := Region{Box: x.whole(), From: x.key(r, r.IntN(4)), To: x.key(r, r.IntN(4))}
			for m := range p.Box {
				if r.IntN(2) == 0 {
					a := r.Int64N(p.Box[m][1])
					p.Box[m] = [2]int64{a, a + 1 + r.Int64N(p.Box[m][1]-a)}
				}
			}
			return p
		}
		a, b := one(), one()
		modes := x.sum.Like.Layout.Format.Order
		got, ok := a.common(b, modes)
		box := [][2]int64{{9, 0}, {9, 0}, {9, 0}}
		n := 0
		everywhere(x.whole(), func(at []int64) {
			in := inRegion(at, a, modes) && inRegion(at, b, modes)
			if in {
				n++
				for m, c := range at {
					box[m] = [2]int64{min(box[m][0], c), max(box[m][1], c+1)}
				}
			}
			if ok && in != inRegion(at, got, modes) || !ok && in {
				t.Fatalf("seed %d: %+v and %+v have %+v in common, which is wrong at %v", seed, a, b, got, at)
			}
		})
		if ok != (n > 0) || ok && !slices.Equal(box, got.Box) {
			t.Fatalf("seed %d: %+v and %+v have %+v in common, want the box %v", seed, a, b, got, box)
		}
		if again, _ := b.common(a, modes); ok && !again.equal(got) {
			t.Fatalf("seed %d: %+v and %+v are the same", seed, got, again)
		}
		if !ok {
			continue
		}
		// The same coordinates, said with keys that are longer.
		long := Region{Box: x.whole(),
			From: append(slices.Clone(got.From), make([]int64, 3-len(got.From))...), To: got.To}
		if len(got.From) == 0 {
			long.From = nil
		}
		if again, ok := long.common(got, modes); !ok || !again.equal(got) {
			t.Fatalf("seed %d: %+v is not %+v", seed, again, got)
		}
	}
}
