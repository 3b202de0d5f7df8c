package exec

import (
	"cmp"
	"context"
	"slices"

	"distaff/spmd/plan"
)

// reads adds to c, for each rank, the blocks of an operand that the rank reads, and the blocks that
// the rank receives from other ranks. If ctx is canceled, reads returns an error.
func (f *Forecast) reads(ctx context.Context, c *Cost, t *plan.Traffic, operand int) error {
	parts := f.Plan.Operands[operand].Parts != nil
	x := &reading{f: f, c: c, t: t, operand: operand, joins: parts,
		travels: !parts && !f.isReplicated(operand),
		class:   make([]int, f.Plan.Ranks),
		readers: make([]int, f.Plan.Operands[operand].Partition.Pieces())}
	for ranks := range t.Alike(operand) {
		if x.classes++; x.classes%stride == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.follow(ranks)
		x.count(ranks)
	}
	if !parts || f.isReplicated(operand) {
		return nil
	}
	for _, lane := range t.Lanes(operand) {
		for ranks := range lane.Flow.Alike() {
			if x.classes++; x.classes%stride == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			x.followLane(ranks, lane)
			x.arrive(ranks)
		}
	}
	return nil
}

// reading computes what ranks read and receive of an operand, scope by scope. Ranks that read the
// same blocks form a list. reading goes through the scopes once for each list, and not once for
// each rank.
type reading struct {
	f       *Forecast
	c       *Cost
	t       *plan.Traffic
	operand int
	travels bool  // blocks are sent, and not parts of blocks
	joins   bool  // blocks are assembled from parts
	whole   int64 // largest number of bytes of a scope's blocks
	classes int   // number of lists of ranks so far
	class   []int // by rank, the number of its list, counted from 1
	readers []int // by block, the number of the last list that reads it
	scopes  []coming
	own     []living
	largest plan.Block
	most    int64 // number of entries of the largest block
	read    int64 // number of entries of all blocks, each block once
}

// coming describes blocks of one scope by three numbers: their memory in bytes, the number of bytes
// to send, and the number of blocks. For a whole scope, it describes the blocks that a rank
// receives if the rank owns none of the scope's blocks.
type coming struct{ memory, bytes, blocks int64 }

// living describes a block that a rank of the current list owns. The rank therefore does not
// receive the block. scope is an index into reading.scopes.
type living struct {
	rank, scope int
	block       coming
}

// begin prepares x for the next list of ranks.
func (x *reading) begin(ranks []int) {
	x.scopes, x.own = x.scopes[:0], x.own[:0]
	for _, r := range ranks {
		x.class[r] = x.classes
	}
}

// follow determines, for each scope, which blocks the given ranks read and what the ranks receive.
// All of the given ranks must read the same blocks.
func (x *reading) follow(ranks []int) {
	x.begin(ranks)
	x.largest, x.most, x.read, x.whole = -1, 0, 0, 0
	for _, needs := range x.t.Needs(ranks[0], x.operand) {
		s, whole := coming{}, int64(0)
		for _, n := range needs {
			z := x.f.Operands[x.operand](plan.Block(n.Piece))
			whole += z.Memory()
			if x.readers[n.Piece] != x.classes {
				x.readers[n.Piece] = x.classes
				x.read += z.Entries
			}
			if x.largest < 0 || z.Most() > x.most {
				x.largest, x.most = plan.Block(n.Piece), z.Most()
			}
			if n.IsNew && x.travels {
				x.addArrival(&s, ranks, n.Homes, z)
			}
		}
		x.scopes, x.whole = append(x.scopes, s), max(x.whole, whole)
	}
	x.sort(ranks)
}

// followLane determines what the ranks of a list receive in each scope through one lane. A lane
// moves one part of each block. All ranks of the list must read the same parts.
func (x *reading) followLane(ranks []int, lane *plan.Lane) {
	x.begin(ranks)
	for _, needs := range lane.Flow.Needs(ranks[0]) {
		s := coming{}
		for _, n := range needs {
			if b, ok := lane.Block(plan.Block(n.Piece)); ok && n.IsNew {
				x.addArrival(&s, ranks, n.Homes, x.f.Parts[x.operand](b))
			}
		}
		x.scopes = append(x.scopes, s)
	}
	x.sort(ranks)
}

// addArrival adds a block of size z to s, which describes the blocks that arrive at the given ranks
// in one scope. homes lists the owners of the block. addArrival adds nothing if all of the given
// ranks own the block. If only some of them own it, addArrival records which ones.
func (x *reading) addArrival(s *coming, ranks, homes []int, z plan.Size) {
	if x.ownedByAll(ranks, homes) {
		return
	}
	block := coming{z.Memory(), z.Bytes, 1}
	s.add(block, 1)
	x.recordOwners(ranks, homes, block)
}

// sort sorts the owned blocks by rank.
func (x *reading) sort(ranks []int) {
	if len(ranks) > 1 {
		slices.SortFunc(x.own, func(a, b living) int { return cmp.Compare(a.rank, b.rank) })
	}
}

// ownedByAll reports whether all of the ranks own a block, so that none receives it.
func (x *reading) ownedByAll(ranks, homes []int) bool {
	n := 0
	for k := 0; k < len(homes) && len(ranks)-n <= len(homes)-k; k++ {
		if x.class[homes[k]] == x.classes {
			n++
		}
	}
	return n == len(ranks)
}

// recordOwners records in x.own which of the given ranks own a block of the current scope. homes
// lists all owners of the block. The argument block holds the size of the block.
func (x *reading) recordOwners(ranks, homes []int, block coming) {
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

// count adds to the cost of each given rank the blocks that the rank reads, the memory of blocks
// that are assembled from parts, and the blocks that the rank receives. The method follow must have
// been called for the same ranks.
func (x *reading) count(ranks []int) {
	for _, rank := range ranks {
		k := &x.c.ranks[rank]
		k.needs[x.operand], x.c.Read[x.operand][rank] = x.largest, x.read
		if x.joins {
			k.joined += x.whole
		}
	}
	x.arrive(ranks)
}

// arrive adds to the cost of each given rank the blocks that the rank receives. In each scope, the
// rank receives the blocks of x.scopes except for the blocks that it owns (x.own).
func (x *reading) arrive(ranks []int) {
	own := x.own
	for _, rank := range ranks {
		n := 0
		for n < len(own) && own[n].rank == rank {
			x.scopes[own[n].scope].add(own[n].block, -1)
			n++
		}
		in := arriving{}
		for i := range x.scopes {
			if s := &x.scopes[i]; s.blocks > 0 {
				in.count++
				in.most = max(in.most, s.memory)
				x.c.Received[rank] += s.bytes
			}
		}
		all := &x.c.ranks[rank].incoming[x.operand]
		all.most, all.count = all.most+in.most, max(all.count, in.count)
		for _, o := range own[:n] {
			x.scopes[o.scope].add(o.block, 1)
		}
		own = own[n:]
	}
}

// add adds the figures of block to the sum s, multiplied by factor. A negative factor subtracts
// them.
func (s *coming) add(block coming, factor int64) {
	s.memory += factor * block.memory
	s.bytes += factor * block.bytes
	s.blocks += factor * block.blocks
}
