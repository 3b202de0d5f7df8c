package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
)

// stmt lowers statement s and returns a condition. If want is true, this is the condition that s
// assigned something. The condition uses only variables that are visible after s and no longer
// change. If want is false, the result says less: if it is the constant false, s never assigns
// anything, and any other result has no meaning.
func (l *lowerer) stmt(s cin.Stmt, e *scope.Env, want bool) ir.Expr {
	if width := l.rowTile(s); width > 0 && e.Ranges.At(l.spec.Strategy.Row.Var).Lo == nil {
		return l.tiled(s, e, width, want)
	}
	switch s := s.(type) {
	case *cin.Forall:
		return l.forall(s, e, want)
	case *cin.Where:
		return l.where(s, e, want)
	case *cin.Assign:
		return l.assign(s, e)
	case *cin.Seq:
		return l.seq(s, e, want)
	case *cin.Span:
		return l.span(s, e, want)
	case *cin.Chunks:
		return l.chunks(s, e)
	case *cin.Positions:
		return l.positions(s, e, want)
	case *cin.Coord:
		return l.coord(s, e, want)
	case *cin.At:
		return l.at(s, e, want)
	}
	panic(fmt.Sprintf("BUG: lower: statement %T", s))
}

// seq lowers the statements of s one after another. If they assign to the result, seq first calls
// merge.Zero. There is one exception: in a scheduled leaf whose result is dense, if s computes the
// whole result, the first statement of s sets the result to 0 itself. For want and the result see
// stmt.
func (l *lowerer) seq(s *cin.Seq, e *scope.Env, want bool) ir.Expr {
	some := ir.Expr(ir.Truth(false))
	list := s.List
	switch {
	case !l.leaf.Assigns(s):
	case l.leaf.HasDerivedVars() && e.Res.Level == 0 && l.leaf.Out.Op.Order() > 0 &&
		!l.leaf.Out.Sparse() &&
		!e.Res.Zeroed:
		l.addsAfter = true
		some, list = l.stmt(list[0], e, want), list[1:]
		e = e.Clone()
		e.Res.Zeroed = true
	default:
		e = merge.Zero(e)
	}
	for _, t := range list {
		some = ir.Either(some, l.stmt(t, e, want))
	}
	return some
}
