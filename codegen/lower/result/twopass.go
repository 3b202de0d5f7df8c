package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// twoPassResult builds the result in memory of the exact size (assemble(T, Insert)). The chunks of
// a loop run twice. In the first pass they only count the coordinates of each compressed level. The
// prefix sums of the counts give each chunk its place in every level. In the second pass the chunks
// write to these places, directly in the arrays of the whole result. The arrays do not grow and are
// not copied. However, the pattern is computed twice, together with everything that it depends on,
// such as workspaces.
type twoPassResult struct {
	growing
	// rows, on a GPU, has the chunks of the current pass.
	rows *rowChunks
	// passes is nil before the passes, and counting is true while the first pass is lowered.
	passes   *passes
	counting bool
	classes  *rowClasses // nil if the statement has no hash tables that threads of a GPU fill
}

// passes has the state of the two passes over a number of chunks.
type passes struct {
	a      *twoPassResult
	chunks ir.Expr
	levels []passLevel
	vals   *ir.Array
	drop   map[*ir.Array]bool // arrays for writes that are removed afterwards
}

// passLevel is a compressed level. before[c] is the number of its coordinates in the chunks before
// c.
type passLevel struct {
	level            int
	before, pos, crd *ir.Array
	// These fields are for a GPU, where the host should load an element only once. chunks is the
	// number of chunks. all is the number of coordinates in all chunks, or nil before it is known.
	chunks, all ir.Expr
}

// Whole emits the code for the whole result. run emits the loops of one pass. If parallel is true,
// the parallel loops themselves run in two passes, so Whole only calls run. Otherwise Whole emits
// both passes, with one chunk for the whole result. On a GPU, Whole always emits both passes, with
// a chunk for each coordinate of level 0.
func (a *twoPassResult) Whole(parallel bool, run func()) {
	if a.out.Leaf.Spec.GPU {
		a.byRows(run)
		return
	}
	if parallel {
		run()
		return
	}
	a.Chunks(ir.Int(1), func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		lo, hi := ir.Expr(ir.Int(0)), ir.Expr(ir.Int(0))
		if a.out.Op.Kind(0).CanLocate() {
			lo, hi = a.out.Op.Offset(0), ir.Plus(a.out.Op.Offset(0), a.out.Op.Size(0))
		}
		open(ir.Int(0), lo)
		run()
		closeAt(ir.Int(0), hi)
	})
}

// Parallel lowers f as chunks that run on threads. It emits the loop over the chunks twice: first
// to count, and then to write the result.
func (a *twoPassResult) Parallel(f *cin.Forall, e *scope.Env, _ strategy.Long) ir.Expr {
	w := units.NewWork(f, e, units.Chunks(e.Leaf, e.Leaf.Spec.Strategy.PerThread))
	a.Chunks(w.Chunks, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		w.Each(func(c *ir.Var, in *scope.Env) {
			s := in.Ranges.At(f.Var)
			open(c, s.Lo)
			e.Leaf.Serial(f, in, false)
			closeAt(c, s.Hi)
		})
	})
	return ir.Truth(true)
}

// Chunks calls run once for each pass.
func (a *twoPassResult) Chunks(n ir.Expr,
	run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	l, t := a.out.Leaf, a.newPasses(n)
	pass := func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		b := l.B.Within(func() { run(open, closeAt) })
		rewrite.Strip(b, t.drop)
		l.B.Append(b)
	}
	a.passes, a.counting = t, true
	pass(t.count, t.counted)
	t.scan()
	a.counting = false
	pass(t.fill, t.closeParents)
	t.publish()
}

func (a *twoPassResult) newPasses(chunks ir.Expr) *passes {
	l := a.out.Leaf
	t := &passes{a: a, chunks: chunks, drop: map[*ir.Array]bool{}}
	for k := range a.out.Op.Order() {
		if !a.out.Op.Kind(k).HasPos() {
			continue
		}
		p := passLevel{level: k, before: l.B.Array("before", tensor.Int64)}
		n := ir.Plus(chunks, ir.Int(1))
		if l.Spec.GPU {
			if len(t.levels) == 0 && k == 1 {
				p.before = newPos(a.out, k) // each chunk is a row, whose children the level has
			}
			l.B.Emit(&ir.Alloc{A: p.before, Len: n})
			// rows that no loop visits keep the count 0
			l.B.Emit(&ir.Fill{A: p.before, Lo: ir.Int(0), Hi: n, X: ir.Zero(p.before.Elem)})
		} else {
			l.B.Emit(&ir.Alloc{A: p.before, Len: n})
			l.B.Store(p.before, ir.Int(0), ir.Int(0))
		}
		t.levels = append(t.levels, p)
	}
	return t
}

// at returns the number of coordinates of the level in the chunks before c.
func (p *passLevel) at(c ir.Expr) ir.Expr {
	if p.all != nil && c == p.chunks {
		return p.all
	}
	if p.before.Elem == tensor.Int64 {
		return ir.At(p.before, c)
	}
	return ir.Coord(p.before, c)
}

// isPos reports whether the prefix sums of the counts of level p are stored in the level's pos
// array itself, so that they need no array of their own. This is so if the leaf runs on a GPU, p is
// level 1, and no level above p is counted.
func (t *passes) isPos(p *passLevel) bool {
	return t.a.out.Leaf.Spec.GPU && p == &t.levels[0] && p.level == 1
}

// discarded returns an array for a pass, in place of an array that the pass does not write. The
// stores to the returned array are removed from the code afterwards.
func (t *passes) discarded(name string, typ tensor.Type) *ir.Array {
	arr := t.a.out.Leaf.B.Array(name, typ)
	t.drop[arr] = true
	return arr
}

// count opens a chunk that only counts.
func (t *passes) count(_, _ ir.Expr) {
	a, l := t.a, t.a.out.Leaf
	a.levels, a.out.Values = make([]growingLevel, a.out.Op.Order()), t.discarded("vals",
		a.out.Op.Argument.Type)
	for _, p := range t.levels {
		a.levels[p.level] = growingLevel{
			pos: t.discarded("pos", tensor.Int64), crd: t.discarded("crd", tensor.Int64),
			count: l.B.Declare(t.countName(p.level), ir.Int(0)),
		}
	}
}

func (t *passes) countName(k int) string { return t.a.out.Op.Prefix() + "_n" + string(rune('0'+k)) }

// counted stores a chunk's counts.
func (t *passes) counted(c, _ ir.Expr) {
	for _, p := range t.levels {
		t.a.out.Leaf.B.Store(p.before, ir.Plus(c, ir.Int(1)), t.a.levels[p.level].count)
	}
}

// scan emits code that replaces the counts with their prefix sums, and allocates the arrays of the
// result.
func (t *passes) scan() {
	a, l := t.a, t.a.out.Leaf
	if l.Spec.GPU {
		for k := range t.levels {
			p := &t.levels[k]
			l.B.Emit(&ir.Scan{A: p.before, Lo: ir.Int(0), Hi: ir.Plus(t.chunks, ir.Int(1))})
			p.chunks, p.all = t.chunks, l.B.Named(t.countName(p.level)+"_all", p.at(t.chunks))
		}
	} else {
		l.B.Loop("chunk", ir.Int(0), t.chunks, func(c *ir.Var) {
			for _, p := range t.levels {
				l.B.AddTo(p.before, ir.Plus(c, ir.Int(1)), ir.At(p.before, c))
			}
		})
	}
	for k := range t.levels {
		p := &t.levels[k]
		p.crd = l.B.Array(a.out.Op.Prefix()+"_crd", tree.IntOf(a.out.Op.Argument.CrdWidth[p.level]))
		if t.isPos(p) {
			p.pos = p.before
		} else {
			p.pos = newPos(a.out, p.level)
			l.B.Emit(&ir.Alloc{A: p.pos, Len: ir.Plus(t.parents(k, t.chunks), ir.Int(1))})
			units.SetOne(l, p.pos, ir.Int(0), ir.Int(0))
		}
		l.B.Emit(&ir.Alloc{A: p.crd, Len: p.at(t.chunks)})
		if p.level == 0 {
			units.SetOne(l, p.pos, ir.Int(1), p.at(t.chunks))
		}
	}
	if l.Spec.GPU {
		t.closeRows()
	}
	t.vals = l.B.Alloc(a.out.Op.Prefix()+"_vals", a.out.Op.Argument.Type, t.size(), false)
}

// size returns the number of values of the result.
func (t *passes) size() ir.Expr {
	return emit.Capped(t.levels[len(t.levels)-1].at(t.chunks), t.a.out.Block(t.a.out.Deep+1))
}

// parents returns the number of positions in the level above t.levels[k] that belong to the chunks
// before chunk c. If k is 0, all levels above are dense. The number then does not depend on c: it
// is the number of all positions of the level above.
func (t *passes) parents(k int, c ir.Expr) ir.Expr {
	level := t.levels[k].level
	if k == 0 {
		return t.a.out.Between(0, level)
	}
	above := t.levels[k-1]
	return emit.Capped(above.at(c), t.a.out.Between(above.level+1, level))
}

// fill opens the places of a chunk.
func (t *passes) fill(c, lo ir.Expr) {
	a, l := t.a, t.a.out.Leaf
	a.levels, a.out.Values = make([]growingLevel, a.out.Op.Order()), t.vals
	for k := range t.levels {
		p := &t.levels[k]
		lev := growingLevel{pos: p.pos, crd: p.crd, count: l.B.Declare(t.countName(p.level), p.at(c)),
			limit: l.B.Named(t.countName(p.level)+"_end", p.at(ir.Plus(c, ir.Int(1))))}
		gaps := p.level > 0 && !a.out.Op.Kind(p.level-1).HasPos()
		switch {
		case p.level == 0, t.isPos(p):
			// the end of the root, or of the row, is already known
			lev.pos = t.discarded("pos", tensor.Int64)
		case k == 0:
			lev.closed = l.B.Declare(lev.count.Name+"_last",
				ir.Times(ir.Minus(lo, a.out.Op.Offset(0)), a.out.Between(1, p.level)))
		case gaps:
			lev.closed = l.B.Declare(lev.count.Name+"_last", t.parents(k, c))
		}
		a.levels[p.level] = lev
	}
}

// closeParents emits code for the end of chunk c, whose range ends at hi. The code writes the pos
// entries that are still missing for parents of the chunk. A parent is a position of the level
// above a compressed level. Its pos entry is the end of its children.
func (t *passes) closeParents(c, hi ir.Expr) {
	a, l := t.a, t.a.out.Leaf
	for k, p := range t.levels {
		lev := &a.levels[p.level]
		if lev.closed == nil {
			continue
		}
		end := t.parents(k, ir.Plus(c, ir.Int(1)))
		if k == 0 {
			end = ir.Times(ir.Minus(hi, a.out.Op.Offset(0)), a.out.Between(1, p.level))
		}
		closePos(l, lev, ir.Plus(end, ir.Int(1)))
	}
}

// publish gives the arrays to the caller.
func (t *passes) publish() {
	for k, p := range t.levels {
		publish(t.a.out, p.level, ir.Pos, p.pos, ir.Plus(t.parents(k, t.chunks), ir.Int(1)))
		publish(t.a.out, p.level, ir.Crd, p.crd, p.at(t.chunks))
	}
	publish(t.a.out, 0, ir.Vals, t.vals, t.size())
	for _, p := range t.levels {
		if p.before != p.pos {
			t.a.out.Leaf.B.Free(p.before)
		}
	}
}

// On a GPU, every coordinate of level 0 is a separate chunk in the two passes. The schedule decides
// which unit visits a chunk, and no unit needs to know what others append. Chunks that no loop
// visits, because an operand has no entries there, stay empty.

// rowChunks has the functions that open and close the chunks of a pass.
type rowChunks struct {
	lo      ir.Expr // the first coordinate of level 0
	open    func(c, lo ir.Expr)
	closeAt func(c, hi ir.Expr)
}

// byRows emits the two passes of the statement, with a chunk for each coordinate of level 0. run
// emits the loops of one pass.
func (a *twoPassResult) byRows(run func()) {
	l := a.out.Leaf
	var lo, n ir.Expr
	if a.out.Op.Kind(0).CanLocate() {
		lo, n = a.out.Op.Offset(0), a.out.Op.Size(0)
	} else {
		s := (&scope.Env{Leaf: l}).RangeOf(l.ResultVars[0])
		lo, n = s.Lo, ir.Minus(s.Hi, s.Lo)
	}
	n = l.B.Named("rows", n)
	if HasTables(l, l.Spec.Stmt) {
		a.classes = a.newClasses(lo, n, run)
	}
	a.Chunks(n, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		a.rows = &rowChunks{lo, open, closeAt}
		if a.classes != nil {
			a.classes.each(run)
		} else {
			run()
		}
		a.rows = nil
	})
	a.classes.free(l)
}

// row lowers the body for coordinate x of level 0 in its chunk.
func (a *twoPassResult) row(x ir.Expr, body func() ir.Expr) ir.Expr {
	c := a.out.Leaf.B.Named("row", ir.Minus(x, a.rows.lo))
	run := func() ir.Expr {
		a.rows.open(c, x)
		some := body()
		a.rows.closeAt(c, ir.Plus(x, ir.Int(1)))
		return some
	}
	if a.classes == nil || a.counts() {
		return run()
	}
	a.out.Leaf.B.When(a.classes.has(c), func() { run() })
	return ir.Truth(true)
}

// counts reports whether the pass that counts the values of tables is lowered.
func (a *twoPassResult) counts() bool {
	return a.out.Leaf.Tables != nil && a.out.Leaf.Tables.Most != nil
}

// Store writes the value of the current coordinate.
func (a *twoPassResult) Store(x scope.Value, e *scope.Env) {
	if !a.counts() {
		a.growing.Store(x, e)
	}
}

// rowsOf returns the two-pass result if each row of the result is a chunk, and f is the loop over
// the result's level 0, which must be dense. Otherwise it returns nil.
func rowsOf(how Assembly, f *cin.Forall) *twoPassResult {
	a, ok := how.(*twoPassResult)
	if !ok || a.rows == nil || f.Var != a.out.Leaf.ResultVars[0] || !a.out.Op.Kind(0).CanLocate() ||
		!a.out.Leaf.Assigns(f) {
		return nil
	}
	return a
}

// loop emits the loops of p, which append coordinates to level k of the result. On a GPU, each
// coordinate of level 0 is a chunk of its own. loop returns the condition that the loops assigned a
// value.
func (a *twoPassResult) loop(p *merge.Loop, k int) ir.Expr {
	body := p.Body
	switch {
	case a.counts() && k == 0:
		p.Body = func(in *scope.Env, want bool) ir.Expr {
			return a.row(in.Coord.At(p.V()), func() ir.Expr { return body(skipLevel(in, 0), want) })
		}
		return p.Loops()
	case a.counts():
		p.Body = func(in *scope.Env, want bool) ir.Expr { return body(skipLevel(in, k), want) }
		return p.Loops()
	case k > 0 && a.rows != nil && p.F.Unit.OnGPU():
		a.out.Leaf.Refuse(p.V(), "threads of a GPU cannot append to %s together",
			cin.Target(p.F).Key())
	case k > 0 || a.rows == nil:
		return a.growing.loop(p, k)
	}
	p.Body = func(in *scope.Env, _ bool) ir.Expr {
		return a.row(in.Coord.At(p.V()), func() ir.Expr { return a.appendOne(p.V(), body, in, 0) })
	}
	return p.Loops()
}

// skipLevel returns an environment inside level k of the result, at no particular position.
func skipLevel(in *scope.Env, k int) *scope.Env {
	in.Res = scope.ResultCursor{Level: k + 1, Pos: ir.Int(0)}
	merge.EnterResult(in)
	return in
}

// closeRows emits code that fills the pos array of the first compressed level: each element gets
// the end of its row. It emits nothing unless several dense levels are above this level. In that
// case the loops may skip some of a row's positions. The loops of the second pass write the
// elements again for the positions that they visit.
func (t *passes) closeRows() {
	p, l := &t.levels[0], t.a.out.Leaf
	if p.level < 2 {
		return
	}
	parents := t.a.out.Between(1, p.level)
	units.Spread(l, p.pos.Name+"_row", ir.Int(0), t.chunks, func(c ir.Expr) {
		end := l.B.Named(p.pos.Name+"_end", p.at(ir.Plus(c, ir.Int(1))))
		first := l.B.Named(p.pos.Name+"_first", ir.Times(c, parents))
		l.B.Loop(p.pos.Name+"_q", first, ir.Plus(first, parents), func(q *ir.Var) {
			l.B.Store(p.pos, ir.Plus(q, ir.Int(1)), end)
		})
	})
}
