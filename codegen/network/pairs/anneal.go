package pairs

import (
	"math"
	"math/rand/v2"
)

// hottest and coldest are the first and the last temperature of an annealing. A rotation that
// doubles the cost of its two contractions is accepted with the probability exp(-1/temperature).
const hottest, coldest = 0.6, 0.03

// anneal improves a tree by rotations at random, in about the given number of steps. If they do
// not improve it, the tree stays as it is.
func (t *tree) anneal(seed uint64, steps int64) {
	first, leaves := t.copy(), len(t.space.leaves)
	if leaves < 3 {
		return
	}
	draw := rand.New(rand.NewPCG(seed, 3))
	begin := t.steps
	for done := 0.0; done < 1; done = float64(t.steps-begin) / float64(steps) {
		temperature := hottest * math.Pow(coldest/hottest, done)
		for range leaves {
			t.rotate(leaves+draw.IntN(leaves-1), draw, temperature)
		}
	}
	t.recount()
	if t.cost > first.cost {
		first.steps = t.steps
		*t = *first
	}
}

// rotate tries a rotation at node n, (A*C)*B to (A*B)*C, where A*C is a child of n.
func (t *tree) rotate(n int, draw *rand.Rand, temperature float64) {
	top := &t.nodes[n]
	bits := draw.Uint64()
	k := int(bits & 1)
	if top.child[k] < len(t.space.leaves) {
		if k ^= 1; top.child[k] < len(t.space.leaves) {
			return
		}
	}
	x := &t.nodes[top.child[k]]
	side := int(bits >> 1 & 1)
	a, c, b := &t.nodes[x.child[side]], &t.nodes[x.child[side^1]], &t.nodes[top.child[k^1]]
	made := t.spare
	for w := range made {
		made[w] = (a.vars[w] | b.vars[w]) & (top.vars[w] | c.vars[w])
	}
	t.steps += int64(2*len(made)) + 4
	inner := t.space.unionSize(a.vars, b.vars)
	size := t.space.sizeOf(made)
	density, filled := 1.0, a.filled+b.filled+inner-size
	if !t.space.dense && (a.density < 1 || b.density < 1) {
		density = t.space.density(filled)
	}
	innerCost := t.space.costOf(inner, a.density, b.density, size, density)
	outer := t.space.unionSize(made, c.vars)
	topCost := t.space.costOf(outer, density, c.density, top.size, top.density)
	before, after := x.cost+top.cost, innerCost+topCost
	if after > before {
		t.steps += 4
		if draw.Float64() >= math.Exp(-math.Log2(after/before)/temperature) {
			return
		}
	}
	t.steps += 4
	copy(x.vars, made)
	t.clock++
	x.size, x.filled, x.density, x.cost, x.changed = size, filled, density, innerCost, t.clock
	top.cost, top.changed = topCost, t.clock
	t.cost += after - before
	other := top.child[k^1]
	top.child[k^1] = x.child[side^1]
	t.nodes[top.child[k^1]].parent = n
	x.child[side^1] = other
	t.nodes[other].parent = top.child[k]
}
