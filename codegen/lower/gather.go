package lower

import (
	"slices"

	"distaff/codegen/ir"
)

// gather collects the pieces of a sparse result that the chunks of a loop over
// its level 0 make, in their order: when all are made, or as each is (turns.go). It has
// a slot for each chunk.
type gather struct {
	a     *assembly
	slots ir.Expr
	// pos is the outermost compressed level's array where the levels above are
	// all dense, which the chunks write in place: that of slot k the places
	// (base[k], until[k]].
	pos         *ir.Array
	base, until *ir.Array
	start       ir.Expr // base[k] of the chunk at hand
	first       int     // the outermost compressed level
	parts       []part
	vals        *ir.Table
	out         pieces // what the pieces are copied to
	// streamed, if not nil, tells whether they are together too large for a cache.
	streamed ir.Expr
}

// part is one compressed level's pieces: made[k] coordinates in slot k, behind
// the before[k] of those before it.
type part struct {
	level        int
	pos, crd     *ir.Table // pos is nil for the outermost
	made, before *ir.Array
	from, n      ir.Expr // before and made of the slot at hand
}

// pieces are a result's arrays, by part, and their capacities.
type pieces struct {
	pos, crd   []*ir.Array
	vals       *ir.Array
	capP, capC []*ir.Var
	capV       *ir.Var
}

func (a *assembly) newGather(slots ir.Expr) *gather {
	l := a.l
	g := &gather{a: a, slots: slots, first: a.nextSparse(0)}
	table := func(name string, t ir.Type) *ir.Table {
		tab := &ir.Table{Name: l.fresh(name), Elem: t}
		l.emit(&ir.AllocTable{T: tab, Len: slots})
		return tab
	}
	counts := func(name string, n ir.Expr) *ir.Array {
		return l.alloc(name, ir.Int64, n, false)
	}
	g.pos = a.newPos(g.first)
	parents := a.between(0, g.first)
	l.emit(&ir.Alloc{A: g.pos, Len: ir.Plus(parents, ir.Int(1))})
	l.store(g.pos, ir.Int(0), ir.Int(0))
	g.base, g.until = counts("base", slots), counts("until", slots)
	for k := range a.op.order() {
		if !a.op.caps(k).HasPos {
			continue
		}
		p := part{level: k, crd: table("crds", intOf(a.op.CrdWidth[k])), made: counts("made", slots), before: counts("before", ir.Plus(slots, ir.Int(1)))}
		if k != g.first {
			p.pos = table("poss", intOf(a.op.PosWidth[k]))
		}
		g.parts = append(g.parts, p)
	}
	g.vals = table("valss", a.op.Type)
	return g
}

// open makes the buffers of a chunk of so many. lo is where its range starts.
func (g *gather) open(lo, chunks ir.Expr) {
	g.a.buf = g.a.newBuffers()
	g.a.allocBuffers(g.guess(chunks))
	g.begin(lo)
}

// guess is how many entries to make room for in one chunk of so many.
func (g *gather) guess(chunks ir.Expr) ir.Expr {
	return ir.Plus(ir.Over(g.a.guess(), chunks), ir.Int(16))
}

// begin starts filling the buffers of a chunk whose range starts at lo.
func (g *gather) begin(lo ir.Expr) {
	a := g.a
	if g.first == 0 {
		// All chunks append below the root: each writes a pos of its own,
		// which comes to nothing.
		a.begin(nil, ir.Int(0))
		return
	}
	first := ir.Times(ir.Minus(lo, a.op.offset(0)), a.between(1, g.first))
	g.start = a.l.named("first", first)
	a.begin(g.pos, g.start)
}

// end closes the positions of a chunk, whose range ends at hi, and notes in slot
// k what it has made.
func (g *gather) end(k, hi ir.Expr) {
	a, l := g.a, g.a.l
	if g.first == 0 {
		l.emit(&ir.Free{A: a.buf.levels[0].pos})
	} else {
		end := ir.Times(ir.Minus(hi, a.op.offset(0)), a.between(1, g.first))
		l.fillPos(&a.buf.levels[g.first], ir.Plus(end, ir.Int(1)))
		l.store(g.base, k, g.start)
		l.store(g.until, k, end)
	}
	for _, p := range g.parts {
		lev := &a.buf.levels[p.level]
		if p.pos != nil && lev.last != nil {
			above := g.above(p.level)
			parents := ir.Times(a.buf.levels[above].count, a.between(above+1, p.level))
			l.fillPos(lev, ir.Plus(parents, ir.Int(1)))
		}
		l.store(p.made, k, lev.count)
	}
}

// keep hands the buffers at hand to slot k.
func (g *gather) keep(k ir.Expr) {
	b, l := g.a.buf, g.a.l
	for _, p := range g.parts {
		if p.pos != nil {
			l.emit(&ir.Keep{T: p.pos, Index: k, A: b.levels[p.level].pos})
		}
		l.emit(&ir.Keep{T: p.crd, Index: k, A: b.levels[p.level].crd})
	}
	l.emit(&ir.Keep{T: g.vals, Index: k, A: b.vals})
}

// takeAll takes the buffers of slot k.
func (g *gather) takeAll(k ir.Expr) *buffers {
	l := g.a.l
	b := g.a.newBuffers()
	for _, p := range g.parts {
		if p.pos != nil {
			l.emit(&ir.Take{A: b.levels[p.level].pos, T: p.pos, Index: k})
		}
		l.emit(&ir.Take{A: b.levels[p.level].crd, T: p.crd, Index: k})
	}
	l.emit(&ir.Take{A: b.vals, T: g.vals, Index: k})
	return b
}

// freeAll frees the buffers b.
func (g *gather) freeAll(b *buffers) {
	l := g.a.l
	for _, p := range g.parts {
		if p.pos != nil {
			l.emit(&ir.Free{A: b.levels[p.level].pos})
		}
		l.emit(&ir.Free{A: b.levels[p.level].crd})
	}
	l.emit(&ir.Free{A: b.vals})
}

// above is the last compressed level before k.
func (g *gather) above(k int) int {
	for k--; !g.a.op.caps(k).HasPos; k-- {
	}
	return k
}

// publish makes the result of the pieces: of a single one as it is, else by
// copying each to its place.
func (g *gather) publish() {
	a, l := g.a, g.a.l
	one := l.within(g.publishOne)
	many := l.within(func() {
		g.scan()
		g.alloc(g.count, ir.Times(g.count(a.deep), a.block(a.deep+1)))
		g.copyKept(func(ir.Expr) ir.Expr { return ir.Truth(true) })
		g.publishCopies()
	})
	l.emit(&ir.If{Cond: ir.Equal(g.slots, ir.Int(1)), Then: one, Else: many})
	g.free()
}

func (g *gather) free() {
	l := g.a.l
	l.emit(&ir.Free{A: g.base})
	l.emit(&ir.Free{A: g.until})
	for _, p := range g.parts {
		if p.pos != nil {
			l.emit(&ir.FreeTable{T: p.pos})
		}
		l.emit(&ir.FreeTable{T: p.crd})
		l.emit(&ir.Free{A: p.made})
		l.emit(&ir.Free{A: p.before})
	}
	l.emit(&ir.FreeTable{T: g.vals})
}

// parents is the number of positions of the level above a part's, given the
// number of coordinates of each compressed level.
func (g *gather) parents(k int, count func(level int) ir.Expr) ir.Expr {
	if k == g.first {
		return g.a.between(0, k)
	}
	above := g.above(k)
	return ir.Times(count(above), g.a.between(above+1, k))
}

func (g *gather) part(level int) *part {
	i := slices.IndexFunc(g.parts, func(p part) bool { return p.level == level })
	return &g.parts[i]
}

func (g *gather) publishOne() {
	a, l := g.a, g.a.l
	count := func(level int) ir.Expr { return ir.At(g.part(level).made, ir.Int(0)) }
	b := g.takeAll(ir.Int(0))
	for _, p := range g.parts {
		pos := g.pos
		if p.pos != nil {
			pos = b.levels[p.level].pos
		} else if p.level == 0 {
			l.store(pos, ir.Int(1), count(0))
		}
		a.publish(p.level, ir.Pos, pos, ir.Plus(g.parents(p.level, count), ir.Int(1)))
		a.publish(p.level, ir.Crd, b.levels[p.level].crd, count(p.level))
	}
	a.publish(0, ir.Vals, b.vals, ir.Times(count(a.deep), a.block(a.deep+1)))
}

// count is the number of coordinates of a compressed level so far.
func (g *gather) count(level int) ir.Expr { return ir.At(g.part(level).before, g.slots) }

// scan adds up what the slots hold.
func (g *gather) scan() {
	l := g.a.l
	for _, p := range g.parts {
		l.store(p.before, ir.Int(0), ir.Int(0))
	}
	k := l.newVar("slot")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: g.slots, Step: 1, Body: l.within(func() {
		for _, p := range g.parts {
			l.store(p.before, ir.Plus(k, ir.Int(1)), ir.Plus(ir.At(p.before, k), ir.At(p.made, k)))
		}
	})})
}

// alloc makes the arrays that the pieces are copied to, for so many coordinates
// of each compressed level and so many values.
func (g *gather) alloc(count func(level int) ir.Expr, vals ir.Expr) {
	a, l := g.a, g.a.l
	n := len(g.parts)
	out := pieces{pos: make([]*ir.Array, n), crd: make([]*ir.Array, n), capP: make([]*ir.Var, n), capC: make([]*ir.Var, n)}
	alloc := func(arr *ir.Array, n ir.Expr) (*ir.Array, *ir.Var) {
		have := l.declare(arr.Name+"_cap", n)
		l.emit(&ir.Alloc{A: arr, Len: have})
		return arr, have
	}
	for i, p := range g.parts {
		out.pos[i] = g.pos
		if p.pos != nil {
			out.pos[i], out.capP[i] = alloc(a.newPos(p.level), ir.Plus(g.parents(p.level, count), ir.Int(1)))
			l.store(out.pos[i], ir.Int(0), ir.Int(0))
		}
		out.crd[i], out.capC[i] = alloc(l.newArray(a.op.prefix()+"_crd", p.crd.Elem), count(p.level))
	}
	out.vals, out.capV = alloc(l.newArray(a.op.prefix()+"_vals", a.op.Type), vals)
	g.out = out
}

// grow makes room for all that is counted.
func (g *gather) grow() {
	a, l := g.a, g.a.l
	for i, p := range g.parts {
		if p.pos != nil {
			l.reserve(g.out.pos[i], g.out.capP[i], ir.Plus(g.parents(p.level, g.count), ir.Int(1)))
		}
		l.reserve(g.out.crd[i], g.out.capC[i], g.count(p.level))
	}
	l.reserve(g.out.vals, g.out.capV, ir.Times(g.count(a.deep), a.block(a.deep+1)))
}

// at reads the places of slot k, which are known.
func (g *gather) at(k ir.Expr) {
	l := g.a.l
	for i := range g.parts {
		p := &g.parts[i]
		p.from = l.named("from", ir.At(p.before, k))
		p.n = l.named("n", ir.At(p.made, k))
	}
}

// copyKept copies the pieces of the slots that which tells to keep some.
func (g *gather) copyKept(which func(k ir.Expr) ir.Expr) {
	l := g.a.l
	k := l.newVar("slot")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: g.slots, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: l.within(func() {
		l.when(which(k), func() {
			b := g.takeAll(k)
			g.at(k)
			g.copy(k, b)
			g.freeAll(b)
		})
	})})
}

// copy moves slot k's pieces, which b holds, to their places.
func (g *gather) copy(k ir.Expr, b *buffers) {
	a, l := g.a, g.a.l
	block := a.block(a.deep + 1)
	for i, p := range g.parts {
		from, n := p.from, p.n
		lev := &b.levels[p.level]
		if p.pos == nil {
			if p.level > 0 {
				g.shift(g.pos, ir.At(g.base, k), ir.At(g.until, k), from)
			}
		} else {
			above := g.part(g.above(p.level))
			size := a.between(above.level+1, p.level)
			lo := l.named("lo", ir.Times(above.from, size))
			g.copyPos(g.out.pos[i], lo, lev.pos, ir.Times(above.n, size), from)
		}
		pieces := func(stream bool) *ir.Block {
			return l.within(func() {
				l.emit(&ir.Copy{Dst: g.out.crd[i], DstLo: from, Src: lev.crd, SrcLo: ir.Int(0), N: n, Stream: stream})
				if p.level == a.deep {
					l.emit(&ir.Copy{Dst: g.out.vals, DstLo: ir.Times(from, block), Src: b.vals, SrcLo: ir.Int(0), N: ir.Times(n, block), Stream: stream})
				}
			})
		}
		if g.streamed == nil {
			l.emit(pieces(false))
			continue
		}
		l.emit(&ir.If{Cond: g.streamed, Then: pieces(true), Else: pieces(false)})
	}
}

// publishCopies hands the copies to the caller.
func (g *gather) publishCopies() {
	a, l := g.a, g.a.l
	for i, p := range g.parts {
		if p.level == 0 {
			l.store(g.pos, ir.Int(1), g.count(0))
		}
		a.publish(p.level, ir.Pos, g.out.pos[i], ir.Plus(g.parents(p.level, g.count), ir.Int(1)))
		a.publish(p.level, ir.Crd, g.out.crd[i], g.count(p.level))
	}
	a.publish(0, ir.Vals, g.out.vals, ir.Times(g.count(a.deep), a.block(a.deep+1)))
}

// shift adds from to the places (lo, hi] of a pos array.
func (g *gather) shift(pos *ir.Array, lo, hi, from ir.Expr) {
	l := g.a.l
	q := l.newVar("q")
	l.emit(&ir.For{V: q, Lo: ir.Plus(lo, ir.Int(1)), Hi: ir.Plus(hi, ir.Int(1)), Step: 1, Body: l.within(func() {
		l.store(pos, q, ir.Plus(ir.Coord(pos, q), from))
	})})
}

// copyPos copies the first n places behind 0 of a chunk's pos array to those
// behind lo.
func (g *gather) copyPos(pos *ir.Array, lo ir.Expr, piece *ir.Array, n, from ir.Expr) {
	l := g.a.l
	q := l.newVar("q")
	l.emit(&ir.For{V: q, Lo: ir.Int(1), Hi: ir.Plus(n, ir.Int(1)), Step: 1, Body: l.within(func() {
		l.store(pos, ir.Plus(lo, q), ir.Plus(ir.Coord(piece, q), from))
	})})
}
