package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// workspace makes a space.Workspace usable as a scope.Adder, so that assignments can add values to
// it.
type workspace struct{ space space.Workspace }

func (w workspace) Add(a *cin.Access, x ir.Expr, e *scope.Env) {
	add := func() { w.space.Add(x, e.Point(a)) }
	if _, ok := w.space.(*space.Shared); ok && !e.OnThread { // one of the threads adds
		units.Together(e, a.Name+"_one", ir.Int(1), func(*ir.Var) { add() })
		return
	}
	add()
}

// adding counts the values that are added to a workspace.
type adding struct{ n *ir.Var }

func (w adding) Add(_ *cin.Access, _ ir.Expr, e *scope.Env) { e.Leaf.B.Incr(w.n, ir.Int(1)) }

// maker returns a space.Maker, which makes the workspaces of scope e. It takes the ranges of
// variables from e.
func (l *lowerer) maker(e *scope.Env) *space.Maker {
	how := l.spec.Strategy
	return &space.Maker{B: l.b, Args: l.leaf.Args, Type: l.spec.Compute,
		Chunks: func() ir.Expr { return units.Chunks(l.leaf, how.PerThread) },
		Range:  func(v string) tree.Range { return e.OwnedRange(v) },
		Width:  func(v string) uint8 { return how.CrdWidth[v] },
		Tables: l.leaf.Tables,
		Together: func(name string, n ir.Expr, body func(k *ir.Var)) {
			units.Together(e, name, n, body)
		},
		OneUse:  e.Coord == nil && how != nil && l.spec.Assembly != strategy.TwoPass,
		Entries: func(operand string) ir.Expr { return l.leaf.Ops[operand].Nnz() },
		Trips: func(v string) (int64, bool) {
			n, ok := how.Trips[v]
			return n, ok
		}}
}

// newWorkspace returns the workspace for temporary t, in form s. The first call in a scope of the
// emitted code makes the workspace, and later calls in this scope return the same one.
func (l *lowerer) newWorkspace(t *cin.Access, s strategy.Form, e *scope.Env) space.Workspace {
	return emit.ScopeValue(l.b, t.Name+", space", func() space.Workspace {
		if s.Kind == strategy.Terms && s.Dense > 0 {
			return l.newTermRows(t, s, l.maker(e))
		}
		return l.maker(e).Make(t, s)
	})
}

// fillsRow returns the workspace to which loop f adds rows, and the assignment that adds them. f
// must be the outermost of nested loops, one for each variable of a row, with only the assignment
// inside. If the loops have another form, or if the row is already found, fillsRow returns nil,
// nil.
func (l *lowerer) fillsRow(f *cin.Forall, e *scope.Env) (space.Filler, *cin.Assign) {
	held, _ := e.Space(cin.Target(f).Name).(workspace)
	w, ok := held.space.(space.Filler)
	if !ok || !w.RowOf().Exists() || w.RowOf().At != nil {
		return nil, nil
	}
	n, s := 0, cin.Stmt(f)
	for {
		switch t := s.(type) {
		case *cin.Forall:
			n, s = n+1, t.Body
			continue
		case *cin.Assign:
			if n == len(w.RowOf().Along) {
				return w, t
			}
		}
		return nil, nil
	}
}

// fillRow lowers a loop that adds a row to workspace w by assignment a. The emitted code adds no
// row if there is nothing to add. For want and the result see forall.
func (l *lowerer) fillRow(w space.Filler, f *cin.Forall, a *cin.Assign, e *scope.Env,
	want bool) ir.Expr {
	some, row := l.addsRow(w.RowOf(), a, e), w.RowOf()
	switch w := w.(type) {
	case *termRows:
		w.store(l, f, a, e, some)
		return some
	case *space.Hash: // the row is found once, before the loop
		if ir.Always(some) {
			row.At = w.Find(e.Point(a.LHS))
		} else {
			at := l.b.Declare(a.LHS.Name+"_row", ir.Int(0))
			l.b.When(some, func() { l.b.Set(at, w.Find(e.Point(a.LHS))) })
			row.At = at
		}
	}
	defer func() { row.At = nil }()
	return l.loop(f, e, want)
}

// addsRow returns the condition that assignment a adds at least one term to the row in e.
func (l *lowerer) addsRow(r *space.Row, a *cin.Assign, e *scope.Env) ir.Expr {
	some := ir.Expr(ir.Truth(true))
	if e.Predicates == nil {
		some = e.Presence(a.RHS)
	}
	for _, v := range r.Along {
		s := e.RangeOf(v)
		some = ir.Both(some, ir.Less(s.Lo, s.Hi))
	}
	return some
}

// parallelSpace lowers a loop whose iterations fill different places of a workspace.
// Chunks of about equal work run on threads.
func (l *lowerer) parallelSpace(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	if w, ok := l.b.Find(cin.Target(f).Name + ", space").(*space.Marks); ok {
		w.Shared = e.Coord == nil
	}
	chunks := units.Chunks(l.leaf, l.spec.Strategy.PerThread)
	var flags *ir.Array
	if want {
		flags = l.b.Alloc(cin.Target(f).Name+"_some", tensor.Bool, chunks, false)
	}
	w := units.NewWork(f, e, chunks)
	some := ir.Expr(ir.Truth(false))
	w.Each(func(c *ir.Var, in *scope.Env) {
		if some = l.serial(f, in, want); want {
			l.b.Store(flags, c, some)
		}
	})
	if !want {
		return some
	}
	any := l.b.Local("some_"+f.Var, ir.Truth(false))
	l.b.Loop("chunk", ir.Int(0), chunks, func(k *ir.Var) {
		l.b.Set(any, ir.Either(any, ir.At(flags, k)))
	})
	l.b.Free(flags)
	if ir.IsFalse(some) {
		return some
	}
	return any
}
