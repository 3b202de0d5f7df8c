package lower

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// orderedSpace is a workspace whose producer visits its coordinates in order, each once or several
// times in a row. It is a list of coordinates and values, which needs neither a place for every
// coordinate nor sorting.
type orderedSpace struct {
	spaceArrays spaceArrays
	rows        *rowList // nil if the workspace is read as a list
	keys        []*ir.Array
	vals        *ir.Array
	n           *ir.Var // the number of entries
	once        bool    // no coordinate is added twice
}

func (l *lowerer) newOrderedSpace(t *cin.Access, once, rows bool) *orderedSpace {
	w := &orderedSpace{spaceArrays: newSpaceArrays(t.Name), once: once, rows: l.rowsIf(t, rows)}
	for m, v := range t.Vars {
		w.keys = append(w.keys, w.spaceArrays.array(l, fmt.Sprintf("crd%d", m), l.crdType(v)))
	}
	w.vals = w.spaceArrays.array(l, "vals", l.spec.Compute)
	return w
}

func (w *orderedSpace) begin(l *lowerer) { w.n = l.declare(w.spaceArrays.name+"_n", ir.Int(0)) }

func (w *orderedSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	last := ir.Minus(w.n, ir.Int(1))
	same := []ir.Expr{ir.Less(ir.Int(0), w.n)}
	for m, k := range w.keys {
		same = append(same, ir.Equal(ir.Coord(k, last), e.coord[a.Vars[m]]))
	}
	next := l.within(func() {
		// all arrays have the same capacity
		l.when(ir.AtMost(w.spaceArrays.caps[w.vals], w.n), func() {
			for _, k := range append(slices.Clone(w.keys), w.vals) {
				w.spaceArrays.grow(l, k, ir.Plus(w.n, ir.Int(1)))
			}
		})
		for m, k := range w.keys {
			l.store(k, w.n, e.coord[a.Vars[m]])
		}
		l.store(w.vals, w.n, x)
		l.incr(w.n, ir.Int(1))
	})
	if w.once {
		l.blk.List = append(l.blk.List, next.List...)
		return
	}
	again := l.within(func() { l.emit(&ir.Store{A: w.vals, Index: last, Accumulate: true, X: x}) })
	l.emit(&ir.If{Cond: ir.Both(same...), Then: again, Else: next})
}

func (w *orderedSpace) finish(l *lowerer) *operand {
	return l.sortedOperand(w.spaceArrays.name, w.rows, w.keys, w.vals, w.n)
}

// sortedOperand returns a list of n entries in order as an operand. The operand has rows, or is a
// list if rows is nil.
func (l *lowerer) sortedOperand(name string, rows *rowList, crd []*ir.Array, vals *ir.Array,
	n ir.Expr) *operand {
	if rows == nil {
		return l.listOperand(name, crd, vals, n)
	}
	rows.keyed(l, n, crd)
	return rows.operand(l, crd[rows.box.last()], vals)
}

// listOperand returns a list of n coordinates, in order, with their values, as an operand.
func (l *lowerer) listOperand(name string, crd []*ir.Array, vals *ir.Array, n ir.Expr) *operand {
	o := Operand{Name: name, Arg: -1, Type: l.spec.Compute}
	for m := range crd {
		kind := tensor.SingletonNonunique
		switch {
		case len(crd) == 1:
			kind = tensor.Compressed
		case m == 0:
			kind = tensor.CompressedNonunique
		case m == len(crd)-1:
			kind = tensor.Singleton
		}
		o.Format.Levels = append(o.Format.Levels, kind)
		o.Format.Order = append(o.Format.Order, m)
		o.CrdWidth = append(o.CrdWidth, 8)
	}
	op := newOperand(l, o)
	op.rootLen = n
	for m, k := range crd {
		op.arrays[ir.Slot{Arg: -1, Level: m, Field: ir.Crd}] = k
	}
	op.arrays[ir.Slot{Arg: -1, Field: ir.Vals}] = vals
	return op
}

func (w *orderedSpace) end(*lowerer) {}
