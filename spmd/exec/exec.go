// Package exec runs a plan on one rank. It fetches operand blocks, if possible the blocks of the
// next step while the current step computes. It runs one leaf for each step, accumulates partial
// blocks of the result, and takes part in the tree sums.
//
// # Files
//
//	exec.go        Rank.Compute: the steps of a rank
//	call.go        a call of a leaf, and where its result goes
//	fetch.go       operand blocks, fetched ahead
//	sparse.go      steps that add to one sparse block
//	assemble.go    a result that is assembled from overlapping blocks
//	gather.go      rows of operands that ranks read from one another
//	gathercost.go  the cost of gathering
//	common.go      one array of gathered rows for the ranks of a node
//	cost.go        estimates of steps and messages, before there are blocks
//	reads.go       estimates of the blocks that ranks read and receive
//	holding.go     estimates of memory
package exec

import (
	"fmt"
	"time"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// Rank is one rank's part of a computation. The caller owns the tensors in its exported fields.
// Compute keeps the blocks of Own open, so that it can run again. If Moves is true, Compute may
// close blocks of a gathered operand and put views into Own in their place.
type Rank struct {
	Comm  comm.Comm
	Plan  *plan.Problem
	Limit *tcs.Limit
	Alloc transfer.Alloc // allocates blocks that arrive

	// Own has, for each operand, the blocks that this rank owns.
	Own []map[plan.Block]*tcs.Tensor
	// Replicas has, by operand, this rank's copy of the operand's single block, if every rank has a
	// copy. The block is then not broadcast. Replicas or an element may be nil.
	Replicas []*tcs.Tensor
	// Rows returns the rows of a gathered operand that this rank's steps read. It is called once
	// for each gathered operand in the first run, and again in the first run after Forget.
	Rows func(operand int) Rows
	// Moves says that nothing except the computation uses the blocks of Own. It may then move the
	// rows of a gathered operand into the array of all rows that it reads.
	Moves bool
	// Shares allows ranks of a node to share one array of the rows of a gathered operand.
	Shares bool
	// Nodes has, by rank, the number of its node. Ranks with equal numbers can share memory. If it
	// is nil, Compute determines the nodes.
	Nodes []int
	// Like describes the blocks of each operand, and Result describes the blocks of the result.
	Like   []transfer.Like
	Result transfer.Like

	// Call calls a leaf and returns its result.
	Call func(Call) (*tcs.Tensor, error)
	// Adds says that calls of steps can add to a block in place.
	Adds bool
	// Located adds to an error the place where it arose, before other ranks get the error. It may
	// be nil.
	Located func(error) error
	// Sparse, if the result has compressed levels, determines how the rank's steps add to one
	// block. If it is nil, and Adds is not set, SumLeaf adds the blocks of steps.
	Sparse *Sparse
	// Threads is the number of threads that add parts of an assembled result.
	Threads int

	traffic []traffic  // by operand; nil before the first run
	gathers []*gather  // by operand; nil if the operand is not gathered
	sums    []plan.Sum // the sums that this rank takes part in; nil before the first run
	// copied has the blocks of the last result that this rank stores but does not own.
	copied map[plan.Block]*tcs.Tensor
	spent  Spent
	to     DestinationKind // of the steps of this run, unless they add in place
}

// Spent is the time of a rank's last Compute, divided into phases.
type Spent struct {
	Fetch time.Duration // waiting for operand blocks
	// in leaves, including the preparation of their operands and results, and adding blocks of
	// steps if Rank.Sparse is set
	Leaf time.Duration
	Sum  time.Duration // adding other partial blocks, and moving them to their owners
}

// Spent returns the times of the last Compute.
func (r *Rank) Spent() Spent { return r.spent }

// since measures a phase that began at the time start. It adds the duration of the phase to *total,
// and returns the current time, when the next phase begins.
func since(start time.Time, total *time.Duration) time.Time {
	now := time.Now()
	*total += now.Sub(start)
	return now
}

// Compute runs the statement once and returns the blocks of the result that this rank owns. If the
// result is assembled, Compute returns the assembled pieces that this rank owns instead. The caller
// closes the returned tensors. If overwrite is true, steps that do not add in place write over the
// result's old value and reuse its memory. Every rank must call Compute.
func (r *Rank) Compute(overwrite bool) (map[plan.Block]*tcs.Tensor, error) {
	at := time.Now()
	r.spent, r.to = Spent{}, Fresh
	if overwrite {
		r.to = Over
	}
	var partials map[plan.Partial]*tcs.Tensor
	f, err := r.newFetcher()
	since(at, &r.spent.Fetch)
	if err == nil {
		partials, err = r.steps(f)
	}
	if err != nil && r.Comm.Size() > 1 {
		err = r.Abort(err) // stop the other ranks, so that waiting for messages in flight ends
	}
	at = time.Now()
	if ferr := f.finish(err == nil); err == nil {
		err = ferr
	}
	if err != nil {
		tcs.CloseAll(partials)
		return nil, err
	}
	at = since(at, &r.spent.Fetch)
	defer func() { since(at, &r.spent.Sum) }()
	return r.combine(partials)
}

// Abort ends the job at all ranks with err, and returns err. If the function r.Located is set,
// Abort first calls it to add to err the place where the error arose.
func (r *Rank) Abort(err error) error {
	if r.Located != nil {
		err = r.Located(err)
	}
	r.Comm.Abort(err)
	return err
}

// steps runs this rank's steps and returns its partial blocks.
func (r *Rank) steps(f *fetcher) (map[plan.Partial]*tcs.Tensor, error) {
	partials := map[plan.Partial]*tcs.Tensor{}
	var sums *sums
	if r.Sparse != nil {
		sums = r.newSums(partials)
		defer sums.close()
	}
	n := 0
	for s := range r.Plan.Steps(r.Comm.Rank()) {
		if err := r.Comm.Context().Err(); err != nil {
			return partials, fmt.Errorf("the rank stopped before its step %d, because the job ended: %w",
				n, err)
		}
		at := time.Now()
		operands, err := f.blocks(s)
		if err != nil {
			return partials, err
		}
		n++
		since(at, &r.spent.Fetch)
		done := r.Comm.Busy() // while blocks of the next step arrive
		err = r.step(s, operands, partials, sums)
		done()
		if err != nil {
			return partials, err
		}
	}
	return partials, nil
}

// step runs one step of the plan. It adds the step's result to the partial block that the step
// belongs to.
func (r *Rank) step(s plan.Step, operands []*tcs.Tensor, partials map[plan.Partial]*tcs.Tensor,
	sums *sums) (err error) {
	at := time.Now()
	switch {
	case sums != nil:
		err = sums.step(s, operands)
	case r.Adds:
		var block *tcs.Tensor
		block, err = r.Call(Call{Step: s, Blocks: operands,
			To: Destination{Kind: Add, Block: partials[s.Partial]}})
		if err == nil {
			partials[s.Partial] = block
		}
	default:
		return r.stepApart(s, operands, partials)
	}
	since(at, &r.spent.Leaf)
	return err
}

// stepApart runs one step whose leaf makes a block of its own, and then adds this block to the
// step's partial block.
func (r *Rank) stepApart(s plan.Step, operands []*tcs.Tensor,
	partials map[plan.Partial]*tcs.Tensor) error {
	at := time.Now()
	block, err := r.Call(Call{Step: s, Blocks: operands, To: Destination{Kind: r.to}})
	if err != nil {
		return err
	}
	at = since(at, &r.spent.Leaf)
	if s.First {
		partials[s.Partial] = block
		return nil
	}
	err = r.add(partials, s.Partial, block)
	since(at, &r.spent.Sum)
	return err
}

// add adds block to a partial block. It takes ownership of block.
func (r *Rank) add(partials map[plan.Partial]*tcs.Tensor, p plan.Partial, block *tcs.Tensor) error {
	old := partials[p]
	sum, err := r.Call(Call{Leaf: SumLeaf, Blocks: []*tcs.Tensor{old, block}})
	if sum != block {
		block.Close()
	}
	if err != nil {
		return err
	}
	if sum != old {
		old.Close()
	}
	partials[p] = sum
	return nil
}

// combine takes part in the tree sums and in the moves of result blocks to their owners. It returns
// the result blocks, or pieces, that this rank owns.
func (r *Rank) combine(partials map[plan.Partial]*tcs.Tensor) (map[plan.Block]*tcs.Tensor, error) {
	me := r.Comm.Rank()
	blocks := map[plan.Block]*tcs.Tensor{}
	fail := func(err error) (map[plan.Block]*tcs.Tensor, error) {
		tcs.CloseAll(partials)
		tcs.CloseAll(blocks)
		return nil, err
	}
	if r.sums == nil {
		r.sums = r.Plan.SumsOf(me)
	}
	for _, sum := range r.sums {
		for _, a := range sum.Adds {
			block, err := r.move(partials, a.From, a.To.Rank)
			if err != nil {
				return fail(err)
			}
			if a.To.Rank != me {
				continue
			}
			if err := r.add(partials, a.To, block); err != nil {
				return fail(err)
			}
		}
		block, err := r.move(partials, sum.Root, sum.Owner)
		if err != nil {
			return fail(err)
		}
		if sum.Owner == me {
			blocks[sum.Result] = block
		}
		if err := r.spread(sum.Result, block, r.Result,
			append([]int{sum.Owner}, sum.Copies...)); err != nil {
			return fail(err)
		}
	}
	if r.Plan.Assembled != nil {
		return r.assemble(blocks)
	}
	return blocks, nil
}

// spread sends a block of the result from the first rank of a list to the others. Those store it as
// a copy until the next run.
func (r *Rank) spread(b plan.Block, block *tcs.Tensor, like transfer.Like, ranks []int) error {
	t, err := transfer.Spread(r.Comm, block, like, ranks, tagSpread, r.Alloc)
	if t == nil || err != nil {
		return err
	}
	if old := r.copied[b]; old != nil {
		old.Close()
	}
	if r.copied == nil {
		r.copied = map[plan.Block]*tcs.Tensor{}
	}
	r.copied[b] = t
	return nil
}

// Close frees the gathered rows, and the blocks of the last result that this rank stores as copies
// from other ranks. It does not close the blocks of Own.
func (r *Rank) Close() error {
	tcs.CloseAll(r.copied)
	r.Forget()
	return nil
}

// Forget releases data that depend on the operands' patterns: the gathered rows.
func (r *Rank) Forget() {
	for k, g := range r.gathers {
		if g != nil {
			g.close()
			r.gathers[k] = nil
		}
	}
}

// tagCombine is the message tag of blocks that a tree sum moves, and of parts of an assembly.
// Fetches use the tags below tagSpread.
const tagCombine = comm.MaxTag

// tagSpread and tagSpread+1 are the tags of copies of the result's blocks.
const tagSpread = tagCombine - 2

// move sends partial block p from the rank that has it to the rank receiver. It returns the block
// at the receiver, and nil at all other ranks. At the sender, move removes the block from partials.
func (r *Rank) move(partials map[plan.Partial]*tcs.Tensor, p plan.Partial,
	receiver int) (*tcs.Tensor, error) {
	me := r.Comm.Rank()
	switch {
	case p.Rank == me:
		block := partials[p]
		if block == nil {
			panic(fmt.Sprintf("BUG: rank %d has no partial %+v", me, p))
		}
		delete(partials, p)
		if receiver == me {
			return block, nil
		}
		defer block.Close()
		s, err := transfer.Send(r.Comm, block, receiver, tagCombine)
		if err != nil {
			return nil, err
		}
		return nil, s.Wait()
	case receiver == me:
		return transfer.Recv(r.Comm, r.Result, p.Rank, tagCombine, r.Alloc)
	}
	return nil, nil
}
