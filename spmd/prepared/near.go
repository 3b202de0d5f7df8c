package prepared

import (
	"context"
	"slices"
	"time"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// near describes a statement with a dense result whose ranks each run one step on blocks that they
// have already: their own blocks and replicas. Either the step makes a block of the result that
// stays at the rank. Or it makes a part of a sum, and the ranks add their parts so that each of
// them has the result. Or nothing is cut, for example if all tensors are scalars; then every rank
// runs the same step.
type near struct {
	step       plan.Step // this rank's step
	everywhere bool      // whether the plan has one step, and every rank runs it
	sum        bool      // whether the result is the sum of all ranks' parts
	result     *store.Blocks
}

// newNear returns the statement's near form, or nil if it has none. It does not check whether every
// rank has what its step reads; see hasBlocks.
func (k *Statement) newNear() *near {
	p := k.Problem
	if p.Stored() >= 0 || len(p.Blocking.Groups) != 1 || !k.Reader.Formats[k.p.Result].AllDense() ||
		k.needsNarrowing() || k.o.FixedPattern != nil {
		return nil
	}
	n, steps := &near{}, make([]bool, p.Ranks)
	total := 0
	for rank, s := range p.AllSteps() {
		if steps[rank] {
			return nil
		}
		steps[rank] = true
		if total++; rank == k.Reader.Env.Comm.Rank() || total == 1 {
			n.step = s.Clone()
		}
	}
	small := k.bytes(k.p.Result) <= resultMost
	switch {
	// Nodes may have different processors, whose results may differ in bits.
	case total == 1 && len(p.Blocking.Vars) == 0 && small && k.Reader.Env.OneNode:
		n.everywhere = true
	case total < p.Ranks:
		return nil
	case small && isInRankOrder(p) && !k.isAtOneRank():
		n.sum = true
	case !staysAtRanks(p):
		return nil
	}
	n.result = k.ResultBlocks(nil)
	return n
}

// isAtOneRank reports whether the result has a placement that puts each block at only one rank.
func (k *Statement) isAtOneRank() bool {
	_, placed := k.p.Placements[k.p.Result]
	return placed && k.Problem.Result.Copies == nil
}

// staysAtRanks reports whether each rank makes exactly the blocks of the result that it owns.
func staysAtRanks(p *plan.Problem) bool {
	for s := range p.EachSum() {
		if isMoved(s) {
			return false
		}
	}
	return true
}

// isMoved reports whether several ranks make a block of the result, or only a rank that is not its
// owner.
func isMoved(s plan.Sum) bool { return len(s.Adds) > 0 || s.Root.Rank != s.Owner }

// isInRankOrder reports whether the result is one sum with a part of each rank, in the order of
// ranks. Package comm adds in the same order.
func isInRankOrder(p *plan.Problem) bool {
	list := p.Partials()
	for n, part := range list {
		if part.Rank != n || part.Result != 0 {
			return false
		}
	}
	return len(list) == p.Ranks && p.Result.Pieces() == 1
}

// hasBlocks reports whether every rank has the blocks that its step reads.
func (n *near) hasBlocks(k *Statement) bool {
	for rank, s := range k.Problem.AllSteps() {
		for _, need := range s.Need {
			if i := need.Operand; !k.replicated[i] &&
				(n.everywhere || k.Problem.Operands[i].Parts != nil ||
					k.Problem.Operands[i].Partition.OwnerOf(need.Block) != rank) {
				return false
			}
		}
	}
	return true
}

// blocks returns the blocks that the step reads, by operand.
func (n *near) blocks(k *Statement) []*tcs.Tensor {
	blocks := make([]*tcs.Tensor, len(k.Problem.Operands))
	for _, need := range n.step.Need {
		i := need.Operand
		if blocks[i] = k.exec.Own[i][need.Block]; k.replicated[i] {
			blocks[i] = k.exec.Replicas[i]
		}
	}
	return blocks
}

// box returns the box of the block that the step makes.
func (n *near) box() [][2]int64 { return n.result.Boxes[n.step.Partial.Result] }

// Near reports whether each rank runs one step on blocks that it has; see ComputeNear.
func (k *Statement) Near() bool { return k.near != nil }

// NearSum reports whether the statement is near and adds the ranks' parts, so that all ranks have
// the result.
func (k *Statement) NearSum() bool { return k.near != nil && k.near.sum }

// NearKnown reports whether the statement is near and every rank has its result.
func (k *Statement) NearKnown() bool { return k.near != nil && (k.near.sum || k.near.everywhere) }

// NearInto reports whether ComputeNear can write over h, a former result that the statement does
// not read. It can if each rank has its part of h in memory of its own. All ranks return the same.
func (k *Statement) NearInto(h *input.Held) bool {
	b := k.near.result
	return h.Apart && (h.Replica != nil) == k.NearKnown() && k.Reader.Env.Code() != codegen.CUDA &&
		(b.LaidAs(h.Blocks) || slices.Equal(b.Owners, h.Blocks.Owners) &&
			slices.EqualFunc(b.Boxes, h.Blocks.Boxes, slices.Equal[[][2]int64]))
}

// ComputeNear runs a near statement once and returns the distributed result. If into is not nil, it
// writes over into, which is a former result (see NearInto) or the old value that leaves read in
// place. If into is nil it makes a result, which may be kept. The caller calls env.Env.Forget on
// the result's block and then closes it. After an error the contents of into are undefined. Every
// rank must call it.
func (k *Statement) ComputeNear(into *input.Held) (*input.Held, error) {
	if err := k.bind(); err != nil {
		return nil, err
	}
	n, s, w := k.near, k.leaves[0], k.bound
	if into != nil {
		w.all[0] = n.block(into)
		copy(w.all[1:], w.args)
	} else if err := s.resultOver(w.all, w.args, w.box, false); err != nil {
		return nil, err
	}
	t := w.all[0]
	if into == nil && k.isOnlyWriter() {
		k.Reader.Env.KeepIn(t, k.Memory(k.p.Result))
		if !n.everywhere {
			k.leaveValues(t)
		}
	}
	err := s.userError(s.leaf.Call(k.Reader.Env.Ctx, w.all, w.bounds, w.env))
	w.all[0] = nil
	if err != nil {
		err = k.oneError(err)
	} else if n.sum {
		values := transfer.Values(t)
		values.Type = t.Header.Type
		values.Len = t.Vals.Len
		err = k.Reader.Env.Comm.Allreduce(values, comm.Sum)
	}
	switch {
	case into != nil:
		return into, err
	case err != nil:
		k.Reader.Env.Forget(t)
		t.Close()
		return nil, err
	}
	t.Trust()
	return n.held(k, t), nil
}

// block returns this rank's tensor of former result h.
func (n *near) block(h *input.Held) *tcs.Tensor {
	if h.Replica != nil {
		return h.Replica
	}
	return h.Blocks.Own[int(n.step.Partial.Result)]
}

// oneError returns an error that all ranks find in the step that all of them run. To let rank 0
// report it, other ranks wait up to a second for rank 0 to stop them.
func (k *Statement) oneError(err error) error {
	if !k.near.everywhere || k.Reader.Env.Comm.Rank() == 0 {
		return err
	}
	select {
	case <-k.Reader.Env.Ctx.Done():
		return context.Cause(k.Reader.Env.Ctx)
	case <-time.After(time.Second):
		return err
	}
}

// held describes the distributed result for the program. t is this rank's part.
func (n *near) held(k *Statement, t *tcs.Tensor) *input.Held {
	b := *n.result
	b.Own = map[int]*tcs.Tensor{}
	block := int(n.step.Partial.Result)
	if b.Owners[block] == k.Reader.Env.Comm.Rank() {
		b.Own[block] = t
	}
	h := &input.Held{Blocks: &b, Entries: 1, AsIs: true, Apart: true}
	for _, d := range b.Layout.Dims {
		h.Entries *= d
	}
	if n.sum || n.everywhere {
		h.Replica = t
	}
	return h
}
