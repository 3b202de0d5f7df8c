package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
)

// fixedResult is a result whose pattern is known before the leaf runs, for example from an earlier
// call with operands of the same patterns. The level arrays are given, and the leaf computes only
// the values. Such a leaf is called a numeric phase.
//
// The leaf visits the coordinates that it would otherwise append, in the same order. It finds the
// position of each coordinate by moving forward along the row of the result. It fails if it must
// write a value at a coordinate that the row does not have. Positions are visited in ascending
// order, so a single count says which values have been written. Values that are skipped are set to
// 0.
//
// Two forms may be lowered in another way. A sum of the entries of several rows walks the result's
// row and looks up each of the operands' rows (mergeRows). A sum that another leaf would collect in
// a workspace is computed in the result (sums.go), so no list of coordinates is made and nothing is
// sorted.
type fixedResult struct {
	out *scope.Result
	// These fields describe the whole result or the current chunk. done is the first position of
	// the last compressed level whose values have not been written yet. If level 0 is compressed,
	// lo and hi are the range of its positions.
	done   *ir.Var
	lo, hi ir.Expr
}

func newFixedResult(r *scope.Result) *fixedResult {
	r.Values, r.InOrder = r.Op.Vals(), true
	return &fixedResult{out: r}
}

// failUnless makes the leaf fail if the result does not have the current coordinates. cond is the
// condition that it has them.
func failUnless(cond ir.Expr, e *scope.Env) {
	l := e.Leaf
	l.B.When(ir.Inverse(cond), func() { l.B.Emit(&ir.Fail{Code: ir.FailPattern, Coord: e.Coords()}) })
}

// arrays returns the pos and crd arrays of compressed level k.
func (a *fixedResult) arrays(k int) (pos, crd *ir.Array) {
	pos, crd = a.out.Op.Pos(k), a.out.Op.Crd(k)
	pos.Const, crd.Const = true, true
	return pos, crd
}

// Whole emits the code for the whole result by calling run, which emits the loops. If parallel is
// true, the loops run on threads, and the values of the result are filled chunk by chunk. Otherwise
// Whole also emits code that sets values to 0, namely the values that the loops do not write.
func (a *fixedResult) Whole(parallel bool, run func()) {
	if parallel {
		run()
		return
	}
	if a.out.Op.Kind(0).CanLocate() {
		a.write(ir.Int(0), a.out.Op.Size(0), nil, run)
		return
	}
	pos, _ := a.arrays(0)
	a.write(ir.Coord(pos, ir.Int(0)), ir.Coord(pos, ir.Int(1)), nil, run)
}

// Parallel lowers f as chunks that run on threads. Each chunk writes the values of its own rows.
func (a *fixedResult) Parallel(f *cin.Forall, e *scope.Env, long strategy.Long) ir.Expr {
	l := a.out.Leaf
	chunks := units.Chunks(l, l.Spec.Strategy.PerThread)
	w := units.NewWork(f, e, chunks)
	cuts := cutRows(w, long)
	l.B.Chunks("chunk", ir.Int(0), chunks, func(c *ir.Var) {
		s := cuts.rowRange(f, c)
		lo, hi := a.positions(tree.Range{Lo: s.rows.Lo, Hi: s.closed}, c, chunks)
		a.write(lo, hi, s, func() { s.lower(l, e.Clone()) })
	})
	return ir.Truth(true)
}

// write calls run to emit the loops that write the values of the result below the positions [lo,
// hi) of level 0. If s is not nil, the loops write only the values in the rows, and parts of rows,
// of range s.
func (a *fixedResult) write(lo, hi ir.Expr, s *rowRange, run func()) {
	l, op := a.out.Leaf, a.out.Op
	a.lo, a.hi = l.B.Named(op.Prefix()+"_lo", lo), l.B.Named(op.Prefix()+"_hi", hi)
	done := l.B.Declare(op.Prefix()+"_done", a.firstBelow(1, a.lo))
	end := l.B.Declare(op.Prefix()+"_end", a.firstBelow(1, a.hi))
	if s != nil && s.cutVar != "" {
		l.B.When(s.begins, func() { l.B.Set(done, a.inRow(s.first, s.from)) })
		l.B.When(s.ends, func() { l.B.Set(end, a.inRow(s.last, s.to)) })
	}
	a.done = done
	run()
	a.zeroUntil(end)
}

// inRow returns the position, in the last compressed level, of the first entry of row r whose
// coordinate is at least c.
func (a *fixedResult) inRow(r, c ir.Expr) ir.Expr {
	pos, crd := a.arrays(1)
	p := ir.Minus(r, a.out.Op.Offset(0))
	return a.firstBelow(2, &ir.Search{A: crd, Lo: ir.Coord(pos, p),
		Hi: ir.Coord(pos, ir.Plus(p, ir.Int(1))), Key: c})
}

// positions returns the range of positions of level 0 that chunk c writes. s is the range of the
// chunk's coordinates. If level 0 is compressed, the first chunk also writes the positions before
// its range, and the last chunk also writes the positions after its range.
func (a *fixedResult) positions(s tree.Range, c *ir.Var, chunks ir.Expr) (lo, hi ir.Expr) {
	l := a.out.Leaf
	if a.out.Op.Kind(0).CanLocate() {
		return ir.Minus(s.Lo, a.out.Op.Offset(0)), ir.Minus(s.Hi, a.out.Op.Offset(0))
	}
	pos, crd := a.arrays(0)
	from := l.B.Named(a.out.Op.Prefix()+"_from", ir.Coord(pos, ir.Int(0)))
	to := l.B.Named(a.out.Op.Prefix()+"_to", ir.Coord(pos, ir.Int(1)))
	at := func(x ir.Expr) ir.Expr { return &ir.Search{A: crd, Lo: from, Hi: to, Key: x} }
	first, last := ir.Equal(c, ir.Int(0)), ir.AtLeast(ir.Plus(c, ir.Int(1)), chunks)
	return ir.Choose(first, from, at(s.Lo)), ir.Choose(last, to, at(s.Hi))
}

// children returns the position in level k where the children of position p of level k-1 begin.
func (a *fixedResult) children(k int, p ir.Expr) ir.Expr {
	if a.out.Op.Kind(k).HasPos() {
		pos, _ := a.arrays(k)
		return ir.Coord(pos, p)
	}
	return ir.Times(p, a.out.Op.Size(k))
}

// firstBelow returns the first position of the last compressed level that is below position p of
// level k-1. If position p has nothing below it, firstBelow returns the first position that is
// below a later position of level k-1.
func (a *fixedResult) firstBelow(k int, p ir.Expr) ir.Expr {
	for ; k <= a.out.Deep; k++ {
		p = a.children(k, p)
	}
	return p
}

// zeroUntil emits code that sets values to 0: the values before position p that have not been
// written yet.
func (a *fixedResult) zeroUntil(p ir.Expr) {
	l, done := a.out.Leaf, a.done
	l.B.When(ir.Less(done, p), func() {
		a.zeroBlocks(done, p)
		l.B.Set(done, p)
	})
}

// zeroBlocks emits code that sets the values of the positions [lo, hi) of the last compressed level
// to 0.
func (a *fixedResult) zeroBlocks(lo, hi ir.Expr) {
	n := a.out.Block(a.out.Deep + 1)
	a.out.Leaf.B.Emit(&ir.Fill{A: a.out.Values, Lo: ir.Times(lo, n), Hi: ir.Times(hi, n),
		X: ir.Zero(a.out.Values.Elem)})
}

// row returns a range of positions of compressed level k: the positions below the current position.
// In a chunk, the range has only positions of the chunk. The range is empty if the result does not
// have the current coordinates.
func (a *fixedResult) row(e *scope.Env, k int) (lo, hi ir.Expr) {
	l := a.out.Leaf
	name := a.out.Op.Prefix() + "_row"
	if k == 0 {
		return a.lo, a.hi
	}
	pos, _ := a.arrays(k)
	from, to := ir.Coord(pos, e.Res.Pos), ir.Coord(pos, ir.Plus(e.Res.Pos, ir.Int(1)))
	if e.Res.Here == nil {
		from, to = l.B.Named(name, from), l.B.Named(name+"_end", to)
		if s := e.Ranges.At(l.ResultVars[k]); s.Open != nil {
			return s.Clipped(l.B, name, a.out.Op.Crd(k), from, to)
		}
		return from, to
	}
	none := ir.Expr(ir.Int(0))
	if k == a.out.Deep {
		none = a.done
	}
	vlo, vhi := l.B.Declare(name, none), l.B.Declare(name+"_end", none)
	l.B.When(e.Res.Here, func() {
		l.B.Set(vlo, from)
		l.B.Set(vhi, to)
	})
	return vlo, vhi
}

// loop lowers p, which is a loop over coordinates of compressed level k. The emitted code finds the
// position of each coordinate in the result.
func (a *fixedResult) loop(p *merge.Loop, k int) ir.Expr {
	l, body := a.out.Leaf, p.Body
	lo, hi := a.row(p.E, k)
	p.Want = false
	if k < a.out.Deep {
		at := l.B.Declare(a.out.Op.Prefix()+"_at", lo)
		p.Body = func(in *scope.Env, _ bool) ir.Expr { return a.enterAbove(p.V(), body, in, k, at, hi) }
		return p.Loops()
	}
	a.zeroUntil(lo)
	p.Body = func(in *scope.Env, _ bool) ir.Expr { return a.writeBlock(p.V(), body, in, hi) }
	if a.out.Deep == a.out.Op.Order()-1 && storesOnce(l, p.F.Body) {
		p.Body = func(in *scope.Env, _ bool) ir.Expr {
			in.Res = scope.ResultCursor{Level: k + 1, Pos: a.done, Row: hi}
			return body(in, true)
		}
		p.Merge = func(p *merge.Loop) bool { return a.mergeRows(p, hi) }
	}
	return p.Loops()
}

// storesOnce reports whether s stores a value of the result by one assignment that is not an
// addition.
func storesOnce(l *scope.Leaf, s cin.Stmt) bool {
	switch s := s.(type) {
	case *cin.Assign:
		return l.Assigns(s) && !s.Accumulate
	case *cin.Where:
		return storesOnce(l, s.Consumer)
	}
	return false
}

// holds returns the condition that p is before end and that position p of level k has coordinate c.
func (a *fixedResult) holds(k int, p, end, c ir.Expr) ir.Expr {
	_, crd := a.arrays(k)
	return ir.Both(ir.Less(p, end), ir.Equal(ir.Coord(crd, p), c))
}

// advance emits code that moves p, a position of level k, to the first position before end with a
// coordinate of at least c, or to end.
func (a *fixedResult) advance(k int, p *ir.Var, end, c ir.Expr) {
	l := a.out.Leaf
	_, crd := a.arrays(k)
	l.B.While(ir.Both(ir.Less(p, end), ir.Less(ir.Coord(crd, p), c)),
		func() { l.B.Incr(p, ir.Int(1)) })
}

// find emits code that moves a.done to the position of coordinate c in the current row. If the row
// lacks coordinate c, the code moves a.done to the next larger coordinate, or to the end of the
// row. end is the position where the row ends. The code sets skipped values to 0. If moved is not
// nil, the code that moved emits runs if a.done was not at coordinate c before.
func (a *fixedResult) find(end, c ir.Expr, moved func()) {
	l := a.out.Leaf
	l.B.When(ir.Inverse(a.holds(a.out.Deep, a.done, end, c)), func() {
		from := l.B.Named(a.out.Op.Prefix()+"_from", a.done)
		a.advance(a.out.Deep, a.done, end, c)
		a.zeroBlocks(from, a.done)
		if moved != nil {
			moved()
		}
	})
}

// Store emits code that stores the value x. If e has a current row of the last compressed level,
// the code finds the current coordinate in the row and stores x at the coordinate's position. If x
// is absent, the code then stores nothing. If e has no current row, the code stores x, or 0 if x is
// absent, at the position of the result's cursor. However, Store emits nothing there if the last
// level is compressed and x is known to be absent.
func (a *fixedResult) Store(x scope.Value, e *scope.Env) {
	l := a.out.Leaf
	switch {
	case e.Res.Row != nil:
		l.B.When(x.Pres, func() {
			c := e.Coord.At(l.ResultVars[a.out.Deep])
			a.find(e.Res.Row, c, func() { failUnless(a.holds(a.out.Deep, a.done, e.Res.Row, c), e) })
			l.B.Store(a.out.Values, a.done, ir.Convert(a.out.Values.Elem, x.V))
			l.B.Incr(a.done, ir.Int(1))
		})
	case a.out.Deep == a.out.Op.Order()-1 && ir.IsFalse(x.Pres):
	default:
		l.B.Store(a.out.Values, e.Res.Pos, ir.Convert(a.out.Values.Elem, l.Masked(x)))
	}
}

// enterAbove lowers body, a loop's body, for one coordinate of v. v is the variable of level k,
// which is above the last compressed level. The code searches for the coordinate in a row of the
// result. The variable next has the position where the search begins, and end is the end of the
// row.
func (a *fixedResult) enterAbove(v string, body merge.LowersBody, in *scope.Env, k int,
	next *ir.Var, end ir.Expr) ir.Expr {
	c := in.Coord.At(v)
	a.advance(k, next, end, c)
	here := a.out.Leaf.B.Named(a.out.Op.Prefix()+"_here", a.holds(k, next, end, c))
	in.Res = scope.ResultCursor{Level: k + 1, Pos: next, Here: here}
	merge.EnterResult(in)
	return body(in, false)
}

// writeBlock lowers body for one coordinate of the last compressed level. If the result lacks the
// coordinate, the leaf runs a second copy of the body, which does not store to the result. The leaf
// fails if this copy would write something. If the body always writes something, there is no second
// copy, and the leaf fails directly. If the body never writes anything, the returned condition is
// the constant false.
func (a *fixedResult) writeBlock(v string, body merge.LowersBody, in *scope.Env,
	end ir.Expr) ir.Expr {
	l := a.out.Leaf
	c := in.Coord.At(v)
	a.find(end, c, nil)
	here := a.holds(a.out.Deep, a.done, end, c)
	again := in.Clone()
	some := ir.Expr(ir.Truth(false))
	write := func(in *scope.Env) *ir.Block {
		return l.B.Within(func() {
			in.Res = scope.ResultCursor{Level: a.out.Deep + 1, Pos: a.done}
			merge.EnterResult(in)
			some = body(in, true)
		})
	}
	b := write(in)
	if ir.IsFalse(some) {
		return some
	}
	next := &ir.Assign{V: a.done, Accumulate: true, X: ir.Int(1)}
	if ir.Always(some) {
		failUnless(here, in)
		l.B.Append(b)
		l.B.Emit(next)
		return some
	}
	nowhere := l.B.Array("vals", a.out.Op.Argument.Type)
	var rest *ir.Block
	a.out.WritingTo(nowhere, func() {
		rest = l.B.Within(func() {
			b := write(again)
			l.B.Append(b)
			l.B.When(some, func() { failUnless(ir.Truth(false), again) })
		})
	})
	rewrite.Strip(rest, map[*ir.Array]bool{nowhere: true})
	b.List = append(b.List, next)
	l.B.Emit(&ir.If{Cond: here, Then: b, Else: rest})
	return some
}

// mergeRows lowers loop p over the last level of a result with a fixed pattern, if p sums the
// entries of several rows of operands. The code walks the row of the result instead of merging the
// rows of the operands. If one of the operands' rows is empty at run time, the code merges the rows
// as for other results. mergeRows returns false if the loop cannot be lowered in this way (see
// followsResult).
func (a *fixedResult) mergeRows(p *merge.Loop, end ir.Expr) bool {
	l := a.out.Leaf
	its := p.Subset(p.Lat.All())
	if len(p.Lat.Points) == 0 || p.Lat.Points[0].Iters != p.Lat.All() || !followsResult(p, its) {
		return false
	}
	var full []ir.Expr
	for _, it := range its {
		full = append(full, ir.Less(it.Lo, it.Hi))
	}
	merged := *p
	merged.Merge = nil
	s := &ir.If{Cond: ir.Both(full...), Then: l.B.Within(func() { a.walkRow(p, its, end) })}
	s.Else = l.B.Within(func() { (&merged).MergeLoops() })
	l.B.Emit(s)
	return true
}

// followsResult reports whether the body of the loop is a sum that can be computed at each
// coordinate of the result, even if operands are absent there (see merge.Loop.CanPredicateTerms).
// The sum must not be complex. A sum of integers must not have a division, because the leaf could
// then divide by zero where an operand is absent.
func followsResult(p *merge.Loop, its []*merge.Iter) bool {
	t := p.E.Leaf.Spec.Compute
	if s, ok := p.F.Body.(*cin.Assign); !ok || !t.IsFloat() && (!t.IsInt() ||
		merge.HasQuotient(s.RHS)) {
		return false
	}
	return p.CanPredicateTerms(its, p.Lat.Under(p.Lat.Points[0]), func(c *tree.Cursor) bool {
		k := c.Level
		for ; k < c.Of.Order() && c.Vars[k] == p.V() && c.Of.Kind(k).CanLocate(); k++ {
		}
		return k == c.Of.Order()
	})
}

// walkRow emits a loop over the coordinates of one row of the result, which ends at position end.
// At each coordinate, the code looks at the current entry of each operand's row. If the entry has
// this coordinate, the operand's row advances to its next entry. A row at its last entry does not
// advance, so that no load and no branch depends on the end of an operand's row. The last entry is
// not used twice, because its coordinate does not occur again.
//
// After the loop, the code compares the number of entries that were found with the number of
// entries in each operand's row. If fewer were found, the result's row lacks a coordinate, and the
// leaf fails.
func (a *fixedResult) walkRow(p *merge.Loop, its []*merge.Iter, end ir.Expr) {
	l := a.out.Leaf
	_, crd := a.arrays(a.out.Deep)
	found, last := make([]*ir.Var, len(its)), make([]ir.Expr, len(its))
	for k, it := range its {
		merge.Start(l, it)
		found[k] = l.B.Declare(it.Name()+"_found", it.Lo)
		last[k] = l.B.Named(it.Name()+"_last", ir.Minus(it.Hi, ir.Int(1)))
	}
	none := ir.NewVar(l.B.Fresh("none"), l.Spec.Compute)
	if none.Typ.IsFloat() {
		l.B.Emit(&ir.Declare{V: none, Init: &ir.Lit{Typ: none.Typ, C: complex(merge.NegativeZero, 0)}})
	}
	l.B.Loop(a.out.Op.Prefix()+"_p", a.done, end, func(o *ir.Var) {
		c := l.B.Declare(p.V(), ir.Coord(crd, o))
		cursors, picks := map[string]*tree.Cursor{}, map[string]ir.Expr{}
		any := ir.Expr(ir.Truth(false))
		for _, it := range its {
			here := l.B.Named(it.Name()+"_at", ir.Equal(it.At(it.P), c))
			cursors[it.Key], picks[it.Key] = it.Enter(ir.Truth(true)), here
			any = ir.Either(any, here)
		}
		in := p.E.Bind(p.F.Body, p.V(), c, cursors)
		in.Predicates = picks
		x := merge.PredicatedSum(p.F.Body.(*cin.Assign).RHS, in, false)
		if none.Typ.IsFloat() { // without terms the sum may be -0
			x = ir.Plus(x, ir.Choose(any, none, ir.Zero(none.Typ)))
		}
		l.B.Store(a.out.Values, o, ir.Convert(a.out.Values.Elem, x))
		for k, it := range its {
			l.B.Incr(it.P, ir.Choose(ir.Both(picks[it.Key], ir.Less(it.P, last[k])), ir.Int(1), ir.Int(0)))
			l.B.Incr(found[k], ir.Choose(picks[it.Key], ir.Int(1), ir.Int(0)))
		}
	})
	for k, it := range its {
		l.B.When(ir.Less(found[k], it.Hi), func() {
			in := p.E.Clone()
			in.Coord = in.Coord.With(p.V(), l.B.Declare(p.V(), it.At(found[k])))
			failUnless(ir.Truth(false), in)
		})
	}
	l.B.When(ir.Less(a.done, end), func() { l.B.Set(a.done, end) })
}
