package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/lattice"
)

// shape is an environment without code: what is needed to tell how many
// bodies a nest would have.
type shape struct {
	l      *lowerer
	bound  []string
	absent []string // keys of accesses
}

// tooMany tells whether a case for each lattice point, here and in the loops
// below, would make too many bodies.
func (l *lowerer) tooMany(p *loop) bool {
	s := shape{l: l}
	for v := range p.e.coord {
		s.bound = append(s.bound, v)
	}
	for key, c := range p.e.cur {
		if never(c.pres) {
			s.absent = append(s.absent, key)
		}
	}
	return s.bodies(p.f, maxBodies+1) > maxBodies
}

// place is how far the loops have come in an access.
func (s shape) place(a *cin.Access) lattice.Place {
	op := s.l.ops[a.Name]
	switch {
	case op == nil: // a temporary
		return lattice.Place{}
	case slices.Contains(s.absent, a.Key()):
		return lattice.Place{Absent: true}
	}
	return lattice.Below(a, op.Format, func(v string) bool { return slices.Contains(s.bound, v) })
}

// bodies counts the innermost bodies of st, up to limit.
func (s shape) bodies(st cin.Stmt, limit int) int {
	switch st := st.(type) {
	case *cin.Where:
		return s.bodies(st.Producer, limit) + s.bodies(st.Consumer, limit)
	case *cin.Seq:
		n := 0
		for _, t := range st.List {
			n += s.bodies(t, limit)
		}
		return n
	case *cin.Forall:
		return s.loopBodies(st, limit)
	}
	return 1
}

func (s shape) loopBodies(f *cin.Forall, limit int) int {
	vars := s.l.determined(f.Var)
	if len(vars) != 1 {
		inner := s
		inner.bound = append(slices.Clone(s.bound), vars...)
		return inner.bodies(f.Body, limit)
	}
	v := vars[0]
	lat := lattice.Loop(v, f.Body, s.place)
	inner := shape{l: s.l, bound: append(slices.Clone(s.bound), v)}
	points := lat.Points
	if lat.Universe() {
		points = lat.UniversePoints()[:1]
	}
	if lat.Coarse {
		return inner.bodies(f.Body, limit)
	}
	n := 0
	for _, p := range points {
		for _, q := range lat.Under(p) {
			inner.absent = slices.Clone(s.absent)
			for k, key := range lat.Iters {
				if !q.Iters.Has(k) {
					inner.absent = append(inner.absent, key)
				}
			}
			if n += inner.bodies(f.Body, limit-n); n >= limit {
				return n
			}
		}
	}
	return n
}
