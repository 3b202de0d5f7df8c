package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// fetched are rows that a loop over a sparse operand's entries picks, and that are fetched ahead.
type fetched struct {
	how   strategy.Prefetch
	name  string
	a     *ir.Array
	width int64
	start func(next ir.Expr) ir.Expr // the position in a at which the row at coordinate next begins
	rows  *cursor                    // at the rows of a sparse matrix, which are segments; else nil
}

// prefetch emits, at the head of a loop over a sparse operand's entries, the
// prefetching of the rows that a later iteration reads, or adds to.
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

// prefetchWalked emits, at the head of a loop over the coordinates i up to hi, the prefetching of
// the rows that a later iteration reads.
func (l *lowerer) prefetchWalked(p *loop, i, hi ir.Expr) {
	l.fetchRows(p, l.rowsRead(p), func(n int64) (there, next ir.Expr) {
		next = ir.Plus(i, ir.Int(n))
		return ir.Less(next, hi), next
	})
}

// caches are those that rows are fetched into, that of the second level first, with what the names
// of what is fetched end in.
var caches = []struct {
	far  bool
	name string
}{{true, "_far"}, {false, "_next"}}

// fetchRows emits the prefetching of rows, those that are fetched into the cache of the second
// level first. Of the iteration that is n ahead at tells whether there is one, and its coordinate.
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

// fetchSegment emits the prefetching of the first line of a row's coordinates and values, where the
// operand has a row at coordinate next: entries that no loop comes to may name others.
func (l *lowerer) fetchSegment(c *cursor, next ir.Expr, name string, far bool) {
	row := l.named(name, ir.Plus(c.base, next))
	l.when(ir.Both(ir.AtMost(ir.Int(0), row), ir.Less(row, c.op.size(0))), func() {
		from := l.named(name+"_s", ir.Coord(c.op.pos(1), row))
		l.emit(&ir.Prefetch{A: c.op.crd(1), Index: from, Far: far})
		l.emit(&ir.Prefetch{A: c.op.vals(), Index: from, Far: far})
	})
}

// split emits the loop over the segment of an operand's level twice, by loop, where rows are
// fetched ahead in loops over the levels below it: up to a position, and from there on. What lies
// below the former is followed by as many entries as that is ahead, and no iteration asks whether
// an entry is there, which costs more than the fetching where the loops inside have few iterations
// each.
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

// earlyEnd is the position up to which the loops at places ask for no entry past the operand's end.
// There are no places where rows are fetched ahead at this level alone, of whose segment the end is
// that of all.
func (l *lowerer) earlyEnd(p *loop, it *iter) (end *ir.Var, places []string) {
	op, level := it.cur.op, it.cur.level
	_, inside := l.early[place(it.key, p.v())]
	if inside || p.want || l.onUnits(p) || op.operand.Arg < 0 || it.padded {
		return nil, nil
	}
	end = l.newVar(it.name() + "_early")
	at, late, below := ir.Expr(end), ir.Expr(ir.Truth(false)), false
	for k := level; k < len(it.cur.vars) && (k == level || op.caps(k).HasPos); k++ {
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

// farthest is how many positions ahead rows are fetched that v picks; 0 where none are.
func (l *lowerer) farthest(v string) (n int64) {
	for _, x := range l.spec.Strategy.Prefetch {
		if x.Var == v && x.Lines > 0 {
			n = max(n, x.Ahead, x.Far)
		}
	}
	return n
}

// streamed prepares the prefetching of what a loop over the last level of a sparse operand reads,
// by the strategy's order, and returns what emits it in the loop. Of vectors that is what a later
// entry picks: past the end of the operand, which a whole segment is held to, nothing is.
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
				c.op.order() != 1 || c.level != 0 || c.next() != p.v() || !c.op.caps(0).Locate {
				return
			}
			done = append(done, a.Key())
			l.emit(&ir.Prefetch{A: c.op.vals(), Index: ir.Plus(c.base, it.at(ir.Plus(it.p, next)))})
		})
	}
}

// rowsRead are the rows of operands that p's variable picks.
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
		if how := l.spec.Strategy.Fetched(key, p.v()); k == 0 && c.op.caps(1).HasPos && how.Ahead > 0 {
			done = append(done, key)
			list = append(list, fetched{how: how, name: c.op.prefix(), rows: c})
			return
		}
		if !c.op.caps(k + 1).Locate {
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

// rowAddedTo is the row of a dense result that p's variable picks, or that of a private copy; nil
// where there is none.
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

// fetchedRow is how the strategy has rows along v fetched ahead that p's variable picks from op,
// and the part of them that the loops visit.
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
