package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// fetched describes rows that are fetched ahead. A loop over a sparse operand's entries selects
// them.
type fetched struct {
	how   strategy.Prefetch
	name  string
	a     *ir.Array
	width int64
	// returns the position in a where the row at coordinate next begins
	start func(next ir.Expr) ir.Expr
	// for rows of a sparse matrix, which are segments: a cursor at the rows; otherwise nil
	rows *tree.Cursor
}

// prefetch emits code that prefetches rows that a later iteration reads or adds to. It is called at
// the start of the body of a loop over a sparse operand's entries.
func (p *loop) prefetch(it *iter) {
	l := p.l
	if it.cur.Of.Argument.Number < 0 || it.padded {
		return
	}
	list := p.rowsRead()
	if r := p.rowAddedTo(); r != nil {
		list = append(list, *r)
	}
	p.fetchRows(list, func(n int64) (there, next ir.Expr) {
		ahead := ir.Plus(it.p, ir.Int(n))
		there = ir.Expr(ir.Truth(true))
		if !l.early[place(it.key, p.v())] {
			there = ir.Less(ahead, it.cur.Of.End(it.cur.Level))
		}
		return there, it.at(ahead)
	})
}

// prefetchWalked emits code that prefetches rows that a later iteration reads. It is called at the
// start of the body of a loop over the coordinates i up to hi.
func (p *loop) prefetchWalked(i, hi ir.Expr) {
	p.fetchRows(p.rowsRead(), func(n int64) (there, next ir.Expr) {
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

// fetchRows emits the prefetching of rows. Rows for the second-level cache come first. at(n)
// returns the coordinate n iterations ahead, and the condition that this iteration exists.
func (p *loop) fetchRows(list []fetched, at func(n int64) (there, next ir.Expr)) {
	l := p.l
	for _, c := range caches {
		var order []int64
		for _, r := range list {
			if n := r.how.Into(c.far); n > 0 && !slices.Contains(order, n) {
				order = append(order, n)
			}
		}
		for _, n := range order {
			there, next := at(n)
			l.b.When(there, func() {
				next := l.b.Named(p.v()+c.name, next)
				for _, r := range list {
					switch {
					case r.how.Into(c.far) != n:
					case r.rows != nil:
						l.fetchSegment(r.rows, next, r.name+c.name, c.far)
					default:
						l.b.Emit(&ir.Prefetch{A: r.a, Index: l.b.Named(r.name+c.name, r.start(next)), Len: r.width,
							Far: c.far})
					}
				}
			})
		}
	}
}

// fetchSegment emits code that prefetches the start of the row at coordinate next: the first cache
// line of its coordinates and of its values. The code first tests whether the operand has this row.
// It may not have it, because next may come from an entry that the loops never visit.
func (l *lowerer) fetchSegment(c *tree.Cursor, next ir.Expr, name string, far bool) {
	row := l.b.Named(name, ir.Plus(c.Base, next))
	l.b.When(ir.Both(ir.AtMost(ir.Int(0), row), ir.Less(row, c.Of.Size(0))), func() {
		from := l.b.Named(name+"_s", ir.Coord(c.Of.Pos(1), row))
		l.b.Emit(&ir.Prefetch{A: c.Of.Crd(1), Index: from, Far: far})
		l.b.Emit(&ir.Prefetch{A: c.Of.Vals(), Index: from, Far: far})
	})
}

// split emits a loop over the segment of an operand's level in two parts if loops over the levels
// below it fetch rows ahead. In the first part, enough entries follow for the prefetch distance, so
// no iteration tests whether an entry exists. Such tests cost more than the fetching saves if the
// inner loops have few iterations. loop emits one part.
func (p *loop) split(it *iter, loop func(lo, hi ir.Expr)) {
	l := p.l
	end, places := p.earlyEnd(it)
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

// earlyEnd returns the position where the first part of a split loop ends. Before it, the loops at
// places request no entry past the operand's end. places is empty if rows are fetched ahead only at
// this level, because the end of this level's segment is the end of all entries.
func (p *loop) earlyEnd(it *iter) (end *ir.Var, places []string) {
	l := p.l
	op, level := it.cur.Of, it.cur.Level
	_, inside := l.early[place(it.key, p.v())]
	if inside || p.want || p.onUnits() || op.Argument.Number < 0 || it.padded {
		return nil, nil
	}
	end = l.b.Var(it.name() + "_early")
	at, late, below := ir.Expr(end), ir.Expr(ir.Truth(false)), false
	for k := level; k < len(it.cur.Vars) && (k == level || op.Kind(k).HasPos()); k++ {
		if k > level {
			at = ir.Coord(op.Pos(k), at)
		}
		if n := l.farthest(it.cur.Vars[k]); n > 0 {
			late = ir.Either(late, ir.Less(ir.Minus(op.End(k), ir.Int(n)), at))
			places = append(places, place(it.key, it.cur.Vars[k]))
			below = below || k > level
		}
	}
	if !below {
		return nil, nil
	}
	l.b.Emit(&ir.Declare{V: end, Init: it.hi})
	l.b.While(ir.Both(ir.Less(it.lo, end), late), func() { l.b.Incr(end, ir.Int(-1)) })
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
// operand reads, if the strategy says so. It returns a function that emits the prefetching in the
// loop. For each vector that the body reads, the element that a later entry selects is also
// fetched. The later entry is read only if it exists, which is tested once for a whole segment.
func (p *loop) streamed(it *iter) func() {
	l := p.l
	op, how := it.cur.Of, l.spec.Strategy.Fetched(it.key, p.v())
	if how.Ahead == 0 || how.Lines > 0 || op.Argument.Number < 0 || it.padded ||
		l.spec.Strategy.Gather(it.key, p.v()) {
		return func() {}
	}
	near := max(how.Ahead/4, 1)
	inside := ir.Less(ir.Plus(it.hi, ir.Int(near)), op.End(it.cur.Level))
	next := l.b.Named(it.name()+"_ahead", ir.Choose(inside, ir.Int(near), ir.Int(0)))
	return func() {
		l.b.Emit(&ir.Prefetch{A: it.crd, Index: ir.Plus(it.p, ir.Int(how.Ahead))})
		l.b.Emit(&ir.Prefetch{A: op.Vals(), Index: ir.Plus(it.p, ir.Int(how.Ahead))})
		var done []string
		cin.Accesses(p.f.Body, func(a *cin.Access) {
			c := p.e.cur[a.Key()]
			if c == nil || c.Base == nil || slices.Contains(done, a.Key()) || c.Of.Argument.Number < 0 ||
				c.Of.Order() != 1 || c.Level != 0 || c.Next() != p.v() || !c.Of.Kind(0).CanLocate() {
				return
			}
			done = append(done, a.Key())
			l.b.Emit(&ir.Prefetch{A: c.Of.Vals(), Index: ir.Plus(c.Base, it.at(ir.Plus(it.p, next)))})
		})
	}
}

// rowsRead returns the rows of operands that p's variable selects and that are fetched ahead.
func (p *loop) rowsRead() (list []fetched) {
	l := p.l
	var done []string
	cin.Accesses(p.f.Body, func(a *cin.Access) {
		key := a.Key()
		c := p.e.cur[key]
		if c == nil || slices.Contains(done, key) || c.Base == nil || !ir.Always(c.Present) {
			return
		}
		k := c.Of.Order() - 2
		if c.Level != k || c.Next() != p.v() || c.Of.Argument.Number < 0 {
			return
		}
		if how := l.spec.Strategy.Fetched(key, p.v()); k == 0 && c.Of.Kind(1).HasPos() && how.Ahead > 0 {
			done = append(done, key)
			list = append(list, fetched{how: how, name: c.Of.Prefix(), rows: c})
			return
		}
		if !c.Of.Kind(k + 1).CanLocate() {
			return
		}
		r, s, ok := p.fetchedRow(key, c.Of, c.Vars[k+1])
		if !ok {
			return
		}
		done = append(done, key)
		r.a = c.Of.Vals()
		r.start = func(next ir.Expr) ir.Expr {
			row := ir.Minus(ir.Times(ir.Plus(c.Base, next), c.Of.Size(k+1)), c.Of.Offset(k+1))
			return ir.Plus(row, s.Lo)
		}
		list = append(list, r)
	})
	return list
}

// rowAddedTo returns the row of a dense result, or of a private copy, that p's variable selects. It
// returns nil if there is none, or if it is not fetched ahead.
func (p *loop) rowAddedTo() *fetched {
	l := p.l
	op, at := l.out.op, p.e.res
	k := op.Order() - 2
	if !l.assigns(p.f) || l.out.sparse() || k < 0 || at.level != k || at.base == nil ||
		at.tile != nil || l.resultVars[k] != p.v() {
		return nil
	}
	r, s, ok := p.fetchedRow(cin.Target(p.f).Key(), op, l.resultVars[k+1])
	if !ok {
		return nil
	}
	r.a = l.out.vals()
	shift := ir.Expr(ir.Int(0))
	if c := p.e.private; c != nil {
		r.a, shift = c.vals, c.shift
	}
	r.start = func(next ir.Expr) ir.Expr {
		row := ir.Minus(ir.Times(ir.Plus(at.base, next), op.Size(k+1)), op.Offset(k+1))
		return ir.Plus(ir.Plus(row, s.Lo), shift)
	}
	return &r
}

// fetchedRow returns how rows of op along v that p's variable selects are fetched ahead, and the
// part of them that the loops visit. ok is false if they are not fetched.
func (p *loop) fetchedRow(key string, op *tree.Operand, v string) (r fetched,
	s tree.Range, ok bool) {
	l := p.l
	if _, bound := p.e.coord.get(v); bound || v == p.v() {
		return r, s, false
	}
	r = fetched{how: l.spec.Strategy.Fetched(key, p.v()), name: op.Prefix()}
	if !r.how.Any() {
		return r, s, false
	}
	s = l.rangeOf(p.e, v)
	r.width = r.how.Lines * (strategy.CacheLine / op.Argument.Type.Size())
	if s.Width > 0 {
		r.width = min(r.width, s.Width)
	}
	return r, s, true
}
