package space

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// Marks is a workspace with a value and a mark for every place of a box. It suits boxes whose
// places are mostly used, because at the end all marks are visited. Several threads may fill the
// workspace, because additions to different places share no other data. If Shared is true, each
// thread visits the marks of parts of the box at the end. The threads first count the entries of
// each part.
type Marks struct {
	m          *Maker
	box        Box
	arrays     Arrays
	vals, mark *ir.Array
	list       *ir.Array // for one variable: the marked coordinates
	rows       *RowList  // for several variables: entries are copied out by rows
	crd, sums  *ir.Array
	n          *ir.Var
	Shared     bool // threads have filled it, outside of all loops, once
}

func (m *Maker) newMarks(t *cin.Access) *Marks {
	w := &Marks{m: m, box: m.Box(t.Vars), arrays: m.newArrays(t.Name),
		rows: m.RowsIf(t.Name, t.Vars, true)}
	w.vals, w.mark = m.B.Array(t.Name+"_vals", m.Type),
		m.B.Array(t.Name+"_mark", tensor.Bool)
	crd := m.CrdType(t.Vars[w.box.last()])
	m.B.AllocInScope(w.vals, w.box.Places(), true)
	m.B.AllocInScope(w.mark, w.box.Places(), true)
	if w.rows == nil {
		w.list = m.B.AllocInScope(m.B.Array(t.Name+"_list", crd), w.box.Places(), false)
		return w
	}
	w.crd, w.sums = w.arrays.Array("crd", crd), w.arrays.Array("sums", m.Type)
	return w
}

func (w *Marks) Begin() { w.n = w.m.B.Declare(w.arrays.name+"_n", ir.Int(0)) }

func (w *Marks) Add(x ir.Expr, p Point) {
	at := w.box.At(p)
	w.m.B.AddTo(w.vals, at, x)
	w.m.B.Store(w.mark, at, ir.Truth(true))
}

func (w *Marks) Finish() *tree.Operand {
	// the units are coordinates, or rows of the given width
	units, width := w.box.Size(0), ir.Expr(ir.Int(1))
	if w.rows != nil {
		units, width = w.box.rows(), w.box.Size(w.box.last())
	}
	switch {
	case w.Shared:
		w.inParts(units, width)
	case w.rows == nil:
		w.copyOut(ir.Int(0), units, w.n)
	default:
		w.count(ir.Int(0), w.box.Places(), w.n)
		w.makeRoom()
		w.copyOut(ir.Int(0), units, w.m.B.Declare(w.arrays.name+"_p", ir.Int(0)))
	}
	if w.rows == nil {
		return w.m.listed(w.arrays.name, w.list, w.vals, w.box.Lo[0], w.n)
	}
	w.m.B.Store(w.rows.pos, units, w.n)
	return w.rows.operand(w.crd, w.sums)
}

// inParts emits parallel code that copies the marked entries to the output. The marks are divided
// into units of width marks each, and each thread copies ranges of units. A part is one of these
// ranges. The entries of a part are stored after the entries of all earlier parts.
func (w *Marks) inParts(units, width ir.Expr) {
	chunks := w.m.Chunks()
	units, counts := w.m.B.Named(w.arrays.name+"_units", units),
		w.m.B.Alloc(w.arrays.name+"_counts", tensor.Int64, chunks, false)
	each := func(body func(c *ir.Var, from, to ir.Expr)) {
		c := w.m.B.Var("chunk")
		at := func(c ir.Expr) ir.Expr { return ir.Over(ir.Times(units, c), chunks) }
		w.m.B.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
			Chunk: 1, Body: w.m.B.Within(func() {
				body(c, w.m.B.Named(w.arrays.name+"_begin", at(c)),
					w.m.B.Named(w.arrays.name+"_end", at(ir.Plus(c, ir.Int(1)))))
			})})
	}
	each(func(c *ir.Var, from, to ir.Expr) {
		n := w.m.B.Declare(w.arrays.name+"_n", ir.Int(0))
		w.count(ir.Times(from, width), ir.Times(to, width), n)
		w.m.B.Store(counts, c, n)
	})
	w.m.B.Loop("chunk", ir.Int(0), chunks, func(c *ir.Var) {
		n := w.m.B.Named(w.arrays.name+"_n", ir.At(counts, c))
		w.m.B.Store(counts, c, w.n)
		w.m.B.Incr(w.n, n)
	})
	w.makeRoom()
	each(func(c *ir.Var, from, to ir.Expr) {
		w.copyOut(from, to, w.m.B.Declare(w.arrays.name+"_p", ir.At(counts, c)))
	})
	w.m.B.Free(counts)
}

// count emits code that adds the number of marked places in [lo, hi) to n.
func (w *Marks) count(lo, hi ir.Expr, n *ir.Var) {
	w.m.B.Loop(w.arrays.name+"_place", lo, hi, func(place *ir.Var) {
		w.m.B.When(ir.At(w.mark, place), func() { w.m.B.Incr(n, ir.Int(1)) })
	})
}

// makeRoom emits code that reserves capacity for the coordinates and sums of all marked entries, if
// the workspace stores rows. Otherwise it emits nothing.
func (w *Marks) makeRoom() {
	if w.rows != nil {
		w.arrays.Reserve(w.crd, w.n)
		w.arrays.Reserve(w.sums, w.n)
	}
}

// copyOut emits code that writes the marked entries in [lo, hi) to the output, in order. lo and hi
// are places or, if the workspace has rows, numbers of rows. The variable p has the index in the
// output where the next entry is written. The code increments p for each entry.
func (w *Marks) copyOut(lo, hi ir.Expr, p *ir.Var) {
	last := w.box.last()
	if w.rows == nil {
		w.each(ir.Int(0), lo, hi, func(_, crd ir.Expr) {
			w.m.B.Store(w.list, p, crd)
			w.m.B.Incr(p, ir.Int(1))
		})
		return
	}
	w.m.B.Loop(w.arrays.name+"_row", lo, hi, func(row *ir.Var) {
		w.m.B.Store(w.rows.pos, row, p)
		w.each(w.m.B.Named(w.arrays.name+"_from", ir.Times(row, w.box.Size(last))), ir.Int(0),
			w.box.Size(last), func(at, crd ir.Expr) {
				w.m.B.Store(w.crd, p, crd)
				w.m.B.Store(w.sums, p, ir.At(w.vals, at))
				w.m.B.Incr(p, ir.Int(1))
				if !w.Shared {
					w.clear(at)
				}
			})
	})
}

// each emits a loop over the coordinates [lo, hi) of a row, relative to the start of the box. first
// is the index of the row's first mark. body emits the code for a marked coordinate: at is the
// index of the mark, and crd is the coordinate.
func (w *Marks) each(first, lo, hi ir.Expr, body func(at, crd ir.Expr)) {
	w.m.B.Loop(w.arrays.name+"_c", lo, hi, func(c *ir.Var) {
		at := w.m.B.Named(w.arrays.name+"_at", ir.Plus(first, c))
		w.m.B.When(ir.At(w.mark, at), func() { body(at, ir.Plus(w.box.Lo[w.box.last()], c)) })
	})
}

// clear empties a place.
func (w *Marks) clear(at ir.Expr) {
	w.m.B.Store(w.mark, at, ir.Truth(false))
	w.m.B.Store(w.vals, at, ir.Zero(w.vals.Elem))
}

func (w *Marks) End() {
	if w.rows != nil || w.Shared {
		return
	}
	w.m.B.Loop(w.arrays.name+"_p", ir.Int(0), w.n, func(p *ir.Var) {
		w.clear(ir.Minus(ir.Coord(w.list, p), w.box.Lo[0]))
	})
}
