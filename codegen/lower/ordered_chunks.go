package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// This file implements ordered chunks: the way that a parallel loop appends to a result. Each chunk
// computes its piece into its own arrays. It then waits until the previous chunk has counted its
// entries, which gives the place of its own entries, announces its own count to the next chunk, and
// copies its entries there. This is a chained scan: the prefix sums over chunks pass from one chunk
// to the next. If chunks are cheap to start, they are so small that their entries are still in a
// cache when they are copied, and the result passes through memory only once. If the capacity,
// which is an estimate, is too small for a chunk, the chunk keeps its arrays until all chunks are
// counted.

// parallel emits the loop whose chunks append to the result in order. On one thread there is a
// single chunk, whose arrays become the result.
func (a *appendResult) parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr {
	l := a.l
	alone := ir.AtMost(l.threads, ir.Int(1))
	w := l.work(f, e, nil)
	w.cutLongRows(o.Long)
	n := ir.Times(l.threads, ir.Int(l.spec.Strategy.PerThread))
	if o.Cut.N > 0 {
		n = ir.Greatest(n, ir.Over(w.total, ir.Int(o.Cut.N)))
	}
	w.chunks = l.b.Named("chunks", ir.Choose(alone, ir.Int(1), n))
	j := a.newJoin(w.chunks)
	capacity := l.b.Named("capacity",
		ir.Plus(ir.Choose(alone, ir.Int(0), a.initialCapacity()), ir.Int(1)))
	j.alloc(func(int) ir.Expr { return capacity }, capacity)
	j.streamed = l.b.Named("streamed", ir.Greater(capacity, ir.Int(o.Cut.Streamed)))
	for _, p := range j.levels {
		l.b.Store(p.before, ir.Int(0), ir.Int(0))
	}
	each := l.b.Named("estimate", j.chunkCapacity(w.chunks))

	some := ir.Expr(ir.Truth(false))
	k := l.b.Var("chunk")
	body := l.b.InScope(func() {
		b := a.newArrays()
		a.use(b)
		a.alloc(each)
		s := w.rowRange(f, k)
		j.begin(s.rows.Lo)
		some = s.lower(l, e.clone())
		j.end(k, s.closed)
		j.follow(k)
		here := l.b.Within(func() {
			j.copy(k, b)
			j.freeArrays(b)
		})
		fits := ir.Both(ir.Inverse(alone), j.fits(capacity, func(level int) ir.Expr {
			p := j.at(level)
			return ir.Plus(p.from, p.n)
		}))
		l.b.Emit(&ir.If{Cond: fits, Then: here, Else: l.b.Within(func() { j.keep(k) })})
	})
	l.b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: w.chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	j.publishOrdered(capacity)
	return some
}

// publishOrdered emits code that makes the result from ordered chunks. If there is a single chunk,
// its arrays become the result. Otherwise the kept pieces are also copied, and the arrays with all
// copies become the result.
func (j *joinedChunks) publishOrdered(capacity ir.Expr) {
	l := j.a.l
	one := l.b.Within(func() {
		for i, p := range j.levels {
			if p.pos != nil {
				l.b.Emit(&ir.Free{A: j.whole.pos[i]})
			}
			l.b.Emit(&ir.Free{A: j.whole.crd[i]})
		}
		l.b.Emit(&ir.Free{A: j.whole.vals})
		j.publishOne()
	})
	many := l.b.Within(func() {
		l.b.When(ir.Inverse(j.fits(capacity, j.count)), func() {
			j.grow()
			j.copyKept(func(k ir.Expr) ir.Expr {
				return ir.Inverse(j.fits(capacity,
					func(level int) ir.Expr { return ir.At(j.at(level).before, ir.Plus(k, ir.Int(1))) }))
			})
		})
		j.publishCopies()
	})
	l.b.Emit(&ir.If{Cond: ir.Equal(j.slots, ir.Int(1)), Then: one, Else: many})
	j.free()
}

// fits returns the condition that the capacity is sufficient for count(k) coordinates of each level
// k.
func (j *joinedChunks) fits(capacity ir.Expr, count func(level int) ir.Expr) ir.Expr {
	var all []ir.Expr
	for _, p := range j.levels {
		all = append(all, ir.AtMost(count(p.level), capacity))
		if p.pos != nil && p.level > j.above(p.level)+1 {
			all = append(all, ir.AtMost(j.parents(p.level, count), capacity))
		}
	}
	if j.a.deep+1 < j.a.op.Order() {
		all = append(all, ir.AtMost(ir.Times(count(j.a.deep), j.a.block(j.a.deep+1)), capacity))
	}
	return ir.Both(all...)
}

// follow emits code that waits for the chunk before k, and places the pieces of chunk k after that
// chunk's pieces.
func (j *joinedChunks) follow(k ir.Expr) {
	l := j.a.l
	for i := range j.levels {
		j.levels[i].from = l.b.Declare("from", ir.Int(0))
		j.levels[i].n = l.b.Named("n", j.a.levels[j.levels[i].level].count)
	}
	l.b.Emit(&ir.Ordered{Body: l.b.Within(func() {
		for _, p := range j.levels {
			l.b.Set(p.from.(*ir.Var), ir.At(p.before, k))
			l.b.Store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(p.from, p.n))
		}
	})})
}
