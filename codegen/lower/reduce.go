package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// chunked emits a parallel loop over n chunks of f's variable. body lowers the serial loop of chunk
// c in the chunk's environment.
func (l *lowerer) chunked(f *cin.Forall, e *env, n int64, body func(c *ir.Var, in *env)) {
	l.chunksOf(l.work(f, e, ir.Int(n)), f, e, ir.Int(0), ir.Int(n), body)
}

// chunksOf emits the parallel loop over the chunks lo to hi that w cuts.
func (l *lowerer) chunksOf(w *work, f *cin.Forall, e *env, lo, hi ir.Expr,
	body func(c *ir.Var, in *env)) {
	c := l.b.Var("chunk")
	b := l.b.InScope(func() {
		in := e.clone()
		in.ranges = in.ranges.with(f.Var, w.chunk(f.Var, c))
		body(c, in)
	})
	l.b.Emit(&ir.For{V: c, Lo: lo, Hi: hi, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1,
		Body: b})
}

// parallelScalar lowers a loop that sums into a scalar. Each of n chunks has its own sum.
func (l *lowerer) parallelScalar(f *cin.Forall, e *env, n int64, want bool) ir.Expr {
	t := e.sum(cin.Target(f).Name)
	parts := l.b.Array(t.Name+"_parts", t.Typ)
	l.b.Emit(&ir.Alloc{A: parts, Len: ir.Int(n)})
	var flags *ir.Array
	if want {
		flags = l.b.Array(t.Name+"_some", tensor.Bool)
		l.b.Emit(&ir.Alloc{A: flags, Len: ir.Int(n)})
	}
	name := cin.Target(f).Name
	some := ir.Expr(ir.Truth(false))
	l.chunked(f, e, n, func(c *ir.Var, in *env) {
		part := ir.NewVar(l.b.Fresh(t.Name+"_part"), t.Typ)
		l.b.Emit(&ir.Declare{V: part, Init: ir.Zero(t.Typ)})
		some = l.serial(f, in.summing(name, part), want)
		l.b.Store(parts, c, part)
		if want {
			l.b.Store(flags, c, some)
		}
	})
	var any *ir.Var
	if want {
		any = ir.NewVar(l.b.Fresh("some_"+f.Var), tensor.Bool)
		l.b.Emit(&ir.Declare{V: any, Init: ir.Truth(false)})
	}
	k := l.b.Var("chunk")
	l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(n), Step: 1, Body: l.b.Within(func() {
		l.incrBy(t, ir.At(parts, k))
		if want {
			l.b.Set(any, ir.Either(any, ir.At(flags, k)))
		}
	})})
	l.b.Emit(&ir.Free{A: parts})
	if want {
		l.b.Emit(&ir.Free{A: flags})
	}
	switch {
	case ir.Never(some):
		return some
	case want:
		return any
	}
	return ir.Truth(true)
}

func (l *lowerer) incrBy(t *ir.Var, x ir.Expr) {
	l.b.Emit(&ir.Assign{V: t, Accumulate: true,
		X: x})
}

// parallelDense sums into n partial results and adds them in order. A partial result is the block
// of values below the result's cursor. The thread that sums into it first sets it to 0. If the
// partial results of all chunks would not stay in a cache, chunks run in waves of one chunk for
// each thread. The sums of a wave are added to the first partial result, and the next wave reuses
// the other partial results. A sum does not depend on the number of waves.
func (l *lowerer) parallelDense(f *cin.Forall, e *env, n int64) {
	a, one := l.out, ir.Int(1)
	if e.res.first != nil {
		l.zero(e)
	}
	level := e.res.level
	size := l.b.Named("values", a.block(level))
	first := l.b.Named("first", ir.Times(e.res.pos, size))
	parts := l.b.Array(a.op.Prefix()+"_parts", l.spec.Compute)
	cached := ir.Int(l.spec.Strategy.CachedPartials / n / l.spec.Compute.Size())
	each := l.b.Named("wave_chunks",
		ir.Choose(ir.Less(cached, size), ir.Greatest(ir.Least(l.threads, ir.Int(n)), one), ir.Int(n)))
	l.b.Emit(&ir.Alloc{A: parts, Len: ir.Times(size, ir.Least(ir.Plus(each, one), ir.Int(n)))})
	w := l.work(f, e, ir.Int(n))
	wave := l.b.Var("wave")
	l.b.Emit(&ir.For{V: wave, Lo: ir.Int(0), Hi: ir.Over(ir.Plus(each, ir.Int(n-1)), each), Step: 1,
		Body: l.b.Within(func() {
			lo := l.b.Named("wave_from", ir.Times(wave, each))
			hi := l.b.Named("wave_to", ir.Least(ir.Plus(lo, each), ir.Int(n)))
			// the sums of earlier waves are one of the partial results
			used := l.b.Named("sums", ir.Least(wave, one))
			a.writingTo(parts, func() {
				l.chunksOf(w, f, e, lo, hi, func(c *ir.Var, in *env) {
					part := l.b.Named("part", ir.Plus(ir.Minus(c, lo), used))
					l.b.Emit(&ir.Fill{A: parts, Lo: ir.Times(part, size), Hi: ir.Times(ir.Plus(part, one), size),
						X: ir.Zero(parts.Elem)})
					in.res = resultCursor{level: level, pos: part, zeroed: true}
					l.enterResult(in)
					l.stmt(l.serialCopy(f), in, false)
				})
			})
			all := l.b.Named("sums_end", ir.Plus(ir.Minus(hi, lo), used))
			l.b.When(ir.Less(one, all), func() {
				l.forEachShare(size, func(from, to ir.Expr) {
					k := l.b.Var("part")
					l.b.Emit(&ir.For{V: k, Lo: one, Hi: all, Step: 1, Body: l.b.Within(func() {
						x := l.b.Var("x")
						l.b.Emit(&ir.For{V: x, Lo: from, Hi: to, Step: 1, Body: l.b.Within(func() {
							l.b.Emit(&ir.Store{A: parts, Index: x, Accumulate: true,
								X: ir.At(parts, ir.Plus(ir.Times(k, size), x))})
						})})
					})})
				})
			})
		})})
	l.forEachShare(size, func(from, to ir.Expr) {
		x := l.b.Var("x")
		l.b.Emit(&ir.For{V: x, Lo: from, Hi: to, Step: 1, Body: l.b.Within(func() {
			l.b.Emit(&ir.Store{A: a.vals(), Index: ir.Plus(first, x), Accumulate: e.res.zeroed,
				X: ir.Convert(a.op.Argument.Type, ir.At(parts, x))})
		})})
	})
	e.res.zeroed = true
	l.b.Emit(&ir.Free{A: parts})
}

// forEachShare makes each thread run the code that body emits for its own part of the range from 0
// to n.
func (l *lowerer) forEachShare(n ir.Expr, body func(from, to ir.Expr)) {
	pieces := l.b.Named("pieces", ir.Greatest(l.threads, ir.Int(1)))
	at := func(c ir.Expr) ir.Expr { return ir.Over(ir.Times(n, c), pieces) }
	c := l.b.Var("piece")
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: pieces, Step: 1, Kind: ir.Parallel,
		Body: l.b.Within(func() {
			body(l.b.Named("piece_from", at(c)), l.b.Named("piece_to", at(ir.Plus(c, ir.Int(1)))))
		})})
}

// ownRows lowers a loop that sums into a dense result that is too large for partial results. Each
// thread has an even part of the range of a variable v of the result, and runs the whole loop for
// this part. For example, if a CSC matrix multiplies a vector, each thread has a range of rows, and
// searches each column for the first of these rows. Intermediates over v have places only for the
// thread's part. Every value is summed in the order of the loop, so the result does not depend on
// the number of threads.
func (l *lowerer) ownRows(f *cin.Forall, e *env, v string) {
	serial := &cin.Forall{Var: f.Var, Body: f.Body}
	if v != l.resultVars[0] {
		l.zero(e)
	}
	alone := l.b.InScope(func() { l.serial(serial, e.clone(), false) })
	parted := l.b.Within(func() {
		all := l.rangeOf(e, v)
		at := func(c ir.Expr) ir.Expr {
			return ir.Plus(all.Lo, ir.Over(ir.Times(ir.Minus(all.Hi, all.Lo), c), l.threads))
		}
		c := l.b.Var("part")
		l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: l.threads, Step: 1, Kind: ir.Parallel,
			Body: l.b.InScope(func() {
				in, outer := e.clone(), l.own
				s := tree.Range{Clip: true}
				l.b.BeforeScope(func() {
					s.Lo, s.Hi = l.b.Named(v+"_from", at(c)),
						l.b.Named(v+"_to", at(ir.Plus(c, ir.Int(1))))
				})
				in.ranges = in.ranges.with(v, s)
				l.own = l.own.with(v, s)
				l.serial(serial, in, false)
				l.own = outer
			})})
	})
	l.b.Emit(&ir.If{Cond: ir.AtMost(l.threads, ir.Int(1)), Then: alone, Else: parted})
	e.res.zeroed = true
}
