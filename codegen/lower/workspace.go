package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// adder is a temporary over index variables that sums values at random coordinates.
type adder interface {
	// add adds x at the coordinates of access a in e.
	add(l *lowerer, a *cin.Access, x ir.Expr, e *env)
}

// workspace is an adder that returns its sums in order. Its memory belongs to the enclosing scope,
// and it is empty between uses.
type workspace interface {
	adder
	// begin starts a use.
	begin(l *lowerer)
	// finish orders the sums and returns them as a sparse operand.
	finish(l *lowerer) *operand
	// end empties the workspace.
	end(l *lowerer)
}

// newWorkspace returns the workspace for t, of the given form. A scope has one for all uses.
func (l *lowerer) newWorkspace(t *cin.Access, s strategy.Form) workspace {
	w := l.made[t.Name]
	if w != nil {
		return w
	}
	switch s.Kind {
	case strategy.SortedList:
		w = l.newOrderedSpace(t, s.Once, s.Rows)
	case strategy.Bitmap:
		w = l.newBitmapSpace(t, s.Rows)
	case strategy.Marks:
		w = l.newMarkSpace(t)
	case strategy.MarkedList:
		w = l.newListSpace(t, s.Rows)
	case strategy.HashTable:
		w = l.newHashSpace(t, s)
	case strategy.Terms:
		if s.Dense > 0 {
			w = l.newTermRows(t, s)
		} else {
			w = l.newTermSpace(t, s)
		}
	default:
		panic("BUG: lower: no workspace of kind " + s.Kind.String())
	}
	l.made[t.Name] = w
	return w
}

// listSpace is a workspace with a value and a mark for every place of a box, and a list of the
// marked places (Gustavson's accumulator). For one variable, it is a list of coordinates.
type listSpace struct {
	placed *placed
	mark   *ir.Array
}

func (l *lowerer) newListSpace(t *cin.Access, rows bool) *listSpace {
	w := &listSpace{placed: l.newPlaced(t, rows), mark: l.newArray(t.Name+"_mark", tensor.Bool)}
	elem := tensor.Int32 // type of the places
	if len(t.Vars) == 1 {
		elem = l.crdType(t.Vars[0])
	}
	w.placed.list = l.newArray(t.Name+"_list", elem)
	for _, a := range []*ir.Array{w.placed.vals, w.mark, w.placed.list} {
		l.pre.Append(&ir.Alloc{A: a, Len: w.placed.box.places(), Zero: a == w.mark})
		l.post.Append(&ir.Free{A: a})
	}
	return w
}

// crdType returns the type of a variable's coordinates in workspaces.
func (l *lowerer) crdType(v string) tensor.Type { return intOf(l.spec.Strategy.CrdWidth[v]) }

func (w *listSpace) begin(l *lowerer) {
	w.placed.n = l.declare(w.placed.spaceArrays.name+"_n", ir.Int(0))
}

func (w *listSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := l.named(w.placed.spaceArrays.name+"_at", w.placed.box.at(a, e))
	entry := ir.Expr(at)
	if len(a.Vars) == 1 {
		entry = e.coord[a.Vars[0]]
	}
	fresh := l.within(func() {
		l.store(w.mark, at, ir.Truth(true))
		l.store(w.placed.list, w.placed.n, entry)
		l.incr(w.placed.n, ir.Int(1))
		l.store(w.placed.vals, at, x)
	})
	again := l.within(
		func() { l.emit(&ir.Store{A: w.placed.vals, Index: at, Accumulate: true, X: x}) })
	l.emit(&ir.If{Cond: ir.At(w.mark, at), Then: again, Else: fresh})
}

func (w *listSpace) finish(l *lowerer) *operand {
	l.emit(&ir.Sort{A: w.placed.list, Lo: ir.Int(0), Hi: w.placed.n})
	return w.placed.operand(l, w.clear)
}

func (w *listSpace) clear(l *lowerer, at ir.Expr) { l.store(w.mark, at, ir.Truth(false)) }

func (w *listSpace) end(l *lowerer) { w.placed.empty(l, w.clear) }

// listed returns an operand that reads a workspace like a sparse vector. vals has a value for each
// coordinate from lo on. list has the n coordinates that values were added to.
func (l *lowerer) listed(name string, list, vals *ir.Array, lo ir.Expr, n *ir.Var) *operand {
	op := newOperand(l, Operand{Name: name, Arg: -1, Type: l.spec.Compute,
		Format: tensor.Format{Levels: []tensor.Kind{tensor.Compressed}, Order: []int{0}}})
	op.rootLen = n
	op.arrays[ir.Slot{Arg: -1, Level: 0, Field: ir.Crd}] = list
	op.arrays[ir.Slot{Arg: -1, Field: ir.Vals}] = vals
	op.operand.CrdWidth = []uint8{0}
	op.valueAt = func(p, c ir.Expr) ir.Expr { return ir.Minus(c, lo) }
	return op
}
