package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
)

// spaceRow is what lies behind each key of a workspace that is filled everywhere or nowhere along
// its last variables: a row of places along these.
type spaceRow struct {
	box   box
	along []string
	width ir.Expr // places of a row
	at    ir.Expr // the first place of the row of the key at hand, where it is known
}

func (l *lowerer) newSpaceRow(name string, along []string) spaceRow {
	r := spaceRow{box: l.newBox(&cin.Access{Name: name, Vars: along}), along: along}
	if !r.is() {
		return r
	}
	if r.width = r.box.places(); !isLit(r.width) {
		v := l.newVar(name + "_width")
		l.pre.Append(&ir.Declare{V: v, Init: r.width})
		r.width = v
	}
	return r
}

func isLit(x ir.Expr) bool { _, ok := x.(*ir.Lit); return ok }

// is tells whether there are rows.
func (r *spaceRow) is() bool { return len(r.along) > 0 }

// rowFiller is a workspace that may have rows.
type rowFiller interface {
	rowOf() *spaceRow
	// inRow lowers a loop that adds a row, of assignment a.
	inRow(l *lowerer, f *cin.Forall, a *cin.Assign, e *env, want bool) ir.Expr
}

// fillsRow is the workspace to whose rows the loop f adds, and the assignment, where f and the
// loops inside are over all variables of a row and hold nothing else.
func (l *lowerer) fillsRow(f *cin.Forall) (rowFiller, *cin.Assign) {
	w, ok := l.spaces[cin.Target(f).Name].(rowFiller)
	if !ok || !w.rowOf().is() || w.rowOf().at != nil {
		return nil, nil
	}
	n, s := 0, cin.Stmt(f)
	for {
		switch t := s.(type) {
		case *cin.Forall:
			n, s = n+1, t.Body
			continue
		case *cin.Assign:
			if n == len(w.rowOf().along) {
				return w, t
			}
		}
		return nil, nil
	}
}

// adds is whether a row gets anything from the loops over it in e.
func (r *spaceRow) adds(l *lowerer, a *cin.Assign, e *env) ir.Expr {
	some := ir.Expr(ir.Truth(true))
	if e.predicates == nil {
		some = l.presence(a.RHS, e)
	}
	for _, v := range r.along {
		s := l.rangeOf(e, v)
		some = ir.Both(some, ir.Less(s.lo, s.hi))
	}
	return some
}

// clear fills the row from a place on with negative zeros, to which every value adds up to itself.
func (r *spaceRow) clear(l *lowerer, vals *ir.Array, from ir.Expr) {
	l.emit(&ir.Fill{A: vals, Lo: from, Hi: ir.Plus(from, r.width),
		X: ir.Negated(ir.Zero(l.spec.Compute))})
}

// add adds x to the row at hand, at the coordinates that access a has in e along it.
func (r *spaceRow) add(l *lowerer, vals *ir.Array, a *cin.Access, x ir.Expr, e *env) {
	keys := len(a.Vars) - len(r.along)
	place := r.box.place(len(r.along), func(m int) ir.Expr { return e.coord[a.Vars[keys+m]] })
	l.emit(&ir.Store{A: vals, Index: ir.Plus(r.at, place), Accumulate: true, X: x})
}

// under gives an operand of keys dense levels of a row below each, of which at is the row of a
// position.
func (r *spaceRow) under(l *lowerer, op *operand, keys int, at func(p ir.Expr) ir.Expr) *operand {
	op.rowAt, op.rowLevel = at, keys
	op.operand.Format.Levels = append(slices.Clone(op.operand.Format.Levels),
		format.DenseOf(len(r.along)).Levels...)
	for m, v := range r.along {
		op.operand.Format.Order = append(slices.Clone(op.operand.Format.Order), keys+m)
		op.operand.PosWidth, op.operand.CrdWidth = append(op.operand.PosWidth, 0),
			append(op.operand.CrdWidth, 0)
		if t, ok := l.spec.Strategy.Trips[v]; ok {
			op.trips[keys+m] = t.N
		}
	}
	l.denseLevels(op, r.box, keys, len(r.along))
	return op
}
