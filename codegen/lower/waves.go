package lower

import (
	"math/bits"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// A sparse result of a parallel loop is made in waves where its chunks are cheap
// to begin: while the chunks of one wave are computed into small buffers, those of
// the wave before, whose places are known by then, are copied from theirs, which
// are still in cache, so that the result passes through memory once.

// cachedChunks is how many chunks' entries are taken to stay in a cache until the
// result is read; a larger one is copied past it.
const cachedChunks = 512

// inWaves tells whether a loop's result is made so. A chunk clears its workspaces:
// they are such that many values are added to each place.
func (l *lowerer) inWaves(f *cin.Forall) bool {
	if !l.out.sparse || l.out.shared() {
		return false
	}
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

// waveWork is how much of w a chunk has at least. As many values as a workspace
// has places are added to it. It is a power of two: data of about the same density
// have the same leaf.
func (l *lowerer) waveWork(f *cin.Forall, w *work) int64 {
	least := l.spec.WaveWork
	eachWorkspace(f, func(t *cin.Access, producer cin.Stmt) {
		if w.driver == nil {
			return
		}
		each := max(l.additions(producer, t)/float64(max(w.driver.op.NNZ, 1)), 1)
		work := max(float64(l.spec.WaveWork), float64(l.spec.Sizes[t.Vars[0]])) / each
		least = powerOfTwo(work)
	})
	return least
}

// powerOfTwo is the largest power of two up to x, and 1 at least.
func powerOfTwo(x float64) int64 { return 1 << max(bits.Len64(uint64(x))-1, 0) }

// waves lowers a parallel loop whose result is made in waves.
func (l *lowerer) waves(f *cin.Forall, e *env) ir.Expr {
	alone := ir.AtMost(l.threads, ir.Int(1))
	slots := l.named("slots", ir.Choose(alone, ir.Int(1), ir.Times(l.threads, ir.Int(chunksPerThread))))
	g := l.out.newGather(slots)
	w := l.work(f, e, nil)
	w.along = l.cutAlong(f, e, w)
	waves := ir.Expr(ir.Int(1))
	if w.total != nil {
		n := ir.Over(w.total, ir.Times(slots, ir.Int(l.waveWork(f, w)*int64(len(w.others)+1))))
		waves = l.named("waves", ir.Choose(alone, ir.Int(1), ir.Greatest(n, ir.Int(1))))
	}
	w.chunks = l.named("chunks", ir.Times(waves, slots))
	room := ir.Plus(ir.Choose(alone, ir.Int(0), l.out.guess()), ir.Int(1))
	room = l.named("room", room)
	g.alloc(func(int) ir.Expr { return room }, room)
	g.streamed = l.named("streamed", ir.Greater(room, ir.Int(cachedChunks*l.spec.WaveWork)))
	caps := g.newCapacities()
	g.prepare(caps, w.chunks)

	some := ir.Expr(ir.Truth(false))
	v := l.newVar("wave")
	rounds := ir.Plus(waves, ir.Choose(alone, ir.Int(0), ir.Int(1)))
	l.emit(&ir.For{V: v, Lo: ir.Int(0), Hi: l.named("rounds", rounds), Step: 1, Body: l.within(func() {
		later := ir.Greater(v, ir.Int(0))
		l.when(later, func() {
			g.scan()
			g.grow()
		})
		k := l.newVar("slot")
		body := l.inScope(func() {
			l.out.buf = g.takeAll(k)
			caps.load(k)
			l.when(later, func() { g.copy(k, l.out.buf) })
			l.when(ir.Less(v, waves), func() {
				s := w.stretch(f, l.named("chunk", ir.Plus(ir.Times(v, slots), k)))
				g.begin(s.rows.lo)
				some = s.lower(l, e.clone())
				g.end(k, s.closed)
			})
			caps.store(k)
			g.keep(k)
		})
		l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: slots, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: body})
	})})
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
	l.emit(&ir.If{Cond: ir.Equal(slots, ir.Int(1)), Then: one, Else: l.within(g.publishCopies)})
	caps.free()
	g.free()
	return some
}

// prepare makes every slot's buffers.
func (g *gather) prepare(caps *capacities, chunks ir.Expr) {
	l := g.a.l
	guess := l.named("guess", g.guess(chunks))
	k := l.newVar("slot")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: g.slots, Step: 1, Body: l.within(func() {
		g.a.buf = g.a.newBuffers()
		g.a.allocBuffers(guess)
		caps.store(k)
		g.keep(k)
	})})
}

// capacities keep the lengths of each slot's buffers from one wave to the next.
type capacities struct {
	g        *gather
	pos, crd []*ir.Array // by part; pos[i] is nil where part i has none
	vals     *ir.Array
}

func (g *gather) newCapacities() *capacities {
	l := g.a.l
	c := &capacities{g: g, pos: make([]*ir.Array, len(g.parts)), crd: make([]*ir.Array, len(g.parts))}
	array := func(name string) *ir.Array {
		return l.alloc(name, ir.Int64, g.slots, false)
	}
	for i, p := range g.parts {
		if p.pos != nil {
			c.pos[i] = array("poss_cap")
		}
		c.crd[i] = array("crds_cap")
	}
	c.vals = array("valss_cap")
	return c
}

// each calls fn with every array of capacities and the variable that holds the
// one of the buffers at hand.
func (c *capacities) each(fn func(arr *ir.Array, have **ir.Var)) {
	b := c.g.a.buf
	for i, p := range c.g.parts {
		if p.pos != nil {
			fn(c.pos[i], &b.levels[p.level].capP)
		}
		fn(c.crd[i], &b.levels[p.level].capC)
	}
	fn(c.vals, &b.capV)
}

// load declares the capacities of the buffers at hand, which slot k held.
func (c *capacities) load(k ir.Expr) {
	c.each(func(arr *ir.Array, have **ir.Var) { *have = c.g.a.l.declare("cap", ir.At(arr, k)) })
}

// store notes the capacities of the buffers at hand for slot k.
func (c *capacities) store(k ir.Expr) {
	c.each(func(arr *ir.Array, have **ir.Var) { c.g.a.l.store(arr, k, *have) })
}

func (c *capacities) free() {
	c.each(func(arr *ir.Array, _ **ir.Var) { c.g.a.l.emit(&ir.Free{A: arr}) })
}
