package result

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// appendResult appends coordinates and values to arrays that grow. If no loop is parallel, the
// arrays are the result. Otherwise each chunk of a parallel loop has its own arrays. The arrays of
// a single chunk become the result, and those of several chunks are joined in order (ordered.go,
// joined.go).
type appendResult struct{ growing }

// Whole emits the code for the whole result. run emits the loops. If the loops are not parallel,
// they append to new arrays, which Whole makes before the loops and publishes after the loops. If
// parallel is true, Whole makes no arrays, because each chunk of a parallel loop makes its own.
func (a *appendResult) Whole(parallel bool, run func()) {
	if parallel {
		run()
		return
	}
	a.open(a.initialCapacity(), nil, ir.Int(0))
	run()
	a.publishAll()
}

// open emits code that makes empty arrays with capacity for the given number of entries. pos is the
// pos array of the outermost compressed level, or nil if the code makes a new one. The elements of
// pos after index first are written later.
func (a *appendResult) open(entries ir.Expr, pos *ir.Array, first ir.Expr) {
	a.use(a.newArrays())
	a.alloc(entries)
	a.begin(pos, first)
}

// growingArrays contains the arrays that one chunk appends to, or the arrays of the whole result.
type growingArrays struct {
	levels []growingLevel
	vals   *ir.Array
}

// newArrays returns new arrays, which are not allocated yet. It makes no pos array for the
// outermost compressed level.
func (a *appendResult) newArrays() *growingArrays {
	l, op := a.out.Leaf, a.out.Op
	b := &growingArrays{levels: make([]growingLevel, op.Order())}
	b.vals = l.B.Array(op.Prefix()+"_vals", op.Argument.Type)
	outermost := true
	for k := range b.levels {
		if !op.Kind(k).HasPos() {
			continue
		}
		b.levels[k].crd = l.B.Array(fmt.Sprintf("%s_crd%d", op.Prefix(), k),
			tree.IntOf(op.Argument.CrdWidth[k]))
		if !outermost {
			b.levels[k].pos = newPos(a.out, k)
		}
		outermost = false
	}
	return b
}

// use makes b the arrays that entries are appended to.
func (a *appendResult) use(b *growingArrays) { a.levels, a.out.Values = b.levels, b.vals }

// alloc allocates the current arrays with capacity for the given number of entries.
func (a *appendResult) alloc(entries ir.Expr) {
	l := a.out.Leaf
	entries = l.B.Named("estimate", entries)
	alloc := func(arr *ir.Array, n ir.Expr) *ir.Var {
		have := l.B.Declare(arr.Name+"_cap", n)
		l.B.Emit(&ir.Alloc{A: arr, Len: have})
		return have
	}
	a.valsCap = alloc(a.out.Values, entries)
	for k := range a.levels {
		lev := &a.levels[k]
		if lev.crd == nil {
			continue
		}
		lev.crdCap = alloc(lev.crd, entries)
		if lev.pos != nil {
			lev.posCap = alloc(lev.pos, ir.Plus(entries, ir.Int(1)))
		}
	}
}

// begin emits code that prepares the arrays of the result for the first entry. pos is the pos array
// of the outermost compressed level, or nil if the code makes a new one. The elements of pos after
// index first are written later.
func (a *appendResult) begin(pos *ir.Array, first ir.Expr) {
	l, op := a.out.Leaf, a.out.Op
	above := -1 // the last compressed level before k
	for k := range a.levels {
		lev := &a.levels[k]
		if lev.crd == nil {
			continue
		}
		lev.count = l.B.Declare(fmt.Sprintf("%s_n%d", op.Prefix(), k), ir.Int(0))
		switch {
		case above >= 0:
			l.B.Store(lev.pos, ir.Int(0), ir.Int(0))
		case pos != nil:
			lev.pos = pos
		default:
			lev.pos = newPos(a.out, k)
			l.B.Emit(&ir.Alloc{A: lev.pos, Len: ir.Plus(a.out.Between(0, k), ir.Int(1))})
			l.B.Store(lev.pos, ir.Int(0), ir.Int(0))
		}
		switch {
		case above < 0:
			lev.closed = l.B.Declare(fmt.Sprintf("%s_last%d", op.Prefix(), k), first)
		case above != k-1:
			lev.closed = l.B.Declare(fmt.Sprintf("%s_last%d", op.Prefix(), k), ir.Int(0))
		}
		above = k
	}
}

func newPos(r *scope.Result, k int) *ir.Array {
	return r.Leaf.B.Array(fmt.Sprintf("%s_pos%d", r.Op.Prefix(), k),
		tree.IntOf(r.Op.Argument.PosWidth[k]))
}

// publishAll gives the arrays to the caller as the whole result.
func (a *appendResult) publishAll() {
	parents := ir.Expr(ir.Int(1)) // the number of positions in the level above k
	for k := range a.levels {
		lev := &a.levels[k]
		if !a.out.Op.Kind(k).HasPos() {
			parents = ir.Times(parents, a.out.Op.Size(k))
			continue
		}
		if lev.closed != nil {
			closePos(a.out.Leaf, lev, ir.Plus(parents, ir.Int(1)))
		}
		publish(a.out, k, ir.Pos, lev.pos, ir.Plus(parents, ir.Int(1)))
		publish(a.out, k, ir.Crd, lev.crd, lev.count)
		parents = lev.count
	}
	publish(a.out, 0, ir.Vals, a.out.Values, parents)
}

// initialCapacity returns the initial capacity, in entries, of the arrays of the result. It is n
// times the strategy's factor, limited by the strategy's bound. n is the number of entries of all
// sparse operands, plus strategy.LeastCapacity.
func (a *appendResult) initialCapacity() ir.Expr {
	n := ir.Expr(ir.Int(strategy.LeastCapacity))
	for _, o := range a.out.Leaf.Spec.Operands[1:] {
		if !o.Format.AllDense() {
			n = ir.Plus(n, a.out.Leaf.Ops[o.Name].Nnz())
		}
	}
	n = ir.Times(n, ir.Int(a.out.Leaf.Spec.Strategy.Result.Factor))
	if most := a.out.Leaf.Spec.Strategy.Result.Most; most > 0 {
		n = ir.Least(n, ir.Int(most))
	}
	return n
}
