package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// fixedResult is the numeric phase of a result with a fixed pattern. The level arrays are given,
// for example by an earlier result over operands with the same patterns. The leaf writes the
// values.
//
// It visits the coordinates that it would otherwise append, in the same order. It finds the
// position of each by moving along the result's row that has the coordinate. It fails if the row
// does not have the coordinate. Positions are visited in ascending order, so a single count says
// which values have been written. Values that the count skips are set to 0.
//
// Two forms are lowered in another way. A sum of the entries of several rows walks the result's row
// and looks up each of the operands' rows (mergeRows). A sum that another leaf would collect in
// a workspace is computed in the result (fixed_sums.go), so no list of coordinates is made and
// nothing is sorted.
//
// The result does not follow an operand's pattern, so calling at is a bug. Calling chunks is also a
// bug, because a numeric phase never has a schedule with parallel loops over tiles.
type fixedResult struct {
	*result
	// These fields describe the whole result or the current chunk. done is the first position of
	// the last compressed level whose values have not been written yet. If level 0 is compressed,
	// lo and hi are the range of its positions.
	done   *ir.Var
	lo, hi ir.Expr
}

func newFixedResult(r *result) *fixedResult {
	r.values = r.op.Vals()
	return &fixedResult{result: r}
}

func (*fixedResult) inOrder() bool { return true }

func (*fixedResult) pattern() string { return "" }

func (*fixedResult) at(ir.Expr) resultCursor {
	panic("BUG: lower: a fixed pattern is not an operand's pattern")
}

func (*fixedResult) chunks(ir.Expr, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	panic("BUG: lower: a schedule's chunks of a result with a fixed pattern")
}

// failUnless makes the leaf fail if the result does not have the current coordinates. cond is the
// condition that it has them.
func (l *lowerer) failUnless(cond ir.Expr, e *env) {
	l.b.When(ir.Inverse(cond), func() { l.b.Emit(&ir.Fail{Code: ir.FailPattern, Coord: l.coords(e)}) })
}

// arrays returns the pos and crd arrays of compressed level k.
func (a *fixedResult) arrays(k int) (pos, crd *ir.Array) {
	pos, crd = a.op.Pos(k), a.op.Crd(k)
	pos.Const, crd.Const = true, true
	return pos, crd
}

// whole lowers all loops of the leaf by calling run. If parallel is true, the loops on threads set
// the values of the result, chunk by chunk. Otherwise whole also emits code that sets the values
// which run does not write to zero.
func (a *fixedResult) whole(parallel bool, run func()) {
	if parallel {
		run()
		return
	}
	if a.op.Kind(0).CanLocate() {
		a.write(ir.Int(0), a.op.Size(0), nil, run)
		return
	}
	pos, _ := a.arrays(0)
	a.write(ir.Coord(pos, ir.Int(0)), ir.Coord(pos, ir.Int(1)), nil, run)
}

// parallel lowers f as chunks that run on threads. Each chunk writes the values of its own rows.
func (a *fixedResult) parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr {
	l, chunks := a.l, a.l.chunks()
	w := l.work(f, e, chunks)
	w.cutLongRows(o.Long)
	c := l.b.Var("chunk")
	body := l.b.InScope(func() {
		s := w.rowRange(f, c)
		lo, hi := a.positions(tree.Range{Lo: s.rows.Lo, Hi: s.closed}, c, chunks)
		a.write(lo, hi, s, func() { s.lower(l, e.clone()) })
	})
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	return ir.Truth(true)
}

// write lowers run, which writes the values below the positions lo to hi of level 0. If s is not
// nil, it writes only the values of the rows and parts of rows in s.
func (a *fixedResult) write(lo, hi ir.Expr, s *rowRange, run func()) {
	l, op := a.l, a.op
	a.lo, a.hi = l.b.Named(op.Prefix()+"_lo", lo), l.b.Named(op.Prefix()+"_hi", hi)
	done := l.b.Declare(op.Prefix()+"_done", a.firstBelow(1, a.lo))
	end := l.b.Declare(op.Prefix()+"_end", a.firstBelow(1, a.hi))
	if s != nil && s.cutVar != "" {
		l.b.When(s.begins, func() { l.b.Set(done, a.inRow(s.first, s.from)) })
		l.b.When(s.ends, func() { l.b.Set(end, a.inRow(s.last, s.to)) })
	}
	a.done = done
	run()
	a.zeroUntil(end)
}

// inRow returns the position, in the last compressed level, of the first entry of row r whose
// coordinate is at least c.
func (a *fixedResult) inRow(r, c ir.Expr) ir.Expr {
	pos, crd := a.arrays(1)
	p := ir.Minus(r, a.op.Offset(0))
	return a.firstBelow(2, &ir.Search{A: crd, Lo: ir.Coord(pos, p),
		Hi: ir.Coord(pos, ir.Plus(p, ir.Int(1))), Key: c})
}

// positions returns the range of positions of level 0 that chunk c writes. s is the range of the
// chunk's coordinates. The first chunk also gets the positions whose coordinates come before its
// range, and the last chunk gets those after its range.
func (a *fixedResult) positions(s tree.Range, c *ir.Var, chunks ir.Expr) (lo, hi ir.Expr) {
	l := a.l
	if a.op.Kind(0).CanLocate() {
		return ir.Minus(s.Lo, a.op.Offset(0)), ir.Minus(s.Hi, a.op.Offset(0))
	}
	pos, crd := a.arrays(0)
	from := l.b.Named(a.op.Prefix()+"_from", ir.Coord(pos, ir.Int(0)))
	to := l.b.Named(a.op.Prefix()+"_to", ir.Coord(pos, ir.Int(1)))
	at := func(x ir.Expr) ir.Expr { return &ir.Search{A: crd, Lo: from, Hi: to, Key: x} }
	first, last := ir.Equal(c, ir.Int(0)), ir.AtLeast(ir.Plus(c, ir.Int(1)), chunks)
	return ir.Choose(first, from, at(s.Lo)), ir.Choose(last, to, at(s.Hi))
}

// children returns the position in level k where the children of position p of level k-1 begin.
func (a *fixedResult) children(k int, p ir.Expr) ir.Expr {
	if a.op.Kind(k).HasPos() {
		pos, _ := a.arrays(k)
		return ir.Coord(pos, p)
	}
	return ir.Times(p, a.op.Size(k))
}

// firstBelow returns the first position of the last compressed level that is below position p of
// level k-1, or below a later position.
func (a *fixedResult) firstBelow(k int, p ir.Expr) ir.Expr {
	for ; k <= a.deep; k++ {
		p = a.children(k, p)
	}
	return p
}

// zeroUntil emits code that sets values to 0: the values before position p that have not been
// written yet.
func (a *fixedResult) zeroUntil(p ir.Expr) {
	l, done := a.l, a.done
	l.b.When(ir.Less(done, p), func() {
		a.zeroBlocks(done, p)
		l.b.Set(done, p)
	})
}

// zeroBlocks emits code that sets the values of the positions lo to hi of the last compressed level
// to 0.
func (a *fixedResult) zeroBlocks(lo, hi ir.Expr) {
	n := a.block(a.deep + 1)
	a.l.b.Emit(&ir.Fill{A: a.vals(), Lo: ir.Times(lo, n), Hi: ir.Times(hi, n),
		X: ir.Zero(a.vals().Elem)})
}

// row returns the range of positions of compressed level k below the current position. The range is
// empty if the result does not have the current coordinates.
func (a *fixedResult) row(e *env, k int) (lo, hi ir.Expr) {
	l := a.l
	name := a.op.Prefix() + "_row"
	if k == 0 {
		return a.lo, a.hi
	}
	pos, _ := a.arrays(k)
	from, to := ir.Coord(pos, e.res.pos), ir.Coord(pos, ir.Plus(e.res.pos, ir.Int(1)))
	if e.res.here == nil {
		from, to = l.b.Named(name, from), l.b.Named(name+"_end", to)
		if s := e.ranges.at(l.resultVars[k]); s.Open != nil {
			return s.Clipped(l.b, name, a.op.Crd(k), from, to)
		}
		return from, to
	}
	none := ir.Expr(ir.Int(0))
	if k == a.deep {
		none = a.done
	}
	vlo, vhi := l.b.Declare(name, none), l.b.Declare(name+"_end", none)
	l.b.When(e.res.here, func() {
		l.b.Set(vlo, from)
		l.b.Set(vhi, to)
	})
	return vlo, vhi
}

// loop lowers f, which visits coordinates of compressed level k, and finds their positions in the
// result.
func (a *fixedResult) loop(f *cin.Forall, e *env, k int, _ bool) ir.Expr {
	l := a.l
	lo, hi := a.row(e, k)
	if k < a.deep {
		at := l.b.Declare(a.op.Prefix()+"_at", lo)
		return (&loop{l: l, f: f, e: e,
			body: func(in *env) ir.Expr { return a.enterAbove(f, in, k, at, hi) }}).loops()
	}
	a.zeroUntil(lo)
	p := &loop{l: l, f: f, e: e, body: func(in *env) ir.Expr { return a.writeBlock(f, in, hi) }}
	if a.deep == a.op.Order()-1 && l.storesOnce(f.Body) {
		p.body = func(in *env) ir.Expr {
			in.res = resultCursor{level: k + 1, pos: a.done, row: hi}
			return l.stmt(f.Body, in, true)
		}
		p.merge = func(p *loop) bool { return a.mergeRows(p, hi) }
	}
	return p.loops()
}

// storesOnce reports whether s stores a value of the result by one assignment that is not an
// addition.
func (l *lowerer) storesOnce(s cin.Stmt) bool {
	switch s := s.(type) {
	case *cin.Assign:
		return l.assigns(s) && !s.Accumulate
	case *cin.Where:
		return l.storesOnce(s.Consumer)
	}
	return false
}

// holds returns the condition that position p of level k, which must be before end, has coordinate
// c.
func (a *fixedResult) holds(k int, p, end, c ir.Expr) ir.Expr {
	_, crd := a.arrays(k)
	return ir.Both(ir.Less(p, end), ir.Equal(ir.Coord(crd, p), c))
}

// advance emits code that moves p, a position of level k, to the first position before end with a
// coordinate of at least c, or to end.
func (a *fixedResult) advance(k int, p *ir.Var, end, c ir.Expr) {
	l := a.l
	_, crd := a.arrays(k)
	l.b.While(ir.Both(ir.Less(p, end), ir.Less(ir.Coord(crd, p), c)),
		func() { l.b.Incr(p, ir.Int(1)) })
}

// find emits code that moves a.done to the position of coordinate c, or of the first larger
// coordinate, in the row that ends at end. It sets the values that are skipped to 0. moved, if it
// is not nil, emits code that runs if a.done moved.
func (a *fixedResult) find(end, c ir.Expr, moved func()) {
	l := a.l
	l.b.When(ir.Inverse(a.holds(a.deep, a.done, end, c)), func() {
		from := l.b.Named(a.op.Prefix()+"_from", a.done)
		a.advance(a.deep, a.done, end, c)
		a.zeroBlocks(from, a.done)
		if moved != nil {
			moved()
		}
	})
}

// store emits code that stores a value at its place in the current row of the last level or, inside
// a block, at the cursor.
func (a *fixedResult) store(x value, e *env) {
	l := a.l
	switch {
	case e.res.row != nil:
		l.b.When(x.pres, func() {
			c := e.coord.at(l.resultVars[a.deep])
			a.find(e.res.row, c, func() { l.failUnless(a.holds(a.deep, a.done, e.res.row, c), e) })
			l.b.Store(a.vals(), a.done, ir.Convert(a.vals().Elem, x.v))
			l.b.Incr(a.done, ir.Int(1))
		})
	case a.deep == a.op.Order()-1 && ir.Never(x.pres):
	default:
		l.b.Store(a.vals(), e.res.pos, ir.Convert(a.vals().Elem, l.masked(x)))
	}
}

// enterAbove lowers the body of f for one coordinate of level k, which is above the last compressed
// level. The emitted code searches for the coordinate in a row of the result, from position at to
// position end.
func (a *fixedResult) enterAbove(f *cin.Forall, in *env, k int, at *ir.Var, end ir.Expr) ir.Expr {
	l := a.l
	c := in.coord.at(f.Var)
	a.advance(k, at, end, c)
	here := l.b.Named(a.op.Prefix()+"_here", a.holds(k, at, end, c))
	in.res = resultCursor{level: k + 1, pos: at, here: here}
	l.enterResult(in)
	return l.stmt(f.Body, in, false)
}

// writeBlock lowers the body for one coordinate of the last compressed level, if a block of values
// is below it. If the result does not have the coordinate, the body is run only to find out whether
// anything would be written.
func (a *fixedResult) writeBlock(f *cin.Forall, in *env, end ir.Expr) ir.Expr {
	l := a.l
	c := in.coord.at(f.Var)
	a.find(end, c, nil)
	here := a.holds(a.deep, a.done, end, c)
	again := in.clone()
	some := ir.Expr(ir.Truth(false))
	body := func(in *env) *ir.Block {
		return l.b.Within(func() {
			in.res = resultCursor{level: a.deep + 1, pos: a.done}
			l.enterResult(in)
			some = l.stmt(f.Body, in, true)
		})
	}
	b := body(in)
	if ir.Never(some) {
		return some
	}
	next := &ir.Assign{V: a.done, Accumulate: true, X: ir.Int(1)}
	if ir.Always(some) {
		l.failUnless(here, in)
		l.b.Append(b)
		l.b.Emit(next)
		return some
	}
	nowhere := l.b.Array("vals", a.op.Argument.Type)
	var rest *ir.Block
	a.writingTo(nowhere, func() {
		rest = l.b.Within(func() {
			b := body(again)
			l.b.Append(b)
			l.b.When(some, func() { l.failUnless(ir.Truth(false), again) })
		})
	})
	rewrite.Strip(rest, map[*ir.Array]bool{nowhere: true})
	b.List = append(b.List, next)
	l.b.Emit(&ir.If{Cond: here, Then: b, Else: rest})
	return some
}

// mergeRows lowers the loop over the last level of a fixed pattern if it sums the entries of
// several rows. The loop then walks the result's row instead of merging the operands' rows (see
// followsResult). mergeRows returns false if the loop has another form. If some rows are empty,
// which is known only at run time, the rows are merged like in any other result.
func (a *fixedResult) mergeRows(p *loop, end ir.Expr) bool {
	l := a.l
	its := p.subset(p.lat.All())
	if len(p.lat.Points) == 0 || p.lat.Points[0].Iters != p.lat.All() || !p.followsResult(its) {
		return false
	}
	var full []ir.Expr
	for _, it := range its {
		full = append(full, ir.Less(it.lo, it.hi))
	}
	merged := *p
	merged.merge = nil
	s := &ir.If{Cond: ir.Both(full...), Then: l.b.Within(func() { a.walkRow(p, its, end) })}
	s.Else = l.b.Within(func() { (&merged).mergeLoops() })
	l.b.Emit(s)
	return true
}

// followsResult reports whether the body of the loop is a sum that can be computed at each
// coordinate of the result, even if operands are absent there (see canPredicateTerms). A sum of
// integers must not have a division, because the leaf could then divide by zero where an operand is
// absent.
func (p *loop) followsResult(its []*iter) bool {
	l := p.l
	t := l.spec.Compute
	if s, ok := p.f.Body.(*cin.Assign); !ok || !t.IsFloat() && (!t.IsInt() || hasQuotient(s.RHS)) {
		return false
	}
	return p.canPredicateTerms(its, p.lat.Under(p.lat.Points[0]), func(c *tree.Cursor) bool {
		k := c.Level
		for ; k < c.Of.Order() && c.Vars[k] == p.v() && c.Of.Kind(k).CanLocate(); k++ {
		}
		return k == c.Of.Order()
	})
}

// walkRow emits a loop over the coordinates of a row of the result, which ends at position end. The
// operands' rows that have the coordinate advance. An operand's row stays at its last entry, whose
// coordinate does not occur again. No load and no branch therefore depends on the end of an
// operand's row. After the loop, the number of entries found must equal the number of entries in
// the operands' rows.
func (a *fixedResult) walkRow(p *loop, its []*iter, end ir.Expr) {
	l := a.l
	_, crd := a.arrays(a.deep)
	found, last := make([]*ir.Var, len(its)), make([]ir.Expr, len(its))
	for k, it := range its {
		l.start(it)
		found[k] = l.b.Declare(it.name()+"_found", it.lo)
		last[k] = l.b.Named(it.name()+"_last", ir.Minus(it.hi, ir.Int(1)))
	}
	none := ir.NewVar(l.b.Fresh("none"), l.spec.Compute)
	if none.Typ.IsFloat() {
		l.b.Emit(&ir.Declare{V: none, Init: &ir.Lit{Typ: none.Typ, C: complex(negativeZero, 0)}})
	}
	o := l.b.Var(a.op.Prefix() + "_p")
	l.b.Emit(&ir.For{V: o, Lo: a.done, Hi: end, Step: 1, Body: l.b.Within(func() {
		c := l.b.Declare(p.v(), ir.Coord(crd, o))
		cursors, picks := map[string]*tree.Cursor{}, map[string]ir.Expr{}
		any := ir.Expr(ir.Truth(false))
		for _, it := range its {
			here := l.b.Named(it.name()+"_at", ir.Equal(it.at(it.p), c))
			cursors[it.key], picks[it.key] = it.enter(ir.Truth(true)), here
			any = ir.Either(any, here)
		}
		in := l.bind(p.e, p.f.Body, p.v(), c, cursors)
		in.predicates = picks
		x := l.predicatedSum(p.f.Body.(*cin.Assign).RHS, in, false)
		if none.Typ.IsFloat() { // without terms the sum may be -0
			x = ir.Plus(x, ir.Choose(any, none, ir.Zero(none.Typ)))
		}
		l.b.Store(a.vals(), o, ir.Convert(a.vals().Elem, x))
		for k, it := range its {
			l.b.Incr(it.p, ir.Choose(ir.Both(picks[it.key], ir.Less(it.p, last[k])), ir.Int(1), ir.Int(0)))
			l.b.Incr(found[k], ir.Choose(picks[it.key], ir.Int(1), ir.Int(0)))
		}
	})})
	for k, it := range its {
		l.b.When(ir.Less(found[k], it.hi), func() {
			in := p.e.clone()
			in.coord = in.coord.with(p.v(), l.b.Declare(p.v(), it.at(found[k])))
			l.failUnless(ir.Truth(false), in)
		})
	}
	l.b.When(ir.Less(a.done, end), func() { l.b.Set(a.done, end) })
}
