package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// bitmapSpace is a workspace over one variable for rows that sum many terms (a bitmap
// accumulator). It has a value, which is 0 between uses, and a bit for every coordinate. An
// addition adds to the value and sets the bit, without a branch on whether the coordinate is
// new. In the end the bits give the coordinates in ascending order.
type bitmapSpace struct {
	name  string
	lo    ir.Expr // the coordinate of place 0
	vals  *ir.Array
	bits  *ir.Array
	words *ir.Array // the words of bits with some set
	flags *ir.Array // of each word, for Collect
	list  *ir.Array
	len   ir.Expr // the number of words
	n     *ir.Var // of words, then of coordinates in list
}

func (l *lowerer) newBitmapSpace(t *cin.Access) *bitmapSpace {
	b := l.bounds[t.Vars[0]]
	w := &bitmapSpace{
		name: t.Name, lo: b[0],
		vals:  l.newArray(t.Name+"_vals", l.spec.Compute),
		bits:  l.newArray(t.Name+"_bits", ir.Int64),
		words: l.newArray(t.Name+"_words", ir.Int32),
		flags: l.newArray(t.Name+"_flags", ir.Bool),
		list:  l.newArray(t.Name+"_list", ir.Int32),
	}
	dim := ir.Minus(b[1], b[0])
	n := ir.NewVar(l.fresh(t.Name+"_len"), ir.Int64)
	l.pre.Append(&ir.Declare{V: n, Init: ir.Over(ir.Plus(dim, ir.Int(63)), ir.Int(64))})
	w.len = n
	array := func(a *ir.Array, n ir.Expr, zero bool) {
		l.pre.Append(&ir.Alloc{A: a, Len: n, Zero: zero})
		l.post.Append(&ir.Free{A: a})
	}
	array(w.vals, dim, true)
	array(w.bits, n, true)
	array(w.words, ir.Plus(n, ir.Int(1)), false)
	array(w.flags, ir.Times(ir.Over(ir.Plus(n, ir.Int(63)), ir.Int(64)), ir.Int(64)), true)
	array(w.list, ir.Plus(dim, ir.Int(1)), false)
	return w
}

func (w *bitmapSpace) begin(l *lowerer) { w.n = l.declare(w.name+"_n", ir.Int(0)) }

func (w *bitmapSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := l.named(w.name+"_at", ir.Minus(e.coord[a.Vars[0]], w.lo))
	l.emit(&ir.Store{A: w.vals, Index: at, Accumulate: true, X: x})
	l.emit(&ir.Mark{Bits: w.bits, Words: w.words, N: w.n, At: at})
}

func (w *bitmapSpace) finish(l *lowerer) *operand {
	l.emit(&ir.Collect{Bits: w.bits, Words: w.words, Flags: w.flags, List: w.list, N: w.n, Len: w.len, Base: w.lo})
	return l.listed(w.name, w.list, w.vals, w.lo, w.n)
}

func (w *bitmapSpace) end(l *lowerer) {
	p := l.newVar(w.name + "_p")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		l.store(w.vals, ir.Minus(ir.Coord(w.list, p), w.lo), ir.Zero(w.vals.Elem))
	})})
}
