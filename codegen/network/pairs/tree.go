package pairs

import (
	"math"
	"slices"
)

// tree is a contraction tree that is being improved. Nodes below the number of factors are the
// leaves.
type tree struct {
	space *space
	nodes []node
	root  int
	cost  float64
	steps int64 // of the search so far
	spare set   // for results that are not kept
	clock int   // counts the changes
}

// node is a leaf or the contraction of two nodes. The children and the parent of a node are -1 if
// there are none.
type node struct {
	item
	child   [2]int
	parent  int
	density float64
	cost    float64 // of the contraction
	// changed is the time of the node's last change, by the tree's clock, and tried the time when
	// the subtree below it was last optimized.
	changed, tried int
}

// newTree returns the leaves of a tree.
func (s *space) newTree() *tree {
	n := len(s.leaves)
	t := &tree{space: s, nodes: make([]node, n, 2*n-1), spare: s.newSet()}
	for f, x := range s.leaves {
		t.nodes[f] = node{item: x, child: [2]int{-1, -1}, parent: -1, density: s.leafDensity(f)}
	}
	return t
}

// join adds the contraction of two nodes, without its variables and costs.
func (t *tree) join(a, b int) int {
	n := len(t.nodes)
	t.nodes = append(t.nodes,
		node{item: item{vars: t.space.newSet()}, child: [2]int{a, b}, parent: -1})
	t.nodes[a].parent, t.nodes[b].parent = n, n
	return n
}

// finish computes the costs of a tree whose nodes have their variables.
func (t *tree) finish() {
	t.root = len(t.nodes) - 1
	for k := range t.nodes {
		if t.nodes[k].parent < 0 {
			t.root = k
		}
	}
	t.cost, t.clock = 0, 1
	t.postorder(t.root, func(n int) {
		t.nodes[n].changed = t.clock
		t.update(n)
	})
}

// postorder calls fn for each inner node below and at n, children first.
func (t *tree) postorder(n int, fn func(n int)) {
	list := []int{n}
	for k := 0; k < len(list); k++ {
		for _, c := range t.nodes[list[k]].child {
			if c >= len(t.space.leaves) {
				list = append(list, c)
			}
		}
	}
	for _, n := range slices.Backward(list) {
		if n >= len(t.space.leaves) {
			fn(n)
		}
	}
}

// update computes the size, density and cost of a node from its variables and its children, and
// adds the change of the cost to the tree's.
func (t *tree) update(n int) {
	x, a, b := &t.nodes[n], &t.nodes[t.nodes[n].child[0]], &t.nodes[t.nodes[n].child[1]]
	all := t.space.unionSize(a.vars, b.vars)
	x.size = t.space.sizeOf(x.vars)
	x.filled = a.filled + b.filled + all - x.size
	x.density = 1
	if !t.space.dense && (a.density < 1 || b.density < 1) {
		x.density = t.space.density(x.filled)
	}
	cost := t.space.costOf(all, a.density, b.density, x.size, x.density)
	t.cost += cost - x.cost
	x.cost = cost
	t.steps += int64(t.space.words) + 8
}

// recount computes the tree's cost again, without the rounding errors of many changes.
func (t *tree) recount() {
	t.cost = 0
	for k := range t.nodes {
		t.cost += t.nodes[k].cost
	}
}

// largest returns the number of entries of the largest intermediate.
func (t *tree) largest() float64 {
	most := 0.0
	for k := len(t.space.leaves); k < len(t.nodes); k++ {
		if k != t.root {
			most = max(most, t.nodes[k].density*math.Exp2(t.nodes[k].size))
		}
	}
	return most
}

// multiplyAdds returns the number of multiply-adds of a tree.
func (t *tree) multiplyAdds() float64 {
	n := 0.0
	for _, x := range t.nodes[len(t.space.leaves):] {
		a, b := &t.nodes[x.child[0]], &t.nodes[x.child[1]]
		n += math.Exp2(t.space.unionSize(a.vars, b.vars)) * a.density * b.density
	}
	return n
}

// result returns a tree as a list of pairs, children first. Of two items, the first one is the one
// with the smaller first factor.
func (t *tree) result() *Tree {
	out := &Tree{MultiplyAdds: t.multiplyAdds(), Largest: t.largest()}
	number := make([]int, len(t.nodes))
	first := make([]int, len(t.nodes))
	for k := range t.space.leaves {
		number[k], first[k] = k, k
	}
	next := len(t.space.leaves)
	t.postorder(t.root, func(n int) {
		a, b := t.nodes[n].child[0], t.nodes[n].child[1]
		if first[b] < first[a] {
			a, b = b, a
		}
		out.Pairs = append(out.Pairs, [2]int{number[a], number[b]})
		number[n], first[n] = next, first[a]
		next++
	})
	return out
}

// copy returns a copy of a tree.
func (t *tree) copy() *tree {
	u := *t
	u.spare = t.space.newSet()
	u.nodes = make([]node, len(t.nodes))
	for k, x := range t.nodes {
		if k >= len(t.space.leaves) {
			x.vars = append(set(nil), x.vars...)
		}
		u.nodes[k] = x
	}
	return &u
}
