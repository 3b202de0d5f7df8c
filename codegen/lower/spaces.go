package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/space"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// workspace is a workspace of package space, as an adder.
type workspace struct{ space space.Workspace }

func (w workspace) add(_ *lowerer, a *cin.Access, x ir.Expr, e *env) {
	w.space.Add(x, e.point(a))
}

// point returns the coordinates of an access.
func (e *env) point(a *cin.Access) space.Point {
	return func(m int) ir.Expr { return e.coord.at(a.Vars[m]) }
}

// newMaker returns the maker of the leaf's workspaces.
func (l *lowerer) newMaker() *space.Maker {
	how := l.spec.Strategy
	return &space.Maker{B: l.b, Args: l.args, Type: l.spec.Compute, Chunks: l.chunks,
		Range:   func(v string) tree.Range { return l.rangeOf(&env{ranges: l.own}, v) },
		Width:   func(v string) uint8 { return how.CrdWidth[v] },
		Entries: func(operand string) ir.Expr { return l.ops[operand].Nnz() },
		Trips: func(v string) (int64, bool) {
			n, ok := how.Trips[v]
			return n, ok
		}}
}

// newWorkspace returns the workspace for t, of the given form. A scope has one for all uses.
func (l *lowerer) newWorkspace(t *cin.Access, s strategy.Form) space.Workspace {
	return emit.Kept(l.b, t.Name+", space", func() space.Workspace {
		if s.Kind == strategy.Terms && s.Dense > 0 {
			return l.newTermRows(t, s)
		}
		return l.maker.Make(t, s)
	})
}

// fillsRow returns the workspace that loop f adds rows to, and the assignment that does so. f and
// the loops inside it must be over exactly the variables of a row, and the assignment must be the
// only statement in them. Otherwise fillsRow returns nil, nil.
func (l *lowerer) fillsRow(f *cin.Forall, e *env) (space.Filler, *cin.Assign) {
	held, _ := e.space(cin.Target(f).Name).(workspace)
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

// fillRow lowers a loop that adds a row to workspace w by assignment a, if there is anything to
// add. See stmt for want and the returned value.
func (l *lowerer) fillRow(w space.Filler, f *cin.Forall, a *cin.Assign, e *env, want bool) ir.Expr {
	some, row := l.addsRow(w.RowOf(), a, e), w.RowOf()
	switch w := w.(type) {
	case *termRows:
		w.store(l, f, a, e, some)
		return some
	case *space.Hash: // the row is found once, before the loop
		if ir.Always(some) {
			row.At = w.Find(e.point(a.LHS))
		} else {
			at := l.b.Declare(a.LHS.Name+"_row", ir.Int(0))
			l.b.When(some, func() { l.b.Set(at, w.Find(e.point(a.LHS))) })
			row.At = at
		}
	}
	defer func() { row.At = nil }()
	return l.loop(f, e, want)
}

// addsRow returns the condition that assignment a adds at least one term to the row in e.
func (l *lowerer) addsRow(r *space.Row, a *cin.Assign, e *env) ir.Expr {
	some := ir.Expr(ir.Truth(true))
	if e.predicates == nil {
		some = l.presence(a.RHS, e)
	}
	for _, v := range r.Along {
		s := l.rangeOf(e, v)
		some = ir.Both(some, ir.Less(s.Lo, s.Hi))
	}
	return some
}

// parallelSpace lowers an outermost loop whose iterations fill different places of a workspace.
// Chunks of about equal work run on threads.
func (l *lowerer) parallelSpace(f *cin.Forall, e *env, want bool) ir.Expr {
	if w, ok := l.b.Find(cin.Target(f).Name + ", space").(*space.Marks); ok {
		w.Shared = e.coord == nil
	}
	chunks := l.chunks()
	var flags *ir.Array
	if want {
		flags = l.b.Alloc(cin.Target(f).Name+"_some", tensor.Bool, chunks, false)
	}
	w := l.work(f, e, chunks)
	some := ir.Expr(ir.Truth(false))
	c := l.b.Var("chunk")
	body := l.b.InScope(func() {
		in := e.clone()
		in.ranges = in.ranges.with(f.Var, w.chunk(f.Var, c))
		if some = l.serial(f, in, want); want {
			l.b.Store(flags, c, some)
		}
	})
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	if !want {
		return some
	}
	any := ir.NewVar(l.b.Fresh("some_"+f.Var), tensor.Bool)
	l.b.Emit(&ir.Declare{V: any, Init: ir.Truth(false)})
	k := l.b.Var("chunk")
	l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: chunks, Step: 1,
		Body: l.b.Within(func() { l.b.Set(any, ir.Either(any, ir.At(flags, k))) })})
	l.b.Emit(&ir.Free{A: flags})
	if ir.Never(some) {
		return some
	}
	return any
}
