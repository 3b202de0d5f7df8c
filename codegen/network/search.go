package network

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// state describes the rest of a nest: the items that are not multiplied yet, and the variables of
// the loops that are already open around them (bound).
type state struct {
	items []item
	bound set
}

// key identifies a state of the search, so that the search recognizes equal states. The field state
// encodes the items and the bound variables. converted has the accesses of the state's factors that
// are stored in another order.
type key struct{ state, converted uint64 }

// mostAccesses is the number of accesses of a factor that may be converted. Only the first
// mostAccesses accesses of a factor may be converted.
const mostAccesses = 8

// key returns the key of state x. The key's field state has four bits for each factor: the number
// of the first factor in the same item, or 15 if x lacks the factor. Each factor also has one bit
// that is set if the factor was summed without other factors. The last bits are the set of bound
// variables.
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

// move is the next step in building a nest of loops. There are three kinds of steps. If made is not
// 0, the step makes an intermediate, and made holds the numbers of the items that it multiplies. If
// gemm is true, the step computes the rest of the nest as one matrix product. Otherwise the step is
// a loop over variable v.
type move struct {
	v    int
	made set
	gemm bool // what is left is one product of matrices
}

// alternative is one way to compute the rest of a state. first is its first move, and spent is the
// cost of all moves. If the first move is a loop or makes an intermediate, it leads to another
// state. next is then an index in the list of that state's alternatives. If the first move makes an
// intermediate, inside is an index in the list of alternatives of the intermediate's own state. If
// nothing is left to compute, there is no move.
type alternative struct {
	spent        spent
	first        move
	next, inside int
}

// search is a search for the best plan over sets of conversions. The searches for all sets use one
// memo table. An entry of the table for a state is used for two sets if both give the state's
// factors the same storage orders, because completing the state then costs the same.
type search struct {
	model *model
	memo  map[key][]alternative
	// budget is the number of states that may still be visited. The search stops when it becomes
	// negative.
	budget int
}

// maxStates is the largest number of states that the exact search visits. The search has no limit
// for products of at most exactFactors factors over at most exactVars variables.
const (
	maxStates    = 100_000
	exactFactors = 5
	exactVars    = 8
)

// cheapestOf returns the least cost of the alternatives and its index. The cost is infinite if
// there are none.
func cheapestOf(ways []alternative) (cost float64, number int) {
	cost = math.Inf(1)
	for k, f := range ways {
		if c := f.spent.cost(); c < roundingFactor*cost {
			cost, number = c, k
		}
	}
	return cost, number
}

// ways returns the alternatives for completing state x, or nil if there are none. The cost of an
// alternative has two parts (see spent). ways leaves out an alternative if another one costs no
// more in both parts. Which of the remaining alternatives is best depends on the loops around the
// state, because the larger of the two parts of a nest has the larger weight in the nest's cost. If
// the budget is spent, alternatives may be missing.
func (s *search) ways(x state) []alternative {
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
		f.add(alternative{})
	}
	for v := range s.model.vars {
		if !vars.has(v) || x.bound.has(v) || !s.mayLoop(x, v) {
			continue
		}
		own, often := s.loop(x, vars, v), s.waitFactor(x, v)
		for k, rest := range s.ways(state{x.items, x.bound | 1<<v}) {
			f.add(alternative{own.and(rest.spent).times(often), move{v: v}, k, 0})
		}
	}
	if cost := s.gemmCost(x, vars); !math.IsInf(cost, 1) {
		f.add(alternative{unoverlapped(cost), move{gemm: true}, 0, 0})
	}
	s.producers(x, func(made set, own, rest []item) {
		share := s.share(x, made)
		cost := unoverlapped(s.model.makeCost(own, share, x.bound))
		if f.covers(cost) {
			return
		}
		var parts front // of own, with the cost of the intermediate
		for _, way := range s.producer(state{own, x.bound}, share) {
			if spent := cost.and(way.spent); !f.covers(spent) {
				parts = append(parts, alternative{spent: spent, inside: way.inside})
			}
		}
		if len(parts) == 0 {
			return
		}
		for k, way := range s.ways(state{rest, x.bound}) {
			for _, part := range parts {
				f.add(alternative{part.spent.and(way.spent), move{made: made}, k, part.inside})
			}
		}
	})
	s.memo[key] = f
	return f
}

// producer returns the alternatives for a producer. x is the first state of the producer's own
// contraction. share is the fraction of the points of the outer loops at which the producer runs.
// If there are no outer loops, producer returns only the cheapest alternative, because other work
// cannot overlap with it.
func (s *search) producer(x state, share float64) []alternative {
	ways := s.ways(x)
	if x.bound == 0 {
		cost, k := cheapestOf(ways)
		if math.IsInf(cost, 1) {
			return nil
		}
		return []alternative{{spent: unoverlapped(share * cost), inside: k}}
	}
	out := make([]alternative, len(ways))
	for k, way := range ways {
		out[k] = alternative{spent: way.spent.and(s.model.startCost(x.items, x.bound)).times(share),
			inside: k}
	}
	return out
}

// waitFactor returns the factor by which state x costs more if its first loop is over v, because
// the loop does not make full use of the threads. It exceeds 1 in three cases:
//
//   - The loop makes an intermediate outside of all other loops, on one thread.
//   - The loop is directly inside an outermost loop that sums into the result on one thread.
//   - The loop is outermost, its variable is summed or has only one coordinate, and the result is
//     not a scalar.
func (s *search) waitFactor(x state, v int) float64 {
	switch root := s.isRoot(x); {
	case root && s.model.sumsAlone(x, v), !root && x.bound == 0 && !s.model.onThreads(x.items, v):
		return 1 + serialCost
	case root && x.bound == 0 && s.model.result != 0 &&
		(!s.model.result.has(v) || s.model.size[v] == 1):
		return 1 + partsCost
	}
	return 1
}

// loopsOf returns the variables of all loops of a state, open and not yet open.
func (s *search) loopsOf(x state) set {
	vars := s.model.varsIn(x.items)
	if s.isRoot(x) {
		vars |= s.model.result
	}
	return vars
}

// isRoot reports whether a state belongs to the product itself and not to a producer.
func (s *search) isRoot(x state) bool { return s.model.isAll(x.items) }

// isAll reports whether the items make up the whole product.
func (m *model) isAll(items []item) bool { return state{items: items}.factors() == m.all() }

// loop returns the cost of a loop over v as the first move of state x. vars are the variables of
// all loops of x.
func (s *search) loop(x state, vars set, v int) spent {
	cost := s.model.loopOver(x.items, vars, x.bound, v).spent()
	if s.isRoot(x) {
		cost = cost.and(unoverlapped(s.model.appendCost(x.items, x.bound, v)))
	}
	return cost
}

// mayLoop reports whether a loop over v may be the next move.
func (s *search) mayLoop(x state, v int) bool {
	if s.model.problem.Method == Pairwise && len(x.items) > 2 {
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

// complete reports whether all items of state x may be multiplied in one contraction, without
// further intermediates.
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

// factors returns the factors of all items of a state.
func (x state) factors() set {
	out := set(0)
	for _, it := range x.items {
		out |= it.factors
	}
	return out
}

// producers calls fn for each set of items of state x that may be contracted next into an
// intermediate. made is the set of the numbers of these items in x, and own lists the items. rest
// lists the items of the state after the contraction: the intermediate and the items that are not
// in own. fn must not keep own or rest after it returns.
func (s *search) producers(x state, fn func(made set, own, rest []item)) {
	if s.model.problem.Method == Direct ||
		s.model.problem.Method == Pairwise && (x.bound != 0 || len(x.items) <= 2) {
		return
	}
	buffer := make([]item, 2*MaxFactors)
	for made := set(1); made < 1<<len(x.items); made++ {
		if own, rest := x.parted(made, buffer); s.mayMake(x, own) {
			fn(made, own, rest)
		}
	}
}

// mayMake reports whether the items own may be contracted into an intermediate in state x.
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
		// an intermediate of the tree may be made inside of the loops of another
		return s.model.problem.Tree.over(factors) != nil
	case s.model.problem.Method == Pairwise:
		return len(own) == 2
	case len(own) == 1:
		return !own[0].made && s.model.varsIn(own) != open
	}
	return s.model.varsIn(own) != x.bound // else the contraction has no loops
}

// parted divides the items of x. own lists the items whose numbers are in made. rest lists the
// items after own is contracted into an intermediate: this intermediate and the other items. rest
// is sorted by the first factor of each item, so that equal states are recognized. Both results are
// stored in buffer, which must have 2*MaxFactors items.
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

// share returns the expected fraction of points where every item of x outside the set made has a
// value. The points are combinations of coordinates of x's bound variables.
func (s *search) share(x state, made set) float64 {
	share := 1.0
	for k, it := range x.items {
		if !made.has(k) {
			share *= s.model.at(it, x.bound)
		}
	}
	return share
}

// whole returns the state of the whole product, before any loop.
func (m *model) whole() state {
	x := state{}
	for f := range m.problem.Factors {
		x.items = append(x.items, item{factors: 1 << f})
	}
	return x
}

// Search returns a plan of about the least cost. If p.MaxOrder is negative, it prefers
// intermediates with few variables among plans of about the same cost. If the exact search is too
// large, it returns the plan of the beam search, which may cost more. It returns nil if it finds no
// plan, for example because the storage orders of the factors contradict the tree or the order of
// loops that p asks for.
func Search(p *Problem) *Plan {
	m := newModel(p)
	best := m.cheapest()
	if best == nil || p.MaxOrder >= 0 || p.Method == Direct || best.Bound > 0 {
		return best
	}
	// Among plans of about the same cost, prefer the intermediates with the fewest variables.
	for order := 0; order < best.Order(); order++ {
		small := *p
		small.MaxOrder = order
		if q := newModel(&small).cheapest(); q != nil && q.Cost <= best.Cost*sameCost {
			return q
		}
	}
	return best
}

// sameCost limits the cost of a plan whose intermediates have fewer variables. The search prefers
// such a plan if it costs at most sameCost times the least cost.
const sameCost = 1.05

// cheapest returns the plan of least cost. If the exact search is too large, it returns the plan of
// the beam search. It returns nil if no plan is found.
func (m *model) cheapest() *Plan {
	best, all := m.within(m.states())
	if !all {
		return m.beam()
	}
	return best
}

// states returns the number of states that the exact search may visit. The number is smaller for
// more factors, because each state then has more moves.
func (m *model) states() int {
	if len(m.problem.Factors) <= exactFactors && len(m.vars) <= exactVars {
		return math.MaxInt
	}
	return maxStates >> (2 * max(len(m.problem.Factors)-exactFactors, 0))
}

// within returns the plan of least cost over all sets of conversions, or nil if there is none. It
// visits at most the given number of states. If they do not suffice, complete is false, because a
// better plan may exist.
func (m *model) within(states int) (best *Plan, complete bool) {
	s := &search{model: m, memo: map[key][]alternative{}, budget: states}
	list := m.conversions()
	if states == math.MaxInt && len(list) > 1 {
		return m.searchParallel(list), true
	}
	for _, c := range list {
		if best != nil && c.cost >= best.Cost {
			break
		}
		plan := s.withConversion(c)
		if s.budget < 0 {
			return best, false
		}
		if plan != nil && (best == nil || plan.Cost < best.Cost) {
			best = plan
		}
	}
	return best, true
}

// withConversion returns the plan of least cost with one set of conversions. It returns nil if
// there is none, or if the budget is spent.
func (s *search) withConversion(c conversion) *Plan {
	s.model.convert(c.accesses)
	if cost, _ := cheapestOf(s.ways(s.model.whole())); s.budget < 0 || math.IsInf(cost, 1) {
		return nil
	}
	return s.plan(c)
}

// searchParallel returns the plan of least cost over the sets of conversions in list. Among equal
// ones it returns the first in the list. Different sets share few states, so each thread has a
// search of its own.
func (m *model) searchParallel(list []conversion) (best *Plan) {
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
			s := &search{model: newModel(m.problem), memo: map[key][]alternative{}, budget: math.MaxInt}
			for k, more := take(nil, 0); more; {
				k, more = take(s.withConversion(list[k]), k)
			}
		})
	}
	wait.Wait()
	return best
}

// conversion is a set of accesses that are first stored in another order, and the cost of storing
// them. accesses is indexed by factor.
type conversion struct {
	accesses []set
	cost     float64
}

// isRepeated reports whether access a occurs more than once in the product. The storage order of
// its tensor must then not be converted, because all these accesses read the tensor in one order. A
// conversion for the loops of one access could make the loops of another access impossible.
func (m *model) isRepeated(a Access) bool {
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

// conversions returns all sets of accesses that may be converted, cheapest first.
func (m *model) conversions() []conversion {
	out := []conversion{{accesses: m.anyOrder()}}
	if m.problem.Order != nil || m.problem.Keep {
		return out
	}
	for f, x := range m.problem.Factors {
		for k, a := range x.Accesses {
			if x.made || a.Tensor.Format.AllDense() || len(a.Vars) < 2 ||
				k >= mostAccesses || m.isRepeated(a) {
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
