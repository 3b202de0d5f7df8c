package network

import "slices"

// beamWidth is the number of trees that the beam keeps at each step.
const beamWidth = 6

// treeStates is the largest number of states that the search visits to find the loops of one tree.
const treeStates = 5000

// forest is a partial contraction of the product: the items that remain, a tree for each item (with
// the same index), and the number of multiply-adds of the contractions so far.
type forest struct {
	items []item
	trees []*Tree
	cost  float64
}

// beam returns a plan of a product, which it finds by beam search. It is used if the product has
// too many states for the exact search. beam first looks for contraction trees that need few
// multiply-adds (see forests). For each tree it then searches for the best loops, and visits at
// most treeStates states. It may also try a plan without intermediates. If the problem has a tree,
// beam tries only this tree. The plan's Bound is a lower bound of the cost of any plan of the
// product. The result is nil if beam finds no possible loops.
func (m *model) beam() *Plan {
	var best *Plan
	try := func(p Problem) {
		if q, _ := newModel(&p).within(treeStates); q != nil && (best == nil || q.Cost < best.Cost) {
			best = q
		}
	}
	p := *m.problem
	switch {
	case m.problem.Tree != nil:
		try(p)
	default:
		for _, f := range m.forests() {
			p.Tree = f.trees[0]
			try(p)
		}
		if p.Tree = nil; m.problem.Method == Auto && !p.Contracted {
			p.Method = Direct
			try(p)
		}
	}
	if best != nil {
		best.Bound = m.lowerBound()
	}
	return best
}

// forests searches for contraction trees with few multiply-adds, and returns the cheapest ones that
// it finds. Each inner node of a tree contracts two items.
func (m *model) forests() []forest {
	first := forest{items: m.whole().items}
	for f := range m.problem.Factors {
		first.trees = append(first.trees, &Tree{factors: 1 << f})
	}
	beam := []forest{first}
	for range len(m.problem.Factors) - 1 {
		var next []forest
		for _, f := range beam {
			for a := range f.items {
				for b := range a {
					next = append(next, m.joinedAt(f, a, b))
				}
			}
		}
		slices.SortStableFunc(next, func(f, g forest) int {
			switch {
			case f.cost < g.cost:
				return -1
			case f.cost > g.cost:
				return 1
			}
			return 0
		})
		beam = next[:min(len(next), beamWidth)]
	}
	return beam
}

// joinedAt returns a copy of forest f with its items a and b contracted.
func (m *model) joinedAt(f forest, a, b int) forest {
	own, rest := state{items: f.items}.parted(1<<a|1<<b, make([]item, 2*MaxFactors))
	both := &Tree{Children: []*Tree{f.trees[a], f.trees[b]},
		factors: f.trees[a].factors | f.trees[b].factors}
	g := forest{items: rest, cost: f.cost + m.iterations(own, m.varsIn(own))}
	for _, it := range rest { // a tree has the index of its item
		k := slices.IndexFunc(f.trees, func(t *Tree) bool { return t.factors == it.factors })
		if k < 0 {
			g.trees = append(g.trees, both)
		} else {
			g.trees = append(g.trees, f.trees[k])
		}
	}
	return g
}

// lowerBound returns a lower bound of the cost of any plan. It charges only one vectorized step for
// each value of the result.
func (m *model) lowerBound() float64 {
	return laneCost * m.places(m.result) * m.filled(m.all(), m.result)
}
