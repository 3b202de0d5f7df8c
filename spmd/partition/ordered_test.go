package partition_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/codegen/place"
	"distaff/spmd/partition"
)

// tuples returns all tuples of coordinates below the sizes, in order.
func tuples(sizes []int64) [][]int64 {
	list := [][]int64{{}}
	for _, n := range sizes {
		var more [][]int64
		for _, t := range list {
			for x := range n {
				more = append(more, append(slices.Clone(t), x))
			}
		}
		list = more
	}
	return list
}

// randomKey returns the successor of a random tuple, whose last coordinate may equal the size.
func randomKey(rng *rand.Rand, sizes []int64) []int64 {
	key := make([]int64, len(sizes))
	for k, n := range sizes {
		key[k] = rng.Int64N(n)
	}
	depth := rng.IntN(len(sizes))
	key[depth] += rng.Int64N(2)
	clear(key[depth+1:])
	return key
}

// TestBounds compares the box with a brute-force search. The box must be the smallest one that
// covers the whole modes after the first mode with several coordinates.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		sizes := make([]int64, 1+rng.IntN(4))
		for k := range sizes {
			sizes[k] = 1 + rng.Int64N(4)
		}
		if rng.IntN(10) == 0 {
			sizes[rng.IntN(len(sizes))] = 0
		}
		var lo, hi []int64
		if !slices.Contains(sizes, 0) {
			if rng.IntN(4) > 0 {
				lo = randomKey(rng, sizes)
			}
			if rng.IntN(4) > 0 {
				hi = randomKey(rng, sizes)
			}
		}
		var held [][]int64
		for _, x := range tuples(sizes) {
			if (lo == nil || slices.Compare(lo, x) <= 0) && (hi == nil || slices.Compare(x, hi) < 0) {
				held = append(held, x)
			}
		}
		var within [][]int64
		for _, box := range partition.Boxes(lo, hi, sizes) {
			extents := make([]int64, len(box))
			for k, r := range box {
				extents[k] = r[1] - r[0]
			}
			for _, x := range tuples(extents) {
				for k := range x {
					x[k] += box[k][0]
				}
				within = append(within, x)
			}
		}
		if !slices.EqualFunc(within, held, slices.Equal) {
			t.Fatalf("%v to %v of %v: the boxes %v hold %v, want %v", lo, hi, sizes,
				partition.Boxes(lo, hi, sizes), within, held)
		}
		box := partition.Bounds(lo, hi, sizes)
		if len(held) == 0 {
			if box[0][0] != box[0][1] || box[0][0] > sizes[0] {
				t.Fatalf("%v to %v of %v holds nothing: got %v", lo, hi, sizes, box)
			}
			continue
		}
		want := make([][2]int64, len(sizes))
		open := false
		for k, n := range sizes {
			want[k] = [2]int64{0, n}
			if !open {
				want[k] = [2]int64{held[0][k], held[len(held)-1][k] + 1}
				open = want[k][1]-want[k][0] > 1
			}
		}
		if !slices.Equal(box, want) {
			t.Fatalf("%v to %v of %v: got %v, want %v", lo, hi, sizes, box, want)
		}
	}
}

// TestRange checks that the range of each tuple is the only range whose keys enclose the tuple.
func TestRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		sizes := make([]int64, 1+rng.IntN(3))
		modes := make([]int, len(sizes))
		for k := range sizes {
			sizes[k], modes[k] = 1+rng.Int64N(4), k
		}
		a := partition.Axis{Modes: modes,
			Ordered: &place.Ordered{Modes: modes,
				Cuts: []place.OrderedCut{{N: 1 + rng.Int64N(6), Level: 0}}}}
		if a.Located() {
			t.Fatal("located without keys")
		}
		for range a.Ranges() - 1 {
			a.Keys = append(a.Keys, randomKey(rng, sizes))
		}
		slices.SortFunc(a.Keys, slices.Compare)
		a.Keys = append(append([][]int64{nil}, a.Keys...), nil)
		if !a.Located() {
			t.Fatal("not located with keys")
		}
		for _, x := range tuples(sizes) {
			k := a.Range(x)
			if from, to := a.Keys[k], a.Keys[k+1]; k > 0 && slices.Compare(from, x) > 0 ||
				k < a.Ranges()-1 && slices.Compare(x, to) >= 0 {
				t.Fatalf("%v is in range %d, from %v to %v", x, k, from, to)
			}
		}
	}
}

// TestOrderedPieces tests an ordered axis together with another axis, before and after it is
// located.
func TestOrderedPieces(t *testing.T) {
	p := &partition.Partition{Order: 3, Owner: owner, Axes: []partition.Axis{
		{Modes: []int{0, 1}, Ordered: &place.Ordered{Modes: []int{0, 1},
			Cuts: []place.OrderedCut{{N: 3, Level: 1}}}},
		{Modes: []int{2}, Cuts: []int64{0, 2, 5}},
	}}
	sizes := []int64{6, 4, 5}
	if p.Pieces() != 6 || p.Diagonal() || p.Located() || p.Ordered() != &p.Axes[0] {
		t.Errorf("%d pieces, diagonal %v, located %v", p.Pieces(), p.Diagonal(), p.Located())
	}
	boxes := func() string {
		var list [][][2]int64
		for b := range partition.Piece(p.Pieces()) {
			list = append(list, p.Box(b, sizes))
		}
		return fmt.Sprint(list)
	}
	if got, want := boxes(),
		"[[[0 2] [0 4] [0 2]] [[0 2] [0 4] [2 5]] [[2 4] [0 4] [0 2]] [[2 4] [0 4] [2 5]] [[4 6] [0 4] [0 2]] [[4 6] [0 4] [2 5]]]"; got != want {
		t.Errorf("before it is located: %s", got)
	}
	p.Axes[0].Keys = [][]int64{nil, {1, 3}, {1, 4}, nil}
	if got, want := boxes(),
		"[[[0 2] [0 4] [0 2]] [[0 2] [0 4] [2 5]] [[1 2] [3 4] [0 2]] [[1 2] [3 4] [2 5]] [[2 6] [0 4] [0 2]] [[2 6] [0 4] [2 5]]]"; got != want {
		t.Errorf("located: %s", got)
	}
	if from, to := p.Keys(3); !slices.Equal(from, []int64{1, 3}) || !slices.Equal(to, []int64{1, 4}) {
		t.Errorf("piece 3 is from %v to %v", from, to)
	}
	if from, to := p.Keys(5); !slices.Equal(from, []int64{1, 4}) || to != nil {
		t.Errorf("piece 5 is from %v to %v", from, to)
	}
	if from, to := grid().Keys(1); from != nil || to != nil || !grid().Located() ||
		grid().Ordered() != nil {
		t.Errorf("without an ordered axis: from %v to %v", from, to)
	}
}
