package pairs

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// exactItems is the number of factors of a product that is optimized exactly.
const exactItems = 11

// subtreeItems is the number of items of a subtree that is optimized exactly, and fewItems the
// number in trees of at most fewNodes nodes.
const subtreeItems, fewItems, fewNodes = 8, 9, 120

// maxGroups is the largest number of groups of variables of a subtree. A group has the variables
// that belong to the same items.
const maxGroups = 64

// reconfigure optimizes subtrees until this changes nothing more, or after about the given number
// of steps.
func (t *tree) reconfigure(steps int64) {
	if len(t.space.leaves) < 3 {
		return
	}
	size := subtreeItems
	if len(t.nodes) <= fewNodes {
		size = fewItems
	}
	stop := t.steps + steps
	for better := true; better; {
		better = false
		var order []int
		t.postorder(t.root, func(n int) { order = append(order, n) })
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(t.nodes[b].cost, t.nodes[a].cost)
		})
		for _, n := range order {
			if t.steps > stop {
				return
			}
			better = t.optimize(n, size) || better
		}
	}
	t.recount()
}

// optimize contracts the items of a subtree in the order of least cost, and reports whether this
// improved the tree. The subtree has the root n and up to the given number of items: it grows at
// the contractions that cost most.
func (t *tree) optimize(n, size int) bool {
	u := t.subtree(n, size)
	if u == nil {
		return false
	}
	before := 0.0
	for _, k := range u.inner {
		before += t.nodes[k].cost
	}
	if u.search() >= before*(1-1e-9) {
		return false
	}
	t.clock++
	u.build(len(u.best)-1, n, &u.inner)
	return true
}

// subtree is a part of a tree that is optimized. Sets of its items and of its groups of variables
// have one bit for each.
type subtree struct {
	tree  *tree
	top   int   // its root
	items []int // the numbers of the nodes
	inner []int // the numbers of the nodes that contract the items
	// of groups
	logs [maxGroups / 8][256]float64 // of the sizes of eight groups each
	open uint64                      // what the root has
	has  []uint64                    // of each item
	// indexed by set of items
	union, vars []uint64 // the groups of all items, and the groups of their contraction
	density     []float64
	made, best  []float64 // the size of the contraction, the cost of all contractions
	split       []uint16
	groups      int
}

// subtree returns the part of a tree with the root n and up to size items. It returns nil if the
// part has not changed since it was optimized, or if it has too few items or too many groups of
// variables.
func (t *tree) subtree(n, size int) *subtree {
	u := &subtree{tree: t, top: n}
	u.inner = append(u.inner, n)
	u.items = append(u.items, t.nodes[n].child[:]...)
	fresh := t.nodes[n].changed > t.nodes[n].tried
	for len(u.items) < size {
		next, most := -1, -1.0
		for k, c := range u.items {
			if c >= len(t.space.leaves) && t.nodes[c].cost > most {
				next, most = k, t.nodes[c].cost
			}
		}
		if next < 0 {
			break
		}
		c := u.items[next]
		u.inner = append(u.inner, c)
		fresh = fresh || t.nodes[c].changed > t.nodes[n].tried
		u.items[next] = t.nodes[c].child[0]
		u.items = append(u.items, t.nodes[c].child[1])
	}
	t.steps += int64(len(u.items) * len(u.items))
	if t.nodes[n].tried = t.clock; !fresh || len(u.items) < 3 || !u.group() {
		return nil
	}
	return u
}

// group divides the variables of the items into groups. It returns false if there are too many.
func (u *subtree) group() bool {
	t := u.tree
	u.has = make([]uint64, len(u.items))
	number := map[uint32]int{}
	top := t.nodes[u.top].vars
	for k := range top {
		all := uint64(0)
		for _, c := range u.items {
			all |= t.nodes[c].vars[k]
		}
		for ; all != 0; all &= all - 1 {
			bit := bits.TrailingZeros64(all)
			pattern := uint32(top[k] >> bit & 1)
			for _, c := range u.items {
				pattern = pattern<<1 | uint32(t.nodes[c].vars[k]>>bit&1)
			}
			g, ok := number[pattern]
			if !ok {
				if g = len(number); g == maxGroups {
					return false
				}
				number[pattern] = g
				for n := range u.items {
					u.has[n] |= uint64(pattern>>(len(u.items)-1-n)&1) << g
				}
				u.open |= uint64(pattern>>len(u.items)) << g
			}
			u.logs[g/8][1<<(g%8)] += t.space.logs[64*k+bit]
		}
	}
	u.groups = len(number)
	for k := range (u.groups + 7) / 8 {
		for s := 1; s < 256; s++ {
			u.logs[k][s] = u.logs[k][s&(s-1)] + u.logs[k][s&-s]
		}
	}
	t.steps += int64(len(top)*len(u.items)) + 256*int64((u.groups+7)/8)/4
	return true
}

// size returns the logarithm of the number of places of the groups.
func (u *subtree) size(groups uint64) (log float64) {
	for k := 0; groups != 0; k, groups = k+1, groups>>8 {
		log += u.logs[k][groups&255]
	}
	return log
}

// search finds the order of contractions of least cost, and returns the cost.
func (u *subtree) search() float64 {
	t, n := u.tree, len(u.items)
	all := 1<<n - 1
	u.union, u.vars = make([]uint64, all+1), make([]uint64, all+1)
	u.density, u.made = make([]float64, all+1), make([]float64, all+1)
	u.best, u.split = make([]float64, all+1), make([]uint16, all+1)
	for s := 1; s <= all; s++ {
		u.union[s] = u.union[s&(s-1)] | u.has[bits.TrailingZeros(uint(s))]
	}
	filled := make([]float64, all+1)
	for s := 1; s <= all; s++ {
		u.vars[s] = u.union[s] & (u.union[all&^s] | u.open)
		u.made[s], u.density[s] = u.size(u.vars[s]), 1
		k := u.items[bits.TrailingZeros(uint(s))]
		filled[s] = filled[s&(s-1)] + t.nodes[k].filled
		switch {
		case t.space.dense:
		case s&(s-1) == 0:
			u.density[s] = t.nodes[k].density
		case u.density[s&(s-1)] < 1 || t.nodes[k].density < 1:
			u.density[s] = t.space.density(filled[s] + u.size(u.union[s]) - u.made[s])
		}
	}
	for s := 3; s <= all; s++ {
		if s&(s-1) == 0 {
			continue
		}
		u.best[s] = math.Inf(1)
		low := s & -s
		for a := (s - 1) & s; a > 0; a = (a - 1) & s {
			if a&low == 0 {
				continue
			}
			b := s &^ a
			cost := u.best[a] + u.best[b]
			if cost >= u.best[s] {
				continue
			}
			cost += t.space.costOf(u.size(u.vars[a]|u.vars[b]), u.density[a], u.density[b], u.made[s],
				u.density[s])
			if cost < u.best[s] {
				u.best[s], u.split[s] = cost, uint16(a)
			}
		}
	}
	work := int64(1)
	for range n {
		work *= 3
	}
	t.steps += work + int64(all)*8
	return u.best[all]
}

// build makes node n the contraction of the items in s. free lists the nodes that may be used; the
// first of them is n.
func (u *subtree) build(s, n int, free *[]int) {
	t := u.tree
	*free = (*free)[1:]
	x := &t.nodes[n]
	x.changed = t.clock
	for k, part := range []int{int(u.split[s]), s &^ int(u.split[s])} {
		if part&(part-1) == 0 {
			x.child[k] = u.items[bits.TrailingZeros(uint(part))]
		} else {
			c := (*free)[0]
			x.child[k] = c
			u.setVars(part, c)
			u.build(part, c, free)
		}
		t.nodes[x.child[k]].parent = n
	}
	t.update(n)
}

// setVars sets the variables of node n, which contracts the items in s.
func (u *subtree) setVars(s, n int) {
	t := u.tree
	vars := t.nodes[n].vars
	for w := range vars {
		inside, outside := uint64(0), t.nodes[u.top].vars[w]
		for k, c := range u.items {
			if s>>k&1 != 0 {
				inside |= t.nodes[c].vars[w]
			} else {
				outside |= t.nodes[c].vars[w]
			}
		}
		vars[w] = inside & outside
	}
}
