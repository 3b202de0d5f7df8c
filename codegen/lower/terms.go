package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// termSpace is a workspace with a list of all values that are added to it, which is sorted by
// coordinates at the end. The values of each coordinate are then summed in the order of their
// insertion.
type termSpace struct {
	sortedTerms sortedTerms
	rows        *rowList // nil if the workspace is read as a list
	vals        *ir.Array
	n           *ir.Var // the number of terms
	sums        *ir.Array
}

// sortedTerms contains the coordinates of a list of terms, and sorts the terms by them.
type sortedTerms struct {
	spaceArrays spaceArrays
	keys        []*ir.Array // for each variable, by term
	perm        *ir.Array   // the terms in sorted order
	sorted      []*ir.Array // the terms' coordinates in sorted order, each once
}

func (l *lowerer) newSortedTerms(s spaceArrays, keys int) sortedTerms {
	t := sortedTerms{spaceArrays: s}
	for m := range keys {
		t.keys = append(t.keys, s.array(l, fmt.Sprintf("key%d", m), tensor.Int64))
		t.sorted = append(t.sorted, s.array(l, fmt.Sprintf("crd%d", m), tensor.Int64))
	}
	t.perm = s.array(l, "perm", tensor.Int64)
	return t
}

// sort sorts n terms and returns the number of their different coordinates. It emits again for a
// term with the same coordinates as the term before it; last is the index of these coordinates. It
// emits other for a term with new coordinates; made is their index, and at is the term's place in
// the sorted order.
func (t *sortedTerms) sort(l *lowerer, n *ir.Var, again func(from, last ir.Expr),
	other func(from, made, at ir.Expr)) *ir.Var {
	for _, a := range append([]*ir.Array{t.perm}, t.sorted...) {
		t.spaceArrays.reserve(l, a, n)
	}
	s := l.newVar(t.spaceArrays.name + "_s")
	l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: n, Step: 1,
		Body: l.within(func() { l.store(t.perm, s, s) })})
	l.emit(&ir.SortBy{Perm: t.perm, Keys: t.keys, Lo: ir.Int(0), Hi: n})
	made := l.declare(t.spaceArrays.name+"_made", ir.Int(0))
	p := l.newVar(t.spaceArrays.name + "_s")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: n, Step: 1, Body: l.within(func() {
		from := l.declare(t.spaceArrays.name+"_from", ir.At(t.perm, p))
		last := ir.Minus(made, ir.Int(1))
		same := []ir.Expr{ir.Less(ir.Int(0), made)}
		for m, k := range t.keys {
			same = append(same, ir.Equal(ir.At(t.sorted[m], last), ir.At(k, from)))
		}
		l.emit(&ir.If{Cond: ir.Both(same...), Then: l.within(func() { again(from, last) }),
			Else: l.within(func() {
				for m, k := range t.keys {
					l.store(t.sorted[m], made, ir.At(k, from))
				}
				other(from, made, p)
				l.incr(made, ir.Int(1))
			})})
	})})
	return made
}

func (l *lowerer) newTermSpace(t *cin.Access, form strategy.Form) *termSpace {
	w := &termSpace{sortedTerms: l.newSortedTerms(l.roomFor(t.Name, form.Of), len(t.Vars)),
		rows: l.rowsIf(t, form.Rows)}
	w.vals, w.sums = w.sortedTerms.spaceArrays.array(l, "term", l.spec.Compute),
		w.sortedTerms.spaceArrays.array(l, "vals", l.spec.Compute)
	return w
}

func (w *termSpace) begin(l *lowerer) {
	w.n = l.declare(w.sortedTerms.spaceArrays.name+"_n", ir.Int(0))
}

func (w *termSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	// all arrays have the same capacity
	l.when(ir.AtMost(w.sortedTerms.spaceArrays.caps[w.vals], w.n), func() {
		for _, k := range append([]*ir.Array{w.vals}, w.sortedTerms.keys...) {
			w.sortedTerms.spaceArrays.grow(l, k, ir.Plus(w.n, ir.Int(1)))
		}
	})
	for m, k := range w.sortedTerms.keys {
		l.store(k, w.n, e.coord[a.Vars[m]])
	}
	l.store(w.vals, w.n, x)
	l.incr(w.n, ir.Int(1))
}

func (w *termSpace) finish(l *lowerer) *operand {
	w.sortedTerms.spaceArrays.reserve(l, w.sums, w.n)
	made := w.sortedTerms.sort(l, w.n, func(from, last ir.Expr) {
		l.emit(&ir.Store{A: w.sums, Index: last, Accumulate: true, X: ir.At(w.vals, from)})
	}, func(from, made, _ ir.Expr) {
		l.store(w.sums, made, ir.At(w.vals, from))
	})
	return l.sortedOperand(w.sortedTerms.spaceArrays.name, w.rows, w.sortedTerms.sorted, w.sums, made)
}

func (w *termSpace) end(*lowerer) {}
