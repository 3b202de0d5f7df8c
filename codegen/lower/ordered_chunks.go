package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// Ordered chunks: how a parallel loop appends to a result. Each chunk computes its piece
// into arrays of its own. It then waits until the chunk before has counted its entries,
// which tells where its own go (a chained scan: the prefix sums over chunks pass from one
// to the next), lets the next one know, and copies them there. Where chunks are
// cheap to begin they are so small that they are still in a cache then, and the result passes
// through memory once. Chunks for which the capacity, an estimate, does not suffice keep their
// arrays until all are counted.

// parallel appends ordered chunks. On one thread there is one, whose arrays are the result.
func (a *appendResult) parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr {
	l := a.l
	alone := ir.AtMost(l.threads, ir.Int(1))
	w := l.work(f, e, nil)
	w.cutLongRows(o.Long)
	n := ir.Times(l.threads, ir.Int(l.spec.Strategy.PerThread))
	if o.Cut.N > 0 {
		n = ir.Greatest(n, ir.Over(w.total, ir.Int(o.Cut.N)))
	}
	w.chunks = l.named("chunks", ir.Choose(alone, ir.Int(1), n))
	j := a.newJoin(w.chunks)
	capacity := l.named("capacity",
		ir.Plus(ir.Choose(alone, ir.Int(0), a.initialCapacity()), ir.Int(1)))
	j.alloc(func(int) ir.Expr { return capacity }, capacity)
	j.streamed = l.named("streamed", ir.Greater(capacity, ir.Int(o.Cut.Streamed)))
	for _, p := range j.levels {
		l.store(p.before, ir.Int(0), ir.Int(0))
	}
	each := l.named("estimate", j.chunkCapacity(w.chunks))

	some := ir.Expr(ir.Truth(false))
	k := l.newVar("chunk")
	body := l.inScope(func() {
		b := a.newArrays()
		a.use(b)
		a.alloc(each)
		s := w.rowRange(f, k)
		j.begin(s.rows.lo)
		some = s.lower(l, e.clone())
		j.end(k, s.closed)
		j.follow(k)
		here := l.within(func() {
			j.copy(k, b)
			j.freeArrays(b)
		})
		fits := ir.Both(ir.Inverse(alone), j.fits(capacity, func(level int) ir.Expr {
			p := j.at(level)
			return ir.Plus(p.from, p.n)
		}))
		l.emit(&ir.If{Cond: fits, Then: here, Else: l.within(func() { j.keep(k) })})
	})
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: w.chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	j.publishOrdered(capacity)
	return some
}

// publishOrdered makes the result of ordered chunks: of a single one's arrays, else of the
// copies, to which those are added that were kept.
func (j *joinedChunks) publishOrdered(capacity ir.Expr) {
	l := j.a.l
	one := l.within(func() {
		for i, p := range j.levels {
			if p.pos != nil {
				l.emit(&ir.Free{A: j.whole.pos[i]})
			}
			l.emit(&ir.Free{A: j.whole.crd[i]})
		}
		l.emit(&ir.Free{A: j.whole.vals})
		j.publishOne()
	})
	many := l.within(func() {
		l.when(ir.Inverse(j.fits(capacity, j.count)), func() {
			j.grow()
			j.copyKept(func(k ir.Expr) ir.Expr {
				return ir.Inverse(j.fits(capacity,
					func(level int) ir.Expr { return ir.At(j.at(level).before, ir.Plus(k, ir.Int(1))) }))
			})
		})
		j.publishCopies()
	})
	l.emit(&ir.If{Cond: ir.Equal(j.slots, ir.Int(1)), Then: one, Else: many})
	j.free()
}

// fits tells whether the capacity suffices for so many coordinates of each level.
func (j *joinedChunks) fits(capacity ir.Expr, count func(level int) ir.Expr) ir.Expr {
	var all []ir.Expr
	for _, p := range j.levels {
		all = append(all, ir.AtMost(count(p.level), capacity))
		if p.pos != nil && p.level > j.above(p.level)+1 {
			all = append(all, ir.AtMost(j.parents(p.level, count), capacity))
		}
	}
	if j.a.deep+1 < j.a.op.order() {
		all = append(all, ir.AtMost(ir.Times(count(j.a.deep), j.a.block(j.a.deep+1)), capacity))
	}
	return ir.Both(all...)
}

// follow waits for the chunk before k, and finds the places of chunk k behind its.
func (j *joinedChunks) follow(k ir.Expr) {
	l := j.a.l
	for i := range j.levels {
		j.levels[i].from = l.declare("from", ir.Int(0))
		j.levels[i].n = l.named("n", j.a.levels[j.levels[i].level].count)
	}
	l.emit(&ir.Ordered{Body: l.within(func() {
		for _, p := range j.levels {
			l.set(p.from.(*ir.Var), ir.At(p.before, k))
			l.store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(p.from, p.n))
		}
	})})
}
