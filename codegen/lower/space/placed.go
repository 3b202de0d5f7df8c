package space

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
)

// placed is the common part of workspaces with a value for every place of a box. It lists the
// places that were added to. If the workspace has one variable, the list has coordinates, and the
// consumer reads the values at their places. If it has several variables, the entries are copied
// out in order.
type placed struct {
	m      *Maker
	box    Box
	arrays Arrays
	vals   *ir.Array
	list   *ir.Array
	n      *ir.Var // the length of list; in a bitmap, first the number of words
	rows   *RowList
	// the coordinates of entries that are copied out; only of the last variable if there are rows
	keys []*ir.Array
	sums *ir.Array // the values of entries that are copied out
}

func (m *Maker) newPlaced(t *cin.Access, rows bool) *placed {
	w := &placed{m: m, box: m.Box(t.Vars), arrays: m.newArrays(t.Name),
		rows: m.RowsIf(t.Name, t.Vars, rows)}
	w.vals = m.B.Array(t.Name+"_vals", m.Type)
	if len(t.Vars) == 1 {
		return w
	}
	for k, v := range t.Vars {
		if w.rows == nil || k == w.box.last() {
			w.keys = append(w.keys, w.arrays.Array(fmt.Sprintf("crd%d", k), m.CrdType(v)))
		}
	}
	w.sums = w.arrays.Array("sums", m.Type)
	return w
}

func (w *placed) begin() { w.n = w.m.B.Declare(w.arrays.name+"_n", ir.Int(0)) }

// base returns the number to subtract from an entry of the list to get the index of its value. The
// number is the first coordinate of the box if the list has coordinates, and 0 if the list has
// indices.
func (w *placed) base() ir.Expr {
	if w.sums == nil {
		return w.box.Lo[0]
	}
	return ir.Int(0)
}

// placeOf returns the index of the value that belongs to x, an entry of the list.
func (w *placed) placeOf(x ir.Expr) ir.Expr { return ir.Minus(x, w.base()) }

// operand returns an operand through which the consumer reads the workspace. The workspace's list
// of entries must be sorted.
//
// If the workspace has one variable, the consumer reads the values in the workspace's own array. If
// it has several variables, operand emits code that copies the entries in order to new arrays and
// resets their elements. The function clear emits the code that resets the element with index at.
func (w *placed) operand(clear func(at ir.Expr)) *tree.Operand {
	if w.sums == nil {
		return w.m.listed(w.arrays.name, w.list, w.vals, w.box.Lo[0], w.n)
	}
	for _, a := range append(w.keys, w.sums) {
		w.arrays.Reserve(a, w.n)
	}
	if w.rows == nil {
		w.copyOut(clear, func(p, at ir.Expr) {
			for d, k := range w.keys {
				w.m.B.Store(k, p, w.box.coord(d, at))
			}
		})
		return w.m.listOperand(w.arrays.name, w.keys, w.sums, w.n)
	}
	from, width := w.m.B.Declare(w.arrays.name+"_from", ir.Int(0)),
		w.m.B.Named(w.arrays.name+"_width", w.box.Size(w.box.last()))
	w.rows.begin()
	w.copyOut(clear, func(p, at ir.Expr) {
		w.rows.next(p, ir.AtMost(ir.Plus(from, width), at), func() { w.m.B.Incr(from, width) })
		w.m.B.Store(w.keys[0], p, ir.Plus(ir.Minus(at, from), w.box.Lo[w.box.last()]))
	})
	w.rows.end(w.n)
	return w.rows.operand(w.keys[0], w.sums)
}

// copyOut emits code that copies the sums of all entries to a new array, in the order of the list.
// It also resets the element of each entry. The function clear emits the code that resets the
// element with index at. The function key emits the code that stores the coordinates of this
// element at position p of the new arrays.
func (w *placed) copyOut(clear func(at ir.Expr), key func(p, at ir.Expr)) {
	w.m.B.Loop(w.arrays.name+"_s", ir.Int(0), w.n, func(p *ir.Var) {
		at := w.m.B.Declare(w.arrays.name+"_at", ir.Coord(w.list, p))
		key(p, at)
		w.m.B.Store(w.sums, p, ir.At(w.vals, at))
		clear(at)
	})
}

// empty empties the listed places.
func (w *placed) empty(clear func(at ir.Expr)) {
	if w.sums != nil {
		return
	}
	w.m.B.Loop(w.arrays.name+"_p", ir.Int(0), w.n, func(p *ir.Var) {
		clear(w.placeOf(ir.Coord(w.list, p)))
	})
}
