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

// near is a statement with a dense result of which each rank runs one step, over blocks that it
// has: its own, and those that every rank has. What the step makes is a block of the result that
// stays at the rank; or a part of a sum, which the ranks exchange, so that each has the result. A
// statement of nothing that is cut, on scalars say, runs at every rank over what each has.
type near struct {
	step       plan.Step // this rank's
	everywhere bool      // it is the plan's one step, which every rank runs
	sum        bool      // the result is the sum over the ranks
	result     *store.Blocks
}

// newNear is the statement as such a one, but for what its step reads (see reaches); nil for
// any other.
func (k *Statement) newNear() *near {
	p := k.Problem
	if p.Stored() >= 0 || len(p.Blocking.Groups) != 1 || !k.Reader.Formats[k.p.Result].AllDense() ||
		k.narrows() || k.o.FixedPattern != nil {
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
	// processors of other kinds may give other bits
	case total == 1 && len(p.Blocking.Vars) == 0 && small && k.Reader.Env.OneNode:
		n.everywhere = true
	case total < p.Ranks:
		return nil
	case small && inOrder(p) && !k.atOne():
		n.sum = true
	case !stays(p):
		return nil
	}
	n.result = k.ResultBlocks(nil)
	return n
}

// atOne tells whether a placement has each block of the result at one rank.
func (k *Statement) atOne() bool {
	_, placed := k.p.Placements[k.p.Result]
	return placed && k.Problem.Result.Copies == nil
}

// stays tells whether each rank makes the blocks of the result that are its own.
func stays(p *plan.Problem) bool {
	for s := range p.EachSum() {
		if moves(s) {
			return false
		}
	}
	return true
}

// moves tells whether several ranks make a block of the result, or another than its owner does.
func moves(s plan.Sum) bool { return len(s.Adds) > 0 || s.Root.Rank != s.Owner }

// inOrder tells whether the result is one sum of a part of each rank, in their order, which
// is the order in which comm adds.
func inOrder(p *plan.Problem) bool {
	list := p.Partials()
	for n, part := range list {
		if part.Rank != n || part.Result != 0 {
			return false
		}
	}
	return len(list) == p.Ranks && p.Result.Pieces() == 1
}

// reaches tells whether every rank has what its step reads.
func (n *near) reaches(k *Statement) bool {
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

// blocks are what the step reads, by operand.
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

// box is that of what the step makes.
func (n *near) box() [][2]int64 { return n.result.Boxes[n.step.Partial.Result] }

// Near tells whether each rank runs one step over what it has: see ComputeNear.
func (k *Statement) Near() bool { return k.near != nil }

// NearSum tells whether what ranks make so is summed over them, and so known to all.
func (k *Statement) NearSum() bool { return k.near != nil && k.near.sum }

// NearKnown tells whether every rank has the result of such a statement.
func (k *Statement) NearKnown() bool { return k.near != nil && (k.near.sum || k.near.everywhere) }

// NearInto tells whether ComputeNear can write over a former result that is not read: each rank has
// memory of its own for what it makes. The same at every rank.
func (k *Statement) NearInto(h *input.Held) bool {
	b := k.near.result
	return h.Apart && (h.Replica != nil) == k.NearKnown() && k.Reader.Env.Code() != codegen.CUDA &&
		(b.LaidAs(h.Blocks) || slices.Equal(b.Owners, h.Blocks.Owners) &&
			slices.EqualFunc(b.Boxes, h.Blocks.Boxes, slices.Equal[[][2]int64]))
}

// ComputeNear runs the statement once, and returns the result over the ranks. It writes over into,
// a former result (see NearInto) or the old value that leaves read in place; where into is nil it
// makes one, which the caller closes, after it has forgotten the block (env.Env.Forget), which may
// be kept. After an error what into holds is undefined. Collective.
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
	if into == nil && k.still() {
		k.Reader.Env.KeepIn(t, k.Memory(k.p.Result))
		if !n.everywhere {
			k.leave(t)
		}
	}
	err := s.called(s.leaf.Call(k.Reader.Env.Ctx, w.all, w.bounds, w.env))
	w.all[0] = nil
	if err != nil {
		err = k.first(err)
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

// block is this rank's memory of a result.
func (n *near) block(h *input.Held) *tcs.Tensor {
	if h.Replica != nil {
		return h.Replica
	}
	return h.Blocks.Own[int(n.step.Partial.Result)]
}

// first has rank 0 tell of an error that all ranks find in what each runs alike: others wait a
// moment for it.
func (k *Statement) first(err error) error {
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

// held is the result over the ranks, of which this rank has t.
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
