// Package exec runs a plan on one rank: it fetches operand blocks (those of the
// next step while the current one computes, where they travel), runs a leaf a step, accumulates
// partial blocks of the result, and takes part in the tree sums.
//
// # Files
//
//	exec.go    Compute: a rank's steps
//	fetch.go   operand blocks, fetched ahead
//	sparse.go  steps that add to one sparse block
//	assemble.go  a result of blocks that overlap
//	gather.go  rows of operands that ranks read of one another; gathercost.go, what that costs
//	common.go  one array of such rows for the ranks of a node
//	cost.go    what it moves, before there are blocks
//	reads.go   what ranks read, and what of that comes from others
//	holding.go what it holds, as far as that is known then
package exec

import (
	"fmt"
	"time"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/transfer"
)

// Rank is one rank's part of a computation. Its fields are the caller's; the
// blocks stay where they are, so that Compute can run again.
type Rank struct {
	Comm  comm.Comm
	Plan  *plan.Problem
	Limit *tcs.Limit
	Alloc transfer.Alloc // of blocks that arrive

	// Own has, for each operand, the blocks that live at this rank.
	Own []map[plan.Block]*tcs.Tensor
	// Replicas are, by operand, this rank's copy of the one block, where every rank has one; they
	// are not broadcast. Nil, or nil of an operand, where the owner alone has it.
	Replicas []*tcs.Tensor
	// Rows tell which rows of an operand that is gathered this rank's steps read, by operand. They are
	// asked for once, before the first run.
	Rows func(operand int) Rows
	// Moves says that the blocks of Own are the computation's alone, which may have them lie
	// elsewhere: those of a gathered operand among the rows that are read.
	Moves bool
	// Shares says that the rows of a gathered operand may lie in one array for several ranks of a
	// node.
	Shares bool
	// Nodes are, by rank, a number for its node: ranks of one number can have memory in common. Nil
	// where that is to be found.
	Nodes []int
	// Like describes each operand's blocks, Result those of the result.
	Like   []transfer.Like
	Result transfer.Like

	// Leaf computes a step's partial block from its operand blocks (indexed as
	// Plan.Operands; nil where the step does not read one). The block is fresh.
	Leaf func(s plan.Step, operands []*tcs.Tensor) (*tcs.Tensor, error)
	// Into, if not nil, takes its place where the result is dense: it adds to sum what the step
	// makes, and returns sum; where that is nil, a block of its own.
	Into func(s plan.Step, operands []*tcs.Tensor, sum *tcs.Tensor) (*tcs.Tensor, error)
	// Add sums two blocks of one box and storage. It may change and return
	// a, or make a block of its own; what it does not return stays the caller's.
	Add func(a, b *tcs.Tensor) (*tcs.Tensor, error)
	// Located, if not nil, is an error with where it arose, for other ranks.
	Located func(error) error
	// Sparse, where the result has compressed levels, is how a rank's own
	// steps add to one block; nil: by Add.
	Sparse *Sparse
	// Added brings a block of the operand that Plan.Added names, given as this rank has it, into the
	// form of blocks that steps make.
	Added func(b plan.Block, t *tcs.Tensor) (*tcs.Tensor, error)
	// Threads are those that add parts of the result where it is assembled.
	Threads int

	traffic []traffic  // by operand, once it is known
	gathers []*gather  // by operand, nil of one that is not gathered
	sums    []plan.Sum // that this rank takes part in, once they are known
	// copied are the blocks of the last result that live at this rank beside their owner's.
	copied map[plan.Block]*tcs.Tensor
	spent  Spent
}

// Spent is where the time of a rank's last Compute went.
type Spent struct {
	Fetch time.Duration // waiting for operand blocks
	Leaf  time.Duration // in leaves, and making what they read and write
	Sum   time.Duration // adding partial blocks, and moving them to their owners
}

// Spent is where the time of the last Compute went.
func (r *Rank) Spent() Spent { return r.spent }

// since adds the time from at on to *to, and returns the time it is now.
func since(at time.Time, to *time.Duration) time.Time {
	now := time.Now()
	*to += now.Sub(at)
	return now
}

// Compute runs the statement once and returns the result blocks that this rank
// owns. Collective. The caller closes the blocks.
func (r *Rank) Compute() (map[plan.Block]*tcs.Tensor, error) {
	at := time.Now()
	r.spent = Spent{}
	var partials map[plan.Partial]*tcs.Tensor
	f, err := r.newFetcher()
	since(at, &r.spent.Fetch)
	if err == nil {
		partials, err = r.steps(f)
	}
	if err != nil && r.Comm.Size() > 1 {
		err = r.Abort(err) // the other ranks stop too, so that waiting for what is under way ends
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

// Abort ends the job at all ranks by an error, which it returns with where it arose.
func (r *Rank) Abort(err error) error {
	if r.Located != nil {
		err = r.Located(err)
	}
	r.Comm.Abort(comm.ExitCode(err), err.Error())
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
			return partials, fmt.Errorf("stopped before step %d: %w", n, err)
		}
		at := time.Now()
		operands, err := f.blocks(s)
		if err != nil {
			return partials, err
		}
		n++
		since(at, &r.spent.Fetch)
		done := r.Comm.Busy() // while blocks of the next step come
		err = r.step(s, operands, partials, sums)
		done()
		if err != nil {
			return partials, err
		}
	}
	return partials, nil
}

// step runs one step, whose block it adds to a partial one.
func (r *Rank) step(s plan.Step, operands []*tcs.Tensor, partials map[plan.Partial]*tcs.Tensor,
	sums *sums) (err error) {
	at := time.Now()
	switch {
	case sums != nil:
		err = sums.step(s, operands)
	case r.Into != nil:
		var block *tcs.Tensor
		if block, err = r.Into(s, operands, partials[s.Partial]); err == nil {
			partials[s.Partial] = block
		}
	default:
		return r.stepApart(s, operands, partials)
	}
	since(at, &r.spent.Leaf)
	return err
}

// stepApart runs one step whose block is one of its own, and then added.
func (r *Rank) stepApart(s plan.Step, operands []*tcs.Tensor,
	partials map[plan.Partial]*tcs.Tensor) error {
	at := time.Now()
	block, err := r.Leaf(s, operands)
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

// add adds block, which it takes over, to a partial.
func (r *Rank) add(partials map[plan.Partial]*tcs.Tensor, p plan.Partial, block *tcs.Tensor) error {
	old := partials[p]
	sum, err := r.Add(old, block)
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

// combine runs the tree sums and brings each result block to its owner.
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

// spread brings a block of the result, which the first of some ranks has, to the others.
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

// Close gives back the copies of the last result, and what was gathered.
func (r *Rank) Close() error {
	tcs.CloseAll(r.copied)
	r.Forget()
	return nil
}

// Forget drops what is kept of operands' patterns: the rows that are gathered.
func (r *Rank) Forget() {
	for k, g := range r.gathers {
		if g != nil {
			g.close()
			r.gathers[k] = nil
		}
	}
}

// tagCombine is the tag of blocks that a tree sum moves; fetches have those below.
const tagCombine = comm.MaxTag

// tagSpread and the tag behind it are those of blocks of the result that live at several ranks.
const tagSpread = tagCombine - 2

// move takes partial p out of partials at its rank and returns it at rank to;
// nil at other ranks.
func (r *Rank) move(partials map[plan.Partial]*tcs.Tensor, p plan.Partial, to int) (*tcs.Tensor,
	error) {
	me := r.Comm.Rank()
	switch {
	case p.Rank == me:
		block := partials[p]
		if block == nil {
			panic(fmt.Sprintf("BUG: rank %d has no partial %+v", me, p))
		}
		delete(partials, p)
		if to == me {
			return block, nil
		}
		defer block.Close()
		s, err := transfer.Send(r.Comm, block, to, tagCombine)
		if err != nil {
			return nil, err
		}
		return nil, s.Wait()
	case to == me:
		return transfer.Recv(r.Comm, r.Result, p.Rank, tagCombine, r.Alloc)
	}
	return nil, nil
}
