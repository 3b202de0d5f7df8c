package network

import (
	"math"
	"slices"
)

// state is what is left to do in a nest: items to be multiplied, inside of loops over bound.
type state struct {
	items []item
	bound set
}

// key is a state as a number: for each factor the first of its item, or 15, in four bits;
// for each single factor whether it was summed; and the variables bound.
func (s state) key(factors int) uint64 {
	k := uint64(1)<<(4*factors) - 1
	for _, it := range s.items {
		first := it.factors.first()
		for f := it.factors; f != 0; f &= f - 1 {
			n := f.first()
			k &^= 15 << (4 * n)
			k |= uint64(first) << (4 * n)
		}
		if it.made && it.factors.len() == 1 {
			k |= 1 << (4*MaxFactors + first)
		}
	}
	return k | uint64(s.bound)<<(5*MaxFactors)
}

// move is what comes next in a nest: a loop over a variable or, where made is not 0, the
// producer of an intermediate of these items, by number.
type move struct {
	v    int
	made set
}

// found is the least cost of a state, and the move that it begins with.
type found struct {
	cost  float64
	first move
}

// search is one for given conversions.
type search struct {
	*model
	memo map[uint64]found
	// budget is the number of states that may still be looked at; below 0 the search is given up.
	budget int
}

// maxStates is the number of states that the exact search looks at.
const maxStates = 100_000

// best is the least cost of what is left to do.
func (s *search) best(x state) float64 {
	key := x.key(len(s.Factors))
	if f, ok := s.memo[key]; ok {
		return f.cost
	}
	if s.budget--; s.budget < 0 {
		return math.Inf(1)
	}
	f := found{cost: math.Inf(1)}
	vars := s.loopsOf(x)
	if x.bound == vars && s.complete(x) {
		f.cost = 0
	}
	for v := range s.vars {
		if !vars.has(v) || x.bound.has(v) || !s.mayLoop(x, v) {
			continue
		}
		if cost := s.loop(x, vars, v) + s.best(state{x.items, x.bound | 1<<v}); cost < f.cost*(1-1e-9) {
			f = found{cost, move{v: v}}
		}
	}
	s.producers(x, func(made set) {
		own, rest := x.parted(made)
		cost, share := s.makeCost(own, x.others(made), x.bound)
		if cost >= f.cost {
			return
		}
		inside := s.best(state{own, x.bound})
		if math.IsInf(inside, 1) {
			return // a share of it may be 0, and no number
		}
		inside *= share
		if x.bound == 0 {
			inside *= 1 + serialCost
		}
		if cost += inside; cost >= f.cost {
			return
		}
		if cost += s.best(state{rest, x.bound}); cost < f.cost*(1-1e-9) {
			f = found{cost, move{made: made}}
		}
	})
	s.memo[key] = f
	return f.cost
}

// loopsOf are the variables of all loops of a state.
func (s *search) loopsOf(x state) set {
	vars := s.held(x.items)
	if s.isRoot(x) {
		vars |= s.result
	}
	return vars
}

// isRoot tells whether a state is of the product itself, and of no producer.
func (s *search) isRoot(x state) bool {
	factors := set(0)
	for _, it := range x.items {
		factors |= it.factors
	}
	return factors == s.all()
}

// loop is what a loop costs in a state.
func (s *search) loop(x state, vars set, v int) float64 {
	cost := s.loopOver(x.items, vars, x.bound, v).cost()
	if s.isRoot(x) {
		cost += s.appendCost(x.items, x.bound, v)
	}
	return cost
}

// mayLoop tells whether a loop over v may come next.
func (s *search) mayLoop(x state, v int) bool {
	if s.Way == Pairwise && len(x.items) > 2 {
		return false
	}
	if s.fixed != nil && s.isRoot(x) {
		for _, u := range s.fixed {
			if !x.bound.has(u) && s.loopsOf(x).has(u) {
				if u != v {
					return false
				}
				break
			}
		}
	}
	return s.allowed(x.items, x.bound, v)
}

// complete tells whether the items may be multiplied as they are.
func (s *search) complete(x state) bool {
	if s.Tree == nil {
		return true
	}
	t := s.Tree.over(x.factors())
	return t != nil && t.matches(x.items)
}

// factors are those of a state's items.
func (x state) factors() set {
	out := set(0)
	for _, it := range x.items {
		out |= it.factors
	}
	return out
}

// producers calls fn for the items, by number, that may be contracted next.
func (s *search) producers(x state, fn func(made set)) {
	if s.Way == Direct || s.Way == Pairwise && (x.bound != 0 || len(x.items) <= 2) {
		return
	}
	for made := set(1); made < 1<<len(x.items); made++ {
		if own, _ := x.parted(made); s.mayMake(x, own) {
			fn(made)
		}
	}
}

// mayMake tells whether some items of a state may be contracted in it.
func (s *search) mayMake(x state, own []item) bool {
	factors := state{items: own}.factors()
	open := s.open(factors)
	switch {
	case len(own) == len(x.items) && !(s.isRoot(x) && len(own) == 1),
		!x.bound.within(open),
		s.MaxOrder >= 0 && (open&^x.bound).len() > s.MaxOrder:
		return false
	case s.Tree != nil:
		t := s.Tree.over(factors)
		return t != nil && t.matches(own)
	case s.Way == Pairwise:
		return len(own) == 2
	case len(own) == 1:
		return !own[0].made && s.held(own) != open
	}
	return s.held(own) != x.bound // nothing is left to share
}

// parted are the items of a set, and what is left where their contraction takes their place: by
// their first factors, so that a state's moves are those of all ways to it.
func (x state) parted(made set) (own, rest []item) {
	all := item{made: true}
	for k, it := range x.items {
		if made.has(k) {
			own = append(own, it)
			all.factors |= it.factors
		} else {
			rest = append(rest, it)
		}
	}
	rest = append(rest, all)
	slices.SortFunc(rest, func(a, b item) int { return a.factors.first() - b.factors.first() })
	return own, rest
}

// others are the items that are not in a set.
func (x state) others(made set) []item {
	var out []item
	for k, it := range x.items {
		if !made.has(k) {
			out = append(out, it)
		}
	}
	return out
}

// whole is the state of the whole product.
func (m *model) whole() state {
	x := state{}
	for f := range m.Factors {
		x.items = append(x.items, item{factors: 1 << f})
	}
	return x
}

// Search finds the plan of least cost, nil where there is none: where a tree that is asked for, or an
// order of loops that is given, asks for what storage orders forbid.
func Search(p *Problem) *Plan {
	m := newModel(p)
	best := m.cheapest()
	if best == nil || p.MaxOrder >= 0 || p.Way == Direct || best.Bound > 0 {
		return best
	}
	// Of those that cost about the same, one with the smallest intermediates.
	for order := 0; order < best.Order(); order++ {
		small := *p
		small.MaxOrder = order
		if q := newModel(&small).cheapest(); q != nil && q.Cost <= best.Cost*sameCost {
			return q
		}
	}
	return best
}

// sameCost is how much more a plan may cost for intermediates of lower order.
const sameCost = 1.02

// cheapest is the plan of least cost, or one that a beam finds.
func (m *model) cheapest() *Plan {
	best, all := m.within(m.states())
	if !all {
		return m.beam()
	}
	return best
}

// states is how many states the exact search of a product looks at: each has more moves the more
// factors there are.
func (m *model) states() int { return maxStates >> (2 * max(len(m.Factors)-5, 0)) }

// within is the plan of least cost over all sets of accesses that may be converted; all says that
// so many states were enough to be sure of that.
func (m *model) within(states int) (best *Plan, all bool) {
	for _, c := range m.conversions() {
		if best != nil && c.cost >= best.Cost {
			break
		}
		m.converted = c.accesses
		s := &search{model: m, memo: map[uint64]found{}, budget: states}
		cost := s.best(m.whole()) + c.cost
		if states = s.budget; states < 0 {
			return best, false
		}
		if !math.IsInf(cost, 1) && (best == nil || cost < best.Cost) {
			best = s.plan(c)
		}
	}
	return best, true
}

// conversion is a set of accesses that are stored in other orders first, by factor.
type conversion struct {
	accesses []set
	cost     float64
}

// again tells whether an access stands in a product twice: both are read as it is stored, so that
// loops of one must not ask for what those of the other forbid.
func (m *model) again(a Access) bool {
	n := 0
	for _, f := range m.Factors {
		for _, b := range f.Accesses {
			if a.Tensor.Name == b.Tensor.Name && slices.Equal(a.Vars, b.Vars) {
				n++
			}
		}
	}
	return n > 1
}

// conversions are those that there may be, by their cost.
func (m *model) conversions() []conversion {
	out := []conversion{{accesses: make([]set, len(m.Factors))}}
	if m.Order != nil || m.Keep {
		return out
	}
	for f, x := range m.Factors {
		for k, a := range x.Accesses {
			if a.Tensor.Format.AllDense() || len(a.Vars) < 2 || m.again(a) {
				continue
			}
			for _, c := range slices.Clone(out) {
				with := slices.Clone(c.accesses)
				with[f] |= 1 << k
				out = append(out, conversion{with, c.cost + ConvertCost*max(float64(a.Tensor.NNZ), 1)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b conversion) int {
		switch {
		case a.cost < b.cost:
			return -1
		case a.cost > b.cost:
			return 1
		}
		return 0
	})
	return out
}
