package lower

import (
	"math"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// A leaf that computes alone (Spec.Values) is given a result with level arrays,
// which an earlier run of the whole leaf made, and writes values. It visits the
// coordinates that it would append, in the same order; the places where they
// stand count up, from those where the range at hand begins, and each must hold
// the coordinate that comes: nothing is stored anywhere else, and a pattern that
// is not the operands' is a failure. Two shapes know more, and let the result's
// row lead: sums of the entries of several rows, and rows that were summed in a
// workspace, which then needs no list of coordinates and nothing is sorted.

// given tells whether the result has its level arrays already.
func (a *assembly) given() bool { return a.sparse && a.l.spec.Values && !a.shared() }

// expect fails where the result's pattern turns out to be another.
func (l *lowerer) expect(cond ir.Expr, e *env) {
	l.when(ir.Inverse(cond), func() { l.emit(&ir.Fail{Code: ir.FailPattern, Coord: l.coords(e)}) })
}

// inKnown lowers what writes the part of the result that has the coordinates of
// s in level 0, run, and checks that it came to all of that part.
func (a *assembly) inKnown(s span, e *env, run func()) {
	l, op := a.l, a.op
	b := &buffers{fixed: true, levels: make([]resultLevel, op.order()), vals: op.vals()}
	above := -1 // the last compressed level before k
	for k := range b.levels {
		if !op.caps(k).HasPos {
			continue
		}
		lev := &b.levels[k]
		lev.pos, lev.crd = op.pos(k), op.crd(k)
		lev.pos.Const, lev.crd.Const = true, true
		var from, to ir.Expr
		switch {
		case k == 0:
			from, to = ir.Coord(lev.pos, ir.Int(0)), ir.Coord(lev.pos, ir.Int(1))
			if s.clip {
				lo, hi := l.named(op.prefix()+"_lo", from), l.named(op.prefix()+"_hi", to)
				from = &ir.Search{A: lev.crd, Lo: lo, Hi: hi, Key: s.lo}
				to = &ir.Search{A: lev.crd, Lo: lo, Hi: hi, Key: s.hi}
			}
		case above < 0:
			at := func(c ir.Expr) ir.Expr {
				return ir.Coord(lev.pos, ir.Times(ir.Minus(c, op.offset(0)), a.between(1, k)))
			}
			from, to = at(s.lo), at(s.hi)
		default:
			n := a.between(above+1, k)
			from = ir.Coord(lev.pos, ir.Times(b.levels[above].count, n))
			to = ir.Coord(lev.pos, ir.Times(b.levels[above].limit, n))
		}
		name := op.prefix() + "_n" + string(rune('0'+k))
		lev.count = l.declare(name, from)
		lev.limit = l.named(name+"_end", to)
		above = k
	}
	a.buf = b
	run()
	for k := range b.levels {
		if lev := &b.levels[k]; lev.count != nil {
			l.expect(ir.Equal(lev.count, lev.limit), e)
		}
	}
}

// parallelKnown lowers a parallel loop over level 0's variable of such a result.
func (l *lowerer) parallelKnown(f *cin.Forall, e *env, chunks ir.Expr) {
	w := l.work(f, e, chunks)
	c := l.newVar("chunk")
	body := l.inScope(func() {
		in := e.clone()
		s := w.chunk(f.Var, c)
		in.ranges[f.Var] = s
		l.out.inKnown(s, in, func() { l.serial(f, in, false) })
	})
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1, Body: body})
}

// knownLoop lowers a loop over compressed level k of such a result.
func (l *lowerer) knownLoop(f *cin.Forall, e *env, k int, want bool) ir.Expr {
	lev := &l.out.buf.levels[k]
	l.startRow(e, k)
	from := ir.Expr(lev.count)
	if want {
		from = l.declare(lev.count.Name+"_from", lev.count)
	}
	some := l.loops(&loop{f: f, e: e,
		body:  func(in *env) ir.Expr { return l.knownOne(f, in, k) },
		merge: func(p *loop) bool { return l.knownMerge(p, k) }})
	if never(some) || !want {
		return some
	}
	return l.named("some_"+f.Var, ir.Unequal(lev.count, from))
}

// startRow checks that the children of the position at hand in level k begin
// where the ones before have ended: there are none between, nor too few.
func (l *lowerer) startRow(e *env, k int) {
	if k == 0 {
		return
	}
	lev := &l.out.buf.levels[k]
	l.expect(ir.Equal(ir.Coord(lev.pos, l.parent(e, k)), lev.count), e)
}

// parent is the position at hand above level k. Where that is one that only may
// become one of the result's, it is no further than the end of those.
func (l *lowerer) parent(e *env, k int) ir.Expr {
	a := l.out
	for above := k - 1; above >= 0; above-- {
		if a.op.caps(above).HasPos {
			return ir.Least(e.res.pos, ir.Times(a.buf.levels[above].limit, a.between(above+1, k)))
		}
	}
	return e.res.pos
}

// endRow is the end of the row at hand of level k, which begins at its count: the
// position at hand has none where the result does not hold its coordinates.
func (l *lowerer) endRow(e *env, k int) ir.Expr {
	lev := &l.out.buf.levels[k]
	name := lev.count.Name + "_row"
	if e.res.here == nil {
		return l.named(name, ir.Coord(lev.pos, ir.Plus(e.res.pos, ir.Int(1))))
	}
	end := l.declare(name, lev.count)
	l.when(e.res.here, func() { l.set(end, ir.Coord(lev.pos, ir.Plus(e.res.pos, ir.Int(1)))) })
	return end
}

// comes tells whether the next coordinate of level k is the one at hand.
func (l *lowerer) comes(k int, e *env) ir.Expr {
	lev := &l.out.buf.levels[k]
	return ir.Both(ir.Less(lev.count, lev.limit), ir.Equal(ir.Coord(lev.crd, lev.count), e.coord[l.resultVars[k]]))
}

// knownOne lowers the body for one coordinate of level k.
func (l *lowerer) knownOne(f *cin.Forall, in *env, k int) ir.Expr {
	a := l.out
	lev := &a.buf.levels[k]
	here := l.comes(k, in)
	above := in.res.here
	open := func(in *env) {
		in.res = resultCursor{level: k + 1, pos: lev.count, here: here}
		if above != nil {
			in.res.here = ir.Both(above, here)
		}
		l.enterResult(in)
	}
	some := ir.Expr(ir.Truth(false))
	took := func() {
		if k+1 < a.op.order() { // else that was checked as the value was stored
			l.expect(here, in)
		}
		l.incr(lev.count, ir.Int(1))
	}
	body := func(in *env, took func()) *ir.Block {
		return l.within(func() {
			open(in)
			some = l.stmt(f.Body, in, true)
			l.when(some, took)
		})
	}
	if k != a.deep || k+1 == a.op.order() {
		b := body(in, took)
		l.blk.List = append(l.blk.List, b.List...)
		return some
	}
	// Blocks of dense levels are written whether or not anything comes of it:
	// behind the last of the range at hand, it is only found out whether.
	again := in.clone()
	b := body(in, took)
	if always(some) {
		l.expect(here, in)
		l.blk.List = append(l.blk.List, b.List...)
		return some
	}
	s := &ir.If{Cond: ir.Less(lev.count, lev.limit), Then: b}
	nowhere := l.newArray("vals", a.op.Type)
	vals := a.dense
	a.dense = nowhere
	rest := body(again, func() { l.expect(ir.Truth(false), again) })
	a.dense = vals
	strip(rest, map[*ir.Array]bool{nowhere: true})
	if len(rest.List) > 0 {
		s.Else = rest
	}
	l.emit(s)
	return some
}

// storeKnown stores a value at its place in such a result's last level.
func (l *lowerer) storeKnown(x value, e *env) {
	a := l.out
	l.when(x.pres, func() {
		l.expect(l.comes(a.deep, e), e)
		l.store(a.vals(), e.res.pos, ir.Convert(a.vals().Elem, x.v))
	})
}

// knownMerge lowers the loop over the result's last level where its coordinates are
// those of several rows together, whose entries are summed (see pickable), and
// returns false where they are not: for each coordinate of the result, the rows
// that have it move on. In the end all rows must have come to theirs. Rows some
// of which are empty are merged as ever.
func (l *lowerer) knownMerge(p *loop, k int) bool {
	a := l.out
	its := p.subset(p.lat.All())
	if k != a.op.order()-1 || len(p.lat.Points) == 0 || p.lat.Points[0].Iters != p.lat.All() || !l.pickable(p, its, p.lat.Under(p.lat.Points[0])) {
		return false
	}
	var full []ir.Expr
	for _, it := range its {
		full = append(full, ir.Less(it.lo, it.hi))
	}
	merged := *p
	merged.merge = nil
	s := &ir.If{Cond: ir.Both(full...), Then: l.within(func() { l.alongRow(p, its, k) })}
	s.Else = l.within(func() { l.mergeLoops(&merged) })
	l.emit(s)
	return true
}

func (l *lowerer) alongRow(p *loop, its []*iter, k int) {
	a := l.out
	lev := &a.buf.levels[k]
	end := l.endRow(p.e, k)
	for _, it := range its {
		l.start(it)
	}
	o := l.newVar(a.op.prefix() + "_p")
	l.emit(&ir.For{V: o, Lo: lev.count, Hi: end, Step: 1, Body: l.within(func() {
		c := l.declare(p.v(), ir.Coord(lev.crd, o))
		cursors, picks := map[string]*cursor{}, map[string]ir.Expr{}
		var any []ir.Expr
		for _, it := range its {
			// A row that has ended is read at its start, to no effect: no branch
			// hangs on where that is.
			live := l.named(it.name()+"_live", it.live())
			at := *it
			at.p = l.declare(it.name()+"_q", ir.Choose(live, it.p, it.lo))
			here := l.named(it.name()+"_at", ir.Both(live, ir.Equal(l.declare(p.v()+"_"+it.name(), it.at(at.p)), c)))
			cursors[it.key], picks[it.key] = at.enter(ir.Truth(true)), here
			any = append(any, here)
		}
		in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
		in.picks = picks
		l.expect(ir.Either(any...), in)
		x := l.pickedSum(p.f.Body.(*cin.Assign).RHS, in, false)
		l.store(a.vals(), o, ir.Convert(a.vals().Elem, x))
		for _, it := range its {
			l.incr(it.p, ir.Choose(picks[it.key], ir.Int(1), ir.Int(0)))
		}
	})})
	var done []ir.Expr
	for _, it := range its {
		done = append(done, ir.Equal(it.p, it.hi))
	}
	l.expect(ir.Both(done...), p.e)
	l.set(lev.count, end)
}

// knownSpace is a workspace over the last level of such a result: the places of
// the row at hand are marked and hold the number that changes no sum, what is
// added anywhere else is a failure, and the sums are gathered along the row.
type knownSpace struct{ listSpace }

// whereKnown lowers a where whose temporary is a row of such a result, and
// returns false where it is not.
func (l *lowerer) whereKnown(s *cin.Where, t *cin.Access, e *env) (some ir.Expr, ok bool) {
	a := l.out
	f, loop := s.Consumer.(*cin.Forall)
	if !a.given() || !loop || len(t.Vars) != 1 || e.res.level != a.deep || a.deep != a.op.order()-1 || f.Var != l.resultVars[a.deep] || !l.fitsDense(f.Var) {
		return nil, false
	}
	copies, plain := f.Body.(*cin.Assign)
	if !plain || !l.assigns(f) {
		return nil, false
	}
	if x, is := copies.RHS.(*cin.Access); !is || x.Key() != t.Key() || t.Vars[0] != f.Var {
		return nil, false
	}
	lev := &a.buf.levels[a.deep]
	l.startRow(e, a.deep)
	end := l.endRow(e, a.deep)
	w, made := l.made[t.Name].(*knownSpace)
	if !made {
		w = l.newKnownSpace(t)
		l.made[t.Name] = w
	}
	along := func(body func(o *ir.Var, at ir.Expr)) {
		o := l.newVar(a.op.prefix() + "_p")
		l.emit(&ir.For{V: o, Lo: lev.count, Hi: end, Step: 1, Body: l.within(func() {
			body(o, l.named(w.name+"_at", ir.Minus(ir.Coord(lev.crd, o), w.lo)))
		})})
	}
	along(func(_ *ir.Var, at ir.Expr) {
		l.store(w.mark, at, ir.Truth(true))
		l.store(w.vals, at, neutral(l.spec.Compute))
	})
	outer := l.spaces[t.Name]
	l.spaces[t.Name] = w
	l.stmt(s.Producer, e, false)
	l.spaces[t.Name] = outer
	along(func(o *ir.Var, at ir.Expr) {
		l.store(a.vals(), o, ir.Convert(a.vals().Elem, ir.At(w.vals, at)))
		l.store(w.mark, at, ir.Truth(false))
	})
	some = l.named("some_"+f.Var, ir.Less(lev.count, end))
	l.set(lev.count, end)
	return some, true
}

func (l *lowerer) newKnownSpace(t *cin.Access) *knownSpace {
	b := l.bounds[t.Vars[0]]
	w := &knownSpace{listSpace{name: t.Name, lo: b[0], vals: l.newArray(t.Name+"_vals", l.spec.Compute), mark: l.newArray(t.Name+"_mark", ir.Bool)}}
	for _, arr := range []*ir.Array{w.vals, w.mark} {
		l.pre.Append(&ir.Alloc{A: arr, Len: ir.Minus(b[1], b[0]), Zero: arr == w.mark})
		l.post.Append(&ir.Free{A: arr})
	}
	return w
}

func (w *knownSpace) add(l *lowerer, a *cin.Access, x ir.Expr, e *env) {
	at := l.named(w.name+"_at", ir.Minus(e.coord[a.Vars[0]], w.lo))
	l.expect(ir.At(w.mark, at), e)
	l.emit(&ir.Store{A: w.vals, Index: at, Accumulate: true, X: x})
}

// neutral is the number that changes no sum, not even that of a -0.
func neutral(t ir.Type) ir.Expr {
	if t.IsInt() {
		return ir.Zero(t)
	}
	zero := math.Copysign(0, -1)
	if t.IsFloat() {
		return &ir.Lit{Typ: t, C: complex(zero, 0)}
	}
	return &ir.Lit{Typ: t, C: complex(zero, zero)}
}
