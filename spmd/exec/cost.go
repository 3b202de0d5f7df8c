package exec

import (
	"context"

	"distaff/io/tensor"
	"distaff/spmd/assemble"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// Forecast estimates the messages and the memory that Rank.Compute will need. It uses only the plan
// and the estimated sizes of blocks, so no block has to exist.
type Forecast struct {
	Plan     *plan.Problem
	Operands []plan.Sizes // by operand, the sizes of its blocks
	// by operand, the sizes of the parts of its blocks; nil if blocks have no parts
	Parts  []plan.Sizes
	Result plan.Sizes    // sizes of the blocks that steps make
	Like   transfer.Like // describes the result
	// PosWidth and CrdWidth are the widths of the arrays of the result's levels, in bytes.
	PosWidth, CrdWidth []uint8
	// by how much the sizes of the result's blocks and pieces, and the numbers of their overlaps,
	// may exceed guessed ones
	Drift assemble.Drift
	// sizes of the result's final pieces, if they are assembled from overlapping blocks
	FinalPieces plan.Sizes
	// Part returns the size of the part of the result in a box.
	Part   func(box [][2]int64) plan.Size
	Sparse bool    // the result is sparse; Cost then also records which blocks steps read
	Watch  Watcher // may be nil
	Detail int     // number of ranks whose operations are passed to Watch: the first ones
	// Replicated reports, by operand, whether every rank has the whole operand, so that it is not
	// sent. nil means that no operand is replicated.
	Replicated []bool
	// Rows describes the rows of a gathered operand that a rank reads: about the fraction share of
	// the rows in the range among. within is the range that the rank stores (Rows.Within). A nil
	// Rows means that every rank reads all rows.
	Rows func(t *plan.Traffic, rank, operand int) (among, within [2]int64, share float64)
}

// Watcher receives the operations of the ranks in the predicted computation. Arrive, Send, Step and
// Gather are called only for the first ranks; Forecast.Detail is their number. The other methods
// are called for all ranks. The steps of a rank come in their order, after all its arrivals and
// sends, and before its sums.
type Watcher interface {
	// Step is called for each step of a rank.
	Step(rank int, s plan.Step)
	// Arrive is called for the blocks of an operand that a rank needs in one scope, before the
	// first Step of the rank. It is not called for an operand that is broadcast or gathered.
	Arrive(operand int, a plan.Arrival)
	// Send is called for a block of an operand that the first rank of list sends to the others.
	Send(operand int, b plan.Block, list []int)
	// Broadcast is called for the single block of an operand that rank from broadcasts.
	Broadcast(operand, from int)
	// Sum is called for a block of the result that rank from sends to rank to; both can be the same
	// rank. If complete is false, rank to adds the block to its own. If complete is true, the block
	// is complete, and rank to owns it or stores a copy.
	Sum(b plan.Block, from, to int, complete bool)
	// Part is called for a part, with the given box, of a complete block of the result. Rank from
	// sends the part to rank to, which assembles a piece. Part is also called for a piece that rank
	// from sends to rank to, which stores a copy.
	Part(box [][2]int64, z plan.Size, from, to int)
	// Gather is called for the rows of a gathered operand that rank to reads from rank from.
	Gather(operand int, bytes int64, from, to int)
}

// Cost is the estimated cost of a computation, by rank.
type Cost struct {
	Steps          []int64
	Sent, Received []int64 // bytes of messages as comm.Counters counts them
	Messages       []int64 // number of messages sent
	// by operand: number of entries of the blocks that each rank reads, each block once
	Read      [][]int64
	ranks     []rankCost
	assembled bool // the result's blocks are parts of its pieces
}

// rankCost is the estimated memory that a rank needs during the computation. It does not contain
// the blocks that the rank owns.
type rankCost struct {
	incoming []arriving   // by operand
	needs    []plan.Block // by operand: the largest block that a step reads, or -1
	stepped  int64        // bytes of the largest block that several steps add to
	moved    int64        // bytes of the largest block of the result that another rank sends
	adds     bool         // the rank adds blocks, its own or others
	// bytes of copies of the result, of its blocks that arrive complete, and of the assembly
	added  int64
	stays  int64 // the part of added that remains after the computation
	packed int64 // bytes of buffers for rows of gathered operands
	// bytes of blocks that are assembled from parts, in the largest scope of each operand, summed
	// over the operands
	joined   int64
	partials []partialCost
}

// arriving describes the blocks of one operand that a rank receives. most is the largest number of
// bytes that the rank receives in one scope, and count is the number of scopes that receive blocks.
// If the operand is gathered, the rows that the rank stores count as one scope.
type arriving struct{ most, count int64 }

// heldScopes is the number of scopes of an operand whose blocks a fetcher stores at a time: the
// current scope, and the scope whose blocks are arriving.
const heldScopes = 2

// partialCost is the cost of one partial block of the result.
type partialCost struct {
	partial plan.Partial
	steps   int64
	size    plan.Size
	// upper bound of the number of entries that the steps add: for each step, the entries of the
	// largest block that the step reads; 0 if the result is dense
	sources int64
}

// Cost estimates the cost of the computation at each rank by walking through the steps and sums of
// all ranks.
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

// newCost returns a Cost of zeros.
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

// travel adds to c the cost of sending a block of size z, one message for each of its arrays.
// sender is the rank that sends it, and receiver is the rank that receives it.
func (c *Cost) travel(z plan.Size, sender, receiver int) {
	tensor.Add(&c.Sent[sender], z.Bytes)
	tensor.Add(&c.Messages[sender], z.Arrays)
	tensor.Add(&c.Received[receiver], z.Bytes)
}

// broadcasts adds to c the cost of broadcasting operands. all[k] is true if operand k is broadcast.
// The bytes that the sender sends are counted once, whatever the number of receivers.
func (f *Forecast) broadcasts(c *Cost, all []bool) {
	for n, one := range all {
		if !one {
			continue
		}
		z, owner := f.Operands[n](0), f.Plan.Operands[n].Partition.OwnerOf(0)
		for rank := range c.ranks {
			c.ranks[rank].needs[n], c.Read[n][rank] = 0, z.Entries
		}
		if f.isReplicated(n) {
			continue
		}
		tensor.Add(&c.Sent[owner], z.Bytes)
		tensor.Add(&c.Messages[owner], z.Arrays)
		for rank := range c.ranks {
			if rank != owner {
				tensor.Add(&c.Received[rank], z.Bytes)
				c.ranks[rank].incoming[n] = arriving{z.Memory(), 1}
			}
		}
		if f.Watch != nil {
			f.Watch.Broadcast(n, owner)
		}
	}
}

func (f *Forecast) isReplicated(operand int) bool {
	return f.Replicated != nil && f.Replicated[operand]
}

// travels returns the function that gives the size of each message of an operand. A message is a
// part of a block if the operand's blocks are stored in parts. Otherwise it is a whole block.
func (f *Forecast) travels(operand int) plan.Sizes {
	if f.Plan.Operands[operand].Parts != nil {
		return f.Parts[operand]
	}
	return f.Operands[operand]
}

// stride is the number of iterations after which a loop checks again whether the context has been
// cancelled.
const stride = 1024

// sends adds to c the messages that carry the blocks of an operand.
func (f *Forecast) sends(ctx context.Context, c *Cost, t *plan.Traffic, operand int) error {
	if f.isReplicated(operand) {
		return nil
	}
	n := 0
	for b, s := range t.Sent(operand) {
		if n++; n%stride == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		z, from, times := f.travels(operand)(b), s[0], int64(s[1])
		tensor.Add(&c.Sent[from], tensor.Times(times, z.Bytes))
		tensor.Add(&c.Messages[from], tensor.Times(times, z.Arrays))
	}
	return nil
}

// partials adds to c the number of each rank's steps, and the memory of the partial blocks that the
// steps make.
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

// made returns the element of k.partials for a partial block. If there is none, made appends a new
// element. index maps each partial block to the index of its element. size returns the size of a
// block of the result.
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

// addComplete adds the memory of a complete block of the result that the rank receives. The block
// stays at the rank after the computation, unless pieces are assembled from it (see assembled).
func (k *rankCost) addComplete(z plan.Size) {
	k.added += z.Memory()
	k.stays += z.Memory()
}

// add counts steps that add to the partial block. steps is the number of these steps. sources is an
// upper bound of the number of entries that these steps add.
func (p *partialCost) add(steps, sources int64) {
	p.steps += steps
	p.sources += sources
}

// largest returns the number of entries of the largest block that a step reads.
func (f *Forecast) largest(needs []plan.Need) (most int64) {
	for _, n := range needs {
		most = max(most, f.Operands[n.Operand](n.Block).Most())
	}
	return most
}

// watch reports the operations of a rank to f.Watch, from the first to the last step. The sums of
// partial blocks after the last step are reported by the method sums. all[k] is true if operand k
// is broadcast, and t holds the messages of the operands.
func (f *Forecast) watch(rank int, all []bool, t *plan.Traffic) {
	for k, one := range all {
		if one || f.Plan.Operands[k].Gathered != nil {
			continue
		}
		for _, a := range t.Arrivals(rank, k) {
			f.Watch.Arrive(k, a)
		}
		if f.isReplicated(k) {
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

// sums adds to c the messages of the tree sums, and of results that move to their owners.
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
			c.ranks[s.Owner].addComplete(f.Result(s.Result)) // in addition to the blocks that it makes
		}
		f.spread(c, s)
	}
	if f.Plan.Assembled != nil {
		f.assembled(c)
	}
}

// spread adds to c the cost of the copies of a result block that the block's owner sends to other
// ranks. It also reports each copy to f.Watch.
func (f *Forecast) spread(c *Cost, s plan.Sum) {
	for _, to := range f.copies(c, f.Result(s.Result), s.Owner, s.Copies) {
		if f.Watch != nil {
			f.Watch.Sum(s.Result, s.Owner, to, true)
		}
	}
}

// copies adds to c the cost of one broadcast of a block of the result. z is the size of the block.
// sender is the rank that sends it, and list holds the ranks that receive it. copies returns the
// receiving ranks, so that the caller can report them.
func (f *Forecast) copies(c *Cost, z plan.Size, sender int, list []int) []int {
	if len(list) == 0 {
		return nil
	}
	tensor.Add(&c.Sent[sender], z.Bytes)
	tensor.Add(&c.Messages[sender], z.Arrays)
	for _, to := range list {
		tensor.Add(&c.Received[to], z.Bytes)
		c.ranks[to].addComplete(z)
	}
	return list
}
