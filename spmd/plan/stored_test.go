package plan

import (
	"fmt"
	"testing"

	"distaff/codegen/place"
)

// TestStored checks that a tensor whose entries are cut into chunks has one piece for each chunk,
// that blocks of the result overlap in at most the row that two chunks share, and that rows of the
// result are stored with their first entries.
func TestStored(t *testing.T) {
	g := given(t, "A(i,k) = B(i,j)*C(j,k)",
		"fuse(i,j,f), pos(f,p,B), divide(p,po,pi,4), distribute(po)", "B(x,y) -> M(~(x,y))")
	g.Machine = place.Line(4)
	p, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	b := &p.Operands[p.Stored()]
	if p.Located() || !b.Home.MatchesBlocks || b.Partition.Pieces() != 4 || p.Assembled == nil {
		t.Fatalf("got pieces of B %d, held %v, located %v", b.Partition.Pieces(), b.Home.MatchesBlocks,
			p.Located())
	}
	p.Locate([][]int64{nil, {2, 3}, {2, 5}, {6, 8}, nil})
	want := []string{"[[0 3] [0 8]] [[0 3] [0 8]]", "[[2 3] [0 8]] [[3 3] [0 8]]",
		"[[2 7] [0 8]] [[3 7] [0 8]]", "[[7 8] [0 8]] [[7 8] [0 8]]"}
	for n, w := range want {
		part, _, _ := p.Part(Block(n), []int64{8, 8})
		if got := fmt.Sprint(part, p.Assembled.Box(Block(n), []int64{8, 8})); got != w {
			t.Errorf("part and rows of chunk %d: got %s, want %s", n, got, w)
		}
		if p.Assembled.OwnerOf(Block(n)) != n || b.Partition.OwnerOf(Block(n)) != n {
			t.Errorf("chunk %d lies at rank %d, and its rows at rank %d", n, b.Partition.OwnerOf(Block(n)),
				p.Assembled.OwnerOf(Block(n)))
		}
	}
}
