package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
)

// hashRow is what lies behind each key of a hash table whose workspace is filled everywhere or nowhere along its last
// variables: a row of places along these. Entry s has those from s*width on. They stay where they are when the table
// grows, and when the keys are sorted.
type hashRow struct {
	box
	along []string
	width ir.Expr // places of a row
	at    ir.Expr // the first place of the row of the key at hand, where it is known
}

func (l *lowerer) newHashRow(name string, along []string) hashRow {
	r := hashRow{box: l.newBox(&cin.Access{Name: name, Vars: along}), along: along}
	if !r.is() {
		return r
	}
	if r.width = r.places(); !isLit(r.width) {
		v := l.newVar(name + "_width")
		l.pre.Append(&ir.Declare{V: v, Init: r.width})
		r.width = v
	}
	return r
}

func isLit(x ir.Expr) bool { _, ok := x.(*ir.Lit); return ok }

// is tells whether there are rows.
func (r *hashRow) is() bool { return len(r.along) > 0 }

// fillsRow is the hash table to whose rows the loop f adds, and the assignment, where f and the loops inside are over all
// variables of a row and hold nothing else.
func (l *lowerer) fillsRow(f *cin.Forall) (*hashSpace, *cin.Assign) {
	w, ok := l.spaces[cin.Target(f).Name].(*hashSpace)
	if !ok || !w.row.is() || w.row.at != nil {
		return nil, nil
	}
	n, s := 0, cin.Stmt(f)
	for {
		switch t := s.(type) {
		case *cin.Forall:
			n, s = n+1, t.Body
			continue
		case *cin.Assign:
			if n == len(w.row.along) {
				return w, t
			}
		}
		return nil, nil
	}
}

// inRow lowers such a loop: the row is found once, before it, where there is anything to add.
func (w *hashSpace) inRow(l *lowerer, f *cin.Forall, a *cin.Assign, e *env, want bool) ir.Expr {
	some := ir.Expr(ir.Truth(true))
	if e.predicates == nil {
		some = l.presence(a.RHS, e)
	}
	for _, v := range a.LHS.Vars[len(w.keys):] {
		s := l.rangeOf(e, v)
		some = ir.Both(some, ir.Less(s.lo, s.hi))
	}
	if always(some) {
		w.row.at = w.find(l, a.LHS, e)
	} else {
		at := l.declare(w.name+"_row", ir.Int(0))
		l.when(some, func() { l.set(at, w.find(l, a.LHS, e)) })
		w.row.at = at
	}
	defer func() { w.row.at = nil }()
	return l.loop(f, e, want)
}

// find is the first place of the row of a's key in e. That of a new key is filled with negative zeros, to which every
// value adds up to itself.
func (w *hashSpace) find(l *lowerer, a *cin.Access, e *env) ir.Expr {
	key := func(m int) ir.Expr { return e.coord[a.Vars[m]] }
	h, s := w.search(l, key)
	l.when(ir.Equal(s, ir.Int(0)), func() {
		w.insert(l, key, h, func() {
			from := l.named(w.name+"_from", ir.Times(w.n, w.row.width))
			l.emit(&ir.Fill{A: w.vals, Lo: from, Hi: ir.Plus(from, w.row.width), X: ir.Negated(ir.Zero(l.spec.Compute))})
		})
		l.set(s, w.n)
	})
	return l.named(w.name+"_row", ir.Times(ir.Minus(s, ir.Int(1)), w.row.width))
}

// addToRow is add.
func (w *hashSpace) addToRow(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := w.row.at
	if at == nil {
		at = w.find(l, a, e)
	}
	place := w.row.place(len(w.row.along), func(m int) ir.Expr { return e.coord[a.Vars[len(w.keys)+m]] })
	l.emit(&ir.Store{A: w.vals, Index: ir.Plus(at, place), Accumulate: true, X: x})
}

// rowOperand is the workspace as its consumer reads it: keys in order, and dense levels below, of the row that came with each.
func (w *hashSpace) rowOperand(l *lowerer) *operand {
	op := l.sortedOperand(w.name, w.rows, w.sorted, w.vals, w.n)
	deep := len(w.keys)
	op.rowAt, op.rowLevel = w.perm, deep
	op.Format.Levels = append(slices.Clone(op.Format.Levels), format.DenseOf(len(w.row.along)).Levels...)
	for m, v := range w.row.along {
		op.Format.Order = append(slices.Clone(op.Format.Order), deep+m)
		op.PosWidth, op.CrdWidth = append(op.PosWidth, 0), append(op.CrdWidth, 0)
		if t, ok := l.spec.Strategy.Trips[v]; ok {
			op.trips[deep+m] = t.N
		}
	}
	l.denseLevels(op, w.row.box, deep, len(w.row.along))
	return op
}
