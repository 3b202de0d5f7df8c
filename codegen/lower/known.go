package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// A leaf that computes alone (strategy.FixedPattern) is given a result with level arrays and
// writes its values. It visits the coordinates that it would append, in the same
// order, and finds the position of each by moving along the row of the result that
// it belongs to: a coordinate that is not there is a failure, and nothing is
// stored anywhere else. Positions are visited in ascending order, so that one
// count tells which values are written; those that it passes are set to 0.
//
// Two shapes let the result lead: sums of the entries of several rows (alongRow),
// and sums that the whole leaf collects in a workspace, which are added up in the
// result itself (knownSpace): there is no list of coordinates, and nothing is sorted.

// known is such a result while the whole of it, or one chunk, is computed.
type known struct {
	done *ir.Var // the first position of the last compressed level with values that are not written yet
	// lo and hi are the range of positions of level 0, a compressed one.
	lo, hi ir.Expr
}

// given tells whether the result has its level arrays already.
func (a *assembly) given() bool { return a.l.spec.Assembly == strategy.FixedPattern }

// expect fails where the result does not hold the coordinates at hand.
func (l *lowerer) expect(cond ir.Expr, e *env) {
	l.when(ir.Inverse(cond), func() { l.emit(&ir.Fail{Code: ir.FailPattern, Coord: l.coords(e)}) })
}

// arrays are the positions and coordinates of compressed level k.
func (a *assembly) arrays(k int) (pos, crd *ir.Array) {
	pos, crd = a.op.pos(k), a.op.crd(k)
	pos.Const, crd.Const = true, true
	return pos, crd
}

// inKnown lowers what writes the values below the positions lo up to hi of level 0,
// run; of a stretch s, if not nil, those of its parts of rows.
func (a *assembly) inKnown(lo, hi ir.Expr, s *stretch, run func()) {
	l, op := a.l, a.op
	kn := &known{lo: l.named(op.prefix()+"_lo", lo), hi: l.named(op.prefix()+"_hi", hi)}
	kn.done = l.declare(op.prefix()+"_done", l.deepest(1, kn.lo))
	end := l.declare(op.prefix()+"_end", l.deepest(1, kn.hi))
	if s != nil && s.v != "" {
		l.when(s.begins, func() { l.set(kn.done, a.inRow(s.first, s.from)) })
		l.when(s.ends, func() { l.set(end, a.inRow(s.last, s.to)) })
	}
	a.known = kn
	run()
	a.skip(end)
}

// inRow is where the values of row r from coordinate c on begin.
func (a *assembly) inRow(r, c ir.Expr) ir.Expr {
	pos, crd := a.arrays(1)
	p := ir.Minus(r, a.op.offset(0))
	return a.l.deepest(2, &ir.Search{A: crd, Lo: ir.Coord(pos, p), Hi: ir.Coord(pos, ir.Plus(p, ir.Int(1))), Key: c})
}

// wholeKnown is inKnown for all of the result.
func (a *assembly) wholeKnown(run func()) {
	if a.op.caps(0).Locate {
		a.inKnown(ir.Int(0), a.op.size(0), nil, run)
		return
	}
	pos, _ := a.arrays(0)
	a.inKnown(ir.Coord(pos, ir.Int(0)), ir.Coord(pos, ir.Int(1)), nil, run)
}

// parallelKnown lowers a parallel loop over level 0's variable of such a result.
func (l *lowerer) parallelKnown(f *cin.Forall, e *env, chunks ir.Expr) {
	a := l.out
	w := l.work(f, e, chunks)
	w.along = l.cutAlong(f, e, w)
	c := l.newVar("chunk")
	body := l.inScope(func() {
		s := w.stretch(f, c)
		lo, hi := a.chunk(span{lo: s.rows.lo, hi: s.closed}, c, chunks)
		a.inKnown(lo, hi, s, func() { s.lower(l, e.clone()) })
	})
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: body})
}

// chunk is the range of positions of level 0 of the coordinates of chunk c, s. The first
// and the last chunk have what is before and behind those of all.
func (a *assembly) chunk(s span, c *ir.Var, chunks ir.Expr) (lo, hi ir.Expr) {
	l := a.l
	if a.op.caps(0).Locate {
		return ir.Minus(s.lo, a.op.offset(0)), ir.Minus(s.hi, a.op.offset(0))
	}
	pos, crd := a.arrays(0)
	from := l.named(a.op.prefix()+"_from", ir.Coord(pos, ir.Int(0)))
	to := l.named(a.op.prefix()+"_to", ir.Coord(pos, ir.Int(1)))
	at := func(x ir.Expr) ir.Expr { return &ir.Search{A: crd, Lo: from, Hi: to, Key: x} }
	first, last := ir.Equal(c, ir.Int(0)), ir.AtLeast(ir.Plus(c, ir.Int(1)), chunks)
	return ir.Choose(first, from, at(s.lo)), ir.Choose(last, to, at(s.hi))
}

// under is where the children of position p, and of those behind it, begin in level k.
func (a *assembly) under(k int, p ir.Expr) ir.Expr {
	if a.op.caps(k).HasPos {
		pos, _ := a.arrays(k)
		return ir.Coord(pos, p)
	}
	return ir.Times(p, a.op.size(k))
}

// skip sets the values before position p to 0 that are not written yet.
func (a *assembly) skip(p ir.Expr) {
	l, done := a.l, a.known.done
	l.when(ir.Less(done, p), func() {
		a.clear(done, p)
		l.set(done, p)
	})
}

// clear sets the values of positions lo up to hi of the last compressed level to 0.
func (a *assembly) clear(lo, hi ir.Expr) {
	n := a.block(a.deep + 1)
	a.l.emit(&ir.Fill{A: a.vals(), Lo: ir.Times(lo, n), Hi: ir.Times(hi, n), X: ir.Zero(a.vals().Elem)})
}

// knownRow is the range of positions of compressed level k below the position at
// hand; it is empty where the result does not hold the coordinates of that.
func (l *lowerer) knownRow(e *env, k int) (lo, hi ir.Expr) {
	a := l.out
	name := a.op.prefix() + "_row"
	if k == 0 {
		return a.known.lo, a.known.hi
	}
	pos, _ := a.arrays(k)
	from, to := ir.Coord(pos, e.res.pos), ir.Coord(pos, ir.Plus(e.res.pos, ir.Int(1)))
	if e.res.here == nil {
		from, to = l.named(name, from), l.named(name+"_end", to)
		if s := e.ranges[l.resultVars[k]]; s.open != nil {
			return l.clipped(s, name, a.op.crd(k), from, to)
		}
		return from, to
	}
	none := ir.Expr(ir.Int(0))
	if k == a.deep {
		none = a.known.done
	}
	vlo, vhi := l.declare(name, none), l.declare(name+"_end", none)
	l.when(e.res.here, func() {
		l.set(vlo, from)
		l.set(vhi, to)
	})
	return vlo, vhi
}

// knownLoop lowers a loop over compressed level k of such a result.
func (l *lowerer) knownLoop(f *cin.Forall, e *env, k int) ir.Expr {
	a := l.out
	lo, hi := l.knownRow(e, k)
	if k < a.deep {
		at := l.declare(a.op.prefix()+"_at", lo)
		return l.loops(&loop{f: f, e: e, body: func(in *env) ir.Expr { return l.knownAbove(f, in, k, at, hi) }})
	}
	a.skip(lo)
	p := &loop{f: f, e: e, body: func(in *env) ir.Expr { return l.knownBlock(f, in, hi) }}
	if a.deep == a.op.order()-1 && l.storesOnce(f.Body) {
		p.body = func(in *env) ir.Expr {
			in.res = resultCursor{level: k + 1, pos: a.known.done, row: hi}
			return l.stmt(f.Body, in, true)
		}
		p.merge = func(p *loop) bool { return l.knownMerge(p, hi) }
	}
	return l.loops(p)
}

// storesOnce tells whether s stores a value of the result by one assignment, which
// sets it.
func (l *lowerer) storesOnce(s cin.Stmt) bool {
	switch s := s.(type) {
	case *cin.Assign:
		return l.assigns(s) && !s.Accumulate
	case *cin.Where:
		return l.storesOnce(s.Consumer)
	}
	return false
}

// stands tells whether position p, of those before end, of level k holds coordinate c.
func (a *assembly) stands(k int, p, end, c ir.Expr) ir.Expr {
	_, crd := a.arrays(k)
	return ir.Both(ir.Less(p, end), ir.Equal(ir.Coord(crd, p), c))
}

// seek moves p, of level k, to the first position before end that holds c or more.
func (a *assembly) seek(k int, p *ir.Var, end, c ir.Expr) {
	l := a.l
	_, crd := a.arrays(k)
	l.while(ir.Both(ir.Less(p, end), ir.Less(ir.Coord(crd, p), c)), func() { l.incr(p, ir.Int(1)) })
}

// seekDone moves the count of written positions to that of coordinate c in the row
// that ends at end, or of the first behind it.
func (l *lowerer) seekDone(end, c ir.Expr, orElse func()) {
	a := l.out
	l.when(ir.Inverse(a.stands(a.deep, a.known.done, end, c)), func() {
		from := l.named(a.op.prefix()+"_from", a.known.done)
		a.seek(a.deep, a.known.done, end, c)
		a.clear(from, a.known.done)
		if orElse != nil {
			orElse()
		}
	})
}

// storeKnown stores a value at its place in the row at hand of the last level.
func (l *lowerer) storeKnown(x value, e *env) {
	a := l.out
	l.when(x.pres, func() {
		c := e.coord[l.resultVars[a.deep]]
		l.seekDone(e.res.row, c, func() { l.expect(a.stands(a.deep, a.known.done, e.res.row, c), e) })
		l.store(a.vals(), a.known.done, ir.Convert(a.vals().Elem, x.v))
		l.incr(a.known.done, ir.Int(1))
	})
}

// knownAbove lowers the body for one coordinate of a level above the last compressed
// one, whose row goes on at position at and ends at end.
func (l *lowerer) knownAbove(f *cin.Forall, in *env, k int, at *ir.Var, end ir.Expr) ir.Expr {
	a := l.out
	c := in.coord[f.Var]
	a.seek(k, at, end, c)
	here := l.named(a.op.prefix()+"_here", a.stands(k, at, end, c))
	in.res = resultCursor{level: k + 1, pos: at, here: here}
	l.enterResult(in)
	return l.stmt(f.Body, in, false)
}

// knownBlock lowers the body for one coordinate of the last compressed level, where
// a block of values is written below it. Where the result does not hold the
// coordinate, it is only found out whether anything would be.
func (l *lowerer) knownBlock(f *cin.Forall, in *env, end ir.Expr) ir.Expr {
	a := l.out
	c := in.coord[f.Var]
	l.seekDone(end, c, nil)
	here := a.stands(a.deep, a.known.done, end, c)
	again := in.clone()
	some := ir.Expr(ir.Truth(false))
	body := func(in *env) *ir.Block {
		return l.within(func() {
			in.res = resultCursor{level: a.deep + 1, pos: a.known.done}
			l.enterResult(in)
			some = l.stmt(f.Body, in, true)
		})
	}
	b := body(in)
	if never(some) {
		return some
	}
	next := &ir.Assign{V: a.known.done, Accumulate: true, X: ir.Int(1)}
	if always(some) {
		l.expect(here, in)
		l.blk.List = append(append(l.blk.List, b.List...), next)
		return some
	}
	nowhere := l.newArray("vals", a.op.Type)
	vals := a.dense
	a.dense = nowhere
	rest := l.within(func() {
		b := body(again)
		l.blk.List = append(l.blk.List, b.List...)
		l.when(some, func() { l.expect(ir.Truth(false), again) })
	})
	a.dense = vals
	strip(rest, map[*ir.Array]bool{nowhere: true})
	b.List = append(b.List, next)
	l.emit(&ir.If{Cond: here, Then: b, Else: rest})
	return some
}

// knownMerge lowers the loop over the result's last level where its coordinates are
// those of several rows together, whose entries are summed (see leads), and
// returns false where they are not. Rows some of which are empty are merged as ever.
func (l *lowerer) knownMerge(p *loop, end ir.Expr) bool {
	its := p.subset(p.lat.All())
	if len(p.lat.Points) == 0 || p.lat.Points[0].Iters != p.lat.All() || !l.leads(p, its) {
		return false
	}
	var full []ir.Expr
	for _, it := range its {
		full = append(full, ir.Less(it.lo, it.hi))
	}
	merged := *p
	merged.merge = nil
	s := &ir.If{Cond: ir.Both(full...), Then: l.within(func() { l.alongRow(p, its, end) })}
	s.Else = l.within(func() { l.mergeLoops(&merged) })
	l.emit(s)
	return true
}

// leads tells whether a loop's body is a sum that can be computed at each coordinate of
// the result, whatever is present (see pickable): one of integers divides by nothing.
func (l *lowerer) leads(p *loop, its []*iter) bool {
	t := l.spec.Compute
	if s, ok := p.f.Body.(*cin.Assign); !ok || !t.IsFloat() && (!t.IsInt() || divides(s.RHS)) {
		return false
	}
	return l.pickableTerms(p, its, p.lat.Under(p.lat.Points[0]), func(c *cursor) bool {
		k := c.level
		for ; k < c.op.order() && c.vars[k] == p.v() && c.op.caps(k).Locate; k++ {
		}
		return k == c.op.order()
	})
}

// divides tells whether an expression has a quotient.
func divides(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Binary:
		return x.Op == '/' || divides(x.X) || divides(x.Y)
	case *cin.Neg:
		return divides(x.X)
	}
	return false
}

// alongRow visits the coordinates of a row of the result that ends at end: the rows
// that hold them move on. One that has come to its last entry stays there, whose
// coordinate does not come again: no load and no branch hangs on where a row ends. In
// the end as many entries must have been found as the rows have.
func (l *lowerer) alongRow(p *loop, its []*iter, end ir.Expr) {
	a := l.out
	_, crd := a.arrays(a.deep)
	found, last := make([]*ir.Var, len(its)), make([]ir.Expr, len(its))
	for k, it := range its {
		l.start(it)
		found[k] = l.declare(it.name()+"_found", it.lo)
		last[k] = l.named(it.name()+"_last", ir.Minus(it.hi, ir.Int(1)))
	}
	none := ir.NewVar(l.fresh("none"), l.spec.Compute)
	if none.Typ.IsFloat() {
		l.emit(&ir.Declare{V: none, Init: &ir.Lit{Typ: none.Typ, C: complex(negativeZero, 0)}})
	}
	o := l.newVar(a.op.prefix() + "_p")
	l.emit(&ir.For{V: o, Lo: a.known.done, Hi: end, Step: 1, Body: l.within(func() {
		c := l.declare(p.v(), ir.Coord(crd, o))
		cursors, picks := map[string]*cursor{}, map[string]ir.Expr{}
		any := ir.Expr(ir.Truth(false))
		for _, it := range its {
			here := l.named(it.name()+"_at", ir.Equal(it.at(it.p), c))
			cursors[it.key], picks[it.key] = it.enter(ir.Truth(true)), here
			any = ir.Either(any, here)
		}
		in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
		in.picks = picks
		x := l.pickedSum(p.f.Body.(*cin.Assign).RHS, in, false)
		if none.Typ.IsFloat() { // without terms the sum may be -0
			x = ir.Plus(x, ir.Choose(any, none, ir.Zero(none.Typ)))
		}
		l.store(a.vals(), o, ir.Convert(a.vals().Elem, x))
		for k, it := range its {
			l.incr(it.p, ir.Choose(ir.Both(picks[it.key], ir.Less(it.p, last[k])), ir.Int(1), ir.Int(0)))
			l.incr(found[k], ir.Choose(picks[it.key], ir.Int(1), ir.Int(0)))
		}
	})})
	for k, it := range its {
		l.when(ir.Less(found[k], it.hi), func() {
			in := p.e.clone()
			in.coord[p.v()] = l.declare(p.v(), it.at(found[k]))
			l.expect(ir.Truth(false), in)
		})
	}
	l.when(ir.Less(a.known.done, end), func() { l.set(a.known.done, end) })
}
