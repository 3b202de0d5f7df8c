package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// forall lowers a loop. See stmt for want and the returned value.
func (l *lowerer) forall(f *cin.Forall, e *env, want bool) ir.Expr {
	if fn := l.hooks[f]; fn != nil {
		return fn(e, want)
	}
	if w, a := l.fillsRow(f, e); w != nil {
		return l.fillRow(w, f, a, e, want)
	}
	switch o := l.loopStrategy(f); {
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
	o := l.loopStrategy(f)
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

// loopStrategy returns the strategy of a loop.
func (l *lowerer) loopStrategy(f *cin.Forall) strategy.Loop {
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
			return a.row(in.coord.at(f.Var), func() ir.Expr { return l.stmt(f.Body, in, want) })
		}
	}
	return (&loop{l: l, f: f, e: e, want: want, body: body}).loops()
}

// loop is a forall while it is lowered.
type loop struct {
	l    *lowerer
	f    *cin.Forall
	e    *env
	want bool
	body func(in *env) ir.Expr // lowers the body in the environment of an iteration
	// reserve, if it is not nil, is called before the loops. n is the largest possible number of
	// iterations.
	reserve func(n ir.Expr)
	// merge, if it is not nil, lowers the loop in place of mergeLoops if there are several
	// iterators. It returns false if it cannot.
	merge func(p *loop) bool

	lat   *lattice.Lattice
	iters []*iter
	some  *ir.Var // set if an iteration assigned, when want is true
	count *ir.Var // the number of iterations that assigned, if they are counted instead
}

// v returns the loop's variable.
func (p *loop) v() string { return p.f.Var }

// place returns a function for package lattice. It returns, for an access, the variable of the
// level that is entered next in e, if there is one, and whether the access is absent.
func (l *lowerer) place(e *env) func(a *cin.Access) lattice.Place {
	return func(a *cin.Access) lattice.Place {
		if t, ok := e.temps.get(a.Name); ok {
			return lattice.Place{Absent: ir.Never(t.pres)}
		}
		if r, ok := e.rows.get(a.Name); ok {
			return lattice.Place{Absent: ir.Never(r.pres)}
		}
		c := e.cur[a.Key()]
		switch {
		case c == nil:
			panic("BUG: lower: access " + a.Key() + " is not in scope")
		case ir.Never(c.Present):
			return lattice.Place{Absent: true}
		case c.Next() == "":
			return lattice.Place{}
		}
		return lattice.Place{Next: c.Next(), Walked: !c.Of.Kind(c.Level).CanLocate()}
	}
}

// loops emits the loops over the coordinates of a variable.
func (p *loop) loops() ir.Expr {
	l := p.l
	p.lat = lattice.Loop(p.v(), p.f.Body, l.place(p.e))
	defer l.used.Enter(p.v(), p.lat)()
	if l.assigns(p.f) && !(p.atResult() && p.lat.Universe()) {
		l.zero(p.e)
	}
	if len(p.lat.Points) == 0 {
		return ir.Truth(false)
	}
	for k, key := range p.lat.Iters {
		p.iters = append(p.iters, p.newIter(k, p.e.cur[key]))
	}
	all := p.lat.All()
	if all.Len() > 1 || all.Len() == 1 && p.lat.Universe() {
		p.refuseParallelMerge()
	}
	if p.reserve != nil {
		p.reserve(p.atMost())
	}
	oneBody := p.lat.Coarse || all.Len() > 1 && l.spec.Strategy.OneBody[p.v()]
	if p.lat.Universe() {
		if all.Len() == 0 {
			return p.countLoop()
		}
		return p.universeLoop(oneBody)
	}
	if len(p.lat.Points) == 1 && all.Len() == 1 && !p.lat.Coarse {
		return p.singleLoop()
	}
	if p.isGallopLoop() {
		return p.gallopLoop()
	}
	if oneBody {
		return p.flaggedLoop()
	}
	return p.mergeLoops()
}

// atResult reports whether a loop is over the variable of the result's next level.
func (p *loop) atResult() bool {
	l := p.l
	k := p.e.res.level
	return k < len(l.resultVars) && l.resultVars[k] == p.v()
}

// atMost returns the largest possible number of iterations of the loops.
func (p *loop) atMost() ir.Expr {
	l := p.l
	if p.lat.Universe() {
		s := l.rangeOf(p.e, p.v())
		return ir.Minus(s.Hi, s.Lo)
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
func (p *loop) countLoop() ir.Expr {
	l := p.l
	b := l.rangeOf(p.e, p.v())
	if b.Width > 0 {
		return p.laneLoop(b)
	}
	done := p.countAssigned()
	i := l.b.Var(p.v())
	var some ir.Expr
	p.inFlag(func() {
		body := l.bodyOf(p.f, func() {
			p.prefetchWalked(i, b.Hi)
			some = p.iteration(i, nil, nil)
			p.noteAssigned(some)
		})
		if p.count != nil && ir.Always(some) {
			dropAssigns(body, p.count)
		}
		l.b.Emit(l.setKind(p.f, p.e, &ir.For{V: i, Lo: b.Lo, Hi: b.Hi, Step: 1, Body: body}))
	}, func() bool { return ir.Always(some) || ir.Never(some) })
	switch {
	case ir.Always(some):
		return ir.Less(b.Lo, b.Hi)
	case done != nil:
		return done()
	}
	return p.result(some)
}

// laneLoop emits a loop over the places of a tile.
func (p *loop) laneLoop(b tree.Range) ir.Expr {
	l := p.l
	k := l.b.Var(p.v() + "_lane")
	var some ir.Expr
	p.inFlag(func() {
		body := l.b.Within(func() {
			i := l.b.Declare(p.v(), ir.Plus(b.Lo, k))
			inner := *p
			inner.e = p.e.clone()
			inner.e.lanes = inner.e.lanes.with(p.v(), k)
			some = (&inner).iteration(i, nil, nil)
			p.noteAssigned(some)
		})
		l.b.Emit(l.setKind(p.f, p.e, &ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(b.Width), Step: 1,
			Body: body}))
	}, func() bool { return ir.Always(some) || ir.Never(some) })
	if ir.Always(some) || ir.Never(some) {
		return some
	}
	return p.result(some)
}

// inFlag declares a flag and calls emit, whose code may set the flag. If needless then returns
// true, the flag and its assignments are removed. If the loop's result is not wanted, there is no
// flag.
func (p *loop) inFlag(emit func(), needless func() bool) {
	l := p.l
	if !p.want {
		emit()
		return
	}
	p.some = ir.NewVar(l.b.Fresh("some_"+p.v()), tensor.Bool)
	blk := l.b.Within(emit)
	if needless() {
		dropAssigns(blk, p.some)
		l.b.Append(blk)
		p.some = nil
		return
	}
	l.b.Emit(&ir.Declare{V: p.some, Init: ir.Truth(false)})
	l.b.Append(blk)
}

// dropAssigns removes the assignments to v from b, in place.
func dropAssigns(b *ir.Block, v *ir.Var) {
	rewrite.Filter(b, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		return !ok || a.V != v
	})
}

// noteAssigned records in the loop's flag that an iteration assigned.
func (p *loop) noteAssigned(some ir.Expr) {
	l := p.l
	switch {
	case p.count != nil:
		l.b.When(some, func() { l.b.Incr(p.count, ir.Int(1)) })
	case p.some == nil || ir.Never(some):
	case ir.Always(some):
		l.b.Set(p.some, ir.Truth(true))
	default:
		l.b.Set(p.some, ir.Either(p.some, some))
	}
}

// result returns the loop's result: the condition that an iteration assigned. some is the condition
// of a single iteration.
func (p *loop) result(some ir.Expr) ir.Expr {
	switch {
	case ir.Never(some):
		return some
	case p.some != nil:
		return p.some
	}
	// The condition is not wanted, so any value except false is correct.
	return ir.Truth(true)
}

// iteration lowers the body at coordinate c. present has the iterators that may be at c, and flags
// has the conditions that they are. If flags is nil, all iterators in present are at c. All other
// iterators are absent.
func (p *loop) iteration(c ir.Expr, present []*iter, flags []ir.Expr) ir.Expr {
	l := p.l
	cursors := map[string]*tree.Cursor{}
	for _, it := range p.iters {
		cursors[it.key] = it.cur.Absent()
	}
	for k, it := range present {
		pres := ir.Expr(ir.Truth(true))
		if flags != nil {
			pres = flags[k]
		}
		cursors[it.key] = it.enter(pres)
	}
	in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
	p.bindResult(in)
	p.copyRows(in)
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
