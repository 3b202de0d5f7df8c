package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// randomAccess is the common part of assemblies with random access: a value's position does not
// depend on the values that were written before. The memory belongs to the caller. Values may be
// written in any order and by several threads, and no coordinate is stored.
type randomAccess struct{ out *scope.Result }

// Whole emits the code for the whole result by calling run, which emits the loops. It emits nothing
// before or after, because this assembly has no arrays to allocate or to publish.
func (randomAccess) Whole(_ bool, run func()) { run() }

func (a randomAccess) Store(x scope.Value, e *scope.Env) {
	s := &ir.Store{A: a.out.Values, Index: e.Res.Pos, X: ir.Convert(a.out.Values.Elem,
		a.out.Leaf.Masked(x))}
	a.out.Leaf.Lanes.Once[s] = a.out.Values == a.out.Op.Vals()
	a.out.Leaf.B.Emit(s)
}

// denseResult is a result with only dense levels. The position of a value is computed from its
// coordinates.
type denseResult struct{ randomAccess }

func newDenseResult(r *scope.Result) *denseResult {
	r.Values = r.Op.Vals()
	return &denseResult{randomAccess{r}}
}

// Parallel lowers f as chunks that run on threads, for a result with random access. If the strategy
// says so (long.How), the chunks leave out long rows. The leaf then computes the long rows after
// the chunks, one row after another. Each long row is divided among the threads as long.Parts says.
func (a randomAccess) Parallel(f *cin.Forall, e *scope.Env, long strategy.Long) ir.Expr {
	l := a.out.Leaf
	chunks := units.Chunks(l, l.Spec.Strategy.PerThread)
	if !a.out.Prefixed(f) {
		e = merge.Zero(e)
	}
	w := units.NewWork(f, e, chunks)
	var h *longDenseRows
	if long.How == strategy.Separate {
		h = newLongDenseRows(l, f, w, long)
		h.leftOut = l.B.Alloc("long_left_out", tensor.Bool, chunks, true)
	}
	some := ir.Expr(ir.Truth(false))
	w.Each(func(c *ir.Var, in *scope.Env) {
		if h != nil {
			some = h.loop(f, in, c)
		} else {
			some = l.Serial(f, in, false)
		}
	})
	if h != nil {
		h.lowerLong(f, e, w)
	}
	return some
}
