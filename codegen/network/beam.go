package network

import "slices"

// beamWidth is the number of trees that a beam keeps.
const beamWidth = 6

// treeStates is the number of states that the search for the loops of one tree looks at.
const treeStates = 5000

// forest is what a beam has made so far: items, and the multiply-adds of their contractions.
type forest struct {
	items []item
	trees []*Tree
	cost  float64
}

// beam finds a plan of a product that has too many states: trees are kept by their multiply-adds
// alone, two items contracted at a time, and the loops of those that are left are found
// exactly. The plan says what no plan costs less than.
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
		if p.Tree = nil; m.problem.Way == Auto && !p.Contracted {
			p.Way = Direct
			try(p)
		}
	}
	if best != nil {
		best.Bound = m.least()
	}
	return best
}

// forests are the trees of the least multiply-adds, of two items each.
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

// joinedAt is a forest with two of its items contracted.
func (m *model) joinedAt(f forest, a, b int) forest {
	own, rest := state{items: f.items}.parted(1<<a|1<<b, make([]item, 2*MaxFactors))
	both := &Tree{Children: []*Tree{f.trees[a], f.trees[b]},
		factors: f.trees[a].factors | f.trees[b].factors}
	g := forest{items: rest, cost: f.cost + m.iterations(own, m.varsIn(own))}
	for _, it := range rest { // each tree stands where its item does
		k := slices.IndexFunc(f.trees, func(t *Tree) bool { return t.factors == it.factors })
		if k < 0 {
			g.trees = append(g.trees, both)
		} else {
			g.trees = append(g.trees, f.trees[k])
		}
	}
	return g
}

// least is a cost that no plan is below: each value of the result takes a step in lanes.
func (m *model) least() float64 {
	return laneCost * m.places(m.result) * m.filled(m.all(), m.result)
}
