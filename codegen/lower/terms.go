package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// termSpace is a workspace with a list of all values that are added to it, which is sorted by coordinates
// in the end. The values of a coordinate are then summed in the order in which they came.
type termSpace struct {
	spaceArrays
	rows   *rowList    // nil where it is read as a list
	keys   []*ir.Array // of each variable, by term
	vals   *ir.Array
	n      *ir.Var // terms
	perm   *ir.Array
	sorted []*ir.Array
	sums   *ir.Array
}

func (l *lowerer) newTermSpace(t *cin.Access, rows bool) *termSpace {
	w := &termSpace{spaceArrays: newSpaceArrays(t.Name), rows: l.rowsIf(t, rows)}
	for m := range t.Vars {
		w.keys = append(w.keys, w.array(l, fmt.Sprintf("key%d", m), ir.Int64))
		w.sorted = append(w.sorted, w.array(l, fmt.Sprintf("crd%d", m), ir.Int64))
	}
	w.vals, w.sums = w.array(l, "term", l.spec.Compute), w.array(l, "vals", l.spec.Compute)
	w.perm = w.array(l, "perm", ir.Int64)
	return w
}

func (w *termSpace) begin(l *lowerer) { w.n = l.declare(w.name+"_n", ir.Int(0)) }

func (w *termSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	l.when(ir.AtMost(w.caps[w.vals], w.n), func() { // all have the same
		for _, k := range append([]*ir.Array{w.vals}, w.keys...) {
			w.grow(l, k, ir.Plus(w.n, ir.Int(1)))
		}
	})
	for m, k := range w.keys {
		l.store(k, w.n, e.coord[a.Vars[m]])
	}
	l.store(w.vals, w.n, x)
	l.incr(w.n, ir.Int(1))
}

func (w *termSpace) finish(l *lowerer) *operand {
	for _, a := range append([]*ir.Array{w.perm, w.sums}, w.sorted...) {
		w.reserve(l, a, w.n)
	}
	s := l.newVar(w.name + "_s")
	l.emit(&ir.For{V: s, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() { l.store(w.perm, s, s) })})
	l.emit(&ir.SortBy{Perm: w.perm, Keys: w.keys, Lo: ir.Int(0), Hi: w.n})
	made := l.declare(w.name+"_made", ir.Int(0))
	p := l.newVar(w.name + "_s")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() { w.sum(l, p, made) })})
	return l.sortedOperand(w.name, w.rows, w.sorted, w.sums, made)
}

// sum adds the term at place p of the order to that of the coordinate before it, if it is the same, or
// begins another.
func (w *termSpace) sum(l *lowerer, p, made *ir.Var) {
	from := l.declare(w.name+"_from", ir.At(w.perm, p))
	last := ir.Minus(made, ir.Int(1))
	same := []ir.Expr{ir.Less(ir.Int(0), made)}
	for m, k := range w.keys {
		same = append(same, ir.Equal(ir.At(w.sorted[m], last), ir.At(k, from)))
	}
	again := l.within(func() { l.emit(&ir.Store{A: w.sums, Index: last, Accumulate: true, X: ir.At(w.vals, from)}) })
	other := l.within(func() {
		for m, k := range w.keys {
			l.store(w.sorted[m], made, ir.At(k, from))
		}
		l.store(w.sums, made, ir.At(w.vals, from))
		l.incr(made, ir.Int(1))
	})
	l.emit(&ir.If{Cond: ir.Both(same...), Then: again, Else: other})
}

func (w *termSpace) end(*lowerer) {}
