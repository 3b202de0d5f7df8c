package exec

import (
	"context"

	"distaff/io/tcs"
	"distaff/spmd/assemble"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// Forecast is a computation before there are blocks: what Compute would move and hold,
// from the plan that it follows and the sizes that blocks are taken to have.
type Forecast struct {
	Plan     *plan.Problem
	Operands []plan.Sizes  // by operand
	Parts    []plan.Sizes  // the same, of the parts of an operand that lies in parts, and else nil
	Result   plan.Sizes    // of the blocks that steps make
	Like     transfer.Like // of the result
	// PosWidth and CrdWidth are those of the result's levels.
	PosWidth, CrdWidth []uint8
	// of the blocks that the result is put together of, and of what it becomes
	Drift assemble.Drift
	// of the result as it lies in the end, where that is put together of blocks that overlap
	Resting plan.Sizes
	// Part is the size of what a block of the result has in a box.
	Part   func(box [][2]int64) plan.Size
	Sparse bool    // the result is, so that Making asks what steps add
	Watch  Watcher // may be nil
	Detail int     // how many ranks Watch is told of, the first ones
	// Replicated says, by operand, that every rank has the whole, so that nothing of it
	// travels; nil where none is.
	Replicated []bool
	// Rows are the rows of a gathered operand among which are those that a rank reads, the rows that
	// it has in memory (Rows.Within), and which share of the first it is taken to read; nil: all.
	Rows func(t *plan.Traffic, rank, operand int) (among, within [2]int64, share float64)
}

// Watcher is told of all that some ranks do, in the order in which each does it.
type Watcher interface {
	// Step is one of a rank's steps.
	Step(rank int, s plan.Step)
	// Arrive is what comes to a rank of an operand that is not broadcast, before the first of its
	// steps.
	Arrive(operand int, a plan.Arrival)
	// Send is a block of an operand on its way from the first rank of the list to the others.
	Send(operand int, b plan.Block, list []int)
	// Broadcast is the one block of an operand on its way from a rank to all.
	Broadcast(operand, from int)
	// Sum is a partial block of the result that is added to another, at rank to, or that
	// is complete and goes to its owner.
	Sum(b plan.Block, from, to int, complete bool)
	// Part is what a complete block of the result has of a piece, in a box, that is put together at
	// rank to.
	Part(box [][2]int64, z plan.Size, from, to int)
	// Gather is what a rank, of which steps are wanted, reads of the rows of a gathered operand that
	// another has.
	Gather(operand int, bytes int64, from, to int)
}

// Cost is what a computation takes, by rank.
type Cost struct {
	Steps          []int64
	Sent, Received []int64 // payload, in bytes, as comm.Counters counts it
	Messages       []int64 // sent
	// by operand: the entries of the blocks that each rank reads, each block once
	Read      [][]int64
	ranks     []rankCost
	assembled bool // the result's blocks are put together, and do not stay
}

// rankCost is what a rank holds beside its own blocks.
type rankCost struct {
	incoming []arriving   // by operand
	needs    []plan.Block // the same: the largest block that a step reads, -1 for none
	stepped  int64        // memory of the largest block to which several steps add
	moved    int64        // memory of the largest block that comes from another rank to be added
	adds     bool         // it adds blocks, of other ranks or its own
	// memory of copies of the result, of its blocks that come complete, and of what is put together
	added  int64
	stays  int64 // of that, what is there afterwards
	packed int64 // rows of gathered operands on their way
	// the blocks of the scope that has most, by operand, that are put together of parts
	joined   int64
	partials []partialCost
}

// arriving are the foreign blocks of one operand: the most memory of those that come for one
// scope, and for how many scopes some come.
type arriving struct{ most, count int64 }

// heldScopes is of how many scopes of an operand a fetcher holds blocks: of the one in use, and of
// the one whose blocks arrive.
const heldScopes = 2

// partialCost is one block of partial results.
type partialCost struct {
	partial plan.Partial
	steps   int64
	size    plan.Size
	// at most, entries of the largest block that each step reads: at least those whose pattern it
	// follows
	sources int64
}

// Cost follows all ranks through their steps and sums.
func (f *Forecast) Cost(ctx context.Context) (*Cost, error) {
	c := newCost(f.Plan.Ranks, len(f.Operands))
	all, traffic := f.Plan.Broadcasts(), f.Plan.Traffic()
	f.broadcasts(c, all)
	for k, one := range all {
		switch {
		case one:
			continue
		case f.Plan.Operands[k].Gathered != nil:
			f.gathered(c, traffic, k)
			continue
		}
		if err := f.reads(ctx, c, traffic, k); err != nil {
			return nil, err
		}
		if err := f.sends(ctx, c, traffic, k); err != nil {
			return nil, err
		}
	}
	if err := f.partials(ctx, c); err != nil {
		return nil, err
	}
	if f.Watch != nil {
		for rank := range min(f.Detail, f.Plan.Ranks) {
			f.watch(rank, all, traffic)
		}
	}
	f.sums(c)
	return c, nil
}

// newCost is that of nothing.
func newCost(ranks, operands int) *Cost {
	c := &Cost{Steps: make([]int64, ranks), Sent: make([]int64, ranks), Received: make([]int64, ranks),
		Messages: make([]int64, ranks), ranks: make([]rankCost, ranks)}
	for range operands {
		c.Read = append(c.Read, make([]int64, ranks))
	}
	incoming, needs := make([]arriving, ranks*operands), make([]plan.Block, ranks*operands)
	for k := range needs {
		needs[k] = -1
	}
	for r := range c.ranks {
		c.ranks[r].incoming, incoming = incoming[:operands:operands], incoming[operands:]
		c.ranks[r].needs, needs = needs[:operands:operands], needs[operands:]
	}
	return c
}

// travel counts a block that goes from one rank to another.
func (c *Cost) travel(z plan.Size, from, to int) {
	tcs.Add(&c.Sent[from], z.Bytes)
	tcs.Add(&c.Messages[from], z.Arrays)
	tcs.Add(&c.Received[to], z.Bytes)
}

// broadcasts counts the operands that are broadcast: once for the sender, and
// once for each receiver.
func (f *Forecast) broadcasts(c *Cost, all []bool) {
	for n, one := range all {
		if !one {
			continue
		}
		z, owner := f.Operands[n](0), f.Plan.Operands[n].Partition.OwnerOf(0)
		for rank := range c.ranks {
			c.ranks[rank].needs[n], c.Read[n][rank] = 0, z.Entries
		}
		if f.replicated(n) {
			continue
		}
		tcs.Add(&c.Sent[owner], z.Bytes)
		tcs.Add(&c.Messages[owner], z.Arrays)
		for rank := range c.ranks {
			if rank != owner {
				tcs.Add(&c.Received[rank], z.Bytes)
				c.ranks[rank].incoming[n] = arriving{z.Memory(), 1}
			}
		}
		if f.Watch != nil {
			f.Watch.Broadcast(n, owner)
		}
	}
}

func (f *Forecast) replicated(operand int) bool {
	return f.Replicated != nil && f.Replicated[operand]
}

// travels are the sizes of what travels of an operand: of its blocks, or of parts of them.
func (f *Forecast) travels(operand int) plan.Sizes {
	if f.Plan.Operands[operand].Parts != nil {
		return f.Parts[operand]
	}
	return f.Operands[operand]
}

// stride is after how many ranks, or messages, a count looks whether it is to end.
const stride = 1024

// sends counts what the ranks send of an operand.
func (f *Forecast) sends(ctx context.Context, c *Cost, t *plan.Traffic, operand int) error {
	if f.replicated(operand) {
		return nil
	}
	n := 0
	for b, s := range t.Sent(operand) {
		if n++; n%stride == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		z, from, times := f.travels(operand)(b), s[0], int64(s[1])
		tcs.Add(&c.Sent[from], tcs.Times(times, z.Bytes))
		tcs.Add(&c.Messages[from], tcs.Times(times, z.Arrays))
	}
	return nil
}

// partials counts the steps of the ranks, and the partial blocks that they make.
func (f *Forecast) partials(ctx context.Context, c *Cost) error {
	index := map[plan.Partial]int{}
	for rank := range c.ranks {
		if rank%stride == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		clear(index)
		if k := &c.ranks[rank]; f.Sparse {
			for s := range f.Plan.EachStep(rank) {
				c.Steps[rank]++
				k.made(index, s.Partial, f.Result).add(1, f.largest(s.Need))
			}
		} else {
			for part, steps := range f.Plan.Made(rank) {
				c.Steps[rank] += steps
				k.made(index, part, f.Result).add(steps, 0)
			}
		}
		for _, p := range c.ranks[rank].partials {
			if p.steps > 1 {
				c.ranks[rank].stepped = max(c.ranks[rank].stepped, p.size.Memory())
			}
		}
	}
	return nil
}

// made is what a rank's partial block takes; index is where each of its blocks is.
func (k *rankCost) made(index map[plan.Partial]int, part plan.Partial,
	size plan.Sizes) *partialCost {
	if n := len(k.partials) - 1; n >= 0 && k.partials[n].partial == part {
		return &k.partials[n]
	}
	n, ok := index[part]
	if !ok {
		n = len(k.partials)
		index[part] = n
		k.partials = append(k.partials, partialCost{partial: part, size: size(part.Result)})
	}
	return &k.partials[n]
}

// come counts a block of the result that comes complete.
func (k *rankCost) come(z plan.Size) {
	k.added += z.Memory()
	k.stays += z.Memory()
}

// add counts steps that follow patterns of so many entries.
func (p *partialCost) add(steps, sources int64) {
	p.steps += steps
	p.sources += sources
}

// largest is the entries of the largest block that a step reads.
func (f *Forecast) largest(needs []plan.Need) (most int64) {
	for _, n := range needs {
		most = max(most, f.Operands[n.Operand](n.Block).Most())
	}
	return most
}

// watch tells what a rank does before the sums.
func (f *Forecast) watch(rank int, all []bool, t *plan.Traffic) {
	for k, one := range all {
		if one || f.Plan.Operands[k].Gathered != nil {
			continue
		}
		for _, a := range t.Arrivals(rank, k) {
			f.Watch.Arrive(k, a)
		}
		if f.replicated(k) {
			continue
		}
		for _, s := range t.Sends(rank, k) {
			f.Watch.Send(k, s.Need.Block, s.List)
		}
	}
	for s := range f.Plan.Steps(rank) {
		f.Watch.Step(rank, s)
	}
}

// sums counts the tree sums and the moves of results to their owners.
func (f *Forecast) sums(c *Cost) {
	move := func(b plan.Block, from, to int, complete bool) {
		if from != to {
			z := f.Result(b)
			c.travel(z, from, to)
			c.ranks[to].moved = max(c.ranks[to].moved, z.Memory())
		}
		if f.Watch != nil {
			f.Watch.Sum(b, from, to, complete)
		}
	}
	for s := range f.Plan.EachSum() {
		for _, a := range s.Adds {
			c.ranks[a.To.Rank].adds = true
			move(s.Result, a.From.Rank, a.To.Rank, false)
		}
		if s.Root.Rank != s.Owner {
			move(s.Result, s.Root.Rank, s.Owner, true)
			c.ranks[s.Owner].come(f.Result(s.Result)) // beside those that it makes
		}
		f.spread(c, s)
	}
	if f.Plan.Assembled != nil {
		f.assembled(c)
	}
}

// spread counts the copies of a block of the result.
func (f *Forecast) spread(c *Cost, s plan.Sum) {
	for _, to := range f.copies(c, f.Result(s.Result), s.Owner, s.Copies) {
		if f.Watch != nil {
			f.Watch.Sum(s.Result, s.Owner, to, true)
		}
	}
}

// copies counts what one broadcast brings from a rank to others, and returns these.
func (f *Forecast) copies(c *Cost, z plan.Size, from int, list []int) []int {
	if len(list) == 0 {
		return nil
	}
	tcs.Add(&c.Sent[from], z.Bytes)
	tcs.Add(&c.Messages[from], z.Arrays)
	for _, to := range list {
		tcs.Add(&c.Received[to], z.Bytes)
		c.ranks[to].come(z)
	}
	return list
}
