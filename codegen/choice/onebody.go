package choice

import (
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// maxBodies limits the number of innermost bodies of a loop that merges several operands. Such a
// loop can have a separate body for each case. A case is a set of operands that are present at a
// coordinate, and its body leaves out the absent operands. In nested merge loops, the numbers of
// cases multiply. A loop that would have more than maxBodies innermost bodies has a single body for
// all cases, which tests for each operand whether it is present.
const maxBodies = 32

// oneBodies returns the instructions for the loops that have one body for all cases.
func oneBodies(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
	many := map[string]bool{}
	eachMerge(f, f.Stmt, scope{},
		func(v string, bodies int) { many[v] = many[v] || bodies > maxBodies })
	for _, v := range slices.Sorted(maps.Keys(many)) {
		if many[v] {
			out = append(out, Chosen{Order: Order{Word: OneBody}.of(v),
				Why: fmt.Sprintf(
					"more than %d bodies would be needed for the cases of which operands are "+
						"present", maxBodies)})
		}
	}
	return out
}

// scope describes what is known at a place inside loops. loops lists the variables of the loops.
type scope struct {
	loops  []string
	bound  []string // further variables of the statement whose coordinates are known
	absent []string // keys of accesses that are known to have no value
	// formats of the workspaces that may be read here, by name
	spaces map[string]tensor.Format
}

// within returns the scope inside a further loop, over v.
func (in scope) within(v string) scope {
	in.loops = append(slices.Clone(in.loops), v)
	return in
}

// at returns the same scope, but with the coordinates of vars also known.
func (in scope) at(vars ...string) scope {
	in.bound = append(slices.Clone(in.bound), vars...)
	return in
}

// reading returns the scope for the consumer of workspace t. It is a copy of outer in which t can
// be read too. The copy describes t as a tensor, with levels that depend on the form of t.
func reading(f *analysis.Facts, t *cin.Access, outer scope) scope {
	outer.spaces = maps.Clone(outer.spaces)
	if outer.spaces == nil {
		outer.spaces = map[string]tensor.Format{}
	}
	kind := f.Spaces[t.Name].Form.Kind
	x := tensor.Format{}
	for m := range t.Vars {
		level := tensor.SingletonNonunique
		switch {
		case kind == strategy.Array || kind == strategy.Table:
			level = tensor.Dense
		case len(t.Vars) == 1:
			level = tensor.Compressed
		case m == 0:
			level = tensor.CompressedNonunique
		case m == len(t.Vars)-1:
			level = tensor.Singleton
		}
		x.Levels, x.Order = append(x.Levels, level), append(x.Order, m)
	}
	outer.spaces[t.Name] = x
	return outer
}

// loopLattice returns the merge lattice of a loop over v, a variable of the statement, with the
// given body.
func loopLattice(f *analysis.Facts, v string, body cin.Stmt, in scope) *lattice.Lattice {
	return lattice.Loop(v, body, func(a *cin.Access) lattice.Place {
		levels, read := in.spaces[a.Name]
		if t := f.Tensor(a.Name); t != nil {
			levels, read = t.Format, true
		}
		switch {
		case !read: // a scalar, or a temporary that the body computes
			return lattice.Place{}
		case slices.Contains(in.absent, a.Key()):
			return lattice.Place{Absent: true}
		}
		return lattice.Below(a, levels, func(u string) bool { return slices.Contains(in.bound, u) })
	})
}

// eachMerge calls fn for each loop in s that merges several operands. v is the loop's variable.
// bodies is the number of innermost bodies that the loop has if each case has its own body. If
// there are more than maxBodies, bodies may be any larger number than maxBodies.
func eachMerge(f *analysis.Facts, s cin.Stmt, in scope, fn func(v string, bodies int)) {
	switch s := s.(type) {
	case *cin.Where:
		eachMerge(f, s.Producer, in, fn)
		eachMerge(f, s.Consumer, reading(f, cin.Target(s.Producer), in), fn)
	case *cin.Seq:
		for _, t := range s.List {
			eachMerge(f, t, in, fn)
		}
	case *cin.Forall:
		in = in.within(s.Var)
		vars, walked := f.Determined(in.loops)
		for k, v := range vars {
			if walked {
				if lat := loopLattice(f, v, s.Body, in); lat.All().Len() > 1 && !lat.Coarse {
					fn(v, bodiesAlong(f, vars[k:], s.Body, in, maxBodies+1))
				}
			}
			in = in.at(v)
		}
		eachMerge(f, s.Body, in, fn)
	}
}

// bodiesOf returns the number of innermost bodies of s. If there are limit or more, the result may
// be any number from limit on.
func bodiesOf(f *analysis.Facts, s cin.Stmt, in scope, limit int) int {
	switch s := s.(type) {
	case *cin.Where:
		return bodiesOf(f, s.Producer, in, limit) + bodiesOf(f, s.Consumer,
			reading(f, cin.Target(s.Producer), in), limit)
	case *cin.Seq:
		n := 0
		for _, t := range s.List {
			n += bodiesOf(f, t, in, limit)
		}
		return n
	case *cin.Forall:
		in = in.within(s.Var)
		vars, walked := f.Determined(in.loops)
		if !walked {
			return bodiesOf(f, s.Body, in.at(vars...), limit)
		}
		return bodiesAlong(f, vars, s.Body, in, limit)
	}
	return 1
}

// bodiesAlong returns the number of innermost bodies of nested loops over vars around s. If there
// are limit or more, the result may be any number from limit on.
func bodiesAlong(f *analysis.Facts, vars []string, s cin.Stmt, in scope, limit int) int {
	if len(vars) == 0 {
		return bodiesOf(f, s, in, limit)
	}
	lat := loopLattice(f, vars[0], s, in)
	inner := in.at(vars[0])
	if lat.Coarse {
		return bodiesAlong(f, vars[1:], s, inner, limit)
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
			if n += bodiesAlong(f, vars[1:], s, inner, limit-n); n >= limit {
				return n
			}
		}
	}
	return n
}
