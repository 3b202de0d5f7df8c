package simt

import (
	"distaff/codegen/ir"
)

// inside returns the code that each thread of the launch runs to execute block b. unitLevel says
// what executes b: a thread, a warp or a block of threads.
func (l *launcher) inside(b *ir.Block, unitLevel level) *ir.Block {
	out := &ir.Block{}
	if b == nil {
		return out
	}
	for _, s := range b.List {
		l.stmt(s, unitLevel, out)
	}
	return out
}

// stmt appends to out the code that each thread of the launch runs to execute statement s.
// unitLevel says what executes s: a thread, a warp or a block of threads.
func (l *launcher) stmt(s ir.Stmt, unitLevel level, out *ir.Block) {
	switch s := s.(type) {
	case *ir.Block:
		out.Append(l.inside(s, unitLevel))
	case *ir.Comment:
		out.Append(s)
	case *ir.Declare:
		out.Append(&ir.Declare{V: s.V, Init: l.rewriter.expr(s.Init)})
	case *ir.Assign:
		out.Append(&ir.Assign{V: l.rewriter.variable(s.V), Accumulate: s.Accumulate,
			X: l.rewriter.expr(s.X)})
	case *ir.Store:
		a, i := l.rewriter.place(s.A, s.Index)
		l.single(&ir.Store{A: a, Index: i, Accumulate: s.Accumulate, Atomic: s.Atomic,
			X: l.rewriter.expr(s.X)}, unitLevel, out)
	case *ir.For:
		l.loopIn(s, unitLevel, out)
	case *ir.While:
		out.Append(&ir.While{Cond: l.rewriter.expr(s.Cond), Body: l.inside(s.Body, unitLevel)})
	case *ir.If:
		t := &ir.If{Cond: l.rewriter.expr(s.Cond), Then: l.inside(s.Then, unitLevel)}
		if s.Else != nil {
			t.Else = l.inside(s.Else, unitLevel)
		}
		out.Append(t)
	case *ir.Fetch:
		if unitLevel != ofThread {
			l.refuse("a change of %s that returns the old value belongs in a loop on threads", s.A.Name)
			return
		}
		a, i := l.rewriter.place(s.A, s.Index)
		out.Append(&ir.Fetch{V: l.rewriter.variable(s.V), A: a, Index: i, X: l.rewriter.expr(s.X),
			Claim: s.Claim})
	case *ir.Sort:
		l.sort(s, unitLevel, out)
	case *ir.Fail:
		// All threads of the block or warp fail, because the other threads rely on what this
		// statement guards.
		out.Append(&ir.Fail{Code: s.Code, Coord: l.rewriter.exprs(s.Coord)})
	case *ir.Prefetch:
		if unitLevel == ofThread {
			a, i := l.rewriter.place(s.A, s.Index)
			out.Append(&ir.Prefetch{A: a, Index: i, Len: s.Len, Far: s.Far})
		}
	default:
		l.memory(s, unitLevel, out)
	}
}

// single appends code that lets one thread of the block or warp run s.
func (l *launcher) single(s ir.Stmt, unitLevel level, out *ir.Block) {
	if unitLevel == ofThread {
		out.Append(s)
		return
	}
	if n := len(out.List); n > 0 {
		if guard, ok := out.List[n-1].(*ir.If); ok && l.roles[guard] == oneThread {
			guard.Then.Append(s)
			return
		}
	}
	n, _ := l.number(unitLevel)
	guard := &ir.If{Cond: ir.Equal(n, ir.Int(0)), Then: ir.Seq(s)}
	l.roles[guard] = oneThread
	out.Append(guard)
}

// loopIn appends s, a loop inside a launch, to out. unitLevel says which unit runs the
// loop: a block, a warp or a thread.
func (l *launcher) loopIn(s *ir.For, unitLevel level, out *ir.Block) {
	if s.Jam {
		if b := l.jammed(s, unitLevel); b != nil {
			out.List = append(out.List, l.inside(b, unitLevel).List...)
			return
		}
	}
	switch s.Kind {
	case ir.Warps, ir.Lanes:
		l.spread(s, unitLevel, out)
	case ir.Serial, ir.Unrolled, ir.Vector:
		kind := s.Kind
		if kind == ir.Vector {
			kind = ir.Serial
		}
		out.Append(&ir.For{
			V: s.V, Lo: l.rewriter.expr(s.Lo), Hi: l.rewriter.expr(s.Hi), Step: s.Step, Kind: kind,
			Factor: s.Factor, Body: l.inside(s.Body, unitLevel),
		})
	default:
		l.h.refuse(s.V.Name, "a loop that is %s cannot run on a GPU's threads", s.Kind)
	}
}
