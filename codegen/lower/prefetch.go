package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// fetched describes rows that a loop over a sparse operand's entries selects and that are fetched
// ahead.
type fetched struct {
	how   strategy.Prefetch
	name  string
	a     *ir.Array
	width int64
	// returns the position in a where the row at coordinate next begins
	start func(next ir.Expr) ir.Expr
	// for rows of a sparse matrix, which are segments: a cursor at the rows; otherwise nil
	rows *cursor
}

// prefetch emits, at the start of the body of a loop over a sparse operand's entries, the
// prefetching of rows that a later iteration reads or adds to.
func (l *lowerer) prefetch(p *loop, it *iter) {
	if it.cur.op.operand.Arg < 0 || it.padded {
		return
	}
	list := l.rowsRead(p)
	if r := l.rowAddedTo(p); r != nil {
		list = append(list, *r)
	}
	l.fetchRows(p, list, func(n int64) (there, next ir.Expr) {
		ahead := ir.Plus(it.p, ir.Int(n))
		there = ir.Expr(ir.Truth(true))
		if !l.early[place(it.key, p.v())] {
			there = ir.Less(ahead, it.cur.op.end(it.cur.level))
		}
		return there, it.at(ahead)
	})
}

// prefetchWalked emits, at the start of the body of a loop over the coordinates i up to hi, the
// prefetching of rows that a later iteration reads.
func (l *lowerer) prefetchWalked(p *loop, i, hi ir.Expr) {
	l.fetchRows(p, l.rowsRead(p), func(n int64) (there, next ir.Expr) {
		next = ir.Plus(i, ir.Int(n))
		return ir.Less(next, hi), next
	})
}

// caches lists the caches that rows are fetched into, the second-level cache first. name is the
// suffix for variables.
var caches = []struct {
	far  bool
	name string
}{{true, "_far"}, {false, "_next"}}

// fetchRows emits the prefetching of rows, first of rows that are fetched into the second-level
// cache. at(n) returns the condition that the iteration n ahead exists, and its coordinate.
func (l *lowerer) fetchRows(p *loop, list []fetched, at func(n int64) (there, next ir.Expr)) {
	for _, c := range caches {
		var order []int64
		for _, r := range list {
			if n := r.how.Into(c.far); n > 0 && !slices.Contains(order, n) {
				order = append(order, n)
			}
		}
		for _, n := range order {
			there, next := at(n)
			l.when(there, func() {
				next := l.named(p.v()+c.name, next)
				for _, r := range list {
					switch {
					case r.how.Into(c.far) != n:
					case r.rows != nil:
						l.fetchSegment(r.rows, next, r.name+c.name, c.far)
					default:
						l.emit(&ir.Prefetch{A: r.a, Index: l.named(r.name+c.name, r.start(next)), Len: r.width,
							Far: c.far})
					}
				}
			})
		}
	}
}

// fetchSegment emits the prefetching of the first line of a row's coordinates and values, if the
// operand has a row at coordinate next. Entries that no loop visits may have other coordinates.
func (l *lowerer) fetchSegment(c *cursor, next ir.Expr, name string, far bool) {
	row := l.named(name, ir.Plus(c.base, next))
	l.when(ir.Both(ir.AtMost(ir.Int(0), row), ir.Less(row, c.op.size(0))), func() {
		from := l.named(name+"_s", ir.Coord(c.op.pos(1), row))
		l.emit(&ir.Prefetch{A: c.op.crd(1), Index: from, Far: far})
		l.emit(&ir.Prefetch{A: c.op.vals(), Index: from, Far: far})
	})
}

// split emits the loop over the segment of an operand's level twice if loops over the levels below
// it fetch rows ahead: once up to a position, and once from there on. After the first part, enough
// entries follow for the prefetch distance. In that part, no iteration tests whether an entry
// exists. The tests cost more than the fetching saves if the inner loops have few iterations. loop
// emits one part.
func (l *lowerer) split(p *loop, it *iter, loop func(lo, hi ir.Expr)) {
	end, places := l.earlyEnd(p, it)
	if len(places) == 0 {
		loop(it.lo, it.hi)
		return
	}
	mark := func(early bool) {
		for _, x := range places {
			l.early[x] = early
		}
	}
	mark(true)
	loop(it.lo, end)
	mark(false)
	loop(end, it.hi)
	for _, x := range places {
		delete(l.early, x)
	}
}

// earlyEnd returns the end of the positions for which the loops at places request no entry past the
// operand's end. It returns no places if rows are fetched ahead only at this level, because the end
// of its segment is the end of all entries.
func (l *lowerer) earlyEnd(p *loop, it *iter) (end *ir.Var, places []string) {
	op, level := it.cur.op, it.cur.level
	_, inside := l.early[place(it.key, p.v())]
	if inside || p.want || l.onUnits(p) || op.operand.Arg < 0 || it.padded {
		return nil, nil
	}
	end = l.newVar(it.name() + "_early")
	at, late, below := ir.Expr(end), ir.Expr(ir.Truth(false)), false
	for k := level; k < len(it.cur.vars) && (k == level || op.caps(k).HasPos()); k++ {
		if k > level {
			at = ir.Coord(op.pos(k), at)
		}
		if n := l.farthest(it.cur.vars[k]); n > 0 {
			late = ir.Either(late, ir.Less(ir.Minus(op.end(k), ir.Int(n)), at))
			places = append(places, place(it.key, it.cur.vars[k]))
			below = below || k > level
		}
	}
	if !below {
		return nil, nil
	}
	l.emit(&ir.Declare{V: end, Init: it.hi})
	l.while(ir.Both(ir.Less(it.lo, end), late), func() { l.incr(end, ir.Int(-1)) })
	return end, places
}

// farthest returns the largest distance, in positions, of prefetches of rows that v selects, or 0
// if there are none.
func (l *lowerer) farthest(v string) (n int64) {
	for _, x := range l.spec.Strategy.Prefetch {
		if x.Var == v && x.Lines > 0 {
			n = max(n, x.Ahead, x.Far)
		}
	}
	return n
}

// streamed prepares the prefetching of the entries that a loop over the last level of a sparse
// operand reads, if the strategy orders it. It returns a function that emits the prefetching in the
// loop. For vectors, the element that a later entry selects is fetched. Nothing is fetched past the
// operand's end, which is tested once for a whole segment.
func (l *lowerer) streamed(p *loop, it *iter) func() {
	op, how := it.cur.op, l.spec.Strategy.Fetched(it.key, p.v())
	if how.Ahead == 0 || how.Lines > 0 || op.operand.Arg < 0 || it.padded ||
		l.spec.Strategy.Gather(it.key, p.v()) {
		return func() {}
	}
	near := max(how.Ahead/4, 1)
	inside := ir.Less(ir.Plus(it.hi, ir.Int(near)), op.end(it.cur.level))
	next := l.named(it.name()+"_ahead", ir.Choose(inside, ir.Int(near), ir.Int(0)))
	return func() {
		l.emit(&ir.Prefetch{A: it.crd, Index: ir.Plus(it.p, ir.Int(how.Ahead))})
		l.emit(&ir.Prefetch{A: op.vals(), Index: ir.Plus(it.p, ir.Int(how.Ahead))})
		var done []string
		cin.Accesses(p.f.Body, func(a *cin.Access) {
			c := p.e.cur[a.Key()]
			if c == nil || c.base == nil || slices.Contains(done, a.Key()) || c.op.operand.Arg < 0 ||
				c.op.order() != 1 || c.level != 0 || c.next() != p.v() || !c.op.caps(0).CanLocate() {
				return
			}
			done = append(done, a.Key())
			l.emit(&ir.Prefetch{A: c.op.vals(), Index: ir.Plus(c.base, it.at(ir.Plus(it.p, next)))})
		})
	}
}

// rowsRead returns the rows of operands that p's variable selects.
func (l *lowerer) rowsRead(p *loop) (list []fetched) {
	var done []string
	cin.Accesses(p.f.Body, func(a *cin.Access) {
		key := a.Key()
		c := p.e.cur[key]
		if c == nil || slices.Contains(done, key) || c.base == nil || !always(c.pres) {
			return
		}
		k := c.op.order() - 2
		if c.level != k || c.next() != p.v() || c.op.operand.Arg < 0 {
			return
		}
		if how := l.spec.Strategy.Fetched(key, p.v()); k == 0 && c.op.caps(1).HasPos() && how.Ahead > 0 {
			done = append(done, key)
			list = append(list, fetched{how: how, name: c.op.prefix(), rows: c})
			return
		}
		if !c.op.caps(k + 1).CanLocate() {
			return
		}
		r, s, ok := l.fetchedRow(p, key, c.op, c.vars[k+1])
		if !ok {
			return
		}
		done = append(done, key)
		r.a = c.op.vals()
		r.start = func(next ir.Expr) ir.Expr {
			row := ir.Minus(ir.Times(ir.Plus(c.base, next), c.op.size(k+1)), c.op.offset(k+1))
			return ir.Plus(row, s.lo)
		}
		list = append(list, r)
	})
	return list
}

// rowAddedTo returns the row of a dense result, or of a private copy, that p's variable selects, or
// nil if there is none.
func (l *lowerer) rowAddedTo(p *loop) *fetched {
	op, at := l.out.op, p.e.res
	k := op.order() - 2
	if !l.assigns(p.f) || l.out.sparse() || k < 0 || at.level != k || at.base == nil ||
		at.tile != nil || l.resultVars[k] != p.v() {
		return nil
	}
	r, s, ok := l.fetchedRow(p, cin.Target(p.f).Key(), op, l.resultVars[k+1])
	if !ok {
		return nil
	}
	r.a = l.out.vals()
	shift := ir.Expr(ir.Int(0))
	if c := p.e.private; c != nil {
		r.a, shift = c.vals, c.shift
	}
	r.start = func(next ir.Expr) ir.Expr {
		row := ir.Minus(ir.Times(ir.Plus(at.base, next), op.size(k+1)), op.offset(k+1))
		return ir.Plus(ir.Plus(row, s.lo), shift)
	}
	return &r
}

// fetchedRow returns how rows of op along v that p's variable selects are fetched ahead, and the
// part of them that the loops visit. ok is false if they are not fetched.
func (l *lowerer) fetchedRow(p *loop, key string, op *operand, v string) (r fetched, s coordRange,
	ok bool) {
	if _, bound := p.e.coord[v]; bound || v == p.v() {
		return r, s, false
	}
	r = fetched{how: l.spec.Strategy.Fetched(key, p.v()), name: op.prefix()}
	if !r.how.Any() {
		return r, s, false
	}
	s = l.rangeOf(p.e, v)
	r.width = r.how.Lines * (strategy.CacheLine / op.operand.Type.Size())
	if s.width > 0 {
		r.width = min(r.width, s.width)
	}
	return r, s, true
}
