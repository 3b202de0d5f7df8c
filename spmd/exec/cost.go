package exec

import (
	"context"

	"distaff/spmd/plan"
)

// Forecast is a computation before there are blocks: what Compute would move and hold,
// from the plan that it follows and the sizes that blocks are taken to have.
type Forecast struct {
	Plan     *plan.Problem
	Operands []plan.Sizes // by operand
	Result   plan.Sizes
	Watch    Watcher // may be nil
	// Replicated says, by operand, that every rank has the whole, so that nothing of it
	// travels; nil where none is.
	Replicated []bool
}

// Watcher is told of all that ranks do, in the order in which each does it.
type Watcher interface {
	// Step is one of a rank's steps, and what the rank comes to hold for it.
	Step(rank int, s plan.Step, fetches []plan.Fetch)
	// Send is a block of an operand on its way; to -1 it is a broadcast.
	Send(operand int, b plan.Block, from, to int)
	// Sum is a partial block of the result that is added to another, at rank to, or that
	// is complete and goes to its owner.
	Sum(b plan.Block, from, to int, complete bool)
}

// Cost is what a computation takes, by rank.
type Cost struct {
	Steps          []int64
	Sent, Received []int64 // payload, in bytes, as comm.Counters counts it
	Messages       []int64 // sent
	ranks          []rankCost
}

// rankCost is what a rank holds beside its own blocks.
type rankCost struct {
	incoming []arriving   // by operand
	needs    []plan.Block // the same: the largest block that a step reads, -1 for none
	added    int64        // memory of the largest block that is added to another
	partials map[plan.Partial]*partialCost
}

// arriving are the foreign blocks of one operand.
type arriving struct{ most, count int64 }

// heldBlocks is how many blocks of an operand a fetcher holds: the one in use, and the
// one that arrives.
const heldBlocks = 2

// partialCost is one block of partial results.
type partialCost struct {
	steps   int64
	size    plan.Size
	sources int64 // entries of the largest block that each step reads: at least those whose pattern it follows
}

// Cost follows all ranks through their steps and sums.
func (f *Forecast) Cost(ctx context.Context) (*Cost, error) {
	n := f.Plan.Ranks
	c := &Cost{Steps: make([]int64, n), Sent: make([]int64, n), Received: make([]int64, n), Messages: make([]int64, n), ranks: make([]rankCost, n)}
	for r := range c.ranks {
		k := &c.ranks[r]
		k.incoming, k.partials = make([]arriving, len(f.Operands)), map[plan.Partial]*partialCost{}
		for range f.Operands {
			k.needs = append(k.needs, -1)
		}
	}
	all := f.Plan.Broadcasts()
	f.broadcasts(c, all)
	if err := f.steps(ctx, c, all); err != nil {
		return nil, err
	}
	f.sums(c)
	return c, nil
}

// travel counts a block that goes from one rank to another.
func (c *Cost) travel(z plan.Size, from, to int) {
	c.Sent[from] += z.Bytes
	c.Messages[from] += z.Arrays
	c.Received[to] += z.Bytes
}

// broadcasts counts the operands that are broadcast: once for the sender, and
// once for each receiver.
func (f *Forecast) broadcasts(c *Cost, all []bool) {
	for n, one := range all {
		if !one || f.replicated(n) {
			continue
		}
		z, owner := f.Operands[n](0), f.Plan.Owner(f.Plan.Operands[n].Modes, 0)
		c.Sent[owner] += z.Bytes
		c.Messages[owner] += z.Arrays
		for rank := range c.ranks {
			if rank != owner {
				c.Received[rank] += z.Bytes
				c.ranks[rank].incoming[n] = arriving{z.Memory(), 1}
			}
		}
		if f.Watch != nil {
			f.Watch.Send(n, 0, owner, -1)
		}
	}
}

func (f *Forecast) replicated(operand int) bool {
	return f.Replicated != nil && f.Replicated[operand]
}

// steps goes over every rank's steps once.
func (f *Forecast) steps(ctx context.Context, c *Cost, all []bool) error {
	holders := make([]*plan.Holder, len(c.ranks))
	var fetches []plan.Fetch
	for rank, s := range f.Plan.AllSteps() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if holders[rank] == nil {
			holders[rank] = f.Plan.NewHolder()
		}
		c.Steps[rank]++
		k := &c.ranks[rank]
		fetches = fetches[:0]
		for x := range holders[rank].Fetches(s) {
			fetches = append(fetches, x)
			if x.Owner == rank || all[x.Operand] || f.replicated(x.Operand) {
				continue
			}
			z := f.Operands[x.Operand](x.Block)
			c.travel(z, x.Owner, rank)
			in := &k.incoming[x.Operand]
			in.most, in.count = max(in.most, z.Memory()), in.count+1
			if f.Watch != nil {
				f.Watch.Send(x.Operand, x.Block, x.Owner, rank)
			}
		}
		f.partial(k, s)
		if f.Watch != nil {
			f.Watch.Step(rank, s, fetches)
		}
	}
	return nil
}

// partial counts a step of a rank's partial block.
func (f *Forecast) partial(k *rankCost, s plan.Step) {
	p := k.partials[s.Partial]
	if p == nil {
		p = &partialCost{size: f.Result(s.Partial.Result)}
		k.partials[s.Partial] = p
	}
	if !s.First {
		k.added = max(k.added, p.size.Memory())
	}
	p.steps++
	most := int64(0)
	for _, need := range s.Need {
		n := f.Operands[need.Operand](need.Block).Entries
		most = max(most, n)
		if at := &k.needs[need.Operand]; *at < 0 || n > f.Operands[need.Operand](*at).Entries {
			*at = need.Block
		}
	}
	p.sources += most
}

// sums counts the tree sums and the moves of results to their owners.
func (f *Forecast) sums(c *Cost) {
	move := func(b plan.Block, from, to int, complete bool) {
		if from != to {
			z := f.Result(b)
			c.travel(z, from, to)
			c.ranks[to].added = max(c.ranks[to].added, z.Memory())
		}
		if f.Watch != nil {
			f.Watch.Sum(b, from, to, complete)
		}
	}
	for _, s := range f.Plan.Sums() {
		for _, a := range s.Adds {
			move(s.Result, a.From.Rank, a.To.Rank, false)
		}
		if s.Root.Rank != s.Owner {
			move(s.Result, s.Root.Rank, s.Owner, true)
		}
	}
}

// Needs is, by operand, the block with most entries that a step of a rank reads; -1 for none.
func (c *Cost) Needs(rank int) []plan.Block { return c.ranks[rank].needs }

// LargestMade is the largest block of the result that steps of a rank make; false where it runs none.
func (c *Cost) LargestMade(rank int) (largest plan.Block, made bool) {
	most := int64(0)
	for p, cost := range c.ranks[rank].partials {
		n := cost.size.Bytes
		if !made || n > most || n == most && p.Result < largest {
			largest, most, made = p.Result, n, true
		}
	}
	return largest, made
}

// Several tells whether several steps of some rank add to one block.
func (c *Cost) Several() bool {
	for _, k := range c.ranks {
		for _, p := range k.partials {
			if p.steps > 1 {
				return true
			}
		}
	}
	return false
}

// Making is how leaves make blocks of the result, and how steps add to them.
type Making struct {
	Dense   bool
	Shared  bool // blocks have the level arrays of an operand, and values of a known number
	Copied  bool // that operand is a copy, which a leaf reads in place of one stored otherwise
	InPlace bool // steps add over the union of patterns, which comes from an operand's arrays
	Value   int64
}

// position is the bytes of a position in a map that Sparse adds by.
const position = 8

// bytes is what one block of partial results takes while its steps add to it.
// Arrays of unknown length grow to twice what they need; while the union of patterns
// grows, its old arrays are there as well.
func (m *Making) bytes(p *partialCost) int64 {
	values, all := p.size.Entries*m.Value, p.size.Memory()
	levels := all - values
	grown := 2 * all
	if m.Shared {
		grown = all
	}
	switch {
	case m.Dense:
		return all
	case p.steps == 1:
		return grown
	case m.InPlace:
		return 3*levels + values + position*p.sources
	}
	// The blocks of all steps, where memory allows, beside their union and a map for each.
	return p.steps*(grown+position*p.size.Entries) + 3*levels + values
}

// Memory is what a rank holds beside its own blocks of operands: most is the most while it
// computes, kept what its blocks of the result take afterwards. While it computes it has
// two blocks of each operand at most, its partial results with what adding to them takes, and the
// largest block that comes to be added; copies are those of operands that leaves read in
// another order, and making is what the making of one takes more.
func (c *Cost) Memory(rank int, m Making, copies, making int64) (most, kept int64) {
	k := &c.ranks[rank]
	most = k.added
	for _, in := range k.incoming {
		most += in.most * min(in.count, heldBlocks)
	}
	largest, shared := int64(0), int64(0)
	for _, p := range k.partials {
		n := m.bytes(p)
		kept, largest = kept+n, max(largest, n)
		if m.Copied { // the levels are there already
			shared = p.size.Memory() - p.size.Entries*m.Value
		}
	}
	return most + copies + max(making+kept-largest, kept-shared), kept
}
