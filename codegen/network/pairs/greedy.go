package pairs

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// rule is a rule of a greedy contraction: the next step is the pair with the least score. Let made
// be the size of the contraction of a pair, and used the sum of the sizes of the pair's items. The
// score is the logarithm of made/weight - used*weight, with the sign of that difference. noise is
// the factor of a random number that is added.
type rule struct{ weight, noise float64 }

var plainGreedy = rule{weight: 1}

// greedyTrees returns the best trees of many greedy contractions, the best one first. At least
// one contraction is tried. The others stop after about the given numbers of steps: least, or as
// many as the contraction of the product takes, up to most.
func (s *space) greedyTrees(least, most int64) []*tree {
	draw := rand.New(rand.NewPCG(1, 2))
	trees := []*tree{s.greedy(plainGreedy, nil)}
	steps := trees[0].steps
	for n := 1; n < 256; n++ {
		best := trees[0].cost * flopSeconds * stepsPerSecond / 4
		if steps > min(most, least+int64(min(best, 1e15))) && n >= starts {
			break
		}
		r := rule{math.Exp2(2 * (draw.Float64() - 0.5)), math.Exp2(-8 * draw.Float64())}
		if n%8 == 0 {
			r.noise = 0
		}
		t := s.greedy(r, draw)
		steps += t.steps
		at, _ := slices.BinarySearchFunc(trees, t,
			func(x, y *tree) int { return cmp.Compare(x.cost, y.cost) })
		if at < starts {
			trees = slices.Insert(trees, at, t)
			trees = trees[:min(len(trees), starts)]
		}
	}
	return trees
}

// candidate is a pair of items that may be contracted next.
type candidate struct {
	score float64
	size  float64 // the logarithm of the number of places of the contraction
	a, b  int
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	if c[i].score != c[j].score {
		return c[i].score < c[j].score
	}
	return cmp.Or(c[i].a-c[j].a, c[i].b-c[j].b) < 0
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// greedy contracts the product by a rule. draw is the source of noise; it may be nil if the rule
// has no noise.
func (s *space) greedy(r rule, draw *rand.Rand) *tree {
	g := &greedy{space: s, rule: r, draw: draw, tree: s.newTree(), twice: s.newSet(),
		left: slices.Clone(s.holders), at: make([][]int, len(s.holders))}
	for f, x := range s.problem.Factors {
		for _, v := range x.Vars {
			g.at[v] = append(g.at[v], f)
		}
	}
	for v, n := range g.left {
		if n == 2 {
			g.twice.add(v)
		}
	}
	for f := range s.leaves {
		g.live = append(g.live, true)
		g.pushPairs(f)
	}
	for len(g.heap) > 0 {
		c := heap.Pop(&g.heap).(candidate)
		if !g.live[c.a] || !g.live[c.b] {
			continue
		}
		// A variable of the pair may have become its own since the pair was scored.
		if size, _ := g.made(c.a, c.b); size != c.size {
			g.push(c.a, c.b)
			continue
		}
		g.contract(c.a, c.b)
	}
	g.joinRest()
	g.tree.finish()
	return g.tree
}

// greedy is the state of a greedy contraction. Its items have the numbers of the tree's nodes.
type greedy struct {
	space *space
	rule  rule
	draw  *rand.Rand
	tree  *tree
	heap  candidates
	live  []bool
	left  []int   // the number of live items with each variable, plus 1 if the result has it
	at    [][]int // the live items with each variable
	twice set     // the variables with 2 in left
}

// made returns the logarithm of the number of places of the contraction of two items, and whether
// the items have a variable in common.
func (g *greedy) made(a, b int) (size float64, common bool) {
	x, y := g.tree.nodes[a].vars, g.tree.nodes[b].vars
	out := g.tree.spare
	for k := range out {
		both := x[k] & y[k]
		common = common || both != 0
		out[k] = (x[k] | y[k]) &^ (both & g.twice[k])
	}
	g.tree.steps += int64(len(out)) + 8
	return g.space.sizeOf(out), common
}

func (g *greedy) push(a, b int) {
	size, _ := g.made(a, b)
	d := math.Exp2(size)/g.rule.weight -
		g.rule.weight*(math.Exp2(g.tree.nodes[a].size)+math.Exp2(g.tree.nodes[b].size))
	if g.rule.noise > 0 || math.IsInf(d, 0) || math.IsNaN(d) {
		if d > 0 || math.IsNaN(d) {
			d = math.Log1p(d)
		} else {
			d = -math.Log1p(-d)
		}
		if math.IsNaN(d) || math.IsInf(d, 0) {
			d = size
		}
		if g.rule.noise > 0 {
			d += g.rule.noise * math.Log(-math.Log(max(g.draw.Float64(), 1e-300)))
		}
	}
	heap.Push(&g.heap, candidate{d, size, min(a, b), max(a, b)})
	g.tree.steps += 16
}

// maxHolders limits the pairs that are tried for a variable of many items: an item is paired only
// with the smallest items.
const maxHolders = 12

// pushPairs pushes the pairs of item a with other items that have a variable of a. If both are
// factors, the pair is pushed for the later one.
func (g *greedy) pushPairs(a int) {
	var others []int
	for k, w := range g.tree.nodes[a].vars {
		for v := 64 * k; w != 0; v, w = v+1, w>>1 {
			if w&1 == 0 {
				continue
			}
			near := g.at[v]
			if len(near) > maxHolders {
				near = slices.Clone(near)
				slices.SortFunc(near, func(x, y int) int {
					return cmp.Or(cmp.Compare(g.tree.nodes[x].size, g.tree.nodes[y].size), x-y)
				})
				near = near[:maxHolders]
			}
			others = append(others, near...)
		}
	}
	slices.Sort(others)
	for _, b := range slices.Compact(others) {
		if b != a && b < len(g.live) && g.live[b] {
			g.push(a, b)
		}
	}
}

// contract contracts two items.
func (g *greedy) contract(a, b int) {
	c := g.tree.join(a, b)
	g.live[a], g.live[b] = false, false
	g.live = append(g.live, true)
	x, y, z := g.tree.nodes[a].vars, g.tree.nodes[b].vars, g.tree.nodes[c].vars
	for k := range x {
		both := x[k] & y[k]
		z[k] = (x[k] | y[k]) &^ (both & g.twice[k])
		for v, w := 64*k, x[k]|y[k]; w != 0; v, w = v+1, w>>1 {
			if w&1 == 0 {
				continue
			}
			list := slices.DeleteFunc(g.at[v], func(i int) bool { return i == a || i == b })
			if z.has(v) {
				list = append(list, c)
			}
			g.at[v] = list
			if both>>(v%64)&1 == 0 {
				continue
			}
			g.left[v]--
			if g.twice[k] &^= 1 << (v % 64); g.left[v] == 2 {
				g.twice[k] |= 1 << (v % 64)
			}
		}
	}
	g.tree.steps += int64(len(z)) * 4
	g.tree.nodes[c].size = g.space.sizeOf(z)
	g.pushPairs(c)
}

// joinRest multiplies the items that have no variable in common, the smallest ones first.
func (g *greedy) joinRest() {
	for {
		var rest []int
		for k, live := range g.live {
			if live {
				rest = append(rest, k)
			}
		}
		if len(rest) < 2 {
			return
		}
		slices.SortFunc(rest, func(x, y int) int {
			return cmp.Or(cmp.Compare(g.tree.nodes[x].size, g.tree.nodes[y].size), x-y)
		})
		g.heap = g.heap[:0]
		g.contract(rest[0], rest[1])
	}
}
