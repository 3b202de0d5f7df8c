package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// chunked emits a parallel loop over n chunks of f's variable. body lowers the serial loop of a
// chunk in the environment that it gets.
func (l *lowerer) chunked(f *cin.Forall, e *env, n int64, body func(c *ir.Var, in *env)) {
	l.chunksOf(l.work(f, e, ir.Int(n)), f, e, ir.Int(0), ir.Int(n), body)
}

// chunksOf emits the parallel loop over the chunks lo to hi that w cuts.
func (l *lowerer) chunksOf(w *work, f *cin.Forall, e *env, lo, hi ir.Expr,
	body func(c *ir.Var, in *env)) {
	c := l.newVar("chunk")
	b := l.inScope(func() {
		in := e.clone()
		in.ranges[f.Var] = w.chunk(f.Var, c)
		body(c, in)
	})
	l.emit(&ir.For{V: c, Lo: lo, Hi: hi, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: b})
}

// parallelScalar lowers a loop that sums into a scalar. Each of n chunks has its own sum.
func (l *lowerer) parallelScalar(f *cin.Forall, e *env, n int64, want bool) ir.Expr {
	t := l.scalars[cin.Target(f).Name]
	parts := l.newArray(t.Name+"_parts", t.Typ)
	l.emit(&ir.Alloc{A: parts, Len: ir.Int(n)})
	var flags *ir.Array
	if want {
		flags = l.newArray(t.Name+"_some", tensor.Bool)
		l.emit(&ir.Alloc{A: flags, Len: ir.Int(n)})
	}
	name := cin.Target(f).Name
	some := ir.Expr(ir.Truth(false))
	l.chunked(f, e, n, func(c *ir.Var, in *env) {
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
		any = ir.NewVar(l.fresh("some_"+f.Var), tensor.Bool)
		l.emit(&ir.Declare{V: any, Init: ir.Truth(false)})
	}
	k := l.newVar("chunk")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(n), Step: 1, Body: l.within(func() {
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

// parallelDense sums into n partial results and adds them in order. A partial result is the block
// of values below the result's cursor. The thread that sums into it sets it to 0. If the partial
// results of all chunks would not stay in a cache, chunks run in waves of one chunk for each
// thread. The sums of a wave are added to the first partial result, and the other partial results
// are reused by the next wave. A sum does not depend on the number of waves.
func (l *lowerer) parallelDense(f *cin.Forall, e *env, n int64) {
	a, one := l.out, ir.Int(1)
	if e.res.first != nil {
		l.zero(e)
	}
	level := e.res.level
	size := l.named("values", a.block(level))
	first := l.named("first", ir.Times(e.res.pos, size))
	parts := l.newArray(a.op.prefix()+"_parts", l.spec.Compute)
	cached := ir.Int(l.spec.Strategy.CachedPartials / n / l.spec.Compute.Size())
	each := l.named("wave_chunks",
		ir.Choose(ir.Less(cached, size), ir.Greatest(ir.Least(l.threads, ir.Int(n)), one), ir.Int(n)))
	l.emit(&ir.Alloc{A: parts, Len: ir.Times(size, ir.Least(ir.Plus(each, one), ir.Int(n)))})
	w := l.work(f, e, ir.Int(n))
	wave := l.newVar("wave")
	l.emit(&ir.For{V: wave, Lo: ir.Int(0), Hi: ir.Over(ir.Plus(each, ir.Int(n-1)), each), Step: 1,
		Body: l.within(func() {
			lo := l.named("wave_from", ir.Times(wave, each))
			hi := l.named("wave_to", ir.Least(ir.Plus(lo, each), ir.Int(n)))
			// the sums of earlier waves are one of the partial results
			used := l.named("sums", ir.Least(wave, one))
			a.writingTo(parts, func() {
				l.chunksOf(w, f, e, lo, hi, func(c *ir.Var, in *env) {
					part := l.named("part", ir.Plus(ir.Minus(c, lo), used))
					l.emit(&ir.Fill{A: parts, Lo: ir.Times(part, size), Hi: ir.Times(ir.Plus(part, one), size),
						X: ir.Zero(parts.Elem)})
					in.res = resultCursor{level: level, pos: part, zeroed: true}
					l.enterResult(in)
					l.stmt(l.serialCopy(f), in, false)
				})
			})
			all := l.named("sums_end", ir.Plus(ir.Minus(hi, lo), used))
			l.when(ir.Less(one, all), func() {
				l.forEachShare(size, func(from, to ir.Expr) {
					k := l.newVar("part")
					l.emit(&ir.For{V: k, Lo: one, Hi: all, Step: 1, Body: l.within(func() {
						x := l.newVar("x")
						l.emit(&ir.For{V: x, Lo: from, Hi: to, Step: 1, Body: l.within(func() {
							l.emit(&ir.Store{A: parts, Index: x, Accumulate: true,
								X: ir.At(parts, ir.Plus(ir.Times(k, size), x))})
						})})
					})})
				})
			})
		})})
	l.forEachShare(size, func(from, to ir.Expr) {
		x := l.newVar("x")
		l.emit(&ir.For{V: x, Lo: from, Hi: to, Step: 1, Body: l.within(func() {
			l.emit(&ir.Store{A: a.vals(), Index: ir.Plus(first, x), Accumulate: e.res.zeroed,
				X: ir.Convert(a.op.operand.Type, ir.At(parts, x))})
		})})
	})
	e.res.zeroed = true
	l.emit(&ir.Free{A: parts})
}

// forEachShare makes each thread run the code that body emits for its own part of the range from 0
// to n.
func (l *lowerer) forEachShare(n ir.Expr, body func(from, to ir.Expr)) {
	pieces := l.named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	at := func(c ir.Expr) ir.Expr { return ir.Over(ir.Times(n, c), pieces) }
	c := l.newVar("piece")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Kind: ir.Parallel, Body: l.within(func() {
		body(l.named("piece_from", at(c)), l.named("piece_to", at(ir.Plus(c, ir.Int(1)))))
	})})
}
