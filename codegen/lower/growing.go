package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// growing is the common part of append and two passes: compressed levels grow in the order of their
// coordinates.
//
// A level has a count of its coordinates so far, which is also the index of the next one. The
// coordinate's children are computed first, and the coordinate is counted only if they assigned
// something. A parent is a position of the level above. When its loop ends, it is closed: its pos
// entry becomes the count. Parents are visited in ascending order. If the level above is dense,
// some parents may be skipped. The parents between two visited ones are then closed together.
//
// A coordinate that was passed can no longer be written or added to. The result does not follow an
// operand's pattern, so calling at is a bug.
type growing struct {
	*result
	// levels has the arrays of the compressed levels: of the whole result, or of a chunk.
	levels []growingLevel
	// valsCap is the capacity of the values, or nil if it is known to be sufficient.
	valsCap *ir.Var
}

// growingLevel is a compressed level that grows. For a dense level, all fields are nil.
type growingLevel struct {
	pos, crd *ir.Array
	// posCap and crdCap are the capacities of the arrays, or nil if they are known to be
	// sufficient. The capacity of pos is sufficient if all levels above are dense.
	posCap, crdCap *ir.Var
	count          *ir.Var // the number of coordinates
	// closed is the last written index of pos. It is nil under a compressed level, because all
	// positions of that level are visited.
	closed *ir.Var
	// limit, in a second pass, is the final count. When it is reached, nothing is left to append,
	// and the next place belongs to the next chunk.
	limit ir.Expr
}

func (*growing) inOrder() bool { return true }

func (*growing) pattern() string { return "" }

func (*growing) at(ir.Expr) resultCursor {
	panic("BUG: lower: a result that grows follows no pattern")
}

func (*growing) sumsInPlace(cin.Stmt, *cin.Access, int) bool { return false }

func (*growing) sum(*cin.Where, *cin.Access, *env) ir.Expr {
	panic("BUG: lower: a workspace is summed in a result that grows")
}

// store writes the value of the current coordinate. If the last level is compressed, an absent
// value is not written, because its coordinate is not counted.
func (a *growing) store(x value, e *env) {
	if a.deep == a.op.Order()-1 && ir.Never(x.pres) {
		return
	}
	a.l.b.Store(a.vals(), e.res.pos, ir.Convert(a.vals().Elem, a.l.masked(x)))
}

// loop emits the loops that append the coordinates that f visits to level k, and closes their
// parent. See lowerer.stmt for want and the returned value.
func (a *growing) loop(f *cin.Forall, e *env, k int, want bool) ir.Expr {
	l, lev := a.l, &a.levels[k]
	next := ir.Plus(e.res.pos, ir.Int(1))
	if lev.closed != nil {
		l.closePos(lev, next) // the children before this parent are complete
	}
	from := ir.Expr(lev.count)
	if want {
		from = l.b.Declare(lev.count.Name+"_from", lev.count)
	}
	some := (&loop{l: l, f: f, e: e, want: false,
		reserve: func(n ir.Expr) { a.reserve(k, n) },
		merge:   func(p *loop) bool { return a.appendUnions(p, k) },
		body:    func(in *env) ir.Expr { return a.appendOne(f, in, k) }}).loops()
	closed := ir.Expr(ir.Truth(true))
	if open := e.ranges.at(f.Var).Open; open != nil {
		closed = ir.Inverse(open)
	}
	l.b.When(closed, func() { l.b.Store(lev.pos, next, lev.count) })
	if lev.closed != nil {
		l.b.Set(lev.closed, next)
	}
	if ir.Never(some) || !want {
		return some
	}
	return l.b.Named("some_"+f.Var, ir.Unequal(lev.count, from))
}

// closePos emits code that closes the parents after the last closed one and before end.
func (l *lowerer) closePos(lev *growingLevel, end ir.Expr) {
	q := l.b.Var(lev.pos.Name + "_q")
	l.b.Emit(&ir.For{V: q, Lo: ir.Plus(lev.closed, ir.Int(1)), Hi: end, Step: 1,
		Body: l.b.Within(func() { l.b.Store(lev.pos, q, lev.count) })})
}

// appendOne lowers the body for one coordinate of compressed level k. The loop has already reserved
// capacity for the coordinate itself. If a block of dense levels follows, its capacity is reserved
// here: a test for each block costs little, because blocks are large.
func (a *growing) appendOne(f *cin.Forall, in *env, k int) ir.Expr {
	l, lev := a.l, &a.levels[k]
	some := ir.Expr(ir.Truth(false))
	body := l.b.Within(func() {
		more := ir.Plus(lev.count, ir.Int(1))
		switch next := a.nextSparse(k + 1); {
		case lev.crdCap == nil:
		case next > k+1:
			below := &a.levels[next]
			l.reserve(below.pos, below.posCap, ir.Plus(ir.Times(more, a.between(k+1, next)), ir.Int(1)))
		case next < 0 && k+1 < a.op.Order():
			l.reserve(a.vals(), a.valsCap, ir.Times(more, a.block(k+1)))
		}
		in.res = resultCursor{level: k + 1, pos: lev.count}
		l.enterResult(in)
		some = l.stmt(f.Body, in, true)
		l.b.When(some, func() {
			l.b.Store(lev.crd, lev.count, in.coord.at(f.Var))
			l.b.Incr(lev.count, ir.Int(1))
		})
	})
	left := ir.Expr(ir.Truth(!ir.Never(some)))
	if lev.limit != nil && !ir.Always(some) && !ir.Never(some) {
		left = ir.Less(lev.count, lev.limit)
	}
	l.b.When(left, func() { l.b.Append(body) })
	return some
}

// reserve emits code that reserves capacity for n more coordinates of level k. The loop that
// appends them then need not check the capacity.
func (a *growing) reserve(k int, n ir.Expr) {
	l, lev := a.l, &a.levels[k]
	if lev.crdCap == nil {
		return
	}
	end := l.b.Named(lev.count.Name+"_end", ir.Plus(lev.count, n))
	l.reserve(lev.crd, lev.crdCap, end)
	switch next := a.nextSparse(k + 1); {
	case next == k+1:
		l.reserve(a.levels[next].pos, a.levels[next].posCap, ir.Plus(end, ir.Int(1)))
	case next < 0 && k+1 == a.op.Order():
		l.reserve(a.vals(), a.valsCap, end)
	}
}

// reserve emits code that grows an array if its capacity, have, is too small.
func (l *lowerer) reserve(a *ir.Array, have *ir.Var, need ir.Expr) {
	l.b.When(ir.Less(have, need), func() { l.b.Emit(&ir.Grow{A: a, Cap: have, Need: need}) })
}
