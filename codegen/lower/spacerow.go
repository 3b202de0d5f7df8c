package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// spaceRow is the row of places that each key of a workspace has, if the workspace is filled
// everywhere or nowhere along its last variables.
type spaceRow struct {
	box   box
	along []string
	width ir.Expr // the number of places in a row
	at    ir.Expr // the first place of the current key's row, if it is known
}

func (l *lowerer) newSpaceRow(name string, along []string) spaceRow {
	r := spaceRow{box: l.newBox(&cin.Access{Name: name, Vars: along}), along: along}
	if !r.exists() {
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

// exists reports whether there are rows.
func (r *spaceRow) exists() bool { return len(r.along) > 0 }

// rowFiller is a workspace that may have rows.
type rowFiller interface {
	rowOf() *spaceRow
	// inRow lowers a loop that adds a row by assignment a.
	inRow(l *lowerer, f *cin.Forall, a *cin.Assign, e *env, want bool) ir.Expr
}

// fillsRow returns the workspace to whose rows the loop f adds, and the assignment. It returns nil
// unless f and the loops inside are over exactly the variables of a row and contain nothing else.
func (l *lowerer) fillsRow(f *cin.Forall) (rowFiller, *cin.Assign) {
	w, ok := l.spaces[cin.Target(f).Name].(rowFiller)
	if !ok || !w.rowOf().exists() || w.rowOf().at != nil {
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

// adds returns the condition that assignment a adds at least one term to the row in e.
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

// clear fills the row that starts at a place with negative zeros, because adding a value to -0
// gives the value unchanged.
func (r *spaceRow) clear(l *lowerer, vals *ir.Array, from ir.Expr) {
	l.emit(&ir.Fill{A: vals, Lo: from, Hi: ir.Plus(from, r.width),
		X: ir.Negated(ir.Zero(l.spec.Compute))})
}

// add adds x to the current row, at the coordinates of access a along the row in e.
func (r *spaceRow) add(l *lowerer, vals *ir.Array, a *cin.Access, x ir.Expr, e *env) {
	keys := len(a.Vars) - len(r.along)
	place := r.box.place(len(r.along), func(m int) ir.Expr { return e.coord[a.Vars[keys+m]] })
	l.emit(&ir.Store{A: vals, Index: ir.Plus(r.at, place), Accumulate: true, X: x})
}

// under adds the dense levels of a row below each key to an operand with the given number of keys.
// at returns the row of a position.
func (r *spaceRow) under(l *lowerer, op *operand, keys int, at func(p ir.Expr) ir.Expr) *operand {
	op.rowAt, op.rowLevel = at, keys
	op.operand.Format.Levels = append(slices.Clone(op.operand.Format.Levels),
		tensor.DenseOf(len(r.along)).Levels...)
	for m, v := range r.along {
		op.operand.Format.Order = append(slices.Clone(op.operand.Format.Order), keys+m)
		op.operand.PosWidth, op.operand.CrdWidth = append(op.operand.PosWidth, 0),
			append(op.operand.CrdWidth, 0)
		if n, ok := l.spec.Strategy.Trips[v]; ok {
			op.trips[keys+m] = n
		}
	}
	l.denseLevels(op, r.box, keys, len(r.along))
	return op
}
