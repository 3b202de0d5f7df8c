package reference

import (
	"math"
	"slices"
)

// plan finds the points of a term where each access in steps has an entry. A point is a value for
// each open variable; the values of all other variables are given. Steps run in order. Each finds
// the entries of one access that agree with the variables known so far. Open variables that no step
// finds then run over their whole ranges, in loops.
type plan struct {
	t     *term
	steps []step
	loops []int
	sizes []int64
	pulse *pulse
}

// step finds the entries of one access.
type step struct {
	a     *access
	known []int // modes whose variable is known before the step
	key   []int64
	perm  []int32
	open  []int // modes whose variable the step finds
	leads int   // the number of leading factors of the term that have an entry after the step
}

// newPlan orders the accesses so that few points are visited. Its estimate assumes that coordinates
// are evenly spread. open are the variables to find, and sizes has the size of each variable.
func newPlan(t *term, open []int, sizes []int64, pulse *pulse) *plan {
	p := &plan{t: t, sizes: sizes, pulse: pulse}
	isOpen := map[int]bool{}
	for _, s := range open {
		isOpen[s] = true
	}
	var joined []*access
	for _, a := range order(t.needs, isOpen) {
		st := step{a: a}
		joined = append(joined, a)
		for st.leads < t.leads && slices.Contains(joined, t.product.factors[st.leads].(*access)) {
			st.leads++
		}
		var fresh []int
		for m, s := range a.slots {
			if isOpen[s] {
				st.open = append(st.open, m)
				fresh = append(fresh, s)
			} else {
				st.known = append(st.known, m)
			}
		}
		for _, s := range fresh {
			delete(isOpen, s)
		}
		st.key = make([]int64, len(st.known))
		if len(st.open) > 0 {
			st.perm = a.t.index(st.known)
		}
		a.joined = true
		p.steps = append(p.steps, st)
	}
	for _, s := range open {
		if isOpen[s] {
			p.loops = append(p.loops, s)
			delete(isOpen, s)
		}
	}
	return p
}

// order returns the accesses in needs in an order in which joining them is cheap. isOpen has the
// variables whose values the join must find. order tries all orders of up to 6 accesses. If there
// are more, it repeatedly takes the access that has the fewest matches.
func order(needs []*access, isOpen map[int]bool) []*access {
	known := map[int]bool{} // open variables found so far
	best, bestCost := []*access(nil), math.Inf(1)
	used := make([]bool, len(needs))
	var path []*access
	var try func(points, cost float64)
	try = func(points, cost float64) {
		if cost >= bestCost && best != nil {
			return
		}
		if len(path) == len(needs) {
			best, bestCost = append([]*access{}, path...), cost
			return
		}
		cheapest := -1
		for k, a := range needs {
			if !used[k] && (cheapest < 0 ||
				matches(a, isOpen, known) < matches(needs[cheapest], isOpen, known)) {
				cheapest = k
			}
		}
		for k, a := range needs {
			if used[k] || len(needs) > 6 && k != cheapest {
				continue
			}
			n := points * matches(a, isOpen, known)
			var fresh []int
			for _, s := range a.slots {
				if isOpen[s] && !known[s] {
					known[s] = true
					fresh = append(fresh, s)
				}
			}
			used[k], path = true, append(path, a)
			try(n, cost+n)
			used[k], path = false, path[:len(path)-1]
			for _, s := range fresh {
				delete(known, s)
			}
		}
	}
	try(1, 0)
	return best
}

// matches estimates the number of entries of operand that agree with the values of the known
// variables.
func matches(operand *access, isOpen, known map[int]bool) float64 {
	n := float64(operand.t.Len())
	for m, s := range operand.slots {
		if !isOpen[s] || known[s] {
			n /= max(float64(operand.t.Dims[m]), 1)
		}
	}
	return n
}

// each calls f at every point, with env set to the point. An error of f stops it.
func (p *plan) each(env []int64, f func() error) error { return p.step(0, env, piece{}, f) }

// piece is one of n consecutive parts of the points that a plan visits. k is the number of the
// part, counted from 0. If n is 0, the piece is all points.
type piece struct{ k, n int }

// of returns the part of [lo, hi) that belongs to the piece.
func (c piece) of(lo, hi int64) (int64, int64) {
	if c.n <= 1 {
		return lo, hi
	}
	at := func(k int) int64 {
		d := hi - lo
		return lo + d/int64(c.n)*int64(k) + d%int64(c.n)*int64(k)/int64(c.n)
	}
	return at(c.k), at(c.k + 1)
}

// minPiece is about the smallest number of points for which a separate piece is made.
const minPiece = 64

// pieces returns the number of pieces into which the points of the plan are divided, at most max.
// The points are divided along the first access that finds a variable, or else along the first
// loop. The number of pieces depends only on the data. So the sums of the pieces, and with them the
// result, do not depend on the number of threads.
func (p *plan) pieces(env []int64, max int) int {
	n := int64(1)
	for k := range p.steps {
		if st := &p.steps[k]; len(st.open) > 0 {
			lo, hi := 0, st.a.t.Len()
			if len(st.known) > 0 {
				lo, hi = st.segment(env)
			}
			return min(max, (hi-lo)/minPiece+1)
		}
	}
	if len(p.loops) > 0 {
		n = p.sizes[p.loops[0]]
	}
	return int(min(int64(max), n/minPiece+1))
}

// segment returns the range of the entries of st's access that agree with the values in env. It
// compares only variables that are known before the step.
func (st *step) segment(env []int64) (lo, hi int) {
	for i, m := range st.known {
		st.key[i] = env[st.a.slots[m]]
	}
	return st.a.t.segment(st.perm, st.known, st.key)
}

// step finds, for the piece c, the entries of the accesses from number k on, and then the values of
// the loops' variables. It calls f at each point found.
func (p *plan) step(k int, env []int64, c piece, f func() error) error {
	if k == len(p.steps) {
		return p.loop(0, env, c, f)
	}
	st := &p.steps[k]
	from := 0
	if k > 0 {
		from = p.steps[k-1].leads
	}
	a := st.a
	if len(st.open) == 0 {
		for m, s := range a.slots {
			a.coord[m] = env[s]
		}
		e, ok := a.t.Find(a.coord)
		if !ok {
			return nil
		}
		a.entry = e
		p.t.lead(from, st.leads)
		return p.step(k+1, env, c, f)
	}
	lo, hi := 0, a.t.Len()
	if len(st.known) > 0 {
		lo, hi = st.segment(env)
	}
	if c.n > 1 {
		l, h := c.of(int64(lo), int64(hi))
		lo, hi, c = int(l), int(h), piece{}
	}
next:
	for q := lo; q < hi; q++ {
		if err := p.pulse.beat(); err != nil {
			return err
		}
		e := q
		if st.perm != nil {
			e = int(st.perm[q])
		}
		for i, m := range st.open {
			c := a.t.Coords[m][e]
			for _, before := range st.open[:i] { // a diagonal: one variable in two modes
				if a.slots[before] == a.slots[m] && a.t.Coords[before][e] != c {
					continue next
				}
			}
			env[a.slots[m]] = c
		}
		a.entry = e
		p.t.lead(from, st.leads)
		if err := p.step(k+1, env, c, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) loop(k int, env []int64, c piece, f func() error) error {
	if k == len(p.loops) {
		return f()
	}
	s := p.loops[k]
	lo, hi := c.of(0, p.sizes[s])
	for at := lo; at < hi; at++ {
		if err := p.pulse.beat(); err != nil {
			return err
		}
		env[s] = at
		if err := p.loop(k+1, env, piece{}, f); err != nil {
			return err
		}
	}
	return nil
}
