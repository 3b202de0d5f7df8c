package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/codegen/place"
)

// TestContained checks that contained finds the range of the coarser cuts that contains each range,
// and that it returns false if a range overlaps several.
func TestContained(t *testing.T) {
	for _, c := range []struct {
		fine, coarse []int64
		want         []int64 // nil if contained returns false
	}{
		{[]int64{0, 10}, []int64{0, 10}, []int64{0}},
		{[]int64{0, 2, 5, 7, 10}, []int64{0, 5, 10}, []int64{0, 0, 1, 1}},
		{[]int64{0, 5, 10}, []int64{0, 2, 5, 7, 10}, nil},
		{[]int64{0, 4, 10}, []int64{0, 5, 10}, nil},
		{[]int64{0, 10}, []int64{0, 5, 10}, nil},
		// equal cuts, with empty ranges
		{[]int64{0, 0, 1, 1, 2}, []int64{0, 0, 1, 1, 2}, []int64{0, 1, 2, 3}},
		{[]int64{0, 1, 2}, []int64{0, 0, 1, 1, 2}, []int64{1, 3}},
		{[]int64{0, 2, 2}, []int64{0, 2}, []int64{0, 0}}, // an empty range at the end
		{[]int64{0, 0, 0}, []int64{0, 0}, []int64{0, 0}}, // no coordinates
		// an empty range in the second of two
		{[]int64{0, 0, 0, 0, 1}, []int64{0, 0, 1}, []int64{0, 0, 1, 1}},
	} {
		got, ok := contained(c.fine, c.coarse)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%v in %v: got %v, %v, want %v", c.fine, c.coarse, got, ok, c.want)
		}
	}
}

// TestContainedAtRandom compares contained with a search of all coarser ranges.
func TestContainedAtRandom(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		cuts := func() []int64 {
			list := []int64{0, 9}
			for range g.IntN(5) {
				list = append(list, g.Int64N(10))
			}
			slices.Sort(list)
			return list
		}
		fine, coarse := cuts(), cuts()
		got, ok := contained(fine, coarse)
		all := true
		for k := range len(fine) - 1 {
			held := false
			for i := range len(coarse) - 1 {
				held = held || coarse[i] <= fine[k] && fine[k+1] <= coarse[i+1]
			}
			all = all && held
			if ok && fine[k] < fine[k+1] && (coarse[got[k]] > fine[k] || fine[k+1] > coarse[got[k]+1]) {
				t.Fatalf("%v in %v: got %v", fine, coarse, got)
			}
		}
		if ok != all {
			t.Fatalf("%v in %v: got %v, want %v", fine, coarse, ok, all)
		}
	}
}

// TestPlaced checks the pieces of a placement and their owners.
func TestPlaced(t *testing.T) {
	for _, c := range []struct {
		machine, placement string
		ranks              int
		want               string // by piece, its box and its ranks
	}{
		{"2", "A(x,y) -> M(x)", 2, "0:3,0:4 [0]; 3:6,0:4 [1]"},
		{"2", "A(x,y) -> M(y)", 1, "0:6,0:2 [0]; 0:6,2:4 [0]"},
		{"2x2", "A(x,y) -> M(x,y)", 4, "0:3,0:2 [0]; 0:3,2:4 [1]; 3:6,0:2 [2]; 3:6,2:4 [3]"},
		{"2x2", "A(x,y) -> M(y,x)", 4, "0:3,0:2 [0]; 0:3,2:4 [2]; 3:6,0:2 [1]; 3:6,2:4 [3]"},
		{"2x2", "A(x,y) -> M(x,y)", 3, "0:3,0:2 [0]; 0:3,2:4 [1]; 3:6,0:2 [2]; 3:6,2:4 [0]"},
		{"2x2", "A(x,y) -> M(x,*)", 4, "0:3,0:4 [0 1]; 3:6,0:4 [2 3]"},
		{"2x2", "A(x,y) -> M(*,1)", 4, "0:6,0:4 [1 3]"},
		{"2x2", "A(x,y) -> M(*,*)", 2, "0:6,0:4 [0 1]"}, // each rank has two points
		{"nodes=2;gpus=2", "A(x,y) -> nodes(x); (x,y) -> gpus(x)", 4,
			"0:1,0:4 [0]; 1:3,0:4 [1]; 3:4,0:4 [2]; 4:6,0:4 [3]"},
		{"nodes=2;gpus=2", "A(x,y) -> nodes(*); (x,y) -> gpus(y)", 4, "0:6,0:2 [0 2]; 0:6,2:4 [1 3]"},
		// The placement cuts stored entries. Before there are any, they are assumed to be spread
		// evenly.
		{"3", "A(x,y) -> M(~(x,y))", 3, "0:2,0:4 [0]; 2:4,0:4 [1]; 4:6,0:4 [2]"},
		{"2x2", "A(x,y) -> M(y,~x)", 4, "0:3,0:2 [0]; 0:3,2:4 [2]; 3:6,0:2 [1]; 3:6,2:4 [3]"},
		{"2x2", "A(x,y) -> M(*,~x)", 4, "0:3,0:4 [0 2]; 3:6,0:4 [1 3]"},
		{"2x3", "A(x,y) -> M(x,~y)", 6,
			"0:1,0:4 [0]; 1:2,0:4 [1]; 2:3,0:4 [2]; 3:4,0:4 [3]; 4:5,0:4 [4]; 5:6,0:4 [5]"},
	} {
		m, err := place.ParseMachine(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		_, p, err := place.ParsePlaced(c.placement)
		if err != nil {
			t.Fatal(err)
		}
		sizes := []int64{6, 4}
		part, err := Placed(p, m, sizes, []int{0, 1}, c.ranks)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for b := range Block(part.Pieces()) {
			if b > 0 {
				got += "; "
			}
			box := part.Box(b, sizes)
			got += fmt.Sprintf("%d:%d,%d:%d %v", box[0][0], box[0][1], box[1][0], box[1][1], part.Ranks(b))
			if part.OwnerOf(b) != part.Ranks(b)[0] {
				t.Errorf("%s over %s: the owner of block %d is %d", c.placement, c.machine, b, part.OwnerOf(b))
			}
		}
		if got != c.want {
			t.Errorf("%s over %s, %d ranks:\ngot  %s\nwant %s", c.placement, c.machine, c.ranks, got, c.want)
		}
	}
	_, p, _ := place.ParsePlaced("A(x,y) -> M(x,2)")
	m, _ := place.ParseMachine("2x2")
	if _, err := Placed(p, m, []int64{6, 4}, []int{0, 1}, 4); err == nil {
		t.Error("a coordinate past the machine is taken")
	}
}
