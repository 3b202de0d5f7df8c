package prepared

import (
	"context"
	"fmt"
	"slices"
	"time"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// oneStep describes a statement whose plan has at most one step at each rank, which reads only
// blocks that the rank has already. The step is one call, whose arguments are bound once for all
// runs.
//
// On one rank that has everything, the call reads the whole tensors. On several ranks, the result
// is dense, and the call reads the rank's own blocks and replicas. There are then three cases:
//
//   - The step makes a block of the result that stays at the rank.
//   - The step makes a part of a sum, and the ranks add their parts so that each rank has the
//     result.
//   - Nothing is cut, for example because all tensors are scalars. Every rank then runs the same
//     step.
type oneStep struct {
	whole      bool      // one rank has everything
	step       plan.Step // this rank's step
	everywhere bool      // the plan has one step, and every rank runs it
	sum        bool      // the result is the sum of all ranks' parts
	result     *store.Blocks
}

// bound is the only call of a leaf that a oneStep makes. Its arguments are bound once, because they
// are the same in every run.
type bound struct {
	call call
	made conversions // the conversions among the arguments
	// by operand: its index in call.args; -1 if a conversion is there instead, or if it is not read
	at    []int
	ready bool // whether the arguments are set
}

// smallWork is the least work for which several threads are used. One thread finishes less work
// sooner, because waking a thread takes longer. The work is the number of coordinates of a leaf
// call, or the number of entries of all tensors of a statement. The number of threads does not
// affect any bit of a result.
const smallWork = 1 << 15

// newOneStep returns the statement as a oneStep on several ranks, or nil if it cannot be one. The
// caller must also check with hasBlocks that every rank has what its step reads.
func (k *Statement) newOneStep() *oneStep {
	p := k.Problem
	if p.Stored() >= 0 || len(p.Blocking.Groups) != 1 || !k.Reader.Formats[k.p.Result].AllDense() ||
		k.needsNarrowing() || k.o.FixedPattern != nil {
		return nil
	}
	total, ok := p.OneStepEach()
	if !ok {
		return nil
	}
	n := &oneStep{}
	small := k.bytes(k.p.Result) <= resultMost
	switch {
	// Nodes may have different processors, whose results may differ in bits.
	case total == 1 && len(p.Blocking.Vars) == 0 && small && k.Reader.Env.OneNode:
		n.everywhere = true
	case total < p.Ranks:
		return nil
	case small && p.IsInRankOrder() && !k.isAtOneRank():
		n.sum = true
	case !p.MadeByOwners():
		return nil
	}
	for rank, s := range p.AllSteps() {
		if n.everywhere || rank == k.Reader.Env.Comm.Rank() {
			n.step = s.Clone()
			break
		}
	}
	n.result = k.ResultBlocks(nil)
	return n
}

// isAtOneRank reports whether the result has a placement without copies, so that each block is
// stored at only one rank.
func (k *Statement) isAtOneRank() bool {
	_, placed := k.p.Placements[k.p.Result]
	return placed && k.Problem.Result.Copies == nil
}

// hasBlocks reports whether every rank has the blocks that its step reads.
func (n *oneStep) hasBlocks(k *Statement) bool {
	for i, o := range k.Problem.Operands {
		if !k.replicated[i] && len(o.Groups) > 0 &&
			(n.everywhere || o.Parts != nil || !k.Problem.ReadsOwn(i, -1)) {
			return false
		}
	}
	return true
}

// blocks returns the blocks that the step reads, by operand. If the step does not read an operand,
// its block is nil.
func (n *oneStep) blocks(k *Statement) []*tcs.Tensor {
	blocks := make([]*tcs.Tensor, len(k.Problem.Operands))
	if n.whole {
		for i, own := range k.exec.Own {
			blocks[i] = own[0]
		}
		return blocks
	}
	for _, need := range n.step.Need {
		i := need.Operand
		if blocks[i] = k.exec.Own[i][need.Block]; k.replicated[i] {
			blocks[i] = k.exec.Replicas[i]
		}
	}
	return blocks
}

// isKnown reports whether every rank has the whole result after a run.
func (n *oneStep) isKnown() bool { return n.sum || n.everywhere }

// block returns this rank's tensor of h, a former result of the statement.
func (n *oneStep) block(h *input.Held) *tcs.Tensor {
	if h.Replica != nil && !n.whole {
		return h.Replica
	}
	return h.Blocks.Own[int(n.step.Partial.Result)]
}

// Near reports whether the statement is near: it runs on several ranks, and each rank runs one step
// on blocks that the rank has already.
func (k *Statement) Near() bool { return k.oneStep != nil && !k.oneStep.whole }

// NearSum reports whether the statement needs only one step at each rank, on blocks that the rank
// has already (see Near), and then a sum. For the sum, the ranks add their partial results, and
// every rank gets the whole result.
func (k *Statement) NearSum() bool { return k.Near() && k.oneStep.sum }

// NearKnown reports whether the statement needs only one step at each rank, on blocks that the rank
// has already (see Near), and every rank has the whole result afterwards.
func (k *Statement) NearKnown() bool { return k.Near() && k.oneStep.isKnown() }

// CanWriteOver reports whether Compute can write a new result into the memory of h. h is a former
// result with the result's format, type and sizes, and the statement must not read it. Each rank
// must have its part of h in memory of its own. On one rank that has everything, Compute still
// makes a new result if h shares memory with an operand, or has other level arrays than a new
// result. All ranks return the same.
func (k *Statement) CanWriteOver(h *input.Held) bool {
	n := k.oneStep
	if n == nil || n.whole {
		return n != nil && len(h.Blocks.Owners) == 1
	}
	return h.Apart && (h.Replica != nil) == n.isKnown() && k.Reader.Env.Code() != codegen.CUDA &&
		(n.result.LaidAs(h.Blocks) || slices.Equal(n.result.Owners, h.Blocks.Owners) &&
			slices.EqualFunc(n.result.Boxes, h.Blocks.Boxes, slices.Equal[[][2]int64]))
}

// bind prepares the one call: it converts operands to the formats that the leaf reads, and sets the
// arguments. It does nothing if the call is bound already.
func (k *Statement) bind() error {
	w := k.bound
	if w != nil && w.ready {
		return nil
	}
	blocks := k.oneStep.blocks(k)
	if w == nil {
		var err error
		if w, err = k.newBound(blocks); err != nil {
			return err
		}
		k.bound = w
	} else {
		if w.call.leaf != k.leaves[0] { // it was compiled again, for Options.FixedPattern
			w.call.leaf = k.leaves[0]
			w.call.setRanges(nil)
		}
		for n, t := range blocks {
			if at := w.at[n]; at >= 0 {
				w.call.args[at] = t
			}
		}
	}
	c := &w.call
	c.env.Threads = min(c.leaf.env(c.bounds).Threads, k.threads(c))
	w.ready = true
	return nil
}

// newBound returns the one call on the given blocks, which are indexed by operand.
func (k *Statement) newBound(blocks []*tcs.Tensor) (*bound, error) {
	s, n, w := k.leaves[0], k.oneStep, &bound{at: make([]int, len(blocks))}
	args, err := w.made.arguments(s, k.byName(blocks))
	if err != nil {
		w.made.close()
		return nil, err
	}
	for _, t := range w.made.made {
		if t != nil {
			k.Reader.Env.Keep(t)
		}
	}
	for n, t := range blocks {
		w.at[n] = -1
		if t != nil {
			w.at[n] = slices.Index(args, t)
		}
	}
	if n.whole {
		w.call = s.newCall(args, nil, nil)
	} else {
		w.call = s.newCall(args, k.ranges(n.step), n.result.Boxes[n.step.Partial.Result])
	}
	if err := s.refuseEndless(args, w.call.bounds); err != nil {
		w.made.close()
		return nil, err
	}
	return w, nil
}

// threads returns the number of threads for the one call c.
func (k *Statement) threads(c *call) int {
	if !k.o.Locked {
		return k.Reader.Env.Threads
	}
	work := int64(0)
	for _, t := range c.args {
		work += t.Vals.Len
	}
	if c.leaf.unit.Result.Format.AllDense() {
		n := int64(1)
		for m, d := range c.leaf.dims {
			if c.box != nil {
				d = c.box[m][1] - c.box[m][0]
			}
			n *= d
		}
		work += n
	}
	if work < smallWork {
		return 1
	}
	return k.Reader.Env.Threads
}

// unbind releases the operands of the one call, so that other tensors can replace them.
func (k *Statement) unbind() {
	w := k.bound
	if w == nil {
		return
	}
	if w.ready = false; !w.made.any() {
		clear(w.call.args)
		clear(w.call.all)
		return
	}
	w.made.close()
	k.bound = nil
}

// destination returns where the one call writes its result. target is a former result whose memory
// may be used again, or nil. With a fixed pattern, the call writes into the block of the pattern.
// The call makes a new tensor if target is nil or the result must be narrowed. On one rank that has
// everything, it also does so if target shares memory with another operand, or if the level arrays
// of target differ from the arrays that a new result would have.
func (k *Statement) destination(target *input.Held) exec.Destination {
	switch {
	case k.into != nil:
		return exec.Destination{Kind: exec.Pattern, Block: k.into.made}
	case target == nil || k.needsNarrowing():
		return exec.Destination{}
	}
	t, c := k.oneStep.block(target), &k.bound.call
	if k.oneStep.whole && !(c.leaf.sharesNoMemory(t, c.args) && c.leaf.hasLevels(t, c.args)) {
		return exec.Destination{}
	}
	return exec.Destination{Kind: exec.Over, Block: t}
}

// computeHere performs the one call of this rank. It returns the result, which is a new tensor or
// target. target may be nil.
func (k *Statement) computeHere(target *input.Held) (*input.Held, error) {
	n, at := k.oneStep, time.Now()
	if err := k.Reader.Env.Ctx.Err(); err != nil {
		return nil, fmt.Errorf("stopped before step 0: %w", err)
	}
	if err := k.bind(); err != nil {
		return nil, err
	}
	c, to := &k.bound.call, k.destination(target)
	k.work.count(c)
	c.env.Progress = k.Reader.Env.Leaf
	t, err := c.run(to, k.isOnlyWriter() && !n.everywhere)
	switch {
	case err != nil:
		return nil, k.oneError(err)
	case n.sum:
		values := transfer.Values(t)
		values.Type = t.Header.Type
		values.Len = t.Vals.Len
		if err = k.Reader.Env.Comm.Allreduce(values, comm.Sum); err != nil && to.Kind == exec.Fresh {
			t.Close()
		}
	case to.Kind == exec.Pattern:
		t, err = k.into.finish(k)
	case to.Kind == exec.Fresh:
		t, err = c.leaf.finish(t)
	}
	k.spent = exec.Spent{Leaf: time.Since(at)}
	if err != nil {
		return nil, err
	}
	if !k.work.done {
		k.work.end(k, t)
	}
	switch {
	case to.Kind == exec.Over:
		return target, nil
	case n.whole:
		return k.deliver(map[plan.Block]*tcs.Tensor{0: t})
	}
	return n.held(k, t), nil
}

// held returns the result of the ranks' calls as a distributed tensor, for a statement that needs
// one call at each rank (see Near). t is this rank's block, or the whole result if every rank has
// it.
func (n *oneStep) held(k *Statement, t *tcs.Tensor) *input.Held {
	b := *n.result
	b.Own = map[int]*tcs.Tensor{}
	block := int(n.step.Partial.Result)
	if b.Owners[block] == k.Reader.Env.Comm.Rank() {
		b.Own[block] = t
	}
	h := &input.Held{Blocks: &b, AsIs: true, Apart: true}
	if n.isKnown() {
		h.Replica = t
	}
	return h
}

// oneError returns the error err of the one call. If every rank runs the same step, all of them
// find the error, and rank 0 should report it. Other ranks therefore wait up to a second for rank 0
// to stop them.
func (k *Statement) oneError(err error) error {
	if !k.oneStep.everywhere || k.Reader.Env.Comm.Rank() == 0 {
		return err
	}
	select {
	case <-k.Reader.Env.Ctx.Done():
		return context.Cause(k.Reader.Env.Ctx)
	case <-time.After(time.Second):
		return err
	}
}
