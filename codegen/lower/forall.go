package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// forall lowers a loop. See stmt for want and the returned value.
func (l *lowerer) forall(f *cin.Forall, e *env, want bool) ir.Expr {
	if fn := l.hooks[f]; fn != nil {
		return fn(e, want)
	}
	if w, a := l.fillsRow(f); w != nil {
		return w.inRow(l, f, a, e, want)
	}
	switch o := l.orders(f); {
	case o.Gemm > 0:
		return l.gemm(f, e, o.Gemm, want)
	case o.Extern != nil && o.Extern.File == "":
		return l.spmm(f, e, o.Extern, want)
	case o.Extern != nil:
		return l.extern(f, e, o.Extern, want)
	}
	return l.loop(f, e, want)
}

// loop lowers a loop that is run by generated code, not by a library or a user's function. See stmt
// for want and the returned value.
func (l *lowerer) loop(f *cin.Forall, e *env, want bool) ir.Expr {
	o := l.orders(f)
	switch {
	case o.OverPositions && f.Unit == cin.CPUThread:
		return l.newPositionLoop(f, e).parallel(e)
	case o.OverPositions:
		return l.newPositionLoop(f, e).serial(e, want)
	}
	if s := l.promoteToScalar(f, e); s != nil {
		return l.stmt(s, e, want)
	}
	c := l.sched.comps[f.Var]
	switch {
	case c == nil || l.sched.g.ReplacedBy(f.Var) != nil:
		return l.originalLoop(f, e, o, want)
	case c.natural:
		return l.boundsLoop(f, e, c, want)
	}
	return l.guardedLoop(f, e, c, want)
}

// orders returns the strategy of a loop.
func (l *lowerer) orders(f *cin.Forall) strategy.Loop {
	if c, ok := l.cuts[f]; ok {
		return strategy.Loop{Cut: c}
	}
	return l.spec.Strategy.Of(l.source(f))
}

// source returns the loop of the strategy that f is a copy of, or f itself.
func (l *lowerer) source(f *cin.Forall) *cin.Forall {
	if g := l.copies[f]; g != nil {
		return g
	}
	return f
}

// serialCopy returns a copy of f that runs in order and has the same strategy.
func (l *lowerer) serialCopy(f *cin.Forall) *cin.Forall {
	g := &cin.Forall{Var: f.Var, Body: f.Body}
	l.copies[g] = l.source(f)
	return g
}

// onThreads lowers a loop that runs on threads, according to its strategy.
func (l *lowerer) onThreads(f *cin.Forall, e *env, o strategy.Loop, want bool) ir.Expr {
	switch o.Cut.How {
	case strategy.Blocks, strategy.Ordered:
		if !l.assigns(f) {
			return l.parallelSpace(f, e, want)
		}
		return l.parallel(f, e, o)
	case strategy.Reduction:
		return l.parallelScalar(f, e, o.Cut.N, want)
	case strategy.Partial:
		l.parallelDense(f, e, o.Cut.N)
		return ir.Truth(true)
	case strategy.Rows:
		l.ownRows(f, e, o.Cut.Own)
		return ir.Truth(true)
	}
	return l.stmt(l.serialCopy(f), e, want)
}

// serial lowers a loop that runs in order.
func (l *lowerer) serial(f *cin.Forall, e *env, want bool) ir.Expr {
	if level, ok := l.loopsOverResult(f, e); ok {
		return l.assembly.loop(f, e, level, want)
	}
	body := func(in *env) ir.Expr { return l.stmt(f.Body, in, want) }
	if a := l.rowsOf(f); a != nil {
		body = func(in *env) ir.Expr {
			return a.row(in.coord[f.Var], func() ir.Expr { return l.stmt(f.Body, in, want) })
		}
	}
	return l.loops(&loop{f: f, e: e, want: want, body: body})
}

// loop is a forall while it is lowered.
type loop struct {
	f    *cin.Forall
	e    *env
	want bool
	body func(in *env) ir.Expr // lowers the body in the environment of an iteration
	// reserve, if it is not nil, is called before the iterations with their largest possible
	// number.
	reserve func(n ir.Expr)
	// merge, if it is not nil, lowers loops over several iterators in another way. It returns false
	// if it cannot.
	merge func(p *loop) bool

	lat   *lattice.Lattice
	iters []*iter
	some  *ir.Var // set if an iteration assigned, when want is true
	count *ir.Var // the number of iterations that assigned, if they are counted instead
}

// v returns the loop's variable.
func (p *loop) v() string { return p.f.Var }

// place returns a function that says how far the loops have followed an access in e.
func (l *lowerer) place(e *env) func(a *cin.Access) lattice.Place {
	return func(a *cin.Access) lattice.Place {
		if t, ok := e.temps[a.Name]; ok {
			return lattice.Place{Absent: never(t.pres)}
		}
		if r, ok := e.rows[a.Name]; ok {
			return lattice.Place{Absent: never(r.pres)}
		}
		c := e.cur[a.Key()]
		switch {
		case c == nil:
			panic("BUG: lower: access " + a.Key() + " is not in scope")
		case never(c.pres):
			return lattice.Place{Absent: true}
		case c.next() == "":
			return lattice.Place{}
		}
		return lattice.Place{Next: c.next(), Walked: !c.op.caps(c.level).CanLocate()}
	}
}

// loops emits the loops over the coordinates of a variable.
func (l *lowerer) loops(p *loop) ir.Expr {
	p.lat = lattice.Loop(p.v(), p.f.Body, l.place(p.e))
	defer l.used.enter(p.v(), p.lat)()
	if l.assigns(p.f) && !(l.atResult(p) && p.lat.Universe()) {
		l.zero(p.e)
	}
	if len(p.lat.Points) == 0 {
		return ir.Truth(false)
	}
	for k, key := range p.lat.Iters {
		p.iters = append(p.iters, l.newIter(p, k, p.e.cur[key]))
	}
	all := p.lat.All()
	if all.Len() > 1 || all.Len() == 1 && p.lat.Universe() {
		l.refuseParallelMerge(p)
	}
	if p.reserve != nil {
		p.reserve(l.atMost(p))
	}
	oneBody := p.lat.Coarse || all.Len() > 1 && l.spec.Strategy.OneBody[p.v()]
	if p.lat.Universe() {
		if all.Len() == 0 {
			return l.countLoop(p)
		}
		return l.universeLoop(p, oneBody)
	}
	if len(p.lat.Points) == 1 && all.Len() == 1 && !p.lat.Coarse {
		return l.singleLoop(p)
	}
	if l.isGallopLoop(p) {
		return l.gallopLoop(p)
	}
	if oneBody {
		return l.flaggedLoop(p)
	}
	return l.mergeLoops(p)
}

// atResult reports whether a loop is over the variable of the result's next level.
func (l *lowerer) atResult(p *loop) bool {
	k := p.e.res.level
	return k < len(l.resultVars) && l.resultVars[k] == p.v()
}

// atMost returns the largest possible number of iterations of the loops.
func (l *lowerer) atMost(p *loop) ir.Expr {
	if p.lat.Universe() {
		s := l.rangeOf(p.e, p.v())
		return ir.Minus(s.hi, s.lo)
	}
	length := func(it *iter) ir.Expr { return ir.Minus(it.hi, it.lo) }
	var n ir.Expr
	for _, it := range p.subset(p.lat.All()) {
		switch {
		case n == nil:
			n = length(it)
		case len(p.lat.Points) == 1 && !p.lat.Coarse:
			n = ir.Least(n, length(it))
		default:
			n = ir.Plus(n, length(it))
		}
	}
	return n
}

// countLoop emits a loop over the whole range of the variable.
func (l *lowerer) countLoop(p *loop) ir.Expr {
	b := l.rangeOf(p.e, p.v())
	if b.width > 0 {
		return l.laneLoop(p, b)
	}
	done := l.countAssigned(p)
	i := l.newVar(p.v())
	var some ir.Expr
	l.inFlag(p, func() {
		body := l.bodyOf(p.f, func() {
			l.prefetchWalked(p, i, b.hi)
			some = l.iteration(p, i, nil, nil)
			l.noteAssigned(p, some)
		})
		if p.count != nil && always(some) {
			dropAssigns(body, p.count)
		}
		l.emit(l.setKind(p.f, &ir.For{V: i, Lo: b.lo, Hi: b.hi, Step: 1, Body: body}))
	}, func() bool { return always(some) || never(some) })
	switch {
	case always(some):
		return ir.Less(b.lo, b.hi)
	case done != nil:
		return done()
	}
	return p.result(some)
}

// laneLoop emits a loop over the places of a tile.
func (l *lowerer) laneLoop(p *loop, b coordRange) ir.Expr {
	k := l.newVar(p.v() + "_lane")
	var some ir.Expr
	l.inFlag(p, func() {
		body := l.within(func() {
			i := l.declare(p.v(), ir.Plus(b.lo, k))
			inner := *p
			inner.e = p.e.clone()
			inner.e.lanes[p.v()] = k
			some = l.iteration(&inner, i, nil, nil)
			l.noteAssigned(p, some)
		})
		l.emit(l.setKind(p.f, &ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(b.width), Step: 1, Body: body}))
	}, func() bool { return always(some) || never(some) })
	if always(some) || never(some) {
		return some
	}
	return p.result(some)
}

// inFlag calls emit with a flag declared before the code that it emits. If needless returns true
// afterwards, inFlag removes the flag.
func (l *lowerer) inFlag(p *loop, emit func(), needless func() bool) {
	if !p.want {
		emit()
		return
	}
	p.some = ir.NewVar(l.fresh("some_"+p.v()), tensor.Bool)
	blk := l.within(emit)
	if needless() {
		dropAssigns(blk, p.some)
		l.blk.List = append(l.blk.List, blk.List...)
		p.some = nil
		return
	}
	l.emit(&ir.Declare{V: p.some, Init: ir.Truth(false)})
	l.blk.List = append(l.blk.List, blk.List...)
}

// dropAssigns removes the assignments to v from b, in place.
func dropAssigns(b *ir.Block, v *ir.Var) {
	filter(b, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		return !ok || a.V != v
	})
}

// noteAssigned records in the loop's flag that an iteration assigned.
func (l *lowerer) noteAssigned(p *loop, some ir.Expr) {
	switch {
	case p.count != nil:
		l.when(some, func() { l.incr(p.count, ir.Int(1)) })
	case p.some == nil || never(some):
	case always(some):
		l.set(p.some, ir.Truth(true))
	default:
		l.set(p.some, ir.Either(p.some, some))
	}
}

// result returns the condition that the loop returns.
func (p *loop) result(some ir.Expr) ir.Expr {
	switch {
	case never(some):
		return some
	case p.some != nil:
		return p.some
	}
	// The condition is not wanted, so any value except false is correct.
	return ir.Truth(true)
}

// iteration lowers the body at coordinate c. present has the iterators that may be there, and flags
// has their presences. If flags is nil, all of them are there. All other iterators are absent.
func (l *lowerer) iteration(p *loop, c ir.Expr, present []*iter, flags []ir.Expr) ir.Expr {
	cursors := map[string]*cursor{}
	for _, it := range p.iters {
		cursors[it.key] = it.cur.absent()
	}
	for k, it := range present {
		pres := ir.Expr(ir.Truth(true))
		if flags != nil {
			pres = flags[k]
		}
		cursors[it.key] = it.enter(pres)
	}
	in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
	l.bindResult(p, in)
	l.copyRows(p, in)
	return p.body(in)
}

// subset returns the iterators of a set.
func (p *loop) subset(s lattice.Set) []*iter {
	var out []*iter
	for k, it := range p.iters {
		if s.Has(k) {
			out = append(out, it)
		}
	}
	return out
}
