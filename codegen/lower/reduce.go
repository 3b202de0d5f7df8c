package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

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

// parallelScalar lowers a loop that sums into a scalar, each of n chunks into one of
// its own.
func (l *lowerer) parallelScalar(f *cin.Forall, e *env, n int64, want bool) ir.Expr {
	t := l.scalars[cin.Target(f).Name]
	parts := l.newArray(t.Name+"_parts", t.Typ)
	l.emit(&ir.Alloc{A: parts, Len: ir.Int(n)})
	var flags *ir.Array
	if want {
		flags = l.newArray(t.Name+"_some", ir.Bool)
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
		any = ir.NewVar(l.fresh("some_"+f.Var), ir.Bool)
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

// parallelDense sums into n partial results, one after another in one array, each of which is
// set to 0 by the thread that sums into it, and adds these up. A result is the block of values below the result's cursor.
func (l *lowerer) parallelDense(f *cin.Forall, e *env, n int64) {
	a := l.out
	level := e.res.level
	size := l.named("values", a.block(level))
	first := l.named("first", ir.Times(e.res.pos, size))
	parts := l.newArray(a.op.prefix()+"_parts", l.spec.Compute)
	l.emit(&ir.Alloc{A: parts, Len: ir.Times(size, ir.Int(n))})
	whole := a.vals()
	a.writingTo(parts, func() {
		l.chunked(f, e, n, func(c *ir.Var, in *env) {
			l.emit(&ir.Fill{A: parts, Lo: ir.Times(c, size), Hi: ir.Times(ir.Plus(c, ir.Int(1)), size), X: ir.Zero(parts.Elem)})
			in.res = resultCursor{level: level, pos: c, zeroed: true}
			l.enterResult(in)
			l.stmt(l.serialCopy(f), in, false)
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
