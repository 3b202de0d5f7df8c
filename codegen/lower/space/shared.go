package space

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// Tables says how the hash tables of a leaf for a GPU are made. A table belongs to the unit of the
// GPU that computes a row of the result, and the threads of the unit fill it together.
type Tables struct {
	// Most, in the pass that only counts, is set to the largest number of values that a table of
	// the row gets. No tables are made in this pass. In other passes it is nil.
	Most *ir.Var
	// Slots is the length of a table, a power of two. Room is the most entries that it gets.
	Slots, Room ir.Expr
}

// Shared is a hash table that threads of a GPU fill together. A slot is free if its key is 0.
// Otherwise its key is 1 plus the number of the entry's place in the box. A thread claims a free
// slot for its key, or finds the slot that has the key. It then adds to the sum of this slot
// atomically.
//
// The threads count the slots that they claim and, unless only keys are needed, list them. Finish
// sorts the list. If keys have 32 bits, an element is the number of the place times the number of
// slots, plus the number of the slot. Otherwise an element is only the number of the place.
type Shared struct {
	m         *Maker
	name      string
	box       Box
	key, sum  *ir.Array
	list, end *ir.Array   // end has one element: the number of entries
	crd       []*ir.Array // coordinates in order, for each variable
}

func (m *Maker) newShared(t *cin.Access) *Shared {
	w := &Shared{m: m, name: t.Name, box: m.Box(t.Vars)}
	array := func(part string, typ tensor.Type, n ir.Expr) *ir.Array {
		return m.B.AllocInScope(m.B.Array(t.Name+"_"+part, typ), n, false)
	}
	key := tensor.Int64
	if len(t.Vars) == 1 {
		key = m.CrdType(t.Vars[0])
	}
	w.key, w.end = array("key", key, m.Tables.Slots), array("end", tensor.Int32, ir.Int(1))
	if !m.KeysOnly {
		w.sum = array("sum", m.Type, m.Tables.Slots)
		w.list = array("list", tensor.Int64, m.Tables.Room)
	}
	return w
}

// Begin empties the table. Sums begin at -0, because -0 + x is x unchanged, also if x is -0.
func (w *Shared) Begin() {
	b, slots := w.m.B, w.m.Tables.Slots
	if len(w.box.Lo) > 1 { // places have numbers of 64 bits
		var sizes []ir.Expr
		for k := range w.box.Lo {
			sizes = append(sizes, w.box.Size(k))
		}
		b.When(ir.AtLeast(w.box.Places(), ir.Int(emit.MaxPoints)),
			func() { b.Emit(&ir.Fail{Code: ir.FailSpace, Coord: sizes}) })
	}
	b.Emit(&ir.Fill{A: w.key, Lo: ir.Int(0), Hi: slots, X: ir.Zero(w.key.Elem)})
	if !w.m.KeysOnly {
		b.Emit(&ir.Fill{A: w.sum, Lo: ir.Int(0), Hi: slots, X: ir.Negated(ir.Zero(w.m.Type))})
	}
	b.Store(w.end, ir.Int(0), ir.Int(0))
}

// The low bits of key*hashFactor/hashShift select the slot of a key. The division makes these bits
// depend on many bits of the key.
const (
	hashFactor = 0x9e3779b1 // the golden ratio, as a fraction of 2^32
	hashShift  = 1 << 15
)

// isWide reports whether keys have 64 bits.
func (w *Shared) isWide() bool { return w.key.Elem == tensor.Int64 }

// hash returns the slot where the search for a key starts. Keys of 64 bits are first reduced to 31
// bits, so that the product does not overflow.
func (w *Shared) hash(key ir.Expr) ir.Expr {
	if w.isWide() {
		half := func(x ir.Expr) ir.Expr { return ir.Bin(ir.BitAnd, x, ir.Int(1<<30-1)) }
		key = ir.Plus(half(key), half(ir.Over(key, ir.Int(1<<30))))
	}
	return w.slot(ir.Over(ir.Times(key, ir.Int(hashFactor)), ir.Int(hashShift)))
}

// slot returns x modulo the number of slots, which is a power of two.
func (w *Shared) slot(x ir.Expr) ir.Expr {
	return ir.Bin(ir.BitAnd, x, ir.Minus(w.m.Tables.Slots, ir.Int(1)))
}

// Add is called by one thread, for its own value.
func (w *Shared) Add(x ir.Expr, p Point) {
	b := w.m.B
	key := b.Named(w.name+"_at", ir.Plus(w.box.At(p), ir.Int(1)))
	h := b.Declare(w.name+"_h", w.hash(key))
	had := b.Declare(w.name+"_had", ir.Int(0))
	claim := func() { b.Emit(&ir.Fetch{V: had, A: w.key, Index: h, X: key, Claim: true}) }
	claim()
	b.While(ir.Both(ir.Unequal(had, ir.Int(0)), ir.Unequal(had, key)), func() {
		b.Set(h, w.slot(ir.Plus(h, ir.Int(1))))
		claim()
	})
	b.When(ir.Equal(had, ir.Int(0)), func() {
		if w.m.KeysOnly {
			b.Emit(&ir.Store{A: w.end, Index: ir.Int(0), X: ir.Int(1), Accumulate: true, Atomic: true})
			return
		}
		at := b.Declare(w.name+"_new", ir.Int(0))
		b.Emit(&ir.Fetch{V: at, A: w.end, Index: ir.Int(0), X: ir.Int(1)})
		x := ir.Minus(key, ir.Int(1))
		if !w.isWide() {
			x = ir.Plus(ir.Times(x, w.m.Tables.Slots), h)
		}
		// atomic, because no other thread stores to this element
		b.Emit(&ir.Store{A: w.list, Index: at, X: x, Atomic: true})
	})
	if !w.m.KeysOnly {
		b.Emit(&ir.Store{A: w.sum, Index: h, X: x, Accumulate: true, Atomic: true})
	}
}

// Len returns the number of entries.
func (w *Shared) Len() ir.Expr {
	return w.m.B.Named(w.name+"_n", ir.Coord(w.end, ir.Int(0)))
}

// Sort orders the n entries by their places.
func (w *Shared) Sort(n ir.Expr) { w.m.B.Emit(&ir.Sort{A: w.list, Lo: ir.Int(0), Hi: n}) }

// Each emits a loop over the n sorted entries. Threads run it together. body gets the number of an
// entry, its place in the box and its slot.
func (w *Shared) Each(n ir.Expr, body func(p *ir.Var, place, slot ir.Expr)) {
	b := w.m.B
	w.m.Together(w.name+"_p", n, func(p *ir.Var) {
		if !w.isWide() {
			h := b.Named(w.name+"_slot", w.slot(ir.At(w.list, p)))
			body(p, ir.Minus(ir.Coord(w.key, h), ir.Int(1)), h)
			return
		}
		place := b.Named(w.name+"_place", ir.At(w.list, p))
		h := b.Declare(w.name+"_slot", w.hash(ir.Plus(place, ir.Int(1))))
		b.While(ir.Unequal(ir.At(w.key, h), ir.Plus(place, ir.Int(1))),
			func() { b.Set(h, w.slot(ir.Plus(h, ir.Int(1)))) })
		body(p, place, h)
	})
}

// Sum returns the sum in a slot.
func (w *Shared) Sum(slot ir.Expr) ir.Expr { return ir.At(w.sum, slot) }

// First returns the first coordinate of the box's first variable.
func (w *Shared) First() ir.Expr { return w.box.Lo[0] }

func (w *Shared) Finish() *tree.Operand {
	b := w.m.B
	n := w.Len()
	w.Sort(n)
	if w.crd == nil {
		for k := range w.box.Lo {
			crd := b.Array(fmt.Sprintf("%s_crd%d", w.name, k), w.key.Elem)
			w.crd = append(w.crd, b.AllocInScope(crd, w.m.Tables.Room, false))
		}
	}
	w.Each(n, func(p *ir.Var, place, slot ir.Expr) {
		for k, crd := range w.crd {
			b.Store(crd, p, w.box.coord(k, place))
		}
		b.Store(w.list, p, slot)
	})
	op := w.m.listOperand(w.name, w.crd, w.sum, n)
	op.ValueAt = func(p, _ ir.Expr) ir.Expr { return ir.At(w.list, p) }
	return op
}

func (w *Shared) End() {}
