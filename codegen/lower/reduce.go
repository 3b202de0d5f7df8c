package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// sumChunks is the number of chunks of a sum into a scalar. It is fixed: each
// chunk has a sum of its own, and these are added in order, so that the number
// of threads shows in no bit.
const sumChunks = 64

// Partial results of a dense tensor are worth their memory where the sums into
// them are partialWork times as many as their values; maxPartials bounds them.
// fewPartials are worth it from fewWork on, where each entry is one sum: the
// operand is then larger than they are.
const (
	partialWork = 32
	maxPartials = 32
	fewWork     = 2.5
	fewPartials = 4
)

// sums tells whether f's variable is summed: iterations then write one place.
func (l *lowerer) sums(f *cin.Forall) bool {
	return !slices.Contains(cin.Target(f).Vars, f.Var)
}

// parallelSum lowers a loop that sums into a scalar or a dense result, each of a
// fixed number of chunks into a place of its own. It gives up, with false,
// where that would not pay.
func (l *lowerer) parallelSum(f *cin.Forall, e *env, want bool) (some ir.Expr, ok bool) {
	if t := l.scalars[cin.Target(f).Name]; t != nil {
		return l.parallelScalar(f, e, t, want), true
	}
	if !l.assigns(f) || l.out.sparse() {
		return nil, false
	}
	n := l.rowParts
	if e.res.level == 0 {
		n = l.partials()
	}
	if n < 2 {
		return ir.Truth(true), l.cutRows(f, e)
	}
	l.parallelDense(f, e, n)
	return ir.Truth(true), true
}

// chunked emits a parallel loop over n chunks of f's variable. The body lowers
// a chunk's serial loop in the environment that it is given.
func (l *lowerer) chunked(f *cin.Forall, e *env, n int64, body func(c *ir.Var, in *env)) {
	w := l.work(f, e, ir.Int(n))
	c := l.newVar("chunk")
	b := l.inScope(func() {
		in := e.clone()
		in.ranges[f.Var] = w.chunk(f.Var, c)
		body(c, in)
	})
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: ir.Int(n), Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: b})
}

func (l *lowerer) parallelScalar(f *cin.Forall, e *env, t *ir.Var, want bool) ir.Expr {
	parts := l.newArray(t.Name+"_parts", t.Typ)
	l.emit(&ir.Alloc{A: parts, Len: ir.Int(sumChunks)})
	var flags *ir.Array
	if want {
		flags = l.newArray(t.Name+"_some", ir.Bool)
		l.emit(&ir.Alloc{A: flags, Len: ir.Int(sumChunks)})
	}
	name := cin.Target(f).Name
	some := ir.Expr(ir.Truth(false))
	l.chunked(f, e, sumChunks, func(c *ir.Var, in *env) {
		part := ir.NewVar(l.fresh(t.Name+"_part"), t.Typ)
		l.emit(&ir.Declare{V: part, Init: ir.Zero(t.Typ)})
		l.scalars[name] = part
		some = l.serial(f, in, want)
		l.store(parts, c, part)
		if want {
			l.store(flags, c, some)
		}
	})
	l.scalars[name] = t
	var any *ir.Var
	if want {
		any = ir.NewVar(l.fresh("some_"+f.Var), ir.Bool)
		l.emit(&ir.Declare{V: any, Init: ir.Truth(false)})
	}
	k := l.newVar("chunk")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(sumChunks), Step: 1, Body: l.within(func() {
		l.incrBy(t, ir.At(parts, k))
		if want {
			l.set(any, ir.Either(any, ir.At(flags, k)))
		}
	})})
	l.emit(&ir.Free{A: parts})
	if want {
		l.emit(&ir.Free{A: flags})
	}
	switch {
	case never(some):
		return some
	case want:
		return any
	}
	return ir.Truth(true)
}

func (l *lowerer) incrBy(t *ir.Var, x ir.Expr) { l.emit(&ir.Assign{V: t, Accumulate: true, X: x}) }

// partials is how many partial results of a dense result pay, by what is known
// of the sizes: not by the number of threads.
func (l *lowerer) partials() int64 {
	size, work := 1.0, 1.0
	for _, v := range l.resultVars {
		size *= float64(l.spec.Sizes[v])
	}
	for _, o := range l.spec.Operands[1:] {
		work = max(work, float64(o.NNZ))
	}
	few := min(work/(fewWork*max(size, 1)), fewPartials)
	if k := len(l.resultVars); k > 0 {
		// Each entry is summed into a row of what no operand stores sparsely.
		if v := l.resultVars[k-1]; l.lastOfAll(l.spec.Stmt, v) {
			work *= float64(l.spec.Sizes[v])
			few = 0
		}
	}
	return int64(max(few, min(work/(partialWork*max(size, 1)), maxPartials)))
}

// parallelDense sums into n partial results, one after another in one array,
// and adds these up. A result is the block of values below the result's cursor.
func (l *lowerer) parallelDense(f *cin.Forall, e *env, n int64) {
	a := l.out
	level := e.res.level
	size := l.named("values", a.block(level))
	first := l.named("first", ir.Times(e.res.pos, size))
	parts := l.newArray(a.op.prefix()+"_parts", l.spec.Compute)
	l.emit(&ir.Alloc{A: parts, Len: ir.Times(size, ir.Int(n)), Zero: true})
	whole := a.vals()
	a.writingTo(parts, func() {
		l.chunked(f, e, n, func(c *ir.Var, in *env) {
			in.res = resultCursor{level: level, pos: c, zeroed: true}
			l.enterResult(in)
			l.stmt(&cin.Forall{Var: f.Var, Body: f.Body}, in, false)
		})
	})
	pieces := l.named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	at := func(c ir.Expr) ir.Expr { return ir.Over(ir.Times(size, c), pieces) }
	c := l.newVar("piece")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Kind: ir.Parallel, Body: l.within(func() {
		x := l.newVar("x")
		l.emit(&ir.For{V: x, Lo: at(c), Hi: at(ir.Plus(c, ir.Int(1))), Step: 1, Body: l.within(func() {
			sum := ir.NewVar(l.fresh("sum"), l.spec.Compute)
			l.emit(&ir.Declare{V: sum, Init: ir.At(parts, x)})
			k := l.newVar("part")
			l.emit(&ir.For{V: k, Lo: ir.Int(1), Hi: ir.Int(n), Step: 1, Body: l.within(func() {
				l.incrBy(sum, ir.At(parts, ir.Plus(ir.Times(k, size), x)))
			})})
			l.emit(&ir.Store{A: whole, Index: ir.Plus(first, x), Accumulate: e.res.zeroed, X: ir.Convert(a.op.Type, sum)})
		})})
	})})
	e.res.zeroed = true
	l.emit(&ir.Free{A: parts})
}
