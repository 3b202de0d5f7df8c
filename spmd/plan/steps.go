package plan

import (
	"iter"
	"slices"

	"distaff/spmd/plan/flow"
)

// Walk returns the points of the nest, distributed over the ranks.
func (p *Problem) Walk() *flow.Walk {
	if p.walk != nil {
		return p.walk
	}
	return flow.NewWalk(p.Nest, p.Ranks)
}

// tuple stores in out[k] the number of the range that split variable k has at a point. point holds
// the value of each loop of p.Nest.
func (p *Problem) tuple(point, out []int64) {
	for k := range p.Nest.Chunks {
		out[k] = p.Nest.Chunks[k].Of(point)
	}
}

// scopes counts the iterations of each operand's scope while a rank visits its points. The scope of
// an operand is the first Operand.Scope loops of the nest. A new iteration begins when one of these
// loops changes its value.
type scopes struct {
	p    *Problem
	last []int64 // the point before
	any  bool    // last is valid
	at   []int64 // by operand, the number of the current iteration of its scope
}

func (p *Problem) newScopes() *scopes { return &scopes{p: p, at: make([]int64, len(p.Operands))} }

// begin resets the counts to the state before the first point.
func (s *scopes) begin() {
	s.any = false
	for k := range s.at {
		s.at[k] = -1
	}
}

// next advances to a point.
func (s *scopes) next(point []int64) {
	same := 0 // number of outer loops with unchanged values
	for s.any && same < len(point) && s.last[same] == point[same] {
		same++
	}
	for k := range s.at {
		if !s.any || s.p.Operands[k].Scope > same {
			s.at[k]++
		}
	}
	s.last, s.any = append(s.last[:0], point...), true
}

// Steps yields the steps of a rank, in order.
func (p *Problem) Steps(rank int) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for s := range p.EachStep(rank) {
			if !yield(s.Clone()) {
				return
			}
		}
	}
}

// Clone returns a copy of the step in memory of its own.
func (s *Step) Clone() Step {
	own := *s
	own.Tuple, own.Need, own.Instances = slices.Clone(s.Tuple), slices.Clone(s.Need),
		slices.Clone(s.Instances)
	return own
}

// EachStep yields the steps of a rank, in order. Unlike Steps, it reuses the memory of a step for
// the next one.
func (p *Problem) EachStep(rank int) iter.Seq[*Step] {
	return func(yield func(*Step) bool) { p.stepping().each(rank, yield) }
}

// AllSteps yields the steps of every rank, in the order of ranks. It reuses the memory of a step
// for the next one.
func (p *Problem) AllSteps() iter.Seq2[int, *Step] {
	return func(yield func(int, *Step) bool) {
		x := p.stepping()
		for rank := range p.Ranks {
			if !x.each(rank, func(s *Step) bool { return yield(rank, s) }) {
				return
			}
		}
	}
}

// stepping iterates over the steps of one rank after another.
type stepping struct {
	p        *Problem
	walk     *flow.Walk
	extended []int
	scopes   *scopes
	step     Step
	groups   []int
}

func (p *Problem) stepping() *stepping {
	x := &stepping{p: p, walk: p.Walk(), extended: p.Blocking.Extended(), scopes: p.newScopes()}
	x.step.Tuple, x.step.Instances = make([]int64, len(p.Blocking.Vars)), x.scopes.at
	return x
}

// each calls yield with the steps of a rank, in order, until yield returns false.
func (x *stepping) each(rank int, yield func(*Step) bool) bool {
	p, s := x.p, &x.step
	x.scopes.begin()
	started := startedPartials{}
	for point := range x.walk.Points(rank) {
		p.tuple(point, s.Tuple)
		x.scopes.next(point)
		x.groups = p.Blocking.Running(s.Tuple, x.groups)
		for _, g := range x.groups {
			s.Group, s.Partial = g, Partial{p.block(p.ResultCut, s.Tuple), p.block(x.extended, s.Tuple),
				rank}
			s.First, s.Need = started.first(s.Partial), s.Need[:0]
			for k := range p.Operands {
				if o := &p.Operands[k]; slices.Contains(o.Groups, g) {
					s.Need = append(s.Need, Need{k, p.block(o.Cut, s.Tuple)})
				}
			}
			if !yield(s) {
				return false
			}
		}
	}
	return true
}

// startedPartials is the set of the partial blocks to which a rank has already added.
type startedPartials struct {
	any  bool
	last Partial
	all  map[Partial]bool // nil while the set has only one element
}

// first adds a partial block to the set. It returns true if the block is new in the set.
func (m *startedPartials) first(part Partial) bool {
	switch {
	case !m.any:
		m.any, m.last = true, part
		return true
	case part == m.last:
		return false
	case m.all == nil:
		m.all = map[Partial]bool{m.last: true}
	}
	m.last = part
	had := m.all[part]
	m.all[part] = true
	return !had
}

// Made yields each partial block that a rank computes, with a number of steps. If a block is
// yielded once, the number counts all steps of the rank that add to the block. If a block is
// yielded several times, the sum of the yielded numbers counts them.
func (p *Problem) Made(rank int) iter.Seq2[Partial, int64] {
	return func(yield func(Partial, int64) bool) {
		if !p.Blocking.IsUniform() {
			for s := range p.EachStep(rank) {
				if !yield(s.Partial, 1) {
					return
				}
			}
			return
		}
		extended, tuple := p.Blocking.Extended(), make([]int64, len(p.Blocking.Vars))
		fixed, times := p.repeats(extended)
		for point := range p.Walk().Some(rank, fixed) {
			p.tuple(point, tuple)
			part := Partial{p.block(p.ResultCut, tuple), p.block(extended, tuple), rank}
			if !yield(part, times*int64(len(p.Blocking.Groups))) {
				return
			}
		}
	}
}

// repeats finds the loops whose iterations all add to the same partial block. Such a loop is not
// distributed. It changes neither the block of the result nor the range of an extended variable.
// fixed[k] says whether loop k is such a loop. times is the product of the numbers of iterations of
// all such loops.
func (p *Problem) repeats(extended []int) (fixed []bool, times int64) {
	fixed, times = make([]bool, len(p.Nest.Loops)), 1
	for k, l := range p.Nest.Loops {
		changes := func(v int) bool { return p.Nest.Chunks[v].Uses(k) }
		if l.Dim < 0 && !slices.ContainsFunc(p.ResultCut, changes) &&
			!slices.ContainsFunc(extended, changes) {
			fixed[k], times = true, times*l.N
		}
	}
	return fixed, times
}

// Reads yields the blocks of an operand that a rank's steps read, each once.
func (p *Problem) Reads(rank, operand int) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		seen := map[Block]bool{}
		for s := range p.EachStep(rank) {
			for _, need := range s.Need {
				if need.Operand != operand || seen[need.Block] {
					continue
				}
				seen[need.Block] = true
				if !yield(need.Block) {
					return
				}
			}
		}
	}
}
