package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
)

// adder is a temporary over index variables that sums values at random
// coordinates.
type adder interface {
	// add adds x at the coordinates that access a has in e.
	add(l *lowerer, a *cin.Access, x ir.Expr, e *env)
}

// workspace is an adder that gives its sums back in order. Its memory is the
// enclosing scope's, and is empty between uses.
type workspace interface {
	adder
	// begin starts a use.
	begin(l *lowerer)
	// finish orders what was added, as a sparse operand.
	finish(l *lowerer) *operand
	// end empties the workspace.
	end(l *lowerer)
}

// A workspace has a place for every coordinate of a dimension of at most
// maxDenseWorkspace that is, unless small, at most denseWorkspaceRatio times
// the entries of all operands: each chunk clears its marks once.
const (
	maxDenseWorkspace   = 1 << 24
	smallWorkspace      = 1 << 16
	denseWorkspaceRatio = 8
)

// fitsDense tells whether a workspace over v has a place for every coordinate.
func (l *lowerer) fitsDense(v string) bool {
	size, entries := l.spec.Sizes[v], int64(0)
	for _, o := range l.spec.Operands[1:] {
		if o.NNZ < 0 {
			return size <= maxDenseWorkspace
		}
		entries += o.NNZ
	}
	return size <= maxDenseWorkspace && (size <= smallWorkspace || size/denseWorkspaceRatio <= entries)
}

// newWorkspace is the workspace for t, which producer fills: one for all uses in a scope.
func (l *lowerer) newWorkspace(t *cin.Access, producer cin.Stmt) workspace {
	w := l.made[t.Name]
	ordered, once := false, false
	if l.sched != nil && w == nil {
		ordered, once = l.inOrder(producer, t)
	}
	switch {
	case w != nil:
	case ordered:
		w = l.newOrderedSpace(t, once)
	case len(t.Vars) == 1 && l.fitsDense(t.Vars[0]) && l.fitsBits(t, producer):
		w = l.newBitSpace(t)
	case len(t.Vars) == 1 && l.fitsDense(t.Vars[0]):
		w = l.newListSpace(t)
	default:
		w = l.newHashSpace(t)
	}
	l.made[t.Name] = w
	return w
}

// listSpace is a workspace over one variable: a value and a mark for every
// coordinate, and the list of those that are marked (Gustavson's accumulator).
type listSpace struct {
	name       string
	lo         ir.Expr // the coordinate of place 0
	vals, mark *ir.Array
	list       *ir.Array
	n          *ir.Var // the number of coordinates in list
}

func (l *lowerer) newListSpace(t *cin.Access) *listSpace {
	b := l.bounds[t.Vars[0]]
	w := &listSpace{
		name: t.Name, lo: b[0],
		vals: l.newArray(t.Name+"_vals", l.spec.Compute),
		mark: l.newArray(t.Name+"_mark", ir.Bool),
		list: l.newArray(t.Name+"_list", l.crdType(t.Vars[0])),
	}
	dim := ir.Minus(b[1], b[0])
	for _, a := range []*ir.Array{w.vals, w.mark, w.list} {
		l.pre.Append(&ir.Alloc{A: a, Len: dim, Zero: a == w.mark})
		l.post.Append(&ir.Free{A: a})
	}
	return w
}

// crdType is the narrowest type of a variable's coordinates.
func (l *lowerer) crdType(v string) ir.Type {
	if l.spec.Sizes[v] < 1<<31 {
		return ir.Int32
	}
	return ir.Int64
}

func (w *listSpace) begin(l *lowerer) { w.n = l.declare(w.name+"_n", ir.Int(0)) }

func (w *listSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	c := e.coord[a.Vars[0]]
	at := l.named(w.name+"_at", ir.Minus(c, w.lo))
	fresh := l.within(func() {
		l.store(w.mark, at, ir.Truth(true))
		l.store(w.list, w.n, c)
		l.incr(w.n, ir.Int(1))
		l.store(w.vals, at, x)
	})
	again := l.within(func() { l.emit(&ir.Store{A: w.vals, Index: at, Accumulate: true, X: x}) })
	l.emit(&ir.If{Cond: ir.At(w.mark, at), Then: again, Else: fresh})
}

func (w *listSpace) finish(l *lowerer) *operand {
	l.emit(&ir.Sort{A: w.list, Lo: ir.Int(0), Hi: w.n})
	return l.listed(w.name, w.list, w.vals, w.lo, w.n)
}

// listed is a workspace with a value for each coordinate from lo on, of which
// the list has n, as an operand.
func (l *lowerer) listed(name string, list, vals *ir.Array, lo ir.Expr, n *ir.Var) *operand {
	op := newOperand(l, Operand{Name: name, Arg: -1, Type: l.spec.Compute, Format: format.Format{Levels: []format.Kind{format.Compressed}, Order: []int{0}}})
	op.rootLen = n
	op.arrays[ir.Slot{Arg: -1, Level: 0, Part: ir.Crd}] = list
	op.arrays[ir.Slot{Arg: -1, Part: ir.Vals}] = vals
	op.CrdWidth = []uint8{0}
	op.valueAt = func(p, c ir.Expr) ir.Expr { return ir.Minus(c, lo) }
	return op
}

func (w *listSpace) end(l *lowerer) {
	p := l.newVar(w.name + "_p")
	l.emit(&ir.For{V: p, Lo: ir.Int(0), Hi: w.n, Step: 1, Body: l.within(func() {
		l.store(w.mark, ir.Minus(ir.Coord(w.list, p), w.lo), ir.Truth(false))
	})})
}
