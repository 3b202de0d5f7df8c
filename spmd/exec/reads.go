package exec

import (
	"cmp"
	"context"
	"slices"

	"distaff/spmd/plan"
)

// reads counts what the ranks read of an operand, and what of that comes from others.
func (f *Forecast) reads(ctx context.Context, c *Cost, t *plan.Traffic, operand int) error {
	x := &reading{f: f, c: c, t: t, operand: operand, travels: !f.replicated(operand),
		class: make([]int, f.Plan.Ranks), readers: make([]int, f.Plan.Operands[operand].Partition.Pieces())}
	for ranks := range t.Alike(operand) {
		if x.classes++; x.classes%stride == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.follow(ranks)
		x.count(ranks)
	}
	return nil
}

// reading follows the scopes of an operand at ranks that read the same.
type reading struct {
	f       *Forecast
	c       *Cost
	t       *plan.Traffic
	operand int
	travels bool
	classes int   // lists of ranks so far
	class   []int // by rank, the list that it is in, counted from 1
	readers []int // by block, the last list that was found to read it
	scopes  []coming
	own     []living
	largest plan.Block
	most    int64 // its entries
	read    int64 // the entries of all blocks, each once
}

// coming is what comes for a scope to a rank where none of it lives.
type coming struct{ memory, bytes, blocks int64 }

// living is a block of a scope, given as what comes of it, that lives at a rank.
type living struct {
	rank, scope int
	block       coming
}

// follow finds what some ranks, which read the same, read and what comes for it.
func (x *reading) follow(ranks []int) {
	x.scopes, x.own = x.scopes[:0], x.own[:0]
	x.largest, x.most, x.read = -1, 0, 0
	for _, r := range ranks {
		x.class[r] = x.classes
	}
	for _, needs := range x.t.Needs(ranks[0], x.operand) {
		s := coming{}
		for _, n := range needs {
			z := x.f.Operands[x.operand](plan.Block(n.Piece))
			if x.readers[n.Piece] != x.classes {
				x.readers[n.Piece] = x.classes
				x.read += z.Entries
			}
			if x.largest < 0 || z.Entries > x.most {
				x.largest, x.most = plan.Block(n.Piece), z.Entries
			}
			if n.Comes && x.travels && !x.everywhere(ranks, n.Homes) {
				block := coming{z.Memory(), z.Bytes, 1}
				s.add(block, 1)
				x.lives(ranks, n.Homes, block)
			}
		}
		x.scopes = append(x.scopes, s)
	}
	if len(ranks) > 1 {
		slices.SortFunc(x.own, func(a, b living) int { return cmp.Compare(a.rank, b.rank) })
	}
}

// everywhere tells whether a block lives at all of the ranks, so that it comes to none.
func (x *reading) everywhere(ranks, homes []int) bool {
	n := 0
	for k := 0; k < len(homes) && len(ranks)-n <= len(homes)-k; k++ {
		if x.class[homes[k]] == x.classes {
			n++
		}
	}
	return n == len(ranks)
}

// lives notes at which of the ranks a block of the next scope lives.
func (x *reading) lives(ranks, homes []int, block coming) {
	if len(ranks) < len(homes) {
		for _, r := range ranks {
			if _, ok := slices.BinarySearch(homes, r); ok {
				x.own = append(x.own, living{r, len(x.scopes), block})
			}
		}
		return
	}
	for _, r := range homes {
		if x.class[r] == x.classes {
			x.own = append(x.own, living{r, len(x.scopes), block})
		}
	}
}

// count counts for each of the ranks what was found, but for what comes of the blocks that live there.
func (x *reading) count(ranks []int) {
	own := x.own
	for _, rank := range ranks {
		n := 0
		for n < len(own) && own[n].rank == rank {
			x.scopes[own[n].scope].add(own[n].block, -1)
			n++
		}
		k, in := &x.c.ranks[rank], arriving{}
		for i := range x.scopes {
			if s := &x.scopes[i]; s.blocks > 0 {
				in.count++
				in.most = max(in.most, s.memory)
				x.c.Received[rank] += s.bytes
			}
		}
		k.incoming[x.operand], k.needs[x.operand], x.c.Read[x.operand][rank] = in, x.largest, x.read
		for _, o := range own[:n] {
			x.scopes[o.scope].add(o.block, 1)
		}
		own = own[n:]
	}
}

// add adds a block so many times.
func (s *coming) add(block coming, times int64) {
	s.memory += times * block.memory
	s.bytes += times * block.bytes
	s.blocks += times * block.blocks
}
