package plan

import (
	"slices"

	"distaff/spmd/partition"
)

// facts are properties of a plan that follow from the steps and the sums of all ranks. Each one is
// computed when it is first asked for.
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

// OneStepEach reports whether no rank has more than one step. steps is the number of steps of all
// ranks, if this is so.
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

// StepsApart reports whether each step makes a partial block of its own.
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

// sumFacts returns the properties of the sums.
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

// AddsBlocks reports whether tree sums add partial blocks.
func (p *Problem) AddsBlocks() bool { return p.sumFacts().adds }

// MadeByOwners reports whether each rank makes exactly the blocks of the result that it owns.
func (p *Problem) MadeByOwners() bool { return !p.sumFacts().moved }

// isMoved reports whether several ranks make the block, or only a rank that is not its owner.
func (s *Sum) isMoved() bool { return len(s.Adds) > 0 || s.Root.Rank != s.Owner }

// StaysAt reports whether each block of the result that a rank makes or owns is made by one of its
// own steps, and nothing in the run reads it.
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

// IsInRankOrder reports whether the result is one sum with a part of each rank, in the order of
// ranks. Package comm adds in the same order.
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

// HasOneStepPerBlock reports whether one step makes each block of the result, from the same block
// of an operand, and one rank owns both.
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

// ReadsOwn reports whether ranks own all blocks of an operand that their steps of a group read. If
// group is -1, it means the steps of all groups.
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
