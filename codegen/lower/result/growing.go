package result

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
)

// growing is the common part of two kinds of assembly, "append" and "two passes". In both,
// compressed levels grow in the order of their coordinates.
//
// A level has a count of its coordinates so far. The count is also the index of the next
// coordinate. The children of a coordinate are computed before the coordinate is counted. It is
// counted only if its children assigned something.
//
// A parent is a position of the level above. When the loop over the parent's coordinates ends, the
// parent is closed: its pos entry becomes the count. Parents are visited in ascending order. If the
// level above is dense, some parents may be skipped. They are closed together with the next visited
// parent, or at the end.
//
// Once the loops have passed a coordinate, no value can be written or added at this coordinate.
type growing struct {
	out *scope.Result
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

// Store writes the value of the current coordinate. If the last level is compressed, a value that
// is always absent is not written, because its coordinate is not counted.
func (a *growing) Store(x scope.Value, e *scope.Env) {
	if a.out.Deep == a.out.Op.Order()-1 && ir.IsFalse(x.Pres) {
		return
	}
	a.out.Leaf.B.Store(a.out.Values, e.Res.Pos, ir.Convert(a.out.Values.Elem, a.out.Leaf.Masked(x)))
}

// loop emits the loops of p. They append to level k of the result each coordinate at which the body
// assigns something. Before the loops, the code writes the pos entries of skipped parents. After
// the loops, it writes to the pos array where the appended coordinates end, unless another chunk
// continues the row. If p.Want is true, loop returns the condition that the loops appended a
// coordinate.
func (a *growing) loop(p *merge.Loop, k int) ir.Expr {
	l, lev, body, want := a.out.Leaf, &a.levels[k], p.Body, p.Want
	next := ir.Plus(p.E.Res.Pos, ir.Int(1))
	if lev.closed != nil {
		closePos(l, lev, next) // the children before this parent are complete
	}
	from := ir.Expr(lev.count)
	if want {
		from = l.B.Declare(lev.count.Name+"_from", lev.count)
	}
	open := p.E.Ranges.At(p.V()).Open
	p.Want = false
	p.Reserve = func(n ir.Expr) { a.reserve(k, n) }
	p.Merge = func(p *merge.Loop) bool { return a.appendUnions(p, k) }
	p.Body = func(in *scope.Env, _ bool) ir.Expr { return a.appendOne(p.V(), body, in, k) }
	some := p.Loops()
	closed := ir.Expr(ir.Truth(true))
	if open != nil {
		closed = ir.Inverse(open)
	}
	l.B.When(closed, func() { l.B.Store(lev.pos, next, lev.count) })
	if lev.closed != nil {
		l.B.Set(lev.closed, next)
	}
	if ir.IsFalse(some) || !want {
		return some
	}
	return l.B.Named("some_"+p.V(), ir.Unequal(lev.count, from))
}

// closePos emits code that writes the pos entries of level lev that are before index end and not
// written yet. They belong to parents, which are the positions of the level above lev. The code
// sets each of these entries to the current number of coordinates in lev.
func closePos(l *scope.Leaf, lev *growingLevel, end ir.Expr) {
	l.B.Loop(lev.pos.Name+"_q", ir.Plus(lev.closed, ir.Int(1)), end,
		func(q *ir.Var) { l.B.Store(lev.pos, q, lev.count) })
}

// appendOne lowers the body for one coordinate of v, the variable of compressed level k. The
// capacity for the coordinate itself must already be sufficient. If dense levels follow and the
// arrays grow, the code also reserves capacity for these levels. appendOne returns the condition
// that the body assigned something.
func (a *growing) appendOne(v string, body merge.LowersBody, in *scope.Env, k int) ir.Expr {
	l, lev := a.out.Leaf, &a.levels[k]
	some := ir.Expr(ir.Truth(false))
	one := l.B.Within(func() {
		more := ir.Plus(lev.count, ir.Int(1))
		switch next := a.out.NextSparse(k + 1); {
		case lev.crdCap == nil:
		case next > k+1:
			below := &a.levels[next]
			l.B.Reserve(below.pos, below.posCap, ir.Plus(ir.Times(more, a.out.Between(k+1, next)),
				ir.Int(1)))
		case next < 0 && k+1 < a.out.Op.Order():
			l.B.Reserve(a.out.Values, a.valsCap, ir.Times(more, a.out.Block(k+1)))
		}
		in.Res = scope.ResultCursor{Level: k + 1, Pos: lev.count}
		merge.EnterResult(in)
		some = body(in, true)
		l.B.When(some, func() {
			l.B.Store(lev.crd, lev.count, in.Coord.At(v))
			l.B.Incr(lev.count, ir.Int(1))
		})
	})
	left := ir.Expr(ir.Truth(!ir.IsFalse(some)))
	if lev.limit != nil && !ir.Always(some) && !ir.IsFalse(some) {
		left = ir.Less(lev.count, lev.limit)
	}
	l.B.When(left, func() { l.B.Append(one) })
	return some
}

// reserve emits code that reserves capacity for n more coordinates of level k. The loop that
// appends them then need not check the capacity.
func (a *growing) reserve(k int, n ir.Expr) {
	l, lev := a.out.Leaf, &a.levels[k]
	if lev.crdCap == nil {
		return
	}
	end := l.B.Named(lev.count.Name+"_end", ir.Plus(lev.count, n))
	l.B.Reserve(lev.crd, lev.crdCap, end)
	switch next := a.out.NextSparse(k + 1); {
	case next == k+1:
		l.B.Reserve(a.levels[next].pos, a.levels[next].posCap, ir.Plus(end, ir.Int(1)))
	case next < 0 && k+1 == a.out.Op.Order():
		l.B.Reserve(a.out.Values, a.valsCap, end)
	}
}
