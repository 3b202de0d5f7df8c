package strategy

import (
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/lattice"
)

// A loop that steps through several operands has its body once for each case of what is
// present at a coordinate: absent operands then vanish from it. Cases multiply where such
// loops are inside one another. Past maxBodies innermost bodies a loop has one body for all
// cases, which asks of each operand whether it is present.
const maxBodies = 32

// oneBody are the variables of the loops that have one body for all cases.
func (f *facts) oneBody() map[string]string {
	out := map[string]string{}
	f.merges(f.stmt, inside{}, func(v string, bodies int) {
		if bodies > maxBodies {
			out[v] = fmt.Sprintf("a body for each case of what is present would be more than %d", maxBodies)
		}
	})
	return out
}

// inside is what is known inside some loops, whose variables it has.
type inside struct {
	loops  []string
	bound  []string // further variables of the statement with a coordinate
	absent []string // keys of accesses without a value
	spaces map[string]format.Format
}

// within is what is known inside a loop over v as well.
func (in inside) within(v string) inside {
	in.loops = append(slices.Clone(in.loops), v)
	return in
}

// at is what is known where variables of the statement have a coordinate as well.
func (in inside) at(vars ...string) inside {
	in.bound = append(slices.Clone(in.bound), vars...)
	return in
}

// reading is what is known in the consumer of workspace t.
func (f *facts) reading(t *cin.Access, in inside) inside {
	in.spaces = maps.Clone(in.spaces)
	if in.spaces == nil {
		in.spaces = map[string]format.Format{}
	}
	kind := f.spaces[t.Name].Form.Kind
	x := format.Format{}
	for m := range t.Vars {
		level := format.SingletonNonunique
		switch {
		case kind == Array:
			level = format.Dense
		case len(t.Vars) == 1:
			level = format.Compressed
		case m == 0:
			level = format.CompressedNonunique
		case m == len(t.Vars)-1:
			level = format.Singleton
		}
		x.Levels, x.Order = append(x.Levels, level), append(x.Order, m)
	}
	in.spaces[t.Name] = x
	return in
}

// lattice is that of a loop over v, a variable of the statement, with a body.
func (f *facts) lattice(v string, body cin.Stmt, in inside) *lattice.Lattice {
	return lattice.Loop(v, body, func(a *cin.Access) lattice.Place {
		levels, read := in.spaces[a.Name]
		if t := f.tensor(a.Name); t != nil {
			levels, read = t.Format, true
		}
		switch {
		case !read: // a scalar, or computed inside
			return lattice.Place{}
		case slices.Contains(in.absent, a.Key()):
			return lattice.Place{Absent: true}
		}
		return lattice.Below(a, levels, func(u string) bool { return slices.Contains(in.bound, u) })
	})
}

// merges calls fn for each variable whose loop, in s, steps through several operands, with
// the number of innermost bodies that it has, were there one for each case: no more than
// one past maxBodies are counted.
func (f *facts) merges(s cin.Stmt, in inside, fn func(v string, bodies int)) {
	switch s := s.(type) {
	case *cin.Where:
		f.merges(s.Producer, in, fn)
		f.merges(s.Consumer, f.reading(cin.Target(s.Producer), in), fn)
	case *cin.Seq:
		for _, t := range s.List {
			f.merges(t, in, fn)
		}
	case *cin.Forall:
		in = in.within(s.Var)
		vars, walked := f.determined(in.loops)
		for k, v := range vars {
			if walked {
				if lat := f.lattice(v, s.Body, in); lat.All().Len() > 1 && !lat.Coarse {
					fn(v, f.bodiesAlong(vars[k:], s.Body, in, maxBodies+1))
				}
			}
			in = in.at(v)
		}
		f.merges(s.Body, in, fn)
	}
}

// bodies counts the innermost bodies of s, up to limit.
func (f *facts) bodies(s cin.Stmt, in inside, limit int) int {
	switch s := s.(type) {
	case *cin.Where:
		return f.bodies(s.Producer, in, limit) + f.bodies(s.Consumer,
			f.reading(cin.Target(s.Producer), in), limit)
	case *cin.Seq:
		n := 0
		for _, t := range s.List {
			n += f.bodies(t, in, limit)
		}
		return n
	case *cin.Forall:
		in = in.within(s.Var)
		vars, walked := f.determined(in.loops)
		if !walked {
			return f.bodies(s.Body, in.at(vars...), limit)
		}
		return f.bodiesAlong(vars, s.Body, in, limit)
	}
	return 1
}

// bodiesAlong counts them for loops over variables of the statement, one inside another,
// around s.
func (f *facts) bodiesAlong(vars []string, s cin.Stmt, in inside, limit int) int {
	if len(vars) == 0 {
		return f.bodies(s, in, limit)
	}
	lat := f.lattice(vars[0], s, in)
	inner := in.at(vars[0])
	if lat.Coarse {
		return f.bodiesAlong(vars[1:], s, inner, limit)
	}
	points := lat.Points
	if lat.Universe() {
		points = lat.UniversePoints()[:1]
	}
	n := 0
	for _, p := range points {
		for _, q := range lat.Under(p) {
			inner.absent = slices.Clone(in.absent)
			for k, key := range lat.Iters {
				if !q.Iters.Has(k) {
					inner.absent = append(inner.absent, key)
				}
			}
			if n += f.bodiesAlong(vars[1:], s, inner, limit-n); n >= limit {
				return n
			}
		}
	}
	return n
}
