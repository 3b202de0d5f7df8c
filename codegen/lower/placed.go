package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// placed is the common part of workspaces with a value for every place of a box: the list of the
// places that were added to. For one variable, it is a list of coordinates, and the operand reads
// the values at their places. For several variables, the entries are copied out in order.
type placed struct {
	box         box
	spaceArrays spaceArrays
	vals        *ir.Array
	list        *ir.Array
	n           *ir.Var // the length of list
	rows        *rowList
	// the coordinates of entries that are copied out; only of the last variable if there are rows
	keys []*ir.Array
	sums *ir.Array // the values of entries that are copied out
}

func (l *lowerer) newPlaced(t *cin.Access, rows bool) *placed {
	w := &placed{box: l.newBox(t), spaceArrays: newSpaceArrays(t.Name), rows: l.rowsIf(t, rows)}
	w.vals = l.newArray(t.Name+"_vals", l.spec.Compute)
	if len(t.Vars) == 1 {
		return w
	}
	for m, v := range t.Vars {
		if w.rows == nil || m == w.box.last() {
			w.keys = append(w.keys, w.spaceArrays.array(l, fmt.Sprintf("crd%d", m), l.crdType(v)))
		}
	}
	w.sums = w.spaceArrays.array(l, "sums", l.spec.Compute)
	return w
}

// rowsIf returns the rows of the workspace for t, or nil if it is read as a list.
func (l *lowerer) rowsIf(t *cin.Access, rows bool) *rowList {
	if !rows || len(t.Vars) == 1 {
		return nil
	}
	return l.newRowList(t.Name, l.newBox(t))
}

// base returns the difference between an entry of the list and its place.
func (w *placed) base() ir.Expr {
	if w.sums == nil {
		return w.box.lo[0]
	}
	return ir.Int(0)
}

// placeOf returns the place of an entry of the list.
func (w *placed) placeOf(x ir.Expr) ir.Expr { return ir.Minus(x, w.base()) }

// operand returns the workspace as its consumer reads it. The list must be in order. If the
// workspace has several variables, it is empty afterwards.
func (w *placed) operand(l *lowerer, clear func(l *lowerer, at ir.Expr)) *operand {
	if w.sums == nil {
		return l.listed(w.spaceArrays.name, w.list, w.vals, w.box.lo[0], w.n)
	}
	for _, a := range append(w.keys, w.sums) {
		w.spaceArrays.reserve(l, a, w.n)
	}
	if w.rows == nil {
		w.copyOut(l, clear, func(p, at ir.Expr) {
			for m, k := range w.keys {
				l.store(k, p, w.box.coord(m, at))
			}
		})
		return l.listOperand(w.spaceArrays.name, w.keys, w.sums, w.n)
	}
	from, width := l.declare(w.spaceArrays.name+"_from", ir.Int(0)),
		l.named(w.spaceArrays.name+"_width", w.box.size(w.box.last()))
	w.rows.begin(l)
	w.copyOut(l, clear, func(p, at ir.Expr) {
		w.rows.next(l, p, ir.AtMost(ir.Plus(from, width), at), func() { l.incr(from, width) })
		l.store(w.keys[0], p, ir.Plus(ir.Minus(at, from), w.box.lo[w.box.last()]))
	})
	w.rows.end(l, w.n)
	return w.rows.operand(l, w.keys[0], w.sums)
}

// copyOut copies the sums of all entries out, in their order, and empties their places. key(p, at)
// stores the coordinates of the entry at place at to position p.
func (w *placed) copyOut(l *lowerer, clear func(l *lowerer, at ir.Expr), key func(p, at ir.Expr)) {
	p := l.newVar(w.spaceArrays.name + "_s")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		at := l.declare(w.spaceArrays.name+"_at", ir.Coord(w.list, p))
		key(p, at)
		l.store(w.sums, p, ir.At(w.vals, at))
		clear(l, at)
	})})
}

// empty empties the listed places.
func (w *placed) empty(l *lowerer, clear func(l *lowerer, at ir.Expr)) {
	if w.sums != nil {
		return
	}
	p := l.newVar(w.spaceArrays.name + "_p")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		clear(l, w.placeOf(ir.Coord(w.list, p)))
	})})
}
