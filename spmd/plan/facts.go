package plan

import (
	"slices"

	"distaff/spmd/partition"
)

// facts are properties of a plan that depend on steps and sums. Each one is computed when it is
// first asked for, and kept. The answer of StaysAt is kept for one rank, the last one.
type facts struct {
	steps *int  // see OneStepEach; -1 if some rank has several steps
	apart *bool // see StepsApart
	sums  *sumFacts
	stays *bool // see StaysAt, of rank at
	at    int
}

// sumFacts are properties of the sums.
type sumFacts struct {
	adds  bool // some sum adds partial blocks
	moved bool // some block of the result is added up, or made by another rank than its owner
}

// OneStepEach reports whether every rank has at most one step. If so, steps is the number of steps
// of all ranks together.
func (p *Problem) OneStepEach() (steps int, ok bool) {
	if p.facts.steps == nil {
		last := -1
		for rank := range p.AllSteps() {
			if steps++; rank == last {
				steps = -1
				break
			}
			last = rank
		}
		p.facts.steps = &steps
	}
	return *p.facts.steps, *p.facts.steps >= 0
}

// StepsApart reports whether no two steps add to the same partial block.
func (p *Problem) StepsApart() bool {
	if p.facts.apart == nil {
		apart := true
		for _, s := range p.AllSteps() {
			if apart = s.First; !apart {
				break
			}
		}
		p.facts.apart = &apart
	}
	return *p.facts.apart
}

// sumFacts returns the properties of the plan that depend on how partial blocks are summed. It
// computes them at the first call.
func (p *Problem) sumFacts() sumFacts {
	if p.facts.sums == nil {
		f := &sumFacts{}
		for s := range p.EachSum() {
			f.adds, f.moved = f.adds || len(s.Adds) > 0, f.moved || s.isMoved()
			if f.adds {
				break
			}
		}
		p.facts.sums = f
	}
	return *p.facts.sums
}

// AddsBlocks reports whether several partial blocks are added to one block of the result.
func (p *Problem) AddsBlocks() bool { return p.sumFacts().adds }

// MadeByOwners reports whether every block of the result that steps add to is a single partial
// block, computed by the rank that owns it.
func (p *Problem) MadeByOwners() bool { return !p.sumFacts().moved }

// isMoved reports whether the block is the sum of several partial blocks, or is computed by a rank
// that does not own it.
func (s *Sum) isMoved() bool { return len(s.Adds) > 0 || s.Root.Rank != s.Owner }

// StaysAt reports whether the result's blocks of a rank take no part in communication: the rank
// owns the blocks that it computes, each in one step and one partial block, and no other rank
// computes or copies a block that it owns. It is false if the result is assembled.
func (p *Problem) StaysAt(rank int) bool {
	if p.facts.stays == nil || p.facts.at != rank {
		yes := p.Assembled == nil && !slices.ContainsFunc(p.SumsOf(rank),
			func(s Sum) bool { return s.isMoved() || len(s.Copies) > 0 })
		if yes {
			for s := range p.EachStep(rank) {
				yes = yes && s.First
			}
		}
		p.facts.stays, p.facts.at = &yes, rank
	}
	return *p.facts.stays
}

// IsInRankOrder reports whether the result is one block and the sum of one part from every rank, in
// the order of ranks. An Allreduce of package comm adds in the same order, so it can replace the
// sum.
func (p *Problem) IsInRankOrder() bool {
	if p.Result.Pieces() != 1 {
		return false
	}
	list := p.Partials()
	for n, part := range list {
		if part.Rank != n || part.Result != 0 {
			return false
		}
	}
	return len(list) == p.Ranks
}

// HasOneStepPerBlock reports whether no block of the result is made by several steps, and the
// operand is cut into the same blocks. The rank of the step must own both blocks, and the operand
// must not be stored in parts or gathered. A step can then write the result over the operand's
// block.
func (p *Problem) HasOneStepPerBlock(operand int) bool {
	o := p.Operands[operand]
	alike := slices.Equal(o.Cut, p.ResultCut) && slices.EqualFunc(o.Partition.Axes, p.Result.Axes,
		func(a, b partition.Axis) bool { return slices.Equal(a.Modes, b.Modes) })
	if !alike || o.Before() != o.Partition { // a block that is stored in parts cannot be written over
		return false
	}
	seen := map[Block]bool{}
	for rank, s := range p.AllSteps() {
		b := s.Partial.Result
		if seen[b] || p.Result.OwnerOf(b) != rank || o.Partition.OwnerOf(b) != rank {
			return false
		}
		seen[b] = true
	}
	return true
}

// ReadsOwn reports whether each rank owns all blocks of an operand that its steps read. It looks at
// the steps of one group, or at all steps if group is -1.
func (p *Problem) ReadsOwn(operand, group int) bool {
	for rank, s := range p.AllSteps() {
		if group >= 0 && s.Group != group {
			continue
		}
		for _, n := range s.Need {
			if n.Operand == operand && p.Operands[operand].Partition.OwnerOf(n.Block) != rank {
				return false
			}
		}
	}
	return true
}
