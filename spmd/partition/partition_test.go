package partition_test

import (
	"slices"
	"testing"

	"distaff/spmd/partition"
)

// owner returns the sum of the ranges, so that the result identifies the piece.
func owner(at []int64) int {
	n := 0
	for _, i := range at {
		n += int(i)
	}
	return n
}

// grid cuts mode 0 into two ranges and mode 2 into three. The tensor has three modes.
func grid() *partition.Partition {
	return &partition.Partition{
		Order: 3,
		Axes: []partition.Axis{{Modes: []int{0}, Cuts: []int64{0, 4, 10}},
			{Modes: []int{2}, Cuts: []int64{0, 2, 2, 5}}},
		Owner: owner,
	}
}

func TestPieces(t *testing.T) {
	diagonal := &partition.Partition{
		Order: 3,
		Axes: []partition.Axis{{Modes: []int{0, 2}, Cuts: []int64{0, 3, 7}},
			{Modes: []int{1}, Cuts: []int64{0, 1, 2}}},
		Owner: owner,
	}
	for _, c := range []struct {
		name  string
		p     *partition.Partition
		sizes []int64
		boxes [][][2]int64 // of all pieces, in order
		ranks []int
	}{
		{"row-major", grid(), []int64{10, 7, 5}, [][][2]int64{
			{{0, 4}, {0, 7}, {0, 2}}, {{0, 4}, {0, 7}, {2, 2}}, {{0, 4}, {0, 7}, {2, 5}},
			{{4, 10}, {0, 7}, {0, 2}}, {{4, 10}, {0, 7}, {2, 2}}, {{4, 10}, {0, 7}, {2, 5}},
		}, []int{0, 1, 2, 1, 2, 3}},
		{"diagonal", diagonal, []int64{7, 2, 7}, [][][2]int64{
			{{0, 3}, {0, 1}, {0, 3}}, {{0, 3}, {1, 2}, {0, 3}}, {{3, 7}, {0, 1}, {3, 7}},
			{{3, 7}, {1, 2}, {3, 7}},
		}, []int{0, 1, 1, 2}},
		{"whole", partition.Whole(2), []int64{4, 5}, [][][2]int64{{{0, 4}, {0, 5}}}, []int{0}},
		{"scalar", partition.Whole(0), nil, [][][2]int64{{}}, []int{0}},
	} {
		if n := c.p.Pieces(); n != int64(len(c.boxes)) {
			t.Fatalf("%s: %d pieces, want %d", c.name, n, len(c.boxes))
		}
		at := make([]int64, len(c.p.Axes))
		for b := range partition.Piece(c.p.Pieces()) {
			c.p.At(b, at)
			if got := c.p.Of(at); got != b {
				t.Errorf("%s: piece %d is at %v, where piece %d is", c.name, b, at, got)
			}
			if got := c.p.Box(b, c.sizes); !slices.Equal(got, c.boxes[b]) {
				t.Errorf("%s: piece %d covers %v, want %v", c.name, b, got, c.boxes[b])
			}
			if got := c.p.OwnerOf(b); got != c.ranks[b] {
				t.Errorf("%s: piece %d lives at rank %d, want %d", c.name, b, got, c.ranks[b])
			}
			if got := c.p.Ranks(b); !slices.Equal(got, c.ranks[b:b+1]) {
				t.Errorf("%s: piece %d lives at ranks %v, want %v", c.name, b, got, c.ranks[b:b+1])
			}
		}
		if got, want := c.p.Diagonal(), c.name == "diagonal"; got != want {
			t.Errorf("%s: Diagonal is %v", c.name, got)
		}
	}
}

func TestAxisOf(t *testing.T) {
	p := grid()
	for m, want := range []int{0, -1, 1} {
		if got := p.AxisOf(m); got != want {
			t.Errorf("mode %d is of axis %d, want %d", m, got, want)
		}
	}
}

func TestCopiesAreTheRanksOfAPiece(t *testing.T) {
	p := grid()
	p.Copies = func(at []int64) []int { return []int{owner(at), owner(at) + 10} }
	if got := p.Ranks(5); !slices.Equal(got, []int{3, 13}) {
		t.Errorf("piece 5 lives at ranks %v, want 3 and 13", got)
	}
}
