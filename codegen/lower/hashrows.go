package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// This file has the hash table whose entries have rows of places. Entry s has the places from
// s*width on. Rows stay at their places when the table grows and when the keys are sorted.

func (w *hashSpace) rowOf() *spaceRow { return &w.row }

// inRow finds the row once, before the loop, if there is anything to add.
func (w *hashSpace) inRow(l *lowerer, f *cin.Forall, a *cin.Assign, e *env, want bool) ir.Expr {
	if some := w.row.adds(l, a, e); always(some) {
		w.row.at = w.find(l, a.LHS, e)
	} else {
		at := l.declare(w.spaceArrays.name+"_row", ir.Int(0))
		l.when(some, func() { l.set(at, w.find(l, a.LHS, e)) })
		w.row.at = at
	}
	defer func() { w.row.at = nil }()
	return l.loop(f, e, want)
}

// find returns the first place of the row for a's key in e. It inserts the key if it is new.
func (w *hashSpace) find(l *lowerer, a *cin.Access, e *env) ir.Expr {
	key := func(m int) ir.Expr { return e.coord[a.Vars[m]] }
	h, s := w.search(l, key)
	l.when(ir.Equal(s, ir.Int(0)), func() {
		w.insert(l, key, h, func() {
			w.row.clear(l, w.vals, l.named(w.spaceArrays.name+"_from", ir.Times(w.n, w.row.width)))
		})
		l.set(s, w.n)
	})
	return l.named(w.spaceArrays.name+"_row", ir.Times(ir.Minus(s, ir.Int(1)), w.row.width))
}

// addToRow is add for entries with rows.
func (w *hashSpace) addToRow(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	if w.row.at == nil {
		w.row.at = w.find(l, a, e)
		defer func() { w.row.at = nil }()
	}
	w.row.add(l, w.vals, a, x, e)
}

// rowOperand returns the workspace as its consumer reads it: keys in order, with dense levels below
// them for the row of each key.
func (w *hashSpace) rowOperand(l *lowerer) *operand {
	op := l.sortedOperand(w.spaceArrays.name, w.rows, w.sorted, w.vals, w.n)
	return w.row.under(l, op, len(w.keys), func(p ir.Expr) ir.Expr { return ir.At(w.perm, p) })
}
