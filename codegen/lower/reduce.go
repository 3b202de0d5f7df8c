package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// parallelScalar lowers the parallel loop f, which sums into a scalar. The loop is divided into n
// chunks. Each chunk has its own sum, and the sums are added in the order of the chunks. If want is
// true, the result is the condition that a chunk added something.
func (l *lowerer) parallelScalar(f *cin.Forall, e *scope.Env, n int64, want bool) ir.Expr {
	if e.Reducer(cin.Target(f).Name) != nil {
		l.parallelReduction(f, e, n)
		return ir.Truth(true)
	}
	t := e.Sum(cin.Target(f).Name)
	parts := l.b.Alloc(t.Name+"_parts", t.Typ, ir.Int(n), false)
	var flags *ir.Array
	if want {
		flags = l.b.Alloc(t.Name+"_some", tensor.Bool, ir.Int(n), false)
	}
	name := cin.Target(f).Name
	some := ir.Expr(ir.Truth(false))
	units.NewWork(f, e, ir.Int(n)).Each(func(c *ir.Var, in *scope.Env) {
		part := l.b.Local(t.Name+"_part", ir.Zero(t.Typ))
		some = l.serial(f, in.Summing(name, part), want)
		l.b.Store(parts, c, part)
		if want {
			l.b.Store(flags, c, some)
		}
	})
	var any *ir.Var
	if want {
		any = l.b.Local("some_"+f.Var, ir.Truth(false))
	}
	l.b.Loop("chunk", ir.Int(0), ir.Int(n), func(k *ir.Var) {
		l.b.Incr(t, ir.At(parts, k))
		if want {
			l.b.Set(any, ir.Either(any, ir.At(flags, k)))
		}
	})
	l.b.Free(parts)
	if want {
		l.b.Free(flags)
	}
	switch {
	case ir.IsFalse(some):
		return some
	case want:
		return any
	}
	return ir.Truth(true)
}

// parallelDense lowers loop f, which sums into a dense result, as n chunks. Each chunk has a
// partial result, and the partial results are added in order. A partial result is as large as the
// block of values below the result's cursor. The thread that runs the chunk first sets the partial
// result to 0.
//
// If the partial results of all chunks would not stay in a cache, the chunks run in waves of at
// most one chunk for each thread. The sums of a wave are added to the first partial result, and the
// next wave reuses the other partial results. A sum does not depend on the number of waves.
func (l *lowerer) parallelDense(f *cin.Forall, e *scope.Env, n int64) {
	a, one := l.leaf.Out, ir.Int(1)
	if e.Res.First != nil {
		e = merge.Zero(e)
	}
	level := e.Res.Level
	size := l.b.Named("values", a.Block(level))
	first := l.b.Named("first", ir.Times(e.Res.Pos, size))
	parts := l.b.Array(a.Op.Prefix()+"_parts", l.spec.Compute)
	cached := ir.Int(l.spec.Strategy.CachedPartials / n / l.spec.Compute.Size())
	each := l.b.Named("wave_chunks",
		ir.Choose(ir.Less(cached, size), ir.Greatest(ir.Least(l.leaf.Threads, ir.Int(n)), one),
			ir.Int(n)))
	l.b.Emit(&ir.Alloc{A: parts, Len: ir.Times(size, ir.Least(ir.Plus(each, one), ir.Int(n)))})
	w := units.NewWork(f, e, ir.Int(n))
	l.b.Loop("wave", ir.Int(0), ir.Over(ir.Plus(each, ir.Int(n-1)), each), func(wave *ir.Var) {
		lo := l.b.Named("wave_from", ir.Times(wave, each))
		hi := l.b.Named("wave_to", ir.Least(ir.Plus(lo, each), ir.Int(n)))
		// the sums of earlier waves are one of the partial results
		used := l.b.Named("sums", ir.Least(wave, one))
		a.WritingTo(parts, func() {
			w.Between(lo, hi, func(c *ir.Var, in *scope.Env) {
				part := l.b.Named("part", ir.Plus(ir.Minus(c, lo), used))
				l.b.Emit(&ir.Fill{A: parts, Lo: ir.Times(part, size), Hi: ir.Times(ir.Plus(part, one), size),
					X: ir.Zero(parts.Elem)})
				in.Res = scope.ResultCursor{Level: level, Pos: part, Zeroed: true}
				merge.EnterResult(in)
				l.stmt(l.leaf.SerialCopy(f), in, false)
			})
		})
		all := l.b.Named("sums_end", ir.Plus(ir.Minus(hi, lo), used))
		l.b.When(ir.Less(one, all), func() {
			units.ForEachShare(l.leaf, size, func(from, to ir.Expr) {
				l.b.Loop("part", one, all, func(k *ir.Var) {
					l.b.Loop("x", from, to, func(x *ir.Var) {
						l.b.AddTo(parts, x, ir.At(parts, ir.Plus(ir.Times(k, size), x)))
					})
				})
			})
		})
	})
	units.ForEachShare(l.leaf, size, func(from, to ir.Expr) {
		l.b.Loop("x", from, to, func(x *ir.Var) {
			l.b.Emit(&ir.Store{A: a.Values, Index: ir.Plus(first, x), Accumulate: e.Res.Zeroed,
				X: ir.Convert(a.Op.Argument.Type, ir.At(parts, x))})
		})
	})
	l.b.Free(parts)
}

// ownRows lowers loop f, which sums into a dense result, without partial results. The range of v, a
// variable of the result, is divided evenly among the threads. Each thread runs the whole loop f
// for its part of this range. For example, if a CSC matrix multiplies a vector, each thread has a
// range of rows, and searches each column for the first of these rows.
//
// Intermediates over v have places only for the thread's part. Every value is summed in the order
// of the loop, so the result does not depend on the number of threads.
func (l *lowerer) ownRows(f *cin.Forall, e *scope.Env, v string) {
	serial := &cin.Forall{Var: f.Var, Body: f.Body}
	if v != l.leaf.ResultVars[0] {
		e = merge.Zero(e)
	}
	alone := l.b.InScope(func() { l.serial(serial, e, false) })
	parted := l.b.Within(func() {
		all := e.RangeOf(v)
		at := func(c ir.Expr) ir.Expr {
			return ir.Plus(all.Lo, ir.Over(ir.Times(ir.Minus(all.Hi, all.Lo), c), l.leaf.Threads))
		}
		l.b.Parallel("part", l.leaf.Threads, func(c *ir.Var) {
			in := e.Clone()
			s := tree.Range{Clip: true}
			l.b.BeforeScope(func() {
				s.Lo, s.Hi = l.b.Named(v+"_from", at(c)), l.b.Named(v+"_to", at(ir.Plus(c, ir.Int(1))))
			})
			in.Ranges = in.Ranges.With(v, s)
			in.Owned = in.Owned.With(v, s)
			l.serial(serial, in, false)
		})
	})
	l.b.Emit(&ir.If{Cond: ir.AtMost(l.leaf.Threads, ir.Int(1)), Then: alone, Else: parted})
}

// parallel lowers a loop on threads over a variable of the result. The variable's range is cut into
// chunks of about equal work. Each chunk is a serial loop with its own workspaces and, if the
// result is appended to, its own buffers. All terms of a sum are in the same chunk, except in long
// rows (strategy.Long). The result does not depend on the number of chunks or threads.
func (l *lowerer) parallel(f *cin.Forall, e *scope.Env, long strategy.Long) ir.Expr {
	if long.How == strategy.Precomputed {
		a := l.newLongProductRows(f, e, long)
		a.compute(e)
		e = e.Clone()
		e.Precomputed = a.lower
		defer a.free()
	}
	return l.assembly.Parallel(f, e, long)
}
