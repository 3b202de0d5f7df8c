package merge

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// fetched describes rows that a loop prefetches for a later iteration. The loop's variable selects
// the rows.
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

// Prefetch emits code that prefetches rows that a later iteration reads or adds to. It is called at
// the start of the body of a loop over a sparse operand's entries.
func (p *Loop) Prefetch(it *Iter) {
	if it.Cur.Of.Argument.Number < 0 || it.Padded {
		return
	}
	list := p.rowsRead()
	if r := p.rowAddedTo(); r != nil {
		list = append(list, *r)
	}
	p.fetchRows(list, func(n int64) (there, next ir.Expr) {
		ahead := ir.Plus(it.P, ir.Int(n))
		there = ir.Expr(ir.Truth(true))
		if !p.E.Early.At(scope.PlaceKey(it.Key, p.V())) {
			there = ir.Less(ahead, it.Cur.Of.End(it.Cur.Level))
		}
		return there, it.At(ahead)
	})
}

// prefetchWalked emits code that prefetches rows that a later iteration reads. It is called at the
// start of the body of a loop over coordinates. i is the loop's current coordinate, and hi is the
// end of its range.
func (p *Loop) prefetchWalked(i, hi ir.Expr) {
	p.fetchRows(p.rowsRead(), func(n int64) (there, next ir.Expr) {
		next = ir.Plus(i, ir.Int(n))
		return ir.Less(next, hi), next
	})
}

// Caches lists the caches that rows are fetched into, the second-level cache first. Name is the
// suffix for variables.
var Caches = []struct {
	Far  bool
	Name string
}{{true, "_far"}, {false, "_next"}}

// fetchRows emits code that prefetches the rows in list. It begins with the rows for the
// second-level cache. ahead(n) returns two expressions about the iteration n steps later: the
// condition that there is such an iteration, and its coordinate.
func (p *Loop) fetchRows(list []fetched, ahead func(n int64) (there, next ir.Expr)) {
	l := p.E.Leaf
	for _, c := range Caches {
		var order []int64
		for _, r := range list {
			if n := r.how.Into(c.Far); n > 0 && !slices.Contains(order, n) {
				order = append(order, n)
			}
		}
		for _, n := range order {
			there, next := ahead(n)
			l.B.When(there, func() {
				next := l.B.Named(p.V()+c.Name, next)
				for _, r := range list {
					switch {
					case r.how.Into(c.Far) != n:
					case r.rows != nil:
						fetchSegment(l, r.rows, next, r.name+c.Name, c.Far)
					default:
						l.B.Emit(&ir.Prefetch{A: r.a, Index: l.B.Named(r.name+c.Name, r.start(next)), Len: r.width,
							Far: c.Far})
					}
				}
			})
		}
	}
}

// fetchSegment emits code that prefetches the start of the row at coordinate next: the first cache
// line of its coordinates and of its values. The code first tests whether the operand has this row.
// The row can be missing, because next may come from an entry that the loops never visit.
func fetchSegment(l *scope.Leaf, c *tree.Cursor, next ir.Expr, name string, far bool) {
	row := l.B.Named(name, ir.Plus(c.Base, next))
	l.B.When(ir.Both(ir.AtMost(ir.Int(0), row), ir.Less(row, c.Of.Size(0))), func() {
		from := l.B.Named(name+"_s", ir.Coord(c.Of.Pos(1), row))
		l.B.Emit(&ir.Prefetch{A: c.Of.Crd(1), Index: from, Far: far})
		l.B.Emit(&ir.Prefetch{A: c.Of.Vals(), Index: from, Far: far})
	})
}

// split emits the loop over the entries of iterator it, in one or two parts. There are two parts if
// earlyEnd says so. In the first part the code then prefetches without tests whether the fetched
// entry exists. The function emitPart emits one part, for the positions [lo, hi).
func (p *Loop) split(it *Iter, emitPart func(lo, hi ir.Expr)) {
	end, places := p.earlyEnd(it)
	if len(places) == 0 {
		emitPart(it.Lo, it.Hi)
		return
	}
	part := func(early bool, lo, hi ir.Expr) {
		for _, x := range places {
			p.E.Early = p.E.Early.With(x, early)
		}
		emitPart(lo, hi)
	}
	outer := p.E
	p.E = outer.Clone()
	part(true, it.Lo, end)
	part(false, end, it.Hi)
	p.E = outer
}

// earlyEnd emits code that computes the position where the first part of a split loop ends, and
// returns this position. In the first part, the code need not test whether the entries to prefetch
// exist. places has a key (scope.PlaceKey) for each loop that prefetches without such a test in the
// first part.
//
// A loop is split only if a loop over a deeper level prefetches rows. Otherwise end is nil and
// places is empty.
func (p *Loop) earlyEnd(it *Iter) (end *ir.Var, places []string) {
	l := p.E.Leaf
	op, level := it.Cur.Of, it.Cur.Level
	_, inside := p.E.Early.Get(scope.PlaceKey(it.Key, p.V()))
	if inside || p.Want || p.onUnits() || op.Argument.Number < 0 || it.Padded {
		return nil, nil
	}
	end = l.B.Var(it.Name() + "_early")
	at, late, below := ir.Expr(end), ir.Expr(ir.Truth(false)), false
	for k := level; k < len(it.Cur.Vars) && (k == level || op.Kind(k).HasPos()); k++ {
		if k > level {
			at = ir.Coord(op.Pos(k), at)
		}
		if n := farthest(l, it.Cur.Vars[k]); n > 0 {
			late = ir.Either(late, ir.Less(ir.Minus(op.End(k), ir.Int(n)), at))
			places = append(places, scope.PlaceKey(it.Key, it.Cur.Vars[k]))
			below = below || k > level
		}
	}
	if !below {
		return nil, nil
	}
	l.B.Emit(&ir.Declare{V: end, Init: it.Hi})
	l.B.While(ir.Both(ir.Less(it.Lo, end), late), func() { l.B.Incr(end, ir.Int(-1)) })
	return end, places
}

// farthest returns the largest distance, in positions, of prefetches of rows that v selects, or 0
// if there are none.
func farthest(l *scope.Leaf, v string) (n int64) {
	for _, x := range l.Spec.Strategy.Prefetch {
		if x.Var == v && x.Lines > 0 {
			n = max(n, x.Ahead, x.Far)
		}
	}
	return n
}

// streamed prepares prefetching for a loop over the last level of a sparse operand. It returns a
// function that emits the prefetching in the body of the loop. The function emits nothing if the
// strategy does not ask for this prefetching. The code prefetches later entries of the operand. It
// also prefetches the vector elements that a later entry selects. To find these elements, the code
// reads the coordinate of the later entry. A test before the loop ensures that this entry exists.
func (p *Loop) streamed(it *Iter) func() {
	l := p.E.Leaf
	op, how := it.Cur.Of, l.Spec.Strategy.Fetched(it.Key, p.V())
	if how.Ahead == 0 || how.Lines > 0 || op.Argument.Number < 0 || it.Padded ||
		l.Spec.Strategy.Gather(it.Key, p.V()) {
		return func() {}
	}
	near := max(how.Ahead/4, 1)
	inside := ir.Less(ir.Plus(it.Hi, ir.Int(near)), op.End(it.Cur.Level))
	next := l.B.Named(it.Name()+"_ahead", ir.Choose(inside, ir.Int(near), ir.Int(0)))
	return func() {
		l.B.Emit(&ir.Prefetch{A: it.Crd, Index: ir.Plus(it.P, ir.Int(how.Ahead))})
		l.B.Emit(&ir.Prefetch{A: op.Vals(), Index: ir.Plus(it.P, ir.Int(how.Ahead))})
		var done []string
		cin.Accesses(p.F.Body, func(a *cin.Access) {
			c := p.E.Cur[a.Key()]
			if c == nil || c.Base == nil || slices.Contains(done, a.Key()) || c.Of.Argument.Number < 0 ||
				c.Of.Order() != 1 || c.Level != 0 || c.Next() != p.V() || !c.Of.Kind(0).CanLocate() {
				return
			}
			done = append(done, a.Key())
			l.B.Emit(&ir.Prefetch{A: c.Of.Vals(), Index: ir.Plus(c.Base, it.At(ir.Plus(it.P, next)))})
		})
	}
}

// rowsRead returns the rows of operands that p's variable selects and that are fetched ahead.
func (p *Loop) rowsRead() (list []fetched) {
	l := p.E.Leaf
	var done []string
	cin.Accesses(p.F.Body, func(a *cin.Access) {
		key := a.Key()
		c := p.E.Cur[key]
		if c == nil || slices.Contains(done, key) || c.Base == nil || !ir.Always(c.Present) {
			return
		}
		k := c.Of.Order() - 2
		if c.Level != k || c.Next() != p.V() || c.Of.Argument.Number < 0 {
			return
		}
		if how := l.Spec.Strategy.Fetched(key, p.V()); k == 0 && c.Of.Kind(1).HasPos() && how.Ahead > 0 {
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
func (p *Loop) rowAddedTo() *fetched {
	l := p.E.Leaf
	op, at := l.Out.Op, p.E.Res
	k := op.Order() - 2
	if !l.Assigns(p.F) || l.Out.Sparse() || k < 0 || at.Level != k || at.Base == nil ||
		at.Tile != nil || l.ResultVars[k] != p.V() {
		return nil
	}
	r, s, ok := p.fetchedRow(cin.Target(p.F).Key(), op, l.ResultVars[k+1])
	if !ok {
		return nil
	}
	r.a = l.Out.Values
	shift := ir.Expr(ir.Int(0))
	if c := p.E.Private; c != nil {
		r.a, shift = c.Vals, c.Shift
	}
	r.start = func(next ir.Expr) ir.Expr {
		row := ir.Minus(ir.Times(ir.Plus(at.Base, next), op.Size(k+1)), op.Offset(k+1))
		return ir.Plus(ir.Plus(row, s.Lo), shift)
	}
	return &r
}

// fetchedRow returns how loop p prefetches rows of operand op. The variable of p selects a row, and
// v is the variable along the row. key is the key of the access to op. r has the cache and the
// length of the prefetch, and s is the range of v that the loops visit. ok is false if the rows are
// not prefetched.
func (p *Loop) fetchedRow(key string, op *tree.Operand, v string) (r fetched,
	s tree.Range, ok bool) {
	if _, bound := p.E.Coord.Get(v); bound || v == p.V() {
		return r, s, false
	}
	r = fetched{how: p.E.Leaf.Spec.Strategy.Fetched(key, p.V()), name: op.Prefix()}
	if !r.how.Any() {
		return r, s, false
	}
	s = p.E.RangeOf(v)
	r.width = r.how.Lines * (strategy.CacheLine / op.Argument.Type.Size())
	if s.Width > 0 {
		r.width = min(r.width, s.Width)
	}
	return r, s, true
}
