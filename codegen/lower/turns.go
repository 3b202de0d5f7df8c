package lower

import (
	"math/bits"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// A sparse result of a parallel loop is made in turns: a chunk is computed into a
// buffer, waits until the one before has counted its entries, which gives it its place,
// lets the next one know, and is copied. Where chunks are cheap to begin they are so
// small that they are still in cache then, and the result passes through memory once.
// Those for which there is no room, as the entries were guessed, keep their buffers until
// all are counted.

// cachedChunks is how many chunks' entries are taken to stay in a cache until the
// result is read; a larger one is copied past it.
const cachedChunks = 512

// cheap tells whether a loop's chunks are cheap to begin. A chunk clears its workspaces:
// they are such that many values are added to each place.
func (l *lowerer) cheap(f *cin.Forall) bool {
	cheap := true
	eachWorkspace(f, func(t *cin.Access, producer cin.Stmt) {
		cheap = cheap && len(t.Vars) == 1 && l.fitsDense(t.Vars[0]) && l.fitsBits(t, producer)
	})
	return cheap
}

// eachWorkspace calls fn for each workspace of a loop's body.
func eachWorkspace(f *cin.Forall, fn func(t *cin.Access, producer cin.Stmt)) {
	cin.Walk(f.Body, func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok {
			if t := cin.Target(w.Producer); len(t.Vars) > 0 {
				fn(t, w.Producer)
			}
		}
	})
}

// turnWork is how much of w a chunk has at least. As many values as a workspace
// has places are added to it. It is a power of two: data of about the same density
// have the same leaf.
func (l *lowerer) turnWork(f *cin.Forall, w *work) int64 {
	least := l.spec.TurnWork
	eachWorkspace(f, func(t *cin.Access, producer cin.Stmt) {
		if w.driver == nil {
			return
		}
		each := max(l.additions(producer, t)/float64(max(w.driver.op.NNZ, 1)), 1)
		work := max(float64(l.spec.TurnWork), float64(l.spec.Sizes[t.Vars[0]])) / each
		least = powerOfTwo(work)
	})
	return least
}

// powerOfTwo is the largest power of two up to x, and 1 at least.
func powerOfTwo(x float64) int64 { return 1 << max(bits.Len64(uint64(x))-1, 0) }

// inTurns lowers a parallel loop whose chunks take turns.
func (l *lowerer) inTurns(f *cin.Forall, e *env) ir.Expr {
	alone := ir.AtMost(l.threads, ir.Int(1))
	w := l.work(f, e, nil)
	w.along = l.cutAlong(f, e, w)
	n := ir.Times(l.threads, ir.Int(chunksPerThread))
	if w.total != nil && l.cheap(f) {
		n = ir.Greatest(n, ir.Over(w.total, ir.Int(l.turnWork(f, w)*int64(len(w.others)+1))))
	}
	w.chunks = l.named("chunks", ir.Choose(alone, ir.Int(1), n))
	g := l.out.newGather(w.chunks)
	room := l.named("room", ir.Plus(ir.Choose(alone, ir.Int(0), l.out.guess()), ir.Int(1)))
	g.alloc(func(int) ir.Expr { return room }, room)
	g.streamed = l.named("streamed", ir.Greater(room, ir.Int(cachedChunks*l.spec.TurnWork)))
	for _, p := range g.parts {
		l.store(p.before, ir.Int(0), ir.Int(0))
	}
	guess := l.named("guess", g.guess(w.chunks))

	some := ir.Expr(ir.Truth(false))
	k := l.newVar("chunk")
	body := l.inScope(func() {
		l.out.buf = l.out.newBuffers()
		l.out.allocBuffers(guess)
		s := w.stretch(f, k)
		g.begin(s.rows.lo)
		some = s.lower(l, e.clone())
		g.end(k, s.closed)
		g.follow(k)
		here := l.within(func() {
			g.copy(k, l.out.buf)
			g.freeAll(l.out.buf)
		})
		fits := ir.Both(ir.Inverse(alone), g.fits(room, func(level int) ir.Expr {
			p := g.part(level)
			return ir.Plus(p.from, p.n)
		}))
		l.emit(&ir.If{Cond: fits, Then: here, Else: l.within(func() { g.keep(k) })})
	})
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: w.chunks, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: body})

	one := l.within(func() {
		for i, p := range g.parts {
			if p.pos != nil {
				l.emit(&ir.Free{A: g.out.pos[i]})
			}
			l.emit(&ir.Free{A: g.out.crd[i]})
		}
		l.emit(&ir.Free{A: g.out.vals})
		g.publishOne()
	})
	many := l.within(func() {
		l.when(ir.Inverse(g.fits(room, g.count)), func() {
			g.grow()
			g.copyKept(func(k ir.Expr) ir.Expr {
				return ir.Inverse(g.fits(room, func(level int) ir.Expr { return ir.At(g.part(level).before, ir.Plus(k, ir.Int(1))) }))
			})
		})
		g.publishCopies()
	})
	l.emit(&ir.If{Cond: ir.Equal(w.chunks, ir.Int(1)), Then: one, Else: many})
	g.free()
	return some
}

// fits tells whether there was room for so many coordinates of each level.
func (g *gather) fits(room ir.Expr, count func(level int) ir.Expr) ir.Expr {
	var all []ir.Expr
	for _, p := range g.parts {
		all = append(all, ir.AtMost(count(p.level), room))
		if p.pos != nil && p.level > g.above(p.level)+1 {
			all = append(all, ir.AtMost(g.parents(p.level, count), room))
		}
	}
	if g.a.deep+1 < g.a.op.order() {
		all = append(all, ir.AtMost(ir.Times(count(g.a.deep), g.a.block(g.a.deep+1)), room))
	}
	return ir.Both(all...)
}

// follow finds the places of chunk k, behind those of the chunk before.
func (g *gather) follow(k ir.Expr) {
	l := g.a.l
	for i := range g.parts {
		g.parts[i].from = l.declare("from", ir.Int(0))
		g.parts[i].n = l.named("n", g.a.buf.levels[g.parts[i].level].count)
	}
	l.emit(&ir.Turn{Body: l.within(func() {
		for _, p := range g.parts {
			l.set(p.from.(*ir.Var), ir.At(p.before, k))
			l.store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(p.from, p.n))
		}
	})})
}
