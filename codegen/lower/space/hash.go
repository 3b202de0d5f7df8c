package space

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Hash is a workspace that stores its entries in a hash table. It needs no place for coordinates
// without an entry. Entries are numbered in the order of their insertion. Entry s has coordinate
// keys[m][s] of variable m, and value vals[s].
//
// table is a hash table with open addressing. A slot contains s+1, or 0 if it is free, and slot[s]
// is the index of the slot of entry s. If only the first variables are keys, entry s has a row of
// width values instead of one value. The row begins at index s*width of vals. Rows are not moved
// when the table grows or when the keys are sorted.
type Hash struct {
	m      *Maker
	arrays Arrays
	row    Row
	rows   *RowList // nil if the workspace is read as a list
	keys   []*ir.Array
	vals   *ir.Array
	slot   *ir.Array
	table  *ir.Array
	n      *ir.Var // the number of entries
	slots  *ir.Var // the length of table: a power of two minus one
	sorted []*ir.Array
	perm   *ir.Array
	svals  *ir.Array
}

// firstSlots is the smallest length of the table.
const firstSlots = 127

func (m *Maker) newHash(t *cin.Access, form strategy.Form) *Hash {
	keys, along := t.Vars[:len(t.Vars)-form.Dense], t.Vars[len(t.Vars)-form.Dense:]
	w := &Hash{m: m, arrays: m.RoomFor(t.Name, form.Of),
		rows: m.RowsIf(t.Name, keys, form.Rows)}
	w.row = m.NewRow(t.Name, len(keys), along)
	w.slots, w.n = m.B.Var(w.arrays.name+"_slots"), m.B.Var(w.arrays.name+"_n")
	m.B.BeforeScope(func() {
		m.B.Emit(&ir.Declare{V: w.n, Init: ir.Int(0)})
		m.B.Emit(&ir.Declare{V: w.slots, Init: ir.Int(firstSlots)})
		if w.arrays.first != nil { // slots for all entries
			m.B.While(ir.Less(w.slots, ir.Times(w.arrays.first, ir.Int(2))),
				func() { m.B.Set(w.slots, ir.Plus(ir.Times(w.slots, ir.Int(2)), ir.Int(1))) })
		}
	})
	array := func(part string, t tensor.Type) *ir.Array { return w.arrays.Array(part, t) }
	for k := range keys {
		w.keys = append(w.keys, array(fmt.Sprintf("key%d", k), tensor.Int64))
		w.sorted = append(w.sorted, array(fmt.Sprintf("crd%d", k), tensor.Int64))
	}
	if w.row.Exists() && w.arrays.first != nil {
		w.vals = w.arrays.arrayOf("sum", m.Type, ir.Times(w.arrays.first, w.row.Width))
	} else {
		w.vals = array("sum", m.Type)
	}
	if !w.row.Exists() {
		w.svals = array("vals", m.Type)
	}
	w.slot, w.perm = array("slot", tensor.Int64), array("perm", tensor.Int64)
	w.table = m.B.AllocInScope(m.B.Array(w.arrays.name+"_table", tensor.Int64), w.slots, true)
	return w
}

func (w *Hash) Begin() {}

func (w *Hash) Entries() Entries { return keyed(w.n, w.keys, w.vals) }

// multipliers are the numbers by which the hash function multiplies coordinates. They are odd.
// Except for a few digits, they are the golden ratio and square roots of primes.
var multipliers = []int64{0x1e3779b97f4a7c15, 0x3a09e667f3bcc909, 0x3b67ae8584caa73b,
	0x3c6ef372fe94f82b, 0x254ff53a5f1d36f1, 0x110e527fade682d1, 0x1b05688c2b3e6c1f, 0x1f83d9abfb41bd6b}

// hash emits code that computes the slot where the search for a key starts. It returns the variable
// of the slot.
func (w *Hash) hash(key Point) *ir.Var {
	var h ir.Expr = ir.Int(0)
	for m := range w.keys {
		h = ir.Plus(ir.Times(h, ir.Int(31)), ir.Times(key(m), ir.Int(multipliers[m%len(multipliers)])))
	}
	v := w.m.B.Declare(w.arrays.name+"_h", ir.Modulo(h, w.slots))
	w.m.B.When(ir.Less(v, ir.Int(0)), func() { w.m.B.Incr(v, w.slots) })
	return v
}

// step moves to the next slot.
func (w *Hash) step(h *ir.Var) {
	w.m.B.Incr(h, ir.Int(1))
	w.m.B.When(ir.Equal(h, w.slots), func() { w.m.B.Set(h, ir.Int(0)) })
}

func (w *Hash) Add(x ir.Expr, at Point) {
	if w.row.Exists() {
		if w.row.At == nil {
			w.row.At = w.Find(at)
			defer func() { w.row.At = nil }()
		}
		w.row.Add(w.vals, x, at)
		return
	}
	h, s := w.search(at)
	w.m.B.Choose(ir.Unequal(s, ir.Int(0)), func() { w.m.B.AddTo(w.vals, ir.Minus(s, ir.Int(1)), x) },
		func() { w.insert(at, h, func() { w.m.B.Store(w.vals, w.n, x) }) })
}

func (w *Hash) RowOf() *Row { return &w.row }

// Find emits code that looks up the key and inserts it if it is new. It returns the index of the
// first value of the key's row.
func (w *Hash) Find(key Point) ir.Expr {
	h, s := w.search(key)
	w.m.B.When(ir.Equal(s, ir.Int(0)), func() {
		w.insert(key, h, func() {
			w.row.Clear(w.vals, w.m.B.Named(w.arrays.name+"_from", ir.Times(w.n, w.row.Width)))
		})
		w.m.B.Set(s, w.n)
	})
	return w.m.B.Named(w.arrays.name+"_row", ir.Times(ir.Minus(s, ir.Int(1)), w.row.Width))
}

// search emits code that looks up the key. h is the slot of the key, or a free slot if the key is
// new. s is the content of the slot, which is 0 if the slot is free.
func (w *Hash) search(key Point) (h, s *ir.Var) {
	h = w.hash(key)
	s = w.m.B.Declare(w.arrays.name+"_s", ir.At(w.table, h))
	var differs []ir.Expr
	for m, k := range w.keys {
		differs = append(differs, ir.Unequal(ir.At(k, ir.Minus(s, ir.Int(1))), key(m)))
	}
	w.m.B.While(ir.Both(ir.Unequal(s, ir.Int(0)), ir.Either(differs...)), func() {
		w.step(h)
		w.m.B.Set(s, ir.At(w.table, h))
	})
	return h, s
}

// insert emits code that makes an entry for a key in the free slot h. put emits the code that
// stores the entry's value, or its row of values.
func (w *Hash) insert(key Point, h *ir.Var, put func()) {
	for _, k := range append(append([]*ir.Array{}, w.keys...), w.vals, w.slot) {
		need := ir.Plus(w.n, ir.Int(1))
		if k == w.vals && w.row.Exists() {
			need = ir.Times(need, w.row.Width)
		}
		w.arrays.Reserve(k, need)
	}
	for m, k := range w.keys {
		w.m.B.Store(k, w.n, key(m))
	}
	put()
	w.m.B.Store(w.slot, w.n, h)
	w.m.B.Incr(w.n, ir.Int(1))
	w.m.B.Store(w.table, h, w.n)
	w.m.B.When(ir.Greater(ir.Times(w.n, ir.Int(2)), w.slots), func() { w.rehash() })
}

// rehash doubles the table.
func (w *Hash) rehash() {
	w.m.B.Free(w.table)
	w.m.B.Set(w.slots, ir.Plus(ir.Times(w.slots, ir.Int(2)), ir.Int(1)))
	w.m.B.Emit(&ir.Alloc{A: w.table, Len: w.slots, Zero: true})
	w.m.B.Loop(w.arrays.name+"_s", ir.Int(0), w.n, func(s *ir.Var) {
		h := w.hash(func(m int) ir.Expr { return ir.At(w.keys[m], s) })
		w.m.B.While(ir.Unequal(ir.At(w.table, h), ir.Int(0)), func() { w.step(h) })
		w.m.B.Store(w.table, h, ir.Plus(s, ir.Int(1)))
		w.m.B.Store(w.slot, s, h)
	})
}

func (w *Hash) Finish() *tree.Operand {
	gathered := []*ir.Array{w.perm}
	if !w.row.Exists() {
		gathered = append(gathered, w.svals)
	}
	for _, a := range append(gathered, w.sorted...) {
		w.arrays.Reserve(a, w.n)
	}
	w.m.B.Loop(w.arrays.name+"_s", ir.Int(0), w.n, func(s *ir.Var) { w.m.B.Store(w.perm, s, s) })
	w.m.B.Emit(&ir.SortBy{Perm: w.perm, Keys: w.keys, Lo: ir.Int(0), Hi: w.n})
	w.m.B.Loop(w.arrays.name+"_s", ir.Int(0), w.n, func(p *ir.Var) {
		from := w.m.B.Declare(w.arrays.name+"_from", ir.At(w.perm, p))
		for m, k := range w.keys {
			w.m.B.Store(w.sorted[m], p, ir.At(k, from))
		}
		if !w.row.Exists() {
			w.m.B.Store(w.svals, p, ir.At(w.vals, from))
		}
	})
	if w.row.Exists() {
		op := w.m.SortedOperand(w.arrays.name, w.rows, w.sorted, w.vals, w.n)
		return w.row.Under(op, func(p ir.Expr) ir.Expr { return ir.At(w.perm, p) })
	}
	return w.m.SortedOperand(w.arrays.name, w.rows, w.sorted, w.svals, w.n)
}

// End clears only the slots in use, so that the cost depends on the number of entries.
func (w *Hash) End() {
	w.m.B.Loop(w.arrays.name+"_s", ir.Int(0), w.n, func(s *ir.Var) {
		w.m.B.Store(w.table, ir.At(w.slot, s), ir.Int(0))
	})
	w.m.B.Set(w.n, ir.Int(0))
}
