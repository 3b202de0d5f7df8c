package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
)

// Stmt lowers s. If want is true, it returns the condition that s assigned something, as an
// expression of variables that are visible after s and no longer change. Otherwise the result is
// meaningful only if it folds to false: then nothing was assigned.
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
	}
	panic(fmt.Sprintf("BUG: lower: statement %T", s))
}

// seq lowers statements one after another. If they assign to the result, the result is set to 0
// first. In a scheduled leaf whose result is the whole target of s, the first statement sets it to
// 0 itself.
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
