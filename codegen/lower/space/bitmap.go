package space

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// bitmap is a workspace that sums many terms (a bitmap accumulator). It has a value and a bit for
// every place of a box. The values are 0 between uses. An addition adds to the value and sets the
// bit, so it needs no branch for new places. At the end the bits give the places in ascending
// order.
type bitmap struct {
	placed *placed
	bits   *ir.Array
	words  *ir.Array // the words of bits with at least one bit set
	flags  *ir.Array // a flag for each word, for ir.Collect
	len    ir.Expr   // the number of words
}

func (m *Maker) newBitmap(t *cin.Access, rows bool) *bitmap {
	w := &bitmap{
		placed: m.newPlaced(t, rows),
		bits:   m.B.Array(t.Name+"_bits", tensor.Int64),
		words:  m.B.Array(t.Name+"_words", tensor.Int32),
		flags:  m.B.Array(t.Name+"_flags", tensor.Bool),
	}
	w.placed.list = m.B.Array(t.Name+"_list", tensor.Int32)
	var n *ir.Var
	m.B.BeforeScope(func() {
		n = m.B.Declare(t.Name+"_len", ir.Over(ir.Plus(w.placed.box.Places(), ir.Int(63)), ir.Int(64)))
	})
	w.len = n
	m.B.AllocInScope(w.placed.vals, w.placed.box.Places(), true)
	m.B.AllocInScope(w.bits, n, true)
	m.B.AllocInScope(w.words, ir.Plus(n, ir.Int(1)), false)
	m.B.AllocInScope(w.flags, ir.Times(ir.Over(ir.Plus(n, ir.Int(63)), ir.Int(64)), ir.Int(64)), true)
	m.B.AllocInScope(w.placed.list, ir.Plus(w.placed.box.Places(), ir.Int(1)), false)
	return w
}

func (w *bitmap) Begin() { w.placed.begin() }

func (w *bitmap) Add(x ir.Expr, p Point) {
	at := w.placed.m.B.Named(w.placed.arrays.name+"_at", w.placed.box.At(p))
	w.placed.m.B.AddTo(w.placed.vals, at, x)
	w.placed.m.B.Emit(&ir.Mark{Bits: w.bits, Words: w.words, N: w.placed.n, At: at})
}

func (w *bitmap) Finish() *tree.Operand {
	w.placed.m.B.Emit(&ir.Collect{Bits: w.bits, Words: w.words, Flags: w.flags, List: w.placed.list,
		N: w.placed.n, Len: w.len, Base: w.placed.base()})
	return w.placed.operand(w.clear)
}

func (w *bitmap) clear(at ir.Expr) {
	w.placed.m.B.Store(w.placed.vals, at, ir.Zero(w.placed.vals.Elem))
}

func (w *bitmap) End() { w.placed.empty(w.clear) }
