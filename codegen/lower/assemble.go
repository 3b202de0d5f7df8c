package lower

import (
	"fmt"
	"math"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// assembly builds the result.
//
// A result of dense levels alone is the caller's memory, written at random.
// With compressed levels it grows in order: a compressed level has some count
// of coordinates so far; the next one is written at that place while its children are
// computed below it, and counts only if some were. pos arrays are closed
// behind each parent position. Parents are visited in ascending order, but under
// dense levels not all of them are: last is the place of pos up to which it is
// written, and the gap is filled as the next parent comes.
//
// What a loop over the result appends goes to buffers: those of the whole leaf,
// or of one chunk of a parallel loop (gather.go).
type assembly struct {
	l      *lowerer
	op     *operand
	sparse bool
	deep   int // the last compressed level; -1 for none
	buf    *buffers
	dense  *ir.Array // the values of a result of dense levels alone
	// at, of a result that is added to, maps positions of the operand that it
	// would share level arrays with to its own; nil for another.
	at *ir.Array
	// known is where a result whose level arrays are given is being written.
	known *known
}

// buffers are what a result's compressed levels grow in.
type buffers struct {
	levels []resultLevel
	vals   *ir.Array
	capV   *ir.Var
	fixed  bool // they have room for all: nothing grows
}

type resultLevel struct {
	pos, crd   *ir.Array
	capP, capC *ir.Var // capP is nil where pos cannot grow: all levels above are dense
	count      *ir.Var
	last       *ir.Var // nil under a compressed level, whose positions are all visited
	// limit, in fixed buffers, is the count in the end. Where it is reached, nothing
	// is left to append, and the next place is not ours to try.
	limit ir.Expr
}

// resultCursor is how far the bound variables lead down the result's levels.
type resultCursor struct {
	level int
	pos   ir.Expr
	base  ir.Expr // as in cursor
	// zeroed: the values below are 0 already. Otherwise each is written once,
	// or the whole block below is set to 0 where that is not so.
	zeroed bool
	// Of a result whose level arrays are given: here tells whether it holds the
	// coordinates at hand; nil where it does in any case. row, if not nil, is the end
	// of the row that a value's position is found in as it is stored.
	here, row ir.Expr
	// tile, if not nil, is where the row below is summed instead.
	tile *ir.Array
}

func (l *lowerer) newAssembly() *assembly {
	op := l.ops[l.spec.Operands[0].Name]
	a := &assembly{l: l, op: op, deep: -1}
	for k := range op.order() {
		if op.caps(k).HasPos {
			a.deep, a.sparse = k, true
		}
	}
	if !a.sparse || a.shared() || a.given() {
		a.dense = op.vals()
	}
	return a
}

// shared tells whether the result's level arrays are an operand's.
func (a *assembly) shared() bool {
	return a.l.spec.Assembly == strategy.SharedPattern || a.l.spec.Assembly == strategy.Mapped
}

// newMap is the map of positions of a result that is added to.
func (l *lowerer) newMap() *ir.Array {
	last := 0
	for _, o := range l.spec.Operands {
		last = max(last, o.Arg)
	}
	a := l.newArray(l.out.op.prefix()+"_at", intOf(l.out.op.PosWidth[l.out.deep]))
	a.Const = true
	l.params = append(l.params, ir.Param{Slot: ir.Slot{Arg: last + 1, Level: 0, Part: ir.Crd}, A: a})
	return a
}

// mapped is the position of the result, which is added to, for position p of
// the operand that it would share level arrays with. The first that comes to
// it finds no values there, and sets them to 0.
func (a *assembly) mapped(p ir.Expr) ir.Expr {
	l := a.l
	size := a.block(a.deep + 1)
	a.prefetch(ir.Plus(p, ir.Int(MapAhead)), size)
	q := l.declare(a.op.prefix()+"_q", ir.Coord(a.at, p))
	l.when(ir.Less(q, ir.Int(0)), func() {
		l.set(q, ir.Minus(ir.Int(-1), q))
		first := ir.Times(q, size)
		l.emit(&ir.Fill{A: a.dense, Lo: first, Hi: ir.Plus(first, size), X: ir.Zero(a.dense.Elem)})
	})
	return l.named(a.op.prefix()+"_p", q)
}

// prefetch fetches the result's block for position p of the map, where blocks
// are as long as a cache line: they lie apart from one another.
func (a *assembly) prefetch(p, size ir.Expr) {
	l := a.l
	width := int64(1)
	for _, v := range l.resultVars[a.deep+1:] {
		width = min(width*l.spec.Sizes[v], prefetchLines*cacheLine)
	}
	line := cacheLine / a.dense.Elem.Size()
	if width < line {
		return
	}
	q := l.named(a.op.prefix()+"_at_next", ir.Coord(a.at, p))
	first := l.named(a.op.prefix()+"_next", ir.Times(ir.Choose(ir.Less(q, ir.Int(0)), ir.Minus(ir.Int(-1), q), q), size))
	for x := int64(0); x < min(width, prefetchLines*line); x += line {
		l.emit(&ir.Prefetch{A: a.dense, Index: ir.Plus(first, ir.Int(x))})
	}
}

// vals is where the result's values are written.
func (a *assembly) vals() *ir.Array {
	if a.dense != nil {
		return a.dense
	}
	return a.buf.vals
}

// open makes empty buffers, with room for about guess entries. pos, if not
// nil, is the array of the outermost compressed level's positions, of which
// those behind first are written.
func (a *assembly) open(guess ir.Expr, pos *ir.Array, first ir.Expr) {
	a.buf = a.newBuffers()
	a.allocBuffers(guess)
	a.begin(pos, first)
}

// newBuffers names buffers, but for the outermost compressed level's positions.
func (a *assembly) newBuffers() *buffers {
	l, op := a.l, a.op
	b := &buffers{levels: make([]resultLevel, op.order())}
	b.vals = l.newArray(op.prefix()+"_vals", op.Type)
	outermost := true
	for k := range b.levels {
		if !op.caps(k).HasPos {
			continue
		}
		b.levels[k].crd = l.newArray(fmt.Sprintf("%s_crd%d", op.prefix(), k), intOf(op.CrdWidth[k]))
		if !outermost {
			b.levels[k].pos = a.newPos(k)
		}
		outermost = false
	}
	return b
}

// allocBuffers makes room for about guess entries in each buffer.
func (a *assembly) allocBuffers(guess ir.Expr) {
	l, b := a.l, a.buf
	guess = l.named("guess", guess)
	alloc := func(arr *ir.Array, n ir.Expr) *ir.Var {
		have := l.declare(arr.Name+"_cap", n)
		l.emit(&ir.Alloc{A: arr, Len: have})
		return have
	}
	b.capV = alloc(b.vals, guess)
	for k := range b.levels {
		lev := &b.levels[k]
		if lev.crd == nil {
			continue
		}
		lev.capC = alloc(lev.crd, guess)
		if lev.pos != nil {
			lev.capP = alloc(lev.pos, ir.Plus(guess, ir.Int(1)))
		}
	}
}

// begin starts filling the buffers; pos and first as in open.
func (a *assembly) begin(pos *ir.Array, first ir.Expr) {
	l, op := a.l, a.op
	above := -1 // the last compressed level before k
	for k := range a.buf.levels {
		lev := &a.buf.levels[k]
		if lev.crd == nil {
			continue
		}
		lev.count = l.declare(fmt.Sprintf("%s_n%d", op.prefix(), k), ir.Int(0))
		switch {
		case above >= 0:
			l.store(lev.pos, ir.Int(0), ir.Int(0))
		case pos != nil:
			lev.pos = pos
		default:
			lev.pos = a.newPos(k)
			l.emit(&ir.Alloc{A: lev.pos, Len: ir.Plus(a.between(0, k), ir.Int(1))})
			l.store(lev.pos, ir.Int(0), ir.Int(0))
		}
		switch {
		case above < 0:
			lev.last = l.declare(fmt.Sprintf("%s_last%d", op.prefix(), k), first)
		case above != k-1:
			lev.last = l.declare(fmt.Sprintf("%s_last%d", op.prefix(), k), ir.Int(0))
		}
		above = k
	}
}

func (a *assembly) newPos(k int) *ir.Array {
	return a.l.newArray(fmt.Sprintf("%s_pos%d", a.op.prefix(), k), intOf(a.op.PosWidth[k]))
}

// guess is how many entries to make room for at first: those of the sparse
// operands together, or growth times as many, if the result has as many coordinates.
func (a *assembly) guess() ir.Expr {
	n := ir.Expr(ir.Int(16))
	for _, o := range a.l.spec.Operands[1:] {
		if !o.Format.AllDense() {
			n = ir.Plus(n, a.l.ops[o.Name].nnz())
		}
	}
	n = ir.Times(n, ir.Int(a.l.growth()))
	all := 1.0
	for _, v := range a.l.resultVars[:a.deep+1] {
		all *= float64(a.l.spec.Sizes[v])
	}
	if all < 1<<40 {
		n = ir.Least(n, ir.Int(int64(all)+1))
	}
	if most := a.mostGuess(); most > 0 {
		n = ir.Least(n, ir.Int(most))
	}
	return n
}

// mostGuess is the entries that there is to be room for at most at first, 0 where the
// operands are known to have so few that it does not matter.
func (a *assembly) mostGuess() int64 {
	l := a.l
	if l.spec.RoomBytes <= 0 {
		return 0
	}
	entry, expected := float64(a.op.Type.Size()), 16.0
	for k, v := range l.resultVars {
		if k > a.deep {
			entry *= max(float64(l.spec.Sizes[v]), 1) // a block of values
		}
	}
	for _, width := range a.op.CrdWidth {
		entry += float64(width)
	}
	for _, o := range l.spec.Operands[1:] {
		switch {
		case o.Format.AllDense():
		case o.NNZ < 0:
			expected = math.Inf(1)
		default:
			expected += float64(o.NNZ)
		}
	}
	most := max(float64(l.spec.RoomBytes)/entry, 16)
	if expected*float64(l.growth()) <= most {
		return 0
	}
	return int64(most)
}

// between is the number of positions of level hi-1 under one of level lo-1,
// all levels between being dense.
func (a *assembly) between(lo, hi int) ir.Expr {
	n := ir.Expr(ir.Int(1))
	for k := lo; k < hi; k++ {
		n = ir.Times(n, a.op.size(k))
	}
	return n
}

// block is the number of values under one position of level lo-1, the levels
// from lo on being dense.
func (a *assembly) block(lo int) ir.Expr { return a.between(lo, a.op.order()) }

// nextSparse is the first compressed level from k on, or -1.
func (a *assembly) nextSparse(k int) int {
	for ; k < a.op.order(); k++ {
		if a.op.caps(k).HasPos {
			return k
		}
	}
	return -1
}

// assigns tells whether a statement's target is the result.
func (l *lowerer) assigns(s cin.Stmt) bool { return cin.Target(s).Name == l.out.op.Name }

// appends tells whether a loop runs over the next level of the result, a
// compressed one, and which.
func (l *lowerer) appends(f *cin.Forall, e *env) (level int, ok bool) {
	k := e.res.level
	if !l.out.sparse || l.out.shared() || k >= l.out.op.order() || l.out.op.caps(k).Locate || !l.assigns(f) {
		return 0, false
	}
	if l.resultVars[k] != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where the result appends " + l.resultVars[k])
	}
	return k, true
}

// appendLoop lowers a loop over a compressed level of the result.
func (l *lowerer) appendLoop(f *cin.Forall, e *env, k int, want bool) ir.Expr {
	if l.out.given() {
		return l.knownLoop(f, e, k)
	}
	lev := &l.out.buf.levels[k]
	next := ir.Plus(e.res.pos, ir.Int(1))
	if lev.last != nil {
		l.fillPos(lev, next) // the children before this parent are all there
	}
	from := ir.Expr(lev.count)
	if want {
		from = l.declare(lev.count.Name+"_from", lev.count)
	}
	some := l.loops(&loop{f: f, e: e, want: false,
		room: func(n ir.Expr) { l.makeRoom(k, n) },
		body: func(in *env) ir.Expr { return l.appendOne(f, in, k) }})
	closed := ir.Expr(ir.Truth(true))
	if open := e.ranges[f.Var].open; open != nil {
		closed = ir.Inverse(open)
	}
	l.when(closed, func() { l.store(lev.pos, next, lev.count) })
	if lev.last != nil {
		l.set(lev.last, next)
	}
	if never(some) || !want {
		return some
	}
	return l.named("some_"+f.Var, ir.Unequal(lev.count, from))
}

// fillPos closes the parents from last on up to place end.
func (l *lowerer) fillPos(lev *resultLevel, end ir.Expr) {
	q := l.newVar(lev.pos.Name + "_q")
	l.emit(&ir.For{V: q, Lo: ir.Plus(lev.last, ir.Int(1)), Hi: end, Step: 1, Body: l.within(func() { l.store(lev.pos, q, lev.count) })})
}

// makeRoom reserves what n more coordinates of level k need, so that the loop
// that appends them need not look.
func (l *lowerer) makeRoom(k int, n ir.Expr) {
	b := l.out.buf
	if b.fixed {
		return
	}
	lev := &b.levels[k]
	end := l.named(lev.count.Name+"_end", ir.Plus(lev.count, n))
	l.reserve(lev.crd, lev.capC, end)
	switch next := l.out.nextSparse(k + 1); {
	case next == k+1:
		l.reserve(b.levels[next].pos, b.levels[next].capP, ir.Plus(end, ir.Int(1)))
	case next < 0 && k+1 == l.out.op.order():
		l.reserve(b.vals, b.capV, end)
	}
}

// appendOne lowers the body for one coordinate of compressed level k. Room for
// what stands at the coordinate itself was made; blocks of dense levels below
// are large enough to be looked at one by one.
func (l *lowerer) appendOne(f *cin.Forall, in *env, k int) ir.Expr {
	a := l.out
	lev := &a.buf.levels[k]
	some := ir.Expr(ir.Truth(false))
	body := l.within(func() {
		more := ir.Plus(lev.count, ir.Int(1))
		switch next := a.nextSparse(k + 1); {
		case a.buf.fixed:
		case next > k+1:
			below := &a.buf.levels[next]
			l.reserve(below.pos, below.capP, ir.Plus(ir.Times(more, a.between(k+1, next)), ir.Int(1)))
		case next < 0 && k+1 < a.op.order():
			l.reserve(a.buf.vals, a.buf.capV, ir.Times(more, a.block(k+1)))
		}
		in.res = resultCursor{level: k + 1, pos: lev.count}
		l.enterResult(in)
		some = l.stmt(f.Body, in, true)
		l.when(some, func() {
			l.store(lev.crd, lev.count, in.coord[f.Var])
			l.incr(lev.count, ir.Int(1))
		})
	})
	room := ir.Expr(ir.Truth(!never(some)))
	if lev.limit != nil && !always(some) && !never(some) {
		room = ir.Less(lev.count, lev.limit)
	}
	l.when(room, func() { l.blk.List = append(l.blk.List, body.List...) })
	return some
}

func (l *lowerer) reserve(a *ir.Array, have *ir.Var, need ir.Expr) {
	l.when(ir.Less(have, need), func() { l.emit(&ir.Grow{A: a, Cap: have, Need: need}) })
}

// bindResult moves the result's cursor after p's variable was bound in in.
func (l *lowerer) bindResult(p *loop, in *env) {
	if !l.assigns(p.f) {
		return
	}
	if a := l.out; a.shared() && in.res.level <= a.deep && l.resultVars[a.deep] == p.v() {
		for _, it := range p.iters {
			if it.key == l.spec.Share {
				in.res = a.sharedAt(it.p)
			}
		}
	}
	l.enterResult(in)
}

// sharedAt is the result's cursor at position p of the operand whose pattern it
// shares.
func (a *assembly) sharedAt(p ir.Expr) resultCursor {
	if a.at != nil {
		return resultCursor{level: a.deep + 1, pos: a.mapped(p), zeroed: true}
	}
	return resultCursor{level: a.deep + 1, pos: p}
}

// enterResult moves the result's cursor through the dense levels whose
// variables are bound.
func (l *lowerer) enterResult(e *env) {
	op := l.out.op
	if l.out.shared() && e.res.level <= l.out.deep {
		return
	}
	if c := &e.res; c.tile != nil {
		if v := l.resultVars[c.level]; c.pos == nil && e.coord[v] != nil {
			c.pos = e.lane(v)
		}
		return
	}
	for c := &e.res; c.level < op.order() && op.caps(c.level).Locate; {
		at, bound := e.coord[l.resultVars[c.level]]
		if c.base == nil {
			c.base = ir.Minus(ir.Times(c.pos, op.size(c.level)), op.offset(c.level))
			if !bound {
				c.base = l.named(op.prefix()+"_b", c.base)
				return
			}
		}
		if !bound {
			return
		}
		*c = resultCursor{level: c.level + 1, pos: l.named(op.prefix()+"_p", ir.Plus(c.base, at)), zeroed: c.zeroed, here: c.here}
	}
}

// zero makes sure that the values below the result's cursor are 0, where no
// compressed level is left to append to.
func (l *lowerer) zero(e *env) {
	a := l.out
	if e.res.zeroed || e.res.level <= a.deep {
		return
	}
	e.res.zeroed = true
	size := a.block(e.res.level)
	lo := ir.Times(e.res.pos, size)
	hi := ir.Plus(lo, size)
	if k := e.res.level; k < a.op.order() && (k == 0 || l.sched != nil) {
		if s, ok := l.visited(e, l.resultVars[k]); ok {
			row := func(c ir.Expr) ir.Expr {
				return ir.Times(ir.Plus(ir.Times(e.res.pos, a.op.size(k)), ir.Minus(c, a.op.offset(k))), a.block(k+1))
			}
			lo, hi = row(s.lo), row(s.hi)
		} else if k == 0 && l.threads != nil {
			l.zeroAll(lo, size)
			return
		}
	}
	l.emit(&ir.Fill{A: a.vals(), Lo: lo, Hi: hi, X: ir.Zero(a.vals().Elem)})
}

// publishAll hands the buffers to the caller: they are the whole result.
func (a *assembly) publishAll() {
	l := a.l
	parents := ir.Expr(ir.Int(1)) // positions of the level above k
	for k := range a.buf.levels {
		lev := &a.buf.levels[k]
		if !a.op.caps(k).HasPos {
			parents = ir.Times(parents, a.op.size(k))
			continue
		}
		if lev.last != nil {
			l.fillPos(lev, ir.Plus(parents, ir.Int(1)))
		}
		a.publish(k, ir.Pos, lev.pos, ir.Plus(parents, ir.Int(1)))
		a.publish(k, ir.Crd, lev.crd, lev.count)
		parents = lev.count
	}
	a.publish(0, ir.Vals, a.buf.vals, parents)
}

// visited is the part of v's range that the loops around leave to visit, where
// that is not all of it.
func (l *lowerer) visited(e *env, v string) (span, bool) {
	if s, ok := e.ranges[v]; ok || l.sched == nil {
		return s, ok
	}
	c := l.sched.comps[v]
	if c == nil || len(c.Roots) > 1 || e.open[c.Top] == nil {
		return span{}, false
	}
	o := e.open[c.Top]
	iv := l.coverage(o.iv, o.frames, e)
	return span{lo: iv.lo, hi: iv.hi}, true
}

func (a *assembly) publish(level int, part ir.Part, arr *ir.Array, n ir.Expr) {
	a.l.emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Level: level, Part: part}, A: arr, Len: n})
}
