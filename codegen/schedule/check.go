package schedule

import (
	"slices"
	"strings"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/lattice"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// check verifies that the whole statement satisfies the rules that lowering relies on. If a rule
// does not hold, the current command broke it, and the error names this command.
func (s *state) check() error {
	var err error
	cin.Paths(s.body, func(loops []*cin.Forall, a *cin.Assign) {
		if err != nil {
			return
		}
		p := s.newPath(loops)
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			if err == nil {
				err = s.checkDetermined(p, x, "read")
			}
			if err == nil {
				err = s.checkOrder(p, x)
			}
		})
		if err == nil {
			err = s.checkDetermined(p, a.LHS, "written")
		}
		if err == nil && a.LHS.Name == cin.Target(s.body).Name {
			err = s.checkResultOrder(p, a.LHS)
		}
	})
	if err != nil {
		return err
	}
	for _, r := range s.g.Relations() {
		if r.Kind == provenance.Pos {
			if err := s.checkPos(&r); err != nil {
				return err
			}
		}
	}
	return s.refuseCutApart()
}

// refuseCutApart returns an error if the loops of a producer are divided in another way than the
// loops of its consumer. There is one exception: both may visit the same tile of positions in
// different loops, if the workspace can store a value for each position of the tile.
func (s *state) refuseCutApart() (err error) {
	cin.Walk(s.body, func(t cin.Stmt) {
		w, ok := t.(*cin.Where)
		if !ok || err != nil || len(cin.Target(w.Producer).Vars) == 0 {
			return
		}
		found := false
		cin.Walk(w.Producer, func(t cin.Stmt) {
			f, ok := t.(*cin.Forall)
			found = found || ok && s.g.TileOf(s.g.Underived(f.Var)[0]) != ""
		})
		if !found {
			return
		}
		o := choice.Order{Choice: choice.Workspace, Name: cin.Target(w.Producer).Name,
			Word: strategy.Positions.String()}
		if why := choice.Check(s.problem.Strategy(s.stmt(), s.problem.Shared), nil, o); why != nil {
			err = s.refuse(-1,
				"the loops that fill a workspace must be divided like the loops that read it, "+
					"except over a tile of positions: %v", why)
		}
	})
	return err
}

// path describes which loop around an assignment determines the value of each root. A root is an
// original variable of the statement, and other loop variables are derived from it.
type path struct {
	loops []*cin.Forall
	at    map[string]int // by root: the index of the loop that determines it
	first map[string]int // by root: the index of the first loop of its component
	rank  map[string]int // by root: its index among the roots of its component
	// around lists the variables of the loops, and the variables whose tiles the loops of a
	// producer visit.
	around []string
}

func (s *state) newPath(loops []*cin.Forall) *path {
	loops = slices.Clone(loops)
	for k, f := range loops {
		if v := s.g.ConsumerVar(f.Var); v != f.Var {
			g := *f
			g.Var = v
			loops[k] = &g
		}
	}
	p := &path{loops: loops, at: map[string]int{}, first: map[string]int{}, rank: map[string]int{}}
	for k, f := range loops {
		p.around = append(p.around, f.Var)
		for _, u := range s.g.Filled(p.around) {
			p.around = append(p.around, s.g.FullyDerived(u)...)
			for n, r := range s.g.Component(u).Roots {
				p.at[r], p.rank[r] = k, n
			}
		}
		roots := []string{f.Var}
		if c := s.g.OfLoop(f.Var); c != nil {
			roots = c.Roots
		}
		for n, r := range roots {
			p.at[r], p.rank[r] = k, n
			if _, ok := p.first[r]; !ok {
				p.first[r] = k
			}
		}
	}
	return p
}

// isBefore reports whether variable u gets its value before variable v on path p.
func (p *path) isBefore(u, v string) bool {
	return p.at[u] < p.at[v] || p.at[u] == p.at[v] && p.rank[u] < p.rank[v]
}

// formatOf returns the format of the tensor that a accesses. A temporary counts as compressed
// levels in the order of its variables.
func (s *state) formatOf(a *cin.Access) tensor.Format {
	if s.tensor(a.Name) {
		return s.problem.Formats[a.Name]
	}
	f := tensor.Format{}
	for m := range a.Vars {
		f.Levels, f.Order = append(f.Levels, tensor.Compressed), append(f.Order, m)
	}
	return f
}

// tensor reports whether name is an operand or the result, and not a temporary.
func (s *state) tensor(name string) bool {
	_, ok := s.problem.Formats[name]
	return ok
}

// checkDetermined returns an error if a variable of access a cannot be computed, because a loop
// that is needed to compute it is not around the access. p is the path of loops to the access. In
// the error, done says whether the access is "read" or "written".
func (s *state) checkDetermined(p *path, a *cin.Access, done string) error {
	around := func(v string) bool { return slices.Contains(p.around, v) }
	for _, v := range a.Vars {
		c := s.g.Component(v)
		if c == nil || around(v) {
			continue
		}
		for _, x := range c.Leaves {
			if !around(x) {
				return s.refuse(-1,
					"%s would be %s outside the loop over %s, which is needed to compute %s; "+
						"that loop must be around it", a.Key(), done,
					x, v)
			}
		}
	}
	return nil
}

// checkOrder returns an error if the order of the loops does not suit access a. If a level of a
// cannot locate a coordinate, the loops must first determine the variables of all levels above it.
// p is the path of loops to the access.
func (s *state) checkOrder(p *path, a *cin.Access) error {
	f := s.formatOf(a)
	var above []string
	for l, mode := range f.Order {
		v := a.Vars[mode]
		if !f.Levels[l].CanLocate() && !slices.Contains(above, v) {
			for _, u := range above {
				if !p.isBefore(u, v) && !s.tensor(a.Name) {
					return s.refuse(-1,
						"%s must be read in the order of its variables, but the loops reach "+
							"%s before %s; reorder the loops", a.Key(), v, u)
				}
				if !p.isBefore(u, v) {
					return s.refuse(-1,
						"%s stores %s below %s (its format is %s), so the loop over %[3]s "+
							"must be outside the one over %[2]s", a.Key(), v, u, f)
				}
			}
		}
		above = append(above, v)
	}
	return nil
}

// checkResultOrder refuses loops that write a result with compressed levels out of order. If the
// result is appended to, it also refuses loops that return to an entry already written.
func (s *state) checkResultOrder(p *path, a *cin.Access) error {
	f := s.problem.Formats[a.Name]
	if f.AllDense() {
		return nil
	}
	// The dense levels after the last compressed one form a block for each entry. The block is set
	// to 0 at once and then written at random.
	deep := len(f.Levels) - f.TrailingDense()
	var outer []string
	for l, m := range f.Order {
		if l < deep {
			outer = append(outer, a.Vars[m])
		}
	}
	last := -1 // the last loop that determines an outer variable
	for _, v := range outer {
		last = max(last, p.at[v])
	}
	next := 0
	for k, l := range p.loops[:last+1] {
		early := func() error {
			return s.refuse(-1,
				"%s (its format is %s) is written in the order of %s, so the loop over %s "+
					"must be inside the loops over these variables",
				a.Key(), f, strings.Join(outer, ", "), l.Var)
		}
		c := s.g.OfLoop(l.Var)
		roots := s.g.RootsOf(l.Var)
		within := !slices.ContainsFunc(roots, func(r string) bool { return !slices.Contains(outer, r) })
		switch {
		case s.problem.Shared &&
			!slices.ContainsFunc(roots, func(r string) bool { return slices.Contains(outer, r) }):
			// This loop sums over values whose places are known from the operand's positions.
			continue
		case !within && c != nil && len(c.Roots) > 1 && len(c.Leaves) > 1:
			return s.refuse(-1,
				"%s (its format is %s) is written entry by entry, so the fused loop over %s "+
					"cannot be split into tiles", a.Key(), f, strings.Join(c.Roots, ", "))
		case !within && !(k == last && roots[0] == outer[len(outer)-1]):
			return early()
		case c != nil && !cin.Natural(s.body, s.g, c):
			return s.refuse(-1,
				"%s (its format is %s) is written in order, so the loops over %s must visit "+
					"the coordinates in order", a.Key(), f, strings.Join(c.Leaves, ", "))
		}
		if s.problem.Shared {
			continue
		}
		if c != nil && len(c.Roots) > 1 && len(c.Leaves) > 1 {
			return s.refuse(-1,
				"%s (its format is %s) is appended to in order, so the fused loop over %s "+
					"cannot be split into tiles",
				a.Key(), f, strings.Join(c.Roots, ", "))
		}
		if next < len(outer) && roots[0] != outer[next] {
			return early()
		}
		if c != nil && l.Var != c.Leaves[len(c.Leaves)-1] {
			continue
		}
		for _, r := range roots {
			if next < len(outer) && r != outer[next] {
				return early()
			}
			next++
		}
	}
	return nil
}

// containsAccess reports whether t contains the access with the given key.
func containsAccess(t cin.Stmt, key string) bool {
	found := false
	cin.Accesses(t, func(a *cin.Access) { found = found || a.Key() == key })
	return found
}

// checkPos returns an error if the Pos relation r cannot be lowered. The loops over the positions
// must be inside the loops over the variables of the levels above. They must visit the positions in
// ascending order. If the positions have only one root, another order is allowed under conditions
// that the errors explain.
func (s *state) checkPos(r *provenance.Relation) error {
	c := s.g.Component(r.From[0])
	roots := s.g.Underived(r.From[0])
	natural := cin.Natural(s.body, s.g, c)
	if c.Top == "" {
		return s.refuse(-1,
			"the positions of %s must be visited in the order of %s, but the fused loop runs "+
				"over tiles in another order; inside the outermost variable's tiles, fuse its "+
				"inner variable with whole variables",
			r.Access, strings.Join(roots, ", "))
	}
	if !natural && len(c.Roots) > 1 {
		return s.refuse(-1,
			"the positions of %s over the fused %s must be visited in order: the loop over "+
				"tiles must be outside the loop inside a tile",
			r.Access, strings.Join(roots, ", "))
	}
	if !natural && s.hasRepeats(r) {
		return s.refuse(-1,
			"%s stores repeated coordinates, which must be visited in order: the loop over "+
				"tiles must be outside the loop inside a tile", r.Access)
	}
	if !natural {
		for q := s.g.MadeBy(r.From[0]); q != nil; q = s.g.MadeBy(q.From[0]) {
			if q.Kind != provenance.Bound {
				return s.refuse(-1,
					"the positions of %s inside tiles of coordinates must be visited in "+
						"order: the loop over tiles must be outside the loop inside a tile",
					r.Access)
			}
		}
		for _, q := range s.g.Relations() {
			if q.Kind == provenance.Coord && slices.Equal(s.g.Underived(q.From[0]), roots) {
				return s.refuse(-1,
					"the coordinates inside tiles of positions of %s must be visited in "+
						"order: the loop over tiles must be outside the loop inside a tile",
					r.Access)
			}
		}
	}
	var err error
	cin.Paths(s.body, func(loops []*cin.Forall, a *cin.Assign) {
		p := s.newPath(loops)
		if at, here := p.at[roots[0]]; !here || err != nil || s.g.IsReplaced(p.loops[at].Var) {
			return
		}
		var access *cin.Access
		cin.ExprAccesses(a.RHS, func(x *cin.Access) {
			if x.Key() == r.Access {
				access = x
			}
		})
		if access == nil {
			// This is another statement over the variable. It knows the tensor's positions only if
			// a loop around both statements opened them.
			if outer := p.loops[p.first[roots[0]]]; !natural || !containsAccess(outer, r.Access) {
				err = s.refuse(-1,
					"pos: %s must occur in every statement that loops over %[3]s, but %[2]s "+
						"does not contain it", r.Access, cin.String(a),
					roots[0])
			}
			return
		}
		f := s.problem.Formats[access.Name]
		for _, mode := range f.Order {
			v := access.Vars[mode]
			if v == roots[0] {
				break
			}
			if p.at[v] >= p.first[roots[0]] {
				err = s.refuse(-1,
					"the loop over the positions of %s in %s must be inside the loops over %s "+
						"(its format is %s)",
					strings.Join(roots, ","), r.Access, v, f)
			}
		}
		if err == nil && !natural && !lattice.Annihilates(a.RHS, r.Access) {
			err = s.refuse(-1,
				"only the stored entries of %s are visited if its positions are out of order, "+
					"but %s also has values elsewhere",
				r.Access, cin.ExprString(a.RHS))
		}
	})
	return err
}

// hasRepeats reports whether the level whose positions r refers to stores repeated coordinates. A
// coordinate then has one position for each repetition.
func (s *state) hasRepeats(r *provenance.Relation) bool {
	found := false
	cin.Accesses(s.body, func(a *cin.Access) {
		if a.Key() != r.Access || found {
			return
		}
		f := s.problem.Formats[a.Name]
		roots := s.g.Underived(r.From[0])
		l := slices.IndexFunc(f.Order, func(mode int) bool { return a.Vars[mode] == roots[len(roots)-1] })
		found = f.HasRepeats(l)
	})
	return found
}
