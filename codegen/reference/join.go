package reference

import "math"

// plan finds the points of a term: the values of its open variables, given
// all others, at which each access in steps has an entry. Steps run in order,
// each over the entries that agree with what is known; the variables left
// open by all then run over their whole ranges.
type plan struct {
	steps []step
	loops []int
	sizes []int64
}

// step matches one access.
type step struct {
	a     *access
	known []int // modes whose variable is known before the step
	key   []int64
	perm  []int32
	open  []int // modes whose variable is not
}

// newPlan orders the accesses so that the number of visited points is
// smallest, by an estimate that takes coordinates as evenly spread. open are
// the variables to be found; sizes are by variable.
func newPlan(needs []*access, open []int, sizes []int64) *plan {
	p := &plan{sizes: sizes}
	isOpen := map[int]bool{}
	for _, s := range open {
		isOpen[s] = true
	}
	for _, a := range order(needs, isOpen) {
		st := step{a: a}
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

// order tries every order of up to 6 accesses, and beyond takes the cheapest
// next one.
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
			if !used[k] && (cheapest < 0 || matches(a, isOpen, known) < matches(needs[cheapest], isOpen, known)) {
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

// matches estimates how many entries of a agree with the known variables.
func matches(a *access, isOpen, known map[int]bool) float64 {
	n := float64(a.t.Len())
	for m, s := range a.slots {
		if !isOpen[s] || known[s] {
			n /= max(float64(a.t.Dims[m]), 1)
		}
	}
	return n
}

// each calls f at every point, with env set to it; f's error stops it.
func (p *plan) each(env []int64, f func() error) error { return p.step(0, env, f) }

func (p *plan) step(k int, env []int64, f func() error) error {
	if k == len(p.steps) {
		return p.loop(0, env, f)
	}
	st := &p.steps[k]
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
		return p.step(k+1, env, f)
	}
	for i, m := range st.known {
		st.key[i] = env[a.slots[m]]
	}
	lo, hi := 0, a.t.Len()
	if len(st.known) > 0 {
		lo, hi = a.t.segment(st.perm, st.known, st.key)
	}
next:
	for q := lo; q < hi; q++ {
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
		if err := p.step(k+1, env, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) loop(k int, env []int64, f func() error) error {
	if k == len(p.loops) {
		return f()
	}
	s := p.loops[k]
	for c := int64(0); c < p.sizes[s]; c++ {
		env[s] = c
		if err := p.loop(k+1, env, f); err != nil {
			return err
		}
	}
	return nil
}
