package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/library"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/result"
	"distaff/codegen/lower/scope"
)

// forall lowers a loop. If want is true, it returns the condition that the loop assigned a value.
// If want is false, the result says less: if it is the constant false, the loop never assigns a
// value, and any other result has no meaning.
func (l *lowerer) forall(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	if w, a := l.fillsRow(f, e); w != nil {
		return l.fillRow(w, f, a, e, want)
	}
	switch o := l.leaf.LoopStrategy(f); {
	case o.Gemm > 0:
		return library.Gemm(f, e, o.Gemm, want, func() ir.Expr { return l.loop(f, e, false) })
	case o.Extern != nil && o.Extern.File == "":
		return library.SpMM(f, e, o.Extern, want)
	case o.Extern != nil:
		return library.Call(f, e, o.Extern, want)
	}
	return l.loop(f, e, want)
}

// loop lowers a loop to generated code, without a call that replaces the loop. For want and the
// result see forall.
func (l *lowerer) loop(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	if s := l.promoteToScalar(f, e); s != nil {
		return l.stmt(s, e, want)
	}
	c := l.leaf.Comps[f.Var]
	switch {
	case c == nil || l.leaf.Graph.ReplacedBy(f.Var) != nil:
		return l.originalLoop(f, e, want)
	case c.Natural:
		return l.boundsLoop(f, e, c, want)
	}
	return l.guardedLoop(f, e, c, want)
}

// onThreads lowers a loop that is to run on threads. f.Cut says how the loop is cut into chunks. A
// loop that is not cut runs in order. For want and the result see stmt.
func (l *lowerer) onThreads(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	switch f.Cut.How {
	case cin.Blocks, cin.Ordered:
		if !l.leaf.Assigns(f) {
			return l.parallelSpace(f, e, want)
		}
		return l.parallel(f, e, l.leaf.LoopStrategy(f).Long)
	case cin.Reduction:
		return l.parallelScalar(f, e, f.Cut.N, want)
	case cin.Partial:
		l.parallelDense(f, e, f.Cut.N)
		return ir.Truth(true)
	case cin.Rows:
		l.ownRows(f, e, f.Cut.Own)
		return ir.Truth(true)
	}
	return l.stmt(l.leaf.SerialCopy(f), e, want)
}

// serial lowers a loop that runs in order.
func (l *lowerer) serial(f *cin.Forall, e *scope.Env, want bool) ir.Expr {
	return result.InOrder(l.assembly, &merge.Loop{F: f, E: e, Want: want, Body: l.body(f.Body)})
}

// body returns a function that lowers s, the body of a loop.
func (l *lowerer) body(s cin.Stmt) merge.LowersBody {
	return func(in *scope.Env, want bool) ir.Expr { return l.stmt(s, in, want) }
}
