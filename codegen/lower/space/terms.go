package space

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// termList is a workspace that stores all values that are added to it in a list. At the end, the
// list is sorted by coordinates. The values with equal coordinates are then summed in the order of
// their insertion.
type termList struct {
	m     *Maker
	terms SortedTerms
	rows  *RowList // nil if the workspace is read as a list
	vals  *ir.Array
	n     *ir.Var // the number of terms
	sums  *ir.Array
}

// SortedTerms contains the coordinates of a list of terms, and sorts the terms by coordinates.
type SortedTerms struct {
	Arrays Arrays
	Keys   []*ir.Array // for each variable, by term
	Perm   *ir.Array   // the terms in sorted order
	Sorted []*ir.Array // the terms' coordinates in sorted order, each once
}

// NewSortedTerms returns an empty list of terms with the given number of coordinates.
func NewSortedTerms(s Arrays, keys int) SortedTerms {
	t := SortedTerms{Arrays: s}
	for m := range keys {
		t.Keys = append(t.Keys, s.Array(fmt.Sprintf("key%d", m), tensor.Int64))
		t.Sorted = append(t.Sorted, s.Array(fmt.Sprintf("crd%d", m), tensor.Int64))
	}
	t.Perm = s.Array("perm", tensor.Int64)
	return t
}

// Sort emits code that sorts n terms by their coordinates, and then a loop over the sorted terms.
// Sort returns the number of distinct coordinates.
//
// The loop runs the code of onRepeat for a term with the same coordinates as the term before it. It
// runs the code of onNew for every other term. The argument from is the index of the term in the
// unsorted list. The arguments last and made are the index of the term's coordinates among the
// distinct coordinates. The argument at is the index of the term in the sorted order.
func (t *SortedTerms) Sort(n *ir.Var, onRepeat func(from, last ir.Expr),
	onNew func(from, made, at ir.Expr)) *ir.Var {
	b := t.Arrays.m.B
	for _, a := range append([]*ir.Array{t.Perm}, t.Sorted...) {
		t.Arrays.Reserve(a, n)
	}
	b.Loop(t.Arrays.name+"_s", ir.Int(0), n, func(s *ir.Var) { b.Store(t.Perm, s, s) })
	b.Emit(&ir.SortBy{Perm: t.Perm, Keys: t.Keys, Lo: ir.Int(0), Hi: n})
	made := b.Declare(t.Arrays.name+"_made", ir.Int(0))
	b.Loop(t.Arrays.name+"_s", ir.Int(0), n, func(p *ir.Var) {
		from := b.Declare(t.Arrays.name+"_from", ir.At(t.Perm, p))
		last := ir.Minus(made, ir.Int(1))
		same := []ir.Expr{ir.Less(ir.Int(0), made)}
		for m, k := range t.Keys {
			same = append(same, ir.Equal(ir.At(t.Sorted[m], last), ir.At(k, from)))
		}
		b.Choose(ir.Both(same...), func() { onRepeat(from, last) }, func() {
			for m, k := range t.Keys {
				b.Store(t.Sorted[m], made, ir.At(k, from))
			}
			onNew(from, made, p)
			b.Incr(made, ir.Int(1))
		})
	})
	return made
}

func (m *Maker) newTerms(t *cin.Access, form strategy.Form) *termList {
	w := &termList{m: m, terms: NewSortedTerms(m.RoomFor(t.Name, form.Of), len(t.Vars)),
		rows: m.RowsIf(t.Name, t.Vars, form.Rows)}
	w.vals, w.sums = w.terms.Arrays.Array("term", m.Type),
		w.terms.Arrays.Array("vals", m.Type)
	return w
}

func (w *termList) Begin() {
	w.n = w.m.B.Declare(w.terms.Arrays.name+"_n", ir.Int(0))
}

func (w *termList) Add(x ir.Expr, at Point) {
	// all arrays have the same capacity
	w.m.B.When(ir.AtMost(w.terms.Arrays.caps[w.vals], w.n), func() {
		for _, k := range append([]*ir.Array{w.vals}, w.terms.Keys...) {
			w.terms.Arrays.grow(k, ir.Plus(w.n, ir.Int(1)))
		}
	})
	for m, k := range w.terms.Keys {
		w.m.B.Store(k, w.n, at(m))
	}
	w.m.B.Store(w.vals, w.n, x)
	w.m.B.Incr(w.n, ir.Int(1))
}

func (w *termList) Finish() *tree.Operand {
	w.terms.Arrays.Reserve(w.sums, w.n)
	made := w.terms.Sort(w.n, func(from, last ir.Expr) {
		w.m.B.AddTo(w.sums, last, ir.At(w.vals, from))
	}, func(from, made, _ ir.Expr) {
		w.m.B.Store(w.sums, made, ir.At(w.vals, from))
	})
	return w.m.SortedOperand(w.terms.Arrays.name, w.rows, w.terms.Sorted, w.sums, made)
}

func (w *termList) End() {}

func (w *termList) Entries() Entries { return keyed(w.n, w.terms.Keys, w.vals) }
