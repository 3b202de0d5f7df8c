package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/positions"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// where lowers a producer and its consumer.
func (l *lowerer) where(s *cin.Where, e *scope.Env, want bool) ir.Expr {
	t := cin.Target(s.Producer)
	if len(t.Vars) == 1 && e.Ranges.At(t.Vars[0]).Width != 0 {
		return l.whereRow(s, t, e, want)
	}
	if len(t.Vars) > 0 {
		return l.whereWorkspace(s, t, e, want)
	}
	if a, loops := cin.Reduces(s.Producer); a != nil {
		return l.whereReduction(s, a, loops, e, want)
	}
	v := l.b.Local(t.Name, ir.Zero(l.spec.Compute))
	pres := l.stmt(s.Producer, e.Summing(t.Name, v), want || l.needsPresence(s.Consumer, t.Name, e))
	in := e.Clone()
	in.Temps = in.Temps.With(t.Name, scope.Value{Pres: pres, V: v, Zeroed: true})
	return l.stmt(s.Consumer, in, want)
}

// needsPresence reports whether s must distinguish an absent temporary t from a zero. This is so in
// three cases: t is a factor; t is stored in a workspace, or in a result that is written in order;
// or t is assigned to another scalar temporary for which needsPresence is true.
func (l *lowerer) needsPresence(s cin.Stmt, t string, e *scope.Env) bool {
	needs := false
	cin.Walk(s, func(u cin.Stmt) {
		a, ok := u.(*cin.Assign)
		if !ok {
			return
		}
		if to := a.LHS.Name; e.Operand(to) == nil && to != t && uses(a.RHS, t) {
			needs = needs || len(a.LHS.Vars) > 0 || l.needsPresence(s, to, e)
		}
		kept := e.Space(a.LHS.Name) != nil || a.LHS.Name == l.leaf.Out.Op.Argument.Name &&
			l.leaf.Out.InOrder
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

// isFactor reports whether t is in a product, quotient or call of x.
func isFactor(x cin.Expr, t string) bool {
	switch x := x.(type) {
	case *cin.Call:
		return uses(x, t)
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
func readsOnly(consumer cin.Stmt, name string) bool {
	only := true
	cin.Accesses(consumer, func(a *cin.Access) {
		only = only && (a.Name != name || bounds.DrivenBy(consumer, a.Key()))
	})
	return only
}

// whereWorkspace lowers a where statement s whose temporary t is a workspace. For want and the
// result see stmt.
func (l *lowerer) whereWorkspace(s *cin.Where, t *cin.Access, e *scope.Env, want bool) ir.Expr {
	switch l.spec.Strategy.Spaces[t.Name].Form.Kind {
	case strategy.Array:
		return l.whereDense(s, t, e, want)
	case strategy.Positions:
		return positions.Where(s, t, e, want)
	}
	if e.Precomputed != nil {
		if some, ok := e.Precomputed(s, e); ok {
			return some
		}
	}
	if a := result.AsSumming(l.assembly, s.Consumer, t, e.Res.Level); a != nil {
		return a.Sum(s, t, e)
	}
	if l.spec.GPU {
		if some, ok := l.whereShared(s, t, e); ok {
			return some
		}
	}
	w := l.newWorkspace(t, l.spec.Strategy.Spaces[t.Name].Form, e)
	w.Begin()
	some := l.stmt(s.Producer, e.Filling(t.Name, workspace{w}), false)
	if ir.IsFalse(some) {
		w.End()
		// a parallel consumer's chunks must make an empty result, too
		if !readsOnly(s.Consumer, t.Name) || cin.Threaded(s.Consumer) {
			in := e.Clone()
			cin.Accesses(s.Consumer, func(a *cin.Access) {
				if a.Name == t.Name {
					in.Cur[a.Key()] = &tree.Cursor{Vars: a.Vars, Level: len(a.Vars), Present: some}
				}
			})
			return l.stmt(s.Consumer, in, want)
		}
		if l.leaf.Assigns(s.Consumer) {
			merge.Zero(e)
		}
		return some
	}
	in := e.Reading(t.Name, w.Finish())
	in.OpenCursors(s.Consumer)
	pres := l.stmt(s.Consumer, in, want)
	w.End()
	return pres
}

// whereShared lowers a where statement whose temporary t is a hash table that threads of a GPU fill
// together, if the consumer only copies the table to a row of the result, or if this pass only
// counts values. Otherwise ok is false.
func (l *lowerer) whereShared(s *cin.Where, t *cin.Access, e *scope.Env) (some ir.Expr, ok bool) {
	tables := l.leaf.Tables
	switch {
	case tables == nil:
		l.leaf.Refuse(t.Vars[0], "on a GPU, threads fill %s together only for a row of a result "+
			"with compressed levels of its own", t.Key())
	case e.Res.Level == 0:
		l.leaf.Refuse(t.Vars[0], "on a GPU, a sparse workspace such as %s has the sums of one row of "+
			"the result, but no loop over the result's outermost variable is around it", t.Key())
	case result.HasTables(l.leaf, s.Producer) || result.HasTables(l.leaf, s.Consumer):
		l.leaf.Refuse(t.Vars[0], "on a GPU, a sparse workspace such as %s cannot be filled from "+
			"another one", t.Key())
	case tables.Most != nil:
		n := l.b.Declare(t.Name+"_n", ir.Int(0))
		l.stmt(s.Producer, e.Filling(t.Name, adding{n}), false)
		places := l.maker(e).Box(t.Vars).Places() // a table has no more entries
		l.b.Set(tables.Most, ir.Greatest(tables.Most, ir.Least(n, places)))
		return ir.Truth(true), true
	}
	row := result.CopiedRow(l.assembly, s.Consumer, t, e)
	if row == nil {
		return nil, false
	}
	w := emit.ScopeValue(l.b, t.Name+", space", func() *space.Shared {
		m := l.maker(e)
		m.KeysOnly = row.Counts()
		return m.Make(t, l.spec.Strategy.Spaces[t.Name].Form).(*space.Shared)
	})
	w.Begin()
	some = l.stmt(s.Producer, e.Filling(t.Name, workspace{w}), false)
	if ir.IsFalse(some) {
		return some, true
	}
	return row.Copy(w, e), true
}

// refuseSpaces refuses statement s, which runs on a GPU, if one of its workspaces has a kind that
// only one thread can fill.
func refuseSpaces(leaf *scope.Leaf, s cin.Stmt) {
	cin.Walk(s, func(s cin.Stmt) {
		w, ok := s.(*cin.Where)
		if !ok {
			return
		}
		t := cin.Target(w.Producer)
		switch kind := leaf.Spec.Strategy.Spaces[t.Name].Form.Kind; kind {
		case strategy.Terms, strategy.Marks, strategy.MarkedList, strategy.Bitmap,
			strategy.SortedList:
			if len(t.Vars) > 0 {
				leaf.Refuse(t.Vars[0], "on a GPU, a workspace must be an array or a hash table, but "+
					"%s would be stored as %s", t.Key(), kind)
			}
		}
	})
}
