package space

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
)

// ordered is a workspace whose producer visits its coordinates in order, each once or several
// times in a row. It is a list of coordinates and values, which needs neither a place for every
// coordinate nor sorting.
type ordered struct {
	m      *Maker
	arrays Arrays
	rows   *RowList // nil if the workspace is read as a list
	keys   []*ir.Array
	vals   *ir.Array
	n      *ir.Var // the number of entries
	once   bool    // no coordinate is added twice
}

func (m *Maker) newOrdered(t *cin.Access, once, rows bool) *ordered {
	w := &ordered{m: m, arrays: m.newArrays(t.Name), once: once, rows: m.RowsIf(t.Name, t.Vars, rows)}
	for k, v := range t.Vars {
		w.keys = append(w.keys, w.arrays.Array(fmt.Sprintf("crd%d", k), m.CrdType(v)))
	}
	w.vals = w.arrays.Array("vals", m.Type)
	return w
}

func (w *ordered) Begin() { w.n = w.m.B.Declare(w.arrays.name+"_n", ir.Int(0)) }

func (w *ordered) Add(x ir.Expr, at Point) {
	last := ir.Minus(w.n, ir.Int(1))
	same := []ir.Expr{ir.Less(ir.Int(0), w.n)}
	for m, k := range w.keys {
		same = append(same, ir.Equal(ir.Coord(k, last), at(m)))
	}
	next := w.m.B.Within(func() {
		// all arrays have the same capacity
		w.m.B.When(ir.AtMost(w.arrays.caps[w.vals], w.n), func() {
			for _, k := range append(slices.Clone(w.keys), w.vals) {
				w.arrays.grow(k, ir.Plus(w.n, ir.Int(1)))
			}
		})
		for m, k := range w.keys {
			w.m.B.Store(k, w.n, at(m))
		}
		w.m.B.Store(w.vals, w.n, x)
		w.m.B.Incr(w.n, ir.Int(1))
	})
	if w.once {
		w.m.B.Append(next)
		return
	}
	again := w.m.B.Within(func() { w.m.B.AddTo(w.vals, last, x) })
	w.m.B.Emit(&ir.If{Cond: ir.Both(same...), Then: again, Else: next})
}

func (w *ordered) Finish() *tree.Operand {
	return w.m.SortedOperand(w.arrays.name, w.rows, w.keys, w.vals, w.n)
}

func (w *ordered) End() {}

func (w *ordered) Entries() Entries { return keyed(w.n, w.keys, w.vals) }
