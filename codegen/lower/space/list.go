package space

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// list is a workspace over a box of places (Gustavson's accumulator). It has a value and a mark for
// every place, and a list of the marked places. With one variable, the list has coordinates instead
// of places.
type list struct {
	placed *placed
	mark   *ir.Array
}

func (m *Maker) newList(t *cin.Access, rows bool) *list {
	w := &list{placed: m.newPlaced(t, rows), mark: m.B.Array(t.Name+"_mark", tensor.Bool)}
	elem := tensor.Int32 // type of the places
	if len(t.Vars) == 1 {
		elem = m.CrdType(t.Vars[0])
	}
	w.placed.list = m.B.Array(t.Name+"_list", elem)
	for _, a := range []*ir.Array{w.placed.vals, w.mark, w.placed.list} {
		m.B.AllocInScope(a, w.placed.box.Places(), a == w.mark)
	}
	return w
}

func (w *list) Begin() { w.placed.begin() }

func (w *list) Add(x ir.Expr, p Point) {
	b := w.placed.m.B
	at := b.Named(w.placed.arrays.name+"_at", w.placed.box.At(p))
	b.Choose(ir.At(w.mark, at), func() { b.AddTo(w.placed.vals, at, x) }, func() {
		entry := at
		if len(w.placed.box.Lo) == 1 {
			entry = p(0)
		}
		b.Store(w.mark, at, ir.Truth(true))
		b.Store(w.placed.list, w.placed.n, entry)
		b.Incr(w.placed.n, ir.Int(1))
		b.Store(w.placed.vals, at, x)
	})
}

func (w *list) Finish() *tree.Operand {
	w.placed.m.B.Emit(&ir.Sort{A: w.placed.list, Lo: ir.Int(0), Hi: w.placed.n})
	return w.placed.operand(w.clear)
}

func (w *list) clear(at ir.Expr) { w.placed.m.B.Store(w.mark, at, ir.Truth(false)) }

func (w *list) End() { w.placed.empty(w.clear) }

func (w *list) Entries() Entries {
	place := func(s ir.Expr) ir.Expr { return w.placed.placeOf(ir.Coord(w.placed.list, s)) }
	return Entries{w.placed.n,
		func(m int, s ir.Expr) ir.Expr { return w.placed.box.coord(m, place(s)) },
		func(s ir.Expr) ir.Expr { return ir.At(w.placed.vals, place(s)) }}
}
