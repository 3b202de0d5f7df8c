package schedule

import (
	"fmt"
	"slices"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
)

// A temporary is implicit if no command made it. The statement has it because the result cannot be
// summed into in the order of the loops. The user did not choose its name, so the name changes when
// a command needs it.

// isImplicit reports whether name is the name of an implicit temporary.
func (s *state) isImplicit(name string) bool {
	return !s.tensor(name) && !slices.Contains(s.made, name) && assigns(s.body, name)
}

// giveWay frees a name that a command gives to something else. If an implicit temporary has the
// name, the temporary is renamed.
func (s *state) giveWay(name string) {
	if !s.isImplicit(name) {
		return
	}
	k := 1
	for s.inUse(fmt.Sprintf("%s%d", name, k)) {
		k++
	}
	s.rename(name, fmt.Sprintf("%s%d", name, k))
}

// rename renames a temporary in the statement and in the recorded instructions.
func (s *state) rename(from, to string) {
	s.body = cin.Map(s.body, func(t cin.Stmt) cin.Stmt {
		a, ok := t.(*cin.Assign)
		if !ok {
			return t
		}
		renamed := func(x *cin.Access) *cin.Access {
			if x.Name != from {
				return x
			}
			return &cin.Access{Name: to, Vars: x.Vars}
		}
		b := a.With(cin.MapAccesses(a.RHS, renamed))
		b.LHS = renamed(a.LHS)
		if b.LHS == a.LHS && b.RHS == a.RHS {
			return a
		}
		return b
	})
	s.renameOrders(from, to)
}

func (s *state) renameOrders(from, to string) {
	s.orders = slices.Clone(s.orders)
	for k, o := range s.orders {
		if o.Order.Choice == choice.Workspace && o.Order.Name == from {
			s.orders[k].Order.Name = to
		}
	}
}

// replaced describes an implicit workspace that a precompute command replaces with a new workspace.
// The consumer of the new workspace then assigns all terms of the implicit workspace to the result.
type replaced struct {
	name string
	body cin.Stmt    // the statement without the implicit workspace
	sum  *cin.Assign // the sum that contains the precomputed expression
	into *cin.Assign // assigns the implicit workspace to the result
	// before and after are the other terms of the workspace, in the order of the text.
	before, after []cin.Expr
}

// consumer returns the assignment of the sum of all terms to the result, in the original order of
// the terms. The expression newRead, which reads the new workspace, replaces the term that x.sum
// adds.
func (x *replaced) consumer(newRead cin.Expr) *cin.Assign {
	terms := append(append(slices.Clone(x.before), newRead), x.after...)
	sum := terms[0]
	for _, t := range terms[1:] {
		sum = &cin.Binary{Op: '+', X: sum, Y: t}
	}
	return x.into.With(sum)
}

// replaceable returns the implicit workspace that assignment a adds to, or nil if a precompute
// command cannot replace this workspace. The consumer of the workspace must assign the workspace
// unchanged to the result. All loops around each other term must run over variables of the
// workspace.
func replaceable(s *state, a *cin.Assign) *replaced {
	name := a.LHS.Name
	if len(a.LHS.Vars) == 0 || !s.isImplicit(name) {
		return nil
	}
	var where *cin.Where
	x := &replaced{name: name}
	cin.Walk(s.body, func(t cin.Stmt) {
		w, ok := t.(*cin.Where)
		if !ok || cin.Target(w.Producer).Name != name {
			return
		}
		into, ok := innermost(w.Consumer).(*cin.Assign)
		if !ok {
			return
		}
		if read, ok := into.RHS.(*cin.Access); ok && read.Name == name &&
			slices.Equal(read.Vars, a.LHS.Vars) {
			where, x.into = w, into
		}
	})
	if where == nil {
		return nil
	}
	parts := []cin.Stmt{where.Producer}
	if seq, ok := where.Producer.(*cin.Seq); ok {
		parts = seq.List
	}
	var summed cin.Stmt
	for _, part := range parts {
		if summed == nil && containsAssign(part, a) {
			x.sum = &cin.Assign{LHS: x.into.LHS, Accumulate: true, RHS: a.RHS}
			summed = cin.Map(part, func(t cin.Stmt) cin.Stmt {
				if t == cin.Stmt(a) {
					return x.sum
				}
				return t
			})
			if assigns(summed, name) {
				return nil
			}
			continue
		}
		term, ok := plainTerm(s, part, a.LHS)
		switch {
		case !ok:
			return nil
		case summed == nil:
			x.before = append(x.before, term)
		default:
			x.after = append(x.after, term)
		}
	}
	x.body = cin.Descend(s.body,
		func(t cin.Stmt) (cin.Stmt, bool) { return summed, t == cin.Stmt(where) })
	return x
}

// plainTerm returns the expression that statement producer adds to workspace w. It returns false if
// this statement does not assign to the coordinates w.Vars, or has a loop over a variable that is
// not in w.Vars.
func plainTerm(s *state, producer cin.Stmt, w *cin.Access) (cin.Expr, bool) {
	a, ok := innermost(producer).(*cin.Assign)
	if !ok || !slices.Equal(a.LHS.Vars, w.Vars) {
		return nil, false
	}
	own := true
	cin.Paths(producer, func(loops []*cin.Forall, _ *cin.Assign) { own = s.within(loops, w.Vars) })
	return a.RHS, own
}

// within reports whether all loops are over the given original variables.
func (s *state) within(loops []*cin.Forall, vars []string) bool {
	return !slices.ContainsFunc(loops, func(f *cin.Forall) bool {
		return slices.ContainsFunc(s.g.RootsOf(f.Var),
			func(v string) bool { return !slices.Contains(vars, v) })
	})
}

// innermost returns the body of the loops that t begins with, or t itself if it is not a loop.
func innermost(t cin.Stmt) cin.Stmt {
	if f, ok := t.(*cin.Forall); ok {
		_, t = nested(f)
	}
	return t
}

// assigns reports whether t assigns to the tensor or temporary with the given name.
func assigns(t cin.Stmt, name string) bool {
	found := false
	cin.Paths(t, func(_ []*cin.Forall, a *cin.Assign) { found = found || a.LHS.Name == name })
	return found
}

func containsAssign(t cin.Stmt, a *cin.Assign) bool {
	found := false
	cin.Walk(t, func(u cin.Stmt) { found = found || u == cin.Stmt(a) })
	return found
}
