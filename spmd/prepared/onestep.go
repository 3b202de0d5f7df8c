package prepared

import (
	"slices"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// OneStep describes a statement whose plan has at most one step at each rank, which reads only
// blocks that the rank has already. The step is one call (see oneCall).
//
// On one rank that has everything, the call reads the whole tensors. On several ranks, the result
// is dense, and the call reads the rank's own blocks and replicas. There are then three cases:
//
//   - The step makes a block of the result that stays at the rank.
//   - The step makes a part of a sum, and the ranks add their parts so that each rank has the
//     result.
//   - Nothing is cut, for example because all tensors are scalars. Every rank then runs the same
//     step.
type OneStep struct {
	whole      bool      // one rank has everything
	step       plan.Step // this rank's step
	everywhere bool      // the plan has one step, and every rank runs it
	sum        bool      // the result is the sum of all ranks' parts
	result     *store.Blocks
}

// replicaMost is the largest size in bytes of a dense operand that every rank keeps whole because
// all ranks read it. resultMost is the largest size of a result that every rank may have whole.
const (
	replicaMost = 16 << 20
	resultMost  = 64 << 10
)

// SettleReplicas decides which operands every rank keeps whole, and whether the statement needs one
// step at each rank (OneStep). All ranks decide the same.
func (p *Planned) SettleReplicas() {
	all := p.Problem.Broadcasts()
	mark := func(everywhere bool) {
		for i, o := range p.Problem.Operands {
			p.Replicated[i] = (all[i] || everywhere) && p.Reader.Formats[o.Tensor].AllDense() &&
				p.bytes(o.Tensor) <= replicaMost
		}
	}
	p.OneStep = p.newOneStep()
	mark(p.OneStep != nil && p.OneStep.everywhere)
	if p.OneStep != nil && !p.hasBlocks(p.OneStep) {
		p.OneStep = nil
		mark(false)
	}
}

// bytes returns the size in bytes of a dense tensor.
func (p *Planned) bytes(name string) float64 {
	n := float64(p.Reader.Types[name].Size())
	for _, d := range p.Reader.Sizes.Dims[name] {
		n *= float64(d)
	}
	return n
}

// newOneStep returns the statement as a OneStep on several ranks, or nil if its plan does not allow
// this. If the result is not nil, the caller must also check with hasBlocks that every rank has
// what its step reads.
func (p *Planned) newOneStep() *OneStep {
	x, result := p.Problem, p.Parsed.Result
	if x.Stored() >= 0 || len(x.Blocking.Groups) != 1 || !p.Reader.Formats[result].AllDense() ||
		p.needsNarrowing() || p.Options.FixedPattern != nil {
		return nil
	}
	total, ok := x.OneStepEach()
	if !ok {
		return nil
	}
	n := &OneStep{}
	small := p.bytes(result) <= resultMost
	_, placed := p.Parsed.Placements[result]
	switch {
	// Nodes may have different processors, whose results may differ in bits.
	case total == 1 && len(x.Blocking.Vars) == 0 && small && p.Reader.Env.OneNode:
		n.everywhere = true
	case total < x.Ranks:
		return nil
	// A placement without copies stores each block at only one rank.
	case small && x.IsInRankOrder() && !(placed && x.Result.Copies == nil):
		n.sum = true
	case !x.MadeByOwners():
		return nil
	}
	for rank, s := range x.AllSteps() {
		if n.everywhere || rank == p.Reader.Env.Comm.Rank() {
			n.step = s.Clone()
			break
		}
	}
	n.result = p.ResultBlocks()
	return n
}

// hasBlocks reports whether every rank has the blocks that its step of n reads.
func (p *Planned) hasBlocks(n *OneStep) bool {
	for i, o := range p.Problem.Operands {
		if !p.Replicated[i] && len(o.Groups) > 0 &&
			(n.everywhere || o.Parts != nil || !p.Problem.ReadsOwn(i, -1)) {
			return false
		}
	}
	return true
}

// IsNear reports whether the statement runs on several ranks, and each rank runs one step on blocks
// that the rank has already. n may be nil.
func (n *OneStep) IsNear() bool { return n != nil && !n.whole }

// IsSum reports whether the statement is near (IsNear), and the ranks add their partial results so
// that every rank gets the whole result. n may be nil.
func (n *OneStep) IsSum() bool { return n.IsNear() && n.sum }

// IsKnown reports whether the statement is near (IsNear), and every rank has the whole result after
// a run. n may be nil.
func (n *OneStep) IsKnown() bool { return n.IsNear() && (n.sum || n.everywhere) }

// block returns this rank's tensor of h, a former result of the statement.
func (n *OneStep) block(h *input.Held) *tcs.Tensor {
	if h.Replica != nil && !n.whole {
		return h.Replica
	}
	return h.Blocks.Own[int(n.step.Partial.Result)]
}

// held returns the result of the ranks' calls as a distributed tensor, for a near statement. t is
// this rank's block, or the whole result if every rank has it.
func (n *OneStep) held(rank int, t *tcs.Tensor) *input.Held {
	b := *n.result
	b.Own = map[int]*tcs.Tensor{}
	block := int(n.step.Partial.Result)
	if b.Owners[block] == rank {
		b.Own[block] = t
	}
	h := &input.Held{Blocks: &b, AsIs: true, Apart: true}
	if n.IsKnown() {
		h.Replica = t
	}
	return h
}

// CanWriteOver reports whether Compute can write a new result into the memory of h, a former result
// with the same format, type and sizes. The statement must not read h. If one rank has everything,
// Compute may still make a new result (see oneCall.destination). All ranks get the same answer.
func (p *Planned) CanWriteOver(h *input.Held) bool {
	n := p.OneStep
	if n == nil || n.whole {
		return n != nil && len(h.Blocks.Owners) == 1
	}
	return h.Apart && (h.Replica != nil) == n.IsKnown() && p.Target.Kind != codegen.CUDA &&
		(n.result.HasSameDistribution(h.Blocks) || slices.Equal(n.result.Owners, h.Blocks.Owners) &&
			slices.EqualFunc(n.result.Boxes, h.Blocks.Boxes, slices.Equal[[][2]int64]))
}
