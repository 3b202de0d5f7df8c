package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// where lowers a producer and its consumer.
func (l *lowerer) where(s *cin.Where, e *env, want bool) ir.Expr {
	t := cin.Target(s.Producer)
	if len(t.Vars) == 1 && e.ranges.at(t.Vars[0]).Width != 0 {
		return l.whereRow(s, t, e, want)
	}
	if len(t.Vars) > 0 {
		return l.whereWorkspace(s, t, e, want)
	}
	v := ir.NewVar(l.b.Fresh(t.Name), l.spec.Compute)
	l.b.Emit(&ir.Declare{V: v, Init: ir.Zero(v.Typ)})
	pres := l.stmt(s.Producer, e.summing(t.Name, v), want || l.needsPresence(s.Consumer, t.Name, e))
	in := e.clone()
	in.temps = in.temps.with(t.Name, value{pres: pres, v: v, zeroed: true})
	return l.stmt(s.Consumer, in, want)
}

// needsPresence reports whether s must distinguish an absent temporary t from a zero. This is so in
// three cases: t is a factor, t is stored in a workspace or result that records absence, or t is
// assigned to another temporary that must be distinguished in this way.
func (l *lowerer) needsPresence(s cin.Stmt, t string, e *env) bool {
	needs := false
	cin.Walk(s, func(u cin.Stmt) {
		a, ok := u.(*cin.Assign)
		if !ok {
			return
		}
		if to := a.LHS.Name; l.ops[to] == nil && to != t && uses(a.RHS, t) {
			needs = needs || len(a.LHS.Vars) > 0 || l.needsPresence(s, to, e)
		}
		kept := e.space(a.LHS.Name) != nil || a.LHS.Name == l.out.op.Argument.Name &&
			l.assembly.inOrder()
		if kept && uses(a.RHS, t) || isFactor(a.RHS, t) {
			needs = true
		}
	})
	return needs
}

func uses(x cin.Expr, t string) bool {
	found := false
	cin.ExprAccesses(x, func(a *cin.Access) { found = found || a.Name == t })
	return found
}

// isFactor reports whether t is in a product or quotient of x.
func isFactor(x cin.Expr, t string) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return isFactor(x.X, t)
	case *cin.Binary:
		if x.Op == '*' || x.Op == '/' {
			return uses(x, t)
		}
		return isFactor(x.X, t) || isFactor(x.Y, t)
	}
	return false
}

// readsOnly reports whether a consumer has values only where the named workspace has values.
func (l *lowerer) readsOnly(consumer cin.Stmt, name string) bool {
	only := true
	cin.Accesses(consumer, func(a *cin.Access) {
		only = only && (a.Name != name || drivenBy(consumer, a.Key()))
	})
	return only
}

// whereWorkspace lowers a where whose temporary is a workspace.
func (l *lowerer) whereWorkspace(s *cin.Where, t *cin.Access, e *env, want bool) ir.Expr {
	switch l.spec.Strategy.Spaces[t.Name].Form.Kind {
	case strategy.Array:
		return l.whereDense(s, t, e, want)
	case strategy.Positions:
		return l.wherePositions(s, t, e, want)
	}
	if a := e.longRows; a != nil && a.where == s {
		return a.lower(e)
	}
	if l.assembly.sumsInPlace(s.Consumer, t, e.res.level) {
		return l.assembly.sum(s, t, e)
	}
	w := l.newWorkspace(t, l.spec.Strategy.Spaces[t.Name].Form)
	w.Begin()
	some := l.stmt(s.Producer, e.filling(t.Name, workspace{w}), false)
	if ir.Never(some) {
		w.End()
		// a parallel consumer's chunks must make an empty result, too
		if !l.readsOnly(s.Consumer, t.Name) || cin.Threaded(s.Consumer) {
			in := e.clone()
			cin.Accesses(s.Consumer, func(a *cin.Access) {
				if a.Name == t.Name {
					in.cur[a.Key()] = &tree.Cursor{Vars: a.Vars, Level: len(a.Vars), Present: some}
				}
			})
			return l.stmt(s.Consumer, in, want)
		}
		if l.assigns(s.Consumer) {
			l.zero(e)
		}
		return some
	}
	op := w.Finish()
	in := e.clone()
	shadowed := l.ops[t.Name]
	l.ops[t.Name] = op
	cin.Accesses(s.Consumer, func(a *cin.Access) {
		if a.Name == t.Name {
			l.openCursor(a, in)
		}
	})
	pres := l.stmt(s.Consumer, in, want)
	l.ops[t.Name] = shadowed
	w.End()
	return pres
}
