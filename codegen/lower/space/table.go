package space

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// table is a workspace over a box of places. The consumer looks coordinates up there. It has a
// value and a mark for every place. The value is 0 if the mark is not set. Nothing is sorted, and
// the consumer never visits all places. Threads may fill the table together, because additions to
// different places share no other data.
//
// list has the marked places, which End clears. A table that is used only once needs no list. The
// list is nil too if threads fill the table together. End then clears all places.
type table struct {
	m          *Maker
	name       string
	box        Box
	vals, mark *ir.Array
	list       *ir.Array
	n          *ir.Var // the length of list
	form       strategy.Form
}

func (m *Maker) newTable(t *cin.Access, form strategy.Form) *table {
	w := &table{m: m, name: t.Name, box: m.Box(t.Vars), form: form,
		vals: m.B.Array(t.Name+"_vals", m.Type), mark: m.B.Array(t.Name+"_mark", tensor.Bool)}
	m.B.AllocInScope(w.vals, w.box.Places(), true)
	m.B.AllocInScope(w.mark, w.box.Places(), true)
	if !m.OneUse && !form.Together {
		w.list = m.B.AllocInScope(m.B.Array(t.Name+"_list", tensor.Int64), w.box.Places(), false)
	}
	return w
}

func (w *table) Begin() {
	if w.list != nil {
		w.n = w.m.B.Declare(w.name+"_n", ir.Int(0))
	}
}

func (w *table) Add(x ir.Expr, p Point) {
	b := w.m.B
	at := b.Named(w.name+"_at", w.box.At(p))
	if w.list != nil {
		note := func() {
			b.Store(w.list, w.n, at)
			b.Incr(w.n, ir.Int(1))
		}
		if w.form.Once {
			note()
		} else {
			b.When(ir.Inverse(ir.At(w.mark, at)), note)
		}
	}
	b.Store(w.mark, at, ir.Truth(true))
	if w.form.Once {
		b.Store(w.vals, at, x)
		return
	}
	b.AddTo(w.vals, at, x)
}

func (w *table) Finish() *tree.Operand {
	n := len(w.box.Lo)
	op := tree.NewOperand(w.m.Args, tree.Argument{Name: w.name, Number: -1, Type: w.m.Type,
		Format: tensor.DenseOf(n), PosWidth: make([]uint8, n), CrdWidth: make([]uint8, n)})
	w.m.DenseLevels(op, w.box, 0, n)
	op.SetArray(0, ir.Vals, w.vals)
	op.Mark = w.mark
	return op
}

func (w *table) End() {
	b := w.m.B
	switch {
	case w.list != nil:
		b.Loop(w.name+"_p", ir.Int(0), w.n, func(p *ir.Var) {
			at := b.Declare(w.name+"_at", ir.Coord(w.list, p))
			b.Store(w.mark, at, ir.Truth(false))
			b.Store(w.vals, at, ir.Zero(w.vals.Elem))
		})
	case !w.m.OneUse:
		places := b.Named(w.name+"_places", w.box.Places())
		b.Emit(&ir.Fill{A: w.mark, Lo: ir.Int(0), Hi: places, X: ir.Truth(false)})
		b.Emit(&ir.Fill{A: w.vals, Lo: ir.Int(0), Hi: places, X: ir.Zero(w.vals.Elem)})
	}
}
