package network

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// state is what is left to do in a nest: items to be multiplied, inside of loops over bound.
type state struct {
	items []item
	bound set
}

// key is a state as numbers, with the accesses of its factors that are converted.
type key struct{ state, converted uint64 }

// mostAccesses is how many accesses a factor has at most of which one may be converted.
const mostAccesses = 8

// key has for each factor of a state the first of its item, or 15, in four bits; for each single
// factor whether it was summed; and the variables bound.
func (m *model) key(x state) key {
	n := len(m.problem.Factors)
	k := key{state: uint64(1)<<(4*n) - 1}
	for _, it := range x.items {
		first := it.factors.first()
		for f := it.factors; f != 0; f &= f - 1 {
			n := f.first()
			k.state &^= 15 << (4 * n)
			k.state |= uint64(first) << (4 * n)
			k.converted |= uint64(m.converted[n]) << (mostAccesses * n)
		}
		if it.made && it.factors.len() == 1 {
			k.state |= 1 << (4*MaxFactors + first)
		}
	}
	k.state |= uint64(x.bound) << (5 * MaxFactors)
	return k
}

// move is what comes next in a nest: a loop over a variable, all that is left as a product of
// matrices or, where made is not 0, the producer of an intermediate of these items, by number.
type move struct {
	v    int
	made set
	gemm bool // what is left is one product of matrices
}

// found is a way to do what is left of a state: what it takes, the move that it begins with and
// which of the ways of the states that it leads to it goes on with: behind the move, and inside of
// the producer.
type found struct {
	spent        spent
	first        move
	next, inside int
}

// search is one for all sets of conversions: what is left of factors that two of them store alike
// costs the same.
type search struct {
	model *model
	memo  map[key][]found
	// budget is the number of states that may still be looked at; below 0 the search is given up.
	budget int
}

// maxStates is the number of states that the exact search looks at; of up to exactFactors factors
// over up to exactVars variables it looks at all.
const (
	maxStates    = 100_000
	exactFactors = 5
	exactVars    = 8
)

// cheapestOf is the least cost of some ways, and which it is; infinite where there are none.
func cheapestOf(ways []found) (cost float64, number int) {
	cost = math.Inf(1)
	for k, f := range ways {
		if c := f.spent.cost(); c < nearly*cost {
			cost, number = c, k
		}
	}
	return cost, number
}

// ways are those of doing what is left to do of which no other both loads and brings near less:
// which of them is the best hangs on what the loops around have spent of the two.
func (s *search) ways(x state) []found {
	key := s.model.key(x)
	if ways, ok := s.memo[key]; ok {
		return ways
	}
	if s.budget--; s.budget < 0 {
		return nil
	}
	var f front
	vars := s.loopsOf(x)
	if x.bound == vars && s.complete(x) {
		f.add(found{})
	}
	for v := range s.model.vars {
		if !vars.has(v) || x.bound.has(v) || !s.mayLoop(x, v) {
			continue
		}
		own, often := s.loop(x, vars, v), s.waiting(x, v)
		for k, rest := range s.ways(state{x.items, x.bound | 1<<v}) {
			f.add(found{own.and(rest.spent).times(often), move{v: v}, k, 0})
		}
	}
	if cost := s.gemmCost(x, vars); !math.IsInf(cost, 1) {
		f.add(found{both(cost), move{gemm: true}, 0, 0})
	}
	s.producers(x, func(made set, own, rest []item) {
		share := s.share(x, made)
		cost := both(s.model.makeCost(own, share, x.bound))
		if f.covers(cost) {
			return
		}
		var parts front // of own, with what makes them an intermediate
		for _, way := range s.producer(state{own, x.bound}, share) {
			if spent := cost.and(way.spent); !f.covers(spent) {
				parts = append(parts, found{spent: spent, inside: way.inside})
			}
		}
		if len(parts) == 0 {
			return
		}
		for k, way := range s.ways(state{rest, x.bound}) {
			for _, part := range parts {
				f.add(found{part.spent.and(way.spent), move{made: made}, k, part.inside})
			}
		}
	})
	s.memo[key] = f
	return f
}

// producer are the ways of a producer, which is run for a share of the points of the loops around
// it. Outside of all loops nothing of what reads the intermediate goes on beside it.
func (s *search) producer(x state, share float64) []found {
	ways := s.ways(x)
	if x.bound == 0 {
		cost, k := cheapestOf(ways)
		if math.IsInf(cost, 1) {
			return nil
		}
		return []found{{spent: both(share * cost), inside: k}}
	}
	out := make([]found, len(ways))
	for k, way := range ways {
		out[k] = found{spent: way.spent.and(s.model.begun(x.items, x.bound)).times(share), inside: k}
	}
	return out
}

// waiting is how many times what it takes a loop over v costs that begins a state: more where it
// makes an intermediate outside of all loops on one thread, or is inside of an outermost loop that
// sums into the result on one, and where that sums into it on all.
func (s *search) waiting(x state, v int) float64 {
	switch root := s.isRoot(x); {
	case root && s.model.sumsAlone(x, v), !root && x.bound == 0 && !s.model.onThreads(x.items, v):
		return 1 + serialCost
	case root && x.bound == 0 && s.model.result != 0 &&
		(!s.model.result.has(v) || s.model.size[v] == 1):
		return 1 + partsCost
	}
	return 1
}

// loopsOf are the variables of all loops of a state.
func (s *search) loopsOf(x state) set {
	vars := s.model.varsIn(x.items)
	if s.isRoot(x) {
		vars |= s.model.result
	}
	return vars
}

// isRoot tells whether a state is of the product itself, and of no producer.
func (s *search) isRoot(x state) bool { return s.model.isAll(x.items) }

// isAll tells whether some items are the whole product.
func (m *model) isAll(items []item) bool { return state{items: items}.factors() == m.all() }

// loop is what a loop costs in a state.
func (s *search) loop(x state, vars set, v int) spent {
	cost := s.model.loopOver(x.items, vars, x.bound, v).spent()
	if s.isRoot(x) {
		cost = cost.and(both(s.model.appendCost(x.items, x.bound, v)))
	}
	return cost
}

// mayLoop tells whether a loop over v may come next.
func (s *search) mayLoop(x state, v int) bool {
	if s.model.problem.Way == Pairwise && len(x.items) > 2 {
		return false
	}
	if s.model.fixed != nil && s.isRoot(x) {
		for _, u := range s.model.fixed {
			if !x.bound.has(u) && s.loopsOf(x).has(u) {
				if u != v {
					return false
				}
				break
			}
		}
	}
	return s.model.allowed(x.items, x.bound, v)
}

// complete tells whether the items may be multiplied as they are.
func (s *search) complete(x state) bool {
	if s.model.problem.Contracted && s.isRoot(x) &&
		!slices.ContainsFunc(x.items, func(it item) bool { return it.made }) {
		return false
	}
	if s.model.problem.Tree == nil {
		return true
	}
	t := s.model.problem.Tree.over(x.factors())
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

// producers calls fn for the items, by number, that may be contracted next; with these, and with
// what is left then, which are good until fn returns.
func (s *search) producers(x state, fn func(made set, own, rest []item)) {
	if s.model.problem.Way == Direct ||
		s.model.problem.Way == Pairwise && (x.bound != 0 || len(x.items) <= 2) {
		return
	}
	buffer := make([]item, 2*MaxFactors)
	for made := set(1); made < 1<<len(x.items); made++ {
		if own, rest := x.parted(made, buffer); s.mayMake(x, own) {
			fn(made, own, rest)
		}
	}
}

// mayMake tells whether some items of a state may be contracted in it.
func (s *search) mayMake(x state, own []item) bool {
	factors := state{items: own}.factors()
	open := s.model.open(factors)
	switch {
	case len(own) == len(x.items) && !(s.isRoot(x) && len(own) == 1),
		s.model.problem.Inside && x.bound == 0 && open != 0,
		!x.bound.within(open),
		s.model.problem.MaxOrder >= 0 && (open&^x.bound).len() > s.model.problem.MaxOrder:
		return false
	case s.model.problem.Tree != nil:
		// parts of it may be made inside of its own loops
		return s.model.problem.Tree.over(factors) != nil
	case s.model.problem.Way == Pairwise:
		return len(own) == 2
	case len(own) == 1:
		return !own[0].made && s.model.varsIn(own) != open
	}
	return s.model.varsIn(own) != x.bound // nothing is left to share
}

// parted are the items of a set, and what is left where their contraction takes their place: by
// their first factors, so that a state's moves are those of all ways to it. Both lie in buffer, of
// 2*MaxFactors items.
func (x state) parted(made set, buffer []item) (own, rest []item) {
	own, rest = buffer[:0:MaxFactors], buffer[MaxFactors:MaxFactors]
	all := item{made: true}
	for k, it := range x.items {
		if made.has(k) {
			own = append(own, it)
			all.factors |= it.factors
		}
	}
	placed := false
	for k, it := range x.items {
		if made.has(k) {
			continue
		}
		if !placed && it.factors.first() > all.factors.first() {
			rest, placed = append(rest, all), true
		}
		rest = append(rest, it)
	}
	if !placed {
		rest = append(rest, all)
	}
	return own, rest
}

// share is that of the points of the variables bound, among those that some items of a state have,
// at which all others have a value as well.
func (s *search) share(x state, made set) float64 {
	share := 1.0
	for k, it := range x.items {
		if !made.has(k) {
			share *= s.model.at(it, x.bound)
		}
	}
	return share
}

// whole is the state of the whole product.
func (m *model) whole() state {
	x := state{}
	for f := range m.problem.Factors {
		x.items = append(x.items, item{factors: 1 << f})
	}
	return x
}

// Search finds the plan of least cost, nil where there is none: where a tree that is asked for, or
// an order of loops that is given, asks for what storage orders forbid.
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
const sameCost = 1.05

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
func (m *model) states() int {
	if len(m.problem.Factors) <= exactFactors && len(m.vars) <= exactVars {
		return math.MaxInt
	}
	return maxStates >> (2 * max(len(m.problem.Factors)-exactFactors, 0))
}

// within is the plan of least cost over all sets of accesses that may be converted; all says that
// so many states were enough to be sure of that.
func (m *model) within(states int) (best *Plan, all bool) {
	s := &search{model: m, memo: map[key][]found{}, budget: states}
	list := m.conversions()
	if states == math.MaxInt && len(list) > 1 {
		return m.sideBySide(list), true
	}
	for _, c := range list {
		if best != nil && c.cost >= best.Cost {
			break
		}
		plan := s.converting(c)
		if s.budget < 0 {
			return best, false
		}
		if plan != nil && (best == nil || plan.Cost < best.Cost) {
			best = plan
		}
	}
	return best, true
}

// converting is the plan of least cost with those accesses converted, nil where there is none.
func (s *search) converting(c conversion) *Plan {
	s.model.convert(c.accesses)
	if cost, _ := cheapestOf(s.ways(s.model.whole())); s.budget < 0 || math.IsInf(cost, 1) {
		return nil
	}
	return s.plan(c)
}

// sideBySide is the plan of least cost over some conversions, the first of them in the list. They
// have little in common, so that several threads search, each for itself.
func (m *model) sideBySide(list []conversion) (best *Plan) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	next, number := 0, 0 // of the list; best's
	take := func(plan *Plan, k int) (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if plan != nil && (best == nil || plan.Cost < best.Cost || plan.Cost == best.Cost && k < number) {
			best, number = plan, k
		}
		k = next
		next++
		return k, k < len(list) && (best == nil || list[k].cost < best.Cost)
	}
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wait.Go(func() {
			s := &search{model: newModel(m.problem), memo: map[key][]found{}, budget: math.MaxInt}
			for k, more := take(nil, 0); more; {
				k, more = take(s.converting(list[k]), k)
			}
		})
	}
	wait.Wait()
	return best
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
	for _, f := range m.problem.Factors {
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
	out := []conversion{{accesses: m.anyOrder()}}
	if m.problem.Order != nil || m.problem.Keep {
		return out
	}
	for f, x := range m.problem.Factors {
		for k, a := range x.Accesses {
			if x.made || a.Tensor.Format.AllDense() || len(a.Vars) < 2 ||
				k >= mostAccesses || m.again(a) {
				continue
			}
			for _, c := range slices.Clone(out) {
				with := slices.Clone(c.accesses)
				with[f] |= 1 << k
				out = append(out, conversion{with, c.cost + a.Converting(m.problem.Sizes)})
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
