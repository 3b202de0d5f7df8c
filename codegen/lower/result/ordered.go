package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
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

// Parallel emits the loop whose chunks append to the result in order. On one thread there is a
// single chunk, whose arrays become the result.
func (a *appendResult) Parallel(f *cin.Forall, e *scope.Env, long strategy.Long) ir.Expr {
	l := a.out.Leaf
	alone := ir.AtMost(l.Threads, ir.Int(1))
	w := units.NewWork(f, e, nil)
	cuts := cutRows(w, long)
	n := ir.Times(l.Threads, ir.Int(l.Spec.Strategy.PerThread))
	if f.Cut.N > 0 {
		n = ir.Greatest(n, ir.Over(w.Total, ir.Int(f.Cut.N)))
	}
	w.Chunks = l.B.Named("chunks", ir.Choose(alone, ir.Int(1), n))
	j := a.newJoin(w.Chunks)
	capacity := l.B.Named("capacity",
		ir.Plus(ir.Choose(alone, ir.Int(0), a.initialCapacity()), ir.Int(1)))
	j.alloc(func(int) ir.Expr { return capacity }, capacity)
	j.streamed = l.B.Named("streamed", ir.Greater(capacity, ir.Int(f.Cut.Streamed)))
	for _, p := range j.levels {
		l.B.Store(p.before, ir.Int(0), ir.Int(0))
	}
	each := l.B.Named("estimate", j.chunkCapacity(w.Chunks))

	some := ir.Expr(ir.Truth(false))
	l.B.Chunks("chunk", ir.Int(0), w.Chunks, func(k *ir.Var) {
		b := a.newArrays()
		a.use(b)
		a.alloc(each)
		s := cuts.rowRange(f, k)
		j.begin(s.rows.Lo)
		some = s.lower(l, e.Clone())
		j.end(k, s.closed)
		j.follow(k)
		here := l.B.Within(func() {
			j.copy(k, b)
			j.freeArrays(b)
		})
		fits := ir.Both(ir.Inverse(alone), j.fits(capacity, func(level int) ir.Expr {
			p := j.at(level)
			return ir.Plus(p.from, p.n)
		}))
		l.B.Emit(&ir.If{Cond: fits, Then: here, Else: l.B.Within(func() { j.keep(k) })})
	})
	j.publishOrdered(capacity)
	return some
}

// publishOrdered emits code that makes the result from ordered chunks. If there is a single chunk,
// its arrays become the result. Otherwise the joined arrays become the result. The joined arrays
// have only the given capacity, so some chunks may not be in them yet. The code then enlarges the
// joined arrays and copies these chunks.
func (j *joinedChunks) publishOrdered(capacity ir.Expr) {
	l := j.a.out.Leaf
	one := l.B.Within(func() {
		for i, p := range j.levels {
			if p.pos != nil {
				l.B.Free(j.whole.pos[i])
			}
			l.B.Free(j.whole.crd[i])
		}
		l.B.Free(j.whole.vals)
		j.publishOne()
	})
	many := l.B.Within(func() {
		l.B.When(ir.Inverse(j.fits(capacity, j.count)), func() {
			j.grow()
			j.copyKept(func(k ir.Expr) ir.Expr {
				return ir.Inverse(j.fits(capacity,
					func(level int) ir.Expr { return ir.At(j.at(level).before, ir.Plus(k, ir.Int(1))) }))
			})
		})
		j.publishArrays(j.whole, j.count)
	})
	l.B.Emit(&ir.If{Cond: ir.Equal(j.slots, ir.Int(1)), Then: one, Else: many})
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
	if j.a.out.Deep+1 < j.a.out.Op.Order() {
		all = append(all, ir.AtMost(ir.Times(count(j.a.out.Deep), j.a.out.Block(j.a.out.Deep+1)),
			capacity))
	}
	return ir.Both(all...)
}

// follow emits code that waits until chunk k-1 has its range in the joined arrays, and then
// reserves the range after it for chunk k.
func (j *joinedChunks) follow(k ir.Expr) {
	l := j.a.out.Leaf
	for i := range j.levels {
		j.levels[i].from = l.B.Declare("from", ir.Int(0))
		j.levels[i].n = l.B.Named("n", j.a.levels[j.levels[i].level].count)
	}
	l.B.Emit(&ir.Ordered{Body: l.B.Within(func() {
		for _, p := range j.levels {
			l.B.Set(p.from.(*ir.Var), ir.At(p.before, k))
			l.B.Store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(p.from, p.n))
		}
	})})
}
