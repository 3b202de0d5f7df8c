package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// bitmapSpace is a workspace that sums many terms (a bitmap accumulator). It has a value and a bit
// for every place of a box. The values are 0 between uses. An addition adds to the value and sets
// the bit, without a branch for new places. At the end the bits give the places in ascending order.
type bitmapSpace struct {
	placed *placed
	bits   *ir.Array
	words  *ir.Array // the words of bits with at least one bit set
	flags  *ir.Array // a flag for each word, for ir.Collect
	len    ir.Expr   // the number of words
}

func (l *lowerer) newBitmapSpace(t *cin.Access, rows bool) *bitmapSpace {
	w := &bitmapSpace{
		placed: l.newPlaced(t, rows),
		bits:   l.newArray(t.Name+"_bits", tensor.Int64),
		words:  l.newArray(t.Name+"_words", tensor.Int32),
		flags:  l.newArray(t.Name+"_flags", tensor.Bool),
	}
	w.placed.list = l.newArray(t.Name+"_list", tensor.Int32)
	n := ir.NewVar(l.fresh(t.Name+"_len"), tensor.Int64)
	l.pre.Append(&ir.Declare{V: n,
		Init: ir.Over(ir.Plus(w.placed.box.places(), ir.Int(63)), ir.Int(64))})
	w.len = n
	array := func(a *ir.Array, n ir.Expr, zero bool) {
		l.pre.Append(&ir.Alloc{A: a, Len: n, Zero: zero})
		l.post.Append(&ir.Free{A: a})
	}
	array(w.placed.vals, w.placed.box.places(), true)
	array(w.bits, n, true)
	array(w.words, ir.Plus(n, ir.Int(1)), false)
	array(w.flags, ir.Times(ir.Over(ir.Plus(n, ir.Int(63)), ir.Int(64)), ir.Int(64)), true)
	array(w.placed.list, ir.Plus(w.placed.box.places(), ir.Int(1)), false)
	return w
}

func (w *bitmapSpace) begin(l *lowerer) {
	w.placed.n = l.declare(w.placed.spaceArrays.name+"_n", ir.Int(0))
}

func (w *bitmapSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := l.named(w.placed.spaceArrays.name+"_at", w.placed.box.at(a, e))
	l.emit(&ir.Store{A: w.placed.vals, Index: at, Accumulate: true, X: x})
	l.emit(&ir.Mark{Bits: w.bits, Words: w.words, N: w.placed.n, At: at})
}

func (w *bitmapSpace) finish(l *lowerer) *operand {
	l.emit(&ir.Collect{Bits: w.bits, Words: w.words, Flags: w.flags, List: w.placed.list,
		N: w.placed.n, Len: w.len, Base: w.placed.base()})
	return w.placed.operand(l, w.clear)
}

func (w *bitmapSpace) clear(l *lowerer, at ir.Expr) {
	l.store(w.placed.vals, at, ir.Zero(w.placed.vals.Elem))
}

func (w *bitmapSpace) end(l *lowerer) { w.placed.empty(l, w.clear) }
