package plan

import (
	"slices"

	"distaff/spmd/partition"
)

// facts caches properties of a plan that depend on steps and sums. Each property is computed when
// it is first needed. For StaysAt, facts keeps the answer for the latest rank only.
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

// isMoved reports whether the result block of s is the sum of several partial blocks, or is
// computed by a rank that does not own it.
func (s *Sum) isMoved() bool { return len(s.Adds) > 0 || s.Root.Rank != s.Owner }

// StaysAt reports whether a rank's blocks of the result need no communication. All of these
// conditions must hold:
//
//   - The rank owns each block that it computes.
//   - The rank computes each block in one step and one partial block.
//   - No other rank computes or copies a block that the rank owns.
//   - The result is not assembled.
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

// IsInRankOrder reports whether the result is a single block with one partial block from each rank,
// and Partials lists these partial blocks in the order of ranks. An Allreduce of package comm adds
// in the same order, so the Allreduce can replace the sum.
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

// HasOneStepPerBlock reports whether a step can write its block of the result over the operand's
// block. This is so if all of these conditions hold:
//
//   - No block of the result is made by several steps.
//   - The operand is cut into the same blocks as the result.
//   - The rank of the step owns both blocks.
//   - The operand is neither stored in parts nor gathered.
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
