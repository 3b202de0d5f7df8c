package lower

import (
	"slices"

	"distaff/codegen/ir"
)

// gather collects the pieces of a sparse result that the chunks of a loop over
// its level 0 make, in their order.
type gather struct {
	a      *assembly
	chunks ir.Expr
	// pos is the outermost compressed level's array where the levels above are
	// all dense, which the chunks write in place; base[c] is the place behind
	// which chunk c does.
	pos   *ir.Array
	base  *ir.Array
	start ir.Expr // base[c] of the chunk at hand
	first int     // the outermost compressed level
	parts []part
	vals  *ir.Table
}

// part is one compressed level's pieces. before[c] is the number of its
// coordinates in the chunks before c.
type part struct {
	level    int
	pos, crd *ir.Table // pos is nil for the outermost
	before   *ir.Array
}

func (a *assembly) newGather(chunks ir.Expr) *gather {
	l := a.l
	g := &gather{a: a, chunks: chunks, first: a.nextSparse(0)}
	table := func(name string, t ir.Type) *ir.Table {
		tab := &ir.Table{Name: l.fresh(name), Elem: t}
		l.emit(&ir.AllocTable{T: tab, Len: chunks})
		return tab
	}
	more := ir.Plus(chunks, ir.Int(1))
	g.pos = a.newPos(g.first)
	parents := a.between(0, g.first)
	l.emit(&ir.Alloc{A: g.pos, Len: ir.Plus(parents, ir.Int(1))})
	l.store(g.pos, ir.Int(0), ir.Int(0))
	g.base = l.newArray("base", ir.Int64)
	l.emit(&ir.Alloc{A: g.base, Len: more})
	l.store(g.base, chunks, parents)
	for k := range a.op.order() {
		if !a.op.caps(k).HasPos {
			continue
		}
		p := part{level: k, crd: table("crds", intOf(a.op.CrdWidth[k])), before: l.newArray("before", ir.Int64)}
		if k != g.first {
			p.pos = table("poss", intOf(a.op.PosWidth[k]))
		}
		l.emit(&ir.Alloc{A: p.before, Len: more})
		l.store(p.before, ir.Int(0), ir.Int(0))
		g.parts = append(g.parts, p)
	}
	g.vals = table("valss", a.op.Type)
	return g
}

// open makes a chunk's buffers. lo is where its range starts.
func (g *gather) open(lo ir.Expr) {
	a := g.a
	guess := ir.Plus(ir.Over(a.guess(), g.chunks), ir.Int(16))
	if g.first == 0 {
		// All chunks append below the root: each writes a pos of its own,
		// which comes to nothing.
		a.open(guess, nil, ir.Int(0))
		return
	}
	first := ir.Times(ir.Minus(lo, a.op.offset(0)), a.between(1, g.first))
	g.start = a.l.named("first", first)
	a.open(guess, g.pos, g.start)
}

// keep hands out the buffers of chunk c, whose range ends at hi.
func (g *gather) keep(c, hi ir.Expr) {
	a, l := g.a, g.a.l
	if g.first == 0 {
		l.emit(&ir.Free{A: a.buf.levels[0].pos})
	} else {
		lev := &a.buf.levels[g.first]
		end := ir.Times(ir.Minus(hi, a.op.offset(0)), a.between(1, g.first))
		l.fillPos(lev, ir.Plus(end, ir.Int(1)))
		l.store(g.base, c, g.start)
	}
	for _, p := range g.parts {
		lev := &a.buf.levels[p.level]
		if p.pos != nil {
			if lev.last != nil {
				above := g.above(p.level)
				parents := ir.Times(a.buf.levels[above].count, a.between(above+1, p.level))
				l.fillPos(lev, ir.Plus(parents, ir.Int(1)))
			}
			l.emit(&ir.Keep{T: p.pos, Index: c, A: lev.pos})
		}
		l.emit(&ir.Keep{T: p.crd, Index: c, A: lev.crd})
		l.store(p.before, ir.Plus(c, ir.Int(1)), lev.count)
	}
	l.emit(&ir.Keep{T: g.vals, Index: c, A: a.buf.vals})
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
	l := g.a.l
	one := l.within(g.publishOne)
	many := l.within(g.publishMany)
	l.emit(&ir.If{Cond: ir.Equal(g.chunks, ir.Int(1)), Then: one, Else: many})
	l.emit(&ir.Free{A: g.base})
	for _, p := range g.parts {
		if p.pos != nil {
			l.emit(&ir.FreeTable{T: p.pos})
		}
		l.emit(&ir.FreeTable{T: p.crd})
		l.emit(&ir.Free{A: p.before})
	}
	l.emit(&ir.FreeTable{T: g.vals})
}

// take moves a chunk's array out of a table.
func (g *gather) take(t *ir.Table, c ir.Expr) *ir.Array {
	arr := g.a.l.newArray("piece", t.Elem)
	g.a.l.emit(&ir.Take{A: arr, T: t, Index: c})
	return arr
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
	count := func(level int) ir.Expr { return ir.At(g.part(level).before, ir.Int(1)) }
	for _, p := range g.parts {
		pos := g.pos
		if p.pos != nil {
			pos = g.take(p.pos, ir.Int(0))
		} else if p.level == 0 {
			l.store(pos, ir.Int(1), count(0))
		}
		a.publish(p.level, ir.Pos, pos, ir.Plus(g.parents(p.level, count), ir.Int(1)))
		a.publish(p.level, ir.Crd, g.take(p.crd, ir.Int(0)), count(p.level))
	}
	a.publish(0, ir.Vals, g.take(g.vals, ir.Int(0)), ir.Times(count(a.deep), a.block(a.deep+1)))
}

// publishMany copies. It needs the counts as sums over the chunks before.
func (g *gather) publishMany() {
	a, l := g.a, g.a.l
	k := l.newVar("chunk")
	l.emit(&ir.For{V: k, Lo: ir.Int(0), Hi: g.chunks, Step: 1, Body: l.within(func() {
		for _, p := range g.parts {
			l.emit(&ir.Store{A: p.before, Index: ir.Plus(k, ir.Int(1)), Accumulate: true, X: ir.At(p.before, k)})
		}
	})})
	count := func(level int) ir.Expr { return ir.At(g.part(level).before, g.chunks) }
	pos, crd := make([]*ir.Array, len(g.parts)), make([]*ir.Array, len(g.parts))
	for i, p := range g.parts {
		pos[i] = g.pos
		if p.pos != nil {
			pos[i] = a.newPos(p.level)
			l.emit(&ir.Alloc{A: pos[i], Len: ir.Plus(g.parents(p.level, count), ir.Int(1))})
			l.store(pos[i], ir.Int(0), ir.Int(0))
		} else if p.level == 0 {
			l.store(pos[i], ir.Int(1), count(0))
		}
		crd[i] = l.newArray(a.op.prefix()+"_crd", p.crd.Elem)
		l.emit(&ir.Alloc{A: crd[i], Len: count(p.level)})
	}
	vals := l.newArray(a.op.prefix()+"_vals", a.op.Type)
	block := a.block(a.deep + 1)
	l.emit(&ir.Alloc{A: vals, Len: ir.Times(count(a.deep), block)})

	c := l.newVar("chunk")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: g.chunks, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: l.within(func() {
		next := ir.Plus(c, ir.Int(1))
		for i, p := range g.parts {
			from := l.named("from", ir.At(p.before, c))
			n := l.named("n", ir.Minus(ir.At(p.before, next), from))
			if p.pos == nil {
				if p.level > 0 {
					g.shift(pos[i], ir.At(g.base, c), ir.At(g.base, next), from)
				}
			} else {
				above := g.part(g.above(p.level))
				size := a.between(above.level+1, p.level)
				lo := l.named("lo", ir.Times(ir.At(above.before, c), size))
				hi := l.named("hi", ir.Times(ir.At(above.before, next), size))
				g.copyPos(pos[i], p, c, lo, hi, from)
			}
			piece := g.take(p.crd, c)
			l.emit(&ir.Copy{Dst: crd[i], DstLo: from, Src: piece, SrcLo: ir.Int(0), N: n})
			l.emit(&ir.Free{A: piece})
			if p.level == a.deep {
				v := g.take(g.vals, c)
				l.emit(&ir.Copy{Dst: vals, DstLo: ir.Times(from, block), Src: v, SrcLo: ir.Int(0), N: ir.Times(n, block)})
				l.emit(&ir.Free{A: v})
			}
		}
	})})
	for i, p := range g.parts {
		a.publish(p.level, ir.Pos, pos[i], ir.Plus(g.parents(p.level, count), ir.Int(1)))
		a.publish(p.level, ir.Crd, crd[i], count(p.level))
	}
	a.publish(0, ir.Vals, vals, ir.Times(count(a.deep), block))
}

// shift adds from to the places (lo, hi] of a pos array.
func (g *gather) shift(pos *ir.Array, lo, hi, from ir.Expr) {
	l := g.a.l
	q := l.newVar("q")
	l.emit(&ir.For{V: q, Lo: ir.Plus(lo, ir.Int(1)), Hi: ir.Plus(hi, ir.Int(1)), Step: 1, Body: l.within(func() {
		l.store(pos, q, ir.Plus(ir.Coord(pos, q), from))
	})})
}

// copyPos copies a chunk's pos array to the places (lo, hi].
func (g *gather) copyPos(pos *ir.Array, p part, c, lo, hi, from ir.Expr) {
	l := g.a.l
	piece := g.take(p.pos, c)
	q := l.newVar("q")
	l.emit(&ir.For{V: q, Lo: ir.Int(1), Hi: ir.Plus(ir.Minus(hi, lo), ir.Int(1)), Step: 1, Body: l.within(func() {
		l.store(pos, ir.Plus(lo, q), ir.Plus(ir.Coord(piece, q), from))
	})})
	l.emit(&ir.Free{A: piece})
}
