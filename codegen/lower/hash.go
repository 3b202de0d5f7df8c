package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// hashSpace is a workspace over several variables, or over one variable that is too large for a
// place for each coordinate. Entries are numbered in the order of their insertion. Entry s has
// coordinate keys[m][s] of variable m, and value vals[s]. table is a hash table with open
// addressing. A slot contains s+1, or 0 if it is free, and slot[s] is the index of entry s's slot.
// If only the first variables are keys, an entry has a row of values instead (hashrows.go).
type hashSpace struct {
	spaceArrays spaceArrays
	row         spaceRow
	rows        *rowList // nil if the workspace is read as a list
	keys        []*ir.Array
	vals        *ir.Array
	slot        *ir.Array
	table       *ir.Array
	n           *ir.Var // the number of entries
	slots       *ir.Var // the length of table: a power of two minus one
	sorted      []*ir.Array
	perm        *ir.Array
	svals       *ir.Array
}

// firstSlots is the initial length of the table.
const firstSlots = 127

func (l *lowerer) newHashSpace(t *cin.Access, form strategy.Form) *hashSpace {
	keys, along := t.Vars[:len(t.Vars)-form.Dense], t.Vars[len(t.Vars)-form.Dense:]
	w := &hashSpace{spaceArrays: l.roomFor(t.Name, form.Of),
		rows: l.rowsIf(&cin.Access{Name: t.Name, Vars: keys}, form.Rows)}
	w.row = l.newSpaceRow(t.Name, along)
	w.slots, w.n = l.newVar(w.spaceArrays.name+"_slots"), l.newVar(w.spaceArrays.name+"_n")
	l.pre.Append(&ir.Declare{V: w.n, Init: ir.Int(0)})
	l.pre.Append(&ir.Declare{V: w.slots, Init: ir.Int(firstSlots)})
	if w.spaceArrays.first != nil { // slots for all entries
		more := &ir.Block{}
		more.Append(&ir.Assign{V: w.slots, X: ir.Plus(ir.Times(w.slots, ir.Int(2)), ir.Int(1))})
		l.pre.Append(&ir.While{Cond: ir.Less(w.slots, ir.Times(w.spaceArrays.first, ir.Int(2))),
			Body: more})
	}
	array := func(part string, t tensor.Type) *ir.Array { return w.spaceArrays.array(l, part, t) }
	for m := range keys {
		w.keys = append(w.keys, array(fmt.Sprintf("key%d", m), tensor.Int64))
		w.sorted = append(w.sorted, array(fmt.Sprintf("crd%d", m), tensor.Int64))
	}
	if w.row.exists() && w.spaceArrays.first != nil {
		w.vals = w.spaceArrays.arrayOf(l, "sum", l.spec.Compute,
			ir.Times(w.spaceArrays.first, w.row.width))
	} else {
		w.vals = array("sum", l.spec.Compute)
	}
	if !w.row.exists() {
		w.svals = array("vals", l.spec.Compute)
	}
	w.slot, w.perm = array("slot", tensor.Int64), array("perm", tensor.Int64)
	w.table = l.newArray(w.spaceArrays.name+"_table", tensor.Int64)
	l.pre.Append(&ir.Alloc{A: w.table, Len: w.slots, Zero: true})
	l.post.Append(&ir.Free{A: w.table})
	return w
}

func (w *hashSpace) begin(l *lowerer) {}

// multipliers of the coordinates in the hash. They are odd and have bits in all positions (the
// first digits of the golden ratio and of square roots of primes).
var multipliers = []int64{0x1e3779b97f4a7c15, 0x3a09e667f3bcc909, 0x3b67ae8584caa73b,
	0x3c6ef372fe94f82b, 0x254ff53a5f1d36f1, 0x110e527fade682d1, 0x1b05688c2b3e6c1f, 0x1f83d9abfb41bd6b}

// hash declares the slot where the search for a key starts.
func (w *hashSpace) hash(l *lowerer, key func(m int) ir.Expr) *ir.Var {
	var h ir.Expr = ir.Int(0)
	for m := range w.keys {
		h = ir.Plus(ir.Times(h, ir.Int(31)), ir.Times(key(m), ir.Int(multipliers[m%len(multipliers)])))
	}
	v := l.declare(w.spaceArrays.name+"_h", ir.Modulo(h, w.slots))
	l.when(ir.Less(v, ir.Int(0)), func() { l.incr(v, w.slots) })
	return v
}

// step moves to the next slot.
func (w *hashSpace) step(l *lowerer, h *ir.Var) {
	l.incr(h, ir.Int(1))
	l.when(ir.Equal(h, w.slots), func() { l.set(h, ir.Int(0)) })
}

func (w *hashSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	if w.row.exists() {
		w.addToRow(l, a, x, e)
		return
	}
	key := func(m int) ir.Expr { return e.coord[a.Vars[m]] }
	h, s := w.search(l, key)
	again := l.within(func() {
		l.emit(&ir.Store{A: w.vals, Index: ir.Minus(s, ir.Int(1)), Accumulate: true, X: x})
	})
	fresh := l.within(func() { w.insert(l, key, h, func() { l.store(w.vals, w.n, x) }) })
	l.emit(&ir.If{Cond: ir.Unequal(s, ir.Int(0)), Then: again, Else: fresh})
}

// search declares h, the slot of a key or a free slot for it, and s, the content of the slot.
func (w *hashSpace) search(l *lowerer, key func(m int) ir.Expr) (h, s *ir.Var) {
	h = w.hash(l, key)
	s = l.declare(w.spaceArrays.name+"_s", ir.At(w.table, h))
	var differs []ir.Expr
	for m, k := range w.keys {
		differs = append(differs, ir.Unequal(ir.At(k, ir.Minus(s, ir.Int(1))), key(m)))
	}
	l.while(ir.Both(ir.Unequal(s, ir.Int(0)), ir.Either(differs...)), func() {
		w.step(l, h)
		l.set(s, ir.At(w.table, h))
	})
	return h, s
}

// insert makes an entry for a key in the free slot h. put stores its value, or its row of values.
func (w *hashSpace) insert(l *lowerer, key func(m int) ir.Expr, h *ir.Var, put func()) {
	for _, k := range append(append([]*ir.Array{}, w.keys...), w.vals, w.slot) {
		need := ir.Plus(w.n, ir.Int(1))
		if k == w.vals && w.row.exists() {
			need = ir.Times(need, w.row.width)
		}
		w.spaceArrays.reserve(l, k, need)
	}
	for m, k := range w.keys {
		l.store(k, w.n, key(m))
	}
	put()
	l.store(w.slot, w.n, h)
	l.incr(w.n, ir.Int(1))
	l.store(w.table, h, w.n)
	l.when(ir.Greater(ir.Times(w.n, ir.Int(2)), w.slots), func() { w.rehash(l) })
}

// rehash doubles the table.
func (w *hashSpace) rehash(l *lowerer) {
	l.emit(&ir.Free{A: w.table})
	l.set(w.slots, ir.Plus(ir.Times(w.slots, ir.Int(2)), ir.Int(1)))
	l.emit(&ir.Alloc{A: w.table, Len: w.slots, Zero: true})
	s := l.newVar(w.spaceArrays.name + "_s")
	l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		h := w.hash(l, func(m int) ir.Expr { return ir.At(w.keys[m], s) })
		l.while(ir.Unequal(ir.At(w.table, h), ir.Int(0)), func() { w.step(l, h) })
		l.store(w.table, h, ir.Plus(s, ir.Int(1)))
		l.store(w.slot, s, h)
	})})
}

func (w *hashSpace) finish(l *lowerer) *operand {
	gathered := []*ir.Array{w.perm}
	if !w.row.exists() {
		gathered = append(gathered, w.svals)
	}
	for _, a := range append(gathered, w.sorted...) {
		w.spaceArrays.reserve(l, a, w.n)
	}
	s := l.newVar(w.spaceArrays.name + "_s")
	l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: w.n, Step: 1,
		Body: l.within(func() { l.store(w.perm, s, s) })})
	l.emit(&ir.SortBy{Perm: w.perm, Keys: w.keys, Lo: ir.Int(0), Hi: w.n})
	p := l.newVar(w.spaceArrays.name + "_s")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		from := l.declare(w.spaceArrays.name+"_from", ir.At(w.perm, p))
		for m, k := range w.keys {
			l.store(w.sorted[m], p, ir.At(k, from))
		}
		if !w.row.exists() {
			l.store(w.svals, p, ir.At(w.vals, from))
		}
	})})
	if w.row.exists() {
		return w.rowOperand(l)
	}
	return l.sortedOperand(w.spaceArrays.name, w.rows, w.sorted, w.svals, w.n)
}

// end frees only the slots in use, so that the cost depends on the number of entries.
func (w *hashSpace) end(l *lowerer) {
	s := l.newVar(w.spaceArrays.name + "_s")
	l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		l.store(w.table, ir.At(w.slot, s), ir.Int(0))
	})})
	l.set(w.n, ir.Int(0))
}
