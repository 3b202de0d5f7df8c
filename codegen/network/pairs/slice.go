package pairs

import "math"

// slice returns a tree whose intermediates have at most the given number of entries, and the
// variables that are sliced for it. At each step it slices one variable of the largest
// intermediate. It takes the variable that makes the contractions cost least.
func (s *space) slice(t *tree, entries float64, limit int64) (*tree, []int) {
	var sliced []int
	for t.largest() > entries {
		largest := -1
		for k := len(s.leaves); k < len(t.nodes); k++ {
			if k != t.root && (largest < 0 || t.entries(k) > t.entries(largest)) {
				largest = k
			}
		}
		best, least := -1, math.Inf(1)
		for v := range s.logs {
			if s.logs[v] > 0 && t.nodes[largest].vars.has(v) {
				if cost := t.slicedCost(v); cost < least {
					best, least = v, cost
				}
			}
		}
		if best < 0 {
			break
		}
		sliced = append(sliced, best)
		s.logs[best] = 0
		s.setUnit()
		for k := range s.leaves {
			s.leaves[k] = s.leaf(k)
			t.nodes[k].item, t.nodes[k].density = s.leaves[k], s.leafDensity(k)
		}
		t.postorder(t.root, t.update)
		t.recount()
		t.reconfigure(limit / 16)
	}
	return t, sliced
}

// entries returns the number of entries of a node.
func (t *tree) entries(n int) float64 { return t.nodes[n].density * math.Exp2(t.nodes[n].size) }

// slicedCost returns the cost of a tree if variable v is sliced. Contractions without v are then
// computed once for each of its values too.
func (t *tree) slicedCost(v int) float64 {
	cost, size := 0.0, math.Exp2(t.space.logs[v])
	for _, x := range t.nodes[len(t.space.leaves):] {
		if t.nodes[x.child[0]].vars.has(v) || t.nodes[x.child[1]].vars.has(v) {
			cost += x.cost
		} else {
			cost += x.cost * size
		}
	}
	return cost
}
