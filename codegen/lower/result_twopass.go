package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// twoPassResult builds the result in memory of the exact size (assemble(T, Insert)). The chunks of
// a loop run twice. In the first pass they only count the coordinates of each compressed level. The
// prefix sums of the counts give each chunk its place in every level, where it writes in the second
// pass. No memory grows and nothing is copied, but the pattern is computed twice, together with
// everything that it depends on, such as workspaces. All chunks of the second pass write directly
// to the arrays of the whole result.
type twoPassResult struct {
	growing
	// rows, on a GPU, has the chunks of the current pass.
	rows *rowChunks
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

// whole makes a single chunk, unless parallel loops make the result. On a GPU there is a chunk for
// each coordinate of level 0.
func (a *twoPassResult) whole(parallel bool, run func()) {
	if a.l.spec.GPU {
		a.byRows(run)
		return
	}
	if parallel {
		run()
		return
	}
	a.chunks(ir.Int(1), func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		lo, hi := ir.Expr(ir.Int(0)), ir.Expr(ir.Int(0))
		if a.op.Kind(0).CanLocate() {
			lo, hi = a.op.Offset(0), ir.Plus(a.op.Offset(0), a.op.Size(0))
		}
		open(ir.Int(0), lo)
		run()
		closeAt(ir.Int(0), hi)
	})
}

// parallel runs the loop over the chunks twice.
func (a *twoPassResult) parallel(f *cin.Forall, e *env, _ strategy.Loop) ir.Expr {
	l := a.l
	chunks := l.chunks()
	w := l.work(f, e, chunks)
	a.chunks(chunks, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		c := l.b.Var("chunk")
		body := l.b.InScope(func() {
			s := w.chunk(f.Var, c)
			open(c, s.Lo)
			in := e.clone()
			in.ranges = in.ranges.with(f.Var, s)
			l.serial(f, in, false)
			closeAt(c, s.Hi)
		})
		l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
			Chunk: 1, Body: body})
	})
	return ir.Truth(true)
}

// chunks calls run once for each pass.
func (a *twoPassResult) chunks(n ir.Expr,
	run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	l, t := a.l, a.newPasses(n)
	pass := func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		b := l.b.Within(func() { run(open, closeAt) })
		rewrite.Strip(b, t.drop)
		l.b.Append(b)
	}
	pass(t.count, t.counted)
	t.scan()
	pass(t.fill, t.closeParents)
	t.publish()
}

func (a *twoPassResult) newPasses(chunks ir.Expr) *passes {
	l := a.l
	t := &passes{a: a, chunks: chunks, drop: map[*ir.Array]bool{}}
	for k := range a.op.Order() {
		if !a.op.Kind(k).HasPos() {
			continue
		}
		p := passLevel{level: k, before: l.b.Array("before", tensor.Int64)}
		n := ir.Plus(chunks, ir.Int(1))
		if l.spec.GPU {
			if len(t.levels) == 0 && k == 1 {
				p.before = a.newPos(k) // each chunk is a row, whose children the level has
			}
			l.b.Emit(&ir.Alloc{A: p.before, Len: n})
			// rows that no loop visits keep the count 0
			l.b.Emit(&ir.Fill{A: p.before, Lo: ir.Int(0), Hi: n, X: ir.Zero(p.before.Elem)})
		} else {
			l.b.Emit(&ir.Alloc{A: p.before, Len: n})
			l.b.Store(p.before, ir.Int(0), ir.Int(0))
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
// array itself, so that they need no array of their own. This is so on a GPU, for level 1 if it is
// the first level that is counted.
func (t *passes) isPos(p *passLevel) bool {
	return t.a.l.spec.GPU && p == &t.levels[0] && p.level == 1
}

// discarded returns an array whose stores are removed from the code afterwards. It replaces an
// array that a pass does not write.
func (t *passes) discarded(name string, typ tensor.Type) *ir.Array {
	arr := t.a.l.b.Array(name, typ)
	t.drop[arr] = true
	return arr
}

// count opens a chunk that only counts.
func (t *passes) count(_, _ ir.Expr) {
	a, l := t.a, t.a.l
	a.levels, a.values = make([]growingLevel, a.op.Order()), t.discarded("vals", a.op.Argument.Type)
	for _, p := range t.levels {
		a.levels[p.level] = growingLevel{
			pos: t.discarded("pos", tensor.Int64), crd: t.discarded("crd", tensor.Int64),
			count: l.b.Declare(t.countName(p.level), ir.Int(0)),
		}
	}
}

func (t *passes) countName(k int) string { return t.a.op.Prefix() + "_n" + string(rune('0'+k)) }

// counted stores a chunk's counts.
func (t *passes) counted(c, _ ir.Expr) {
	for _, p := range t.levels {
		t.a.l.b.Store(p.before, ir.Plus(c, ir.Int(1)), t.a.levels[p.level].count)
	}
}

// scan emits code that replaces the counts with their prefix sums, and allocates the arrays of the
// result.
func (t *passes) scan() {
	a, l := t.a, t.a.l
	if l.spec.GPU {
		for k := range t.levels {
			p := &t.levels[k]
			l.b.Emit(&ir.Scan{A: p.before, Lo: ir.Int(0), Hi: ir.Plus(t.chunks, ir.Int(1))})
			p.chunks, p.all = t.chunks, l.b.Named(t.countName(p.level)+"_all", p.at(t.chunks))
		}
	} else {
		c := l.b.Var("chunk")
		l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: t.chunks, Step: 1, Body: l.b.Within(func() {
			for _, p := range t.levels {
				l.b.Emit(&ir.Store{A: p.before, Index: ir.Plus(c, ir.Int(1)), Accumulate: true,
					X: ir.At(p.before, c)})
			}
		})})
	}
	for k := range t.levels {
		p := &t.levels[k]
		p.crd = l.b.Array(a.op.Prefix()+"_crd", tree.IntOf(a.op.Argument.CrdWidth[p.level]))
		if t.isPos(p) {
			p.pos = p.before
		} else {
			p.pos = a.newPos(p.level)
			l.b.Emit(&ir.Alloc{A: p.pos, Len: ir.Plus(t.parents(k, t.chunks), ir.Int(1))})
			l.setOne(p.pos, ir.Int(0), ir.Int(0))
		}
		l.b.Emit(&ir.Alloc{A: p.crd, Len: p.at(t.chunks)})
		if p.level == 0 {
			l.setOne(p.pos, ir.Int(1), p.at(t.chunks))
		}
	}
	if l.spec.GPU {
		t.closeRows()
	}
	t.vals = l.b.Array(a.op.Prefix()+"_vals", a.op.Argument.Type)
	l.b.Emit(&ir.Alloc{A: t.vals, Len: t.size()})
}

// size returns the number of values.
func (t *passes) size() ir.Expr {
	return emit.Capped(t.levels[len(t.levels)-1].at(t.chunks), t.a.block(t.a.deep+1))
}

// parents returns the number of positions, in the chunks before c, of the level above t.levels[k].
func (t *passes) parents(k int, c ir.Expr) ir.Expr {
	level := t.levels[k].level
	if k == 0 {
		return t.a.between(0, level)
	}
	above := t.levels[k-1]
	return emit.Capped(above.at(c), t.a.between(above.level+1, level))
}

// fill opens the places of a chunk.
func (t *passes) fill(c, lo ir.Expr) {
	a, l := t.a, t.a.l
	a.levels, a.values = make([]growingLevel, a.op.Order()), t.vals
	for k := range t.levels {
		p := &t.levels[k]
		lev := growingLevel{pos: p.pos, crd: p.crd, count: l.b.Declare(t.countName(p.level), p.at(c)),
			limit: l.b.Named(t.countName(p.level)+"_end", p.at(ir.Plus(c, ir.Int(1))))}
		gaps := p.level > 0 && !a.op.Kind(p.level-1).HasPos()
		switch {
		case p.level == 0, t.isPos(p):
			// the end of the root, or of the row, is already known
			lev.pos = t.discarded("pos", tensor.Int64)
		case k == 0:
			lev.closed = l.b.Declare(lev.count.Name+"_last",
				ir.Times(ir.Minus(lo, a.op.Offset(0)), a.between(1, p.level)))
		case gaps:
			lev.closed = l.b.Declare(lev.count.Name+"_last", t.parents(k, c))
		}
		a.levels[p.level] = lev
	}
}

// closeParents emits code that stores in the pos arrays where the children of the remaining parents
// of chunk c end. hi is the end of the chunk's range.
func (t *passes) closeParents(c, hi ir.Expr) {
	a, l := t.a, t.a.l
	for k, p := range t.levels {
		lev := &a.levels[p.level]
		if lev.closed == nil {
			continue
		}
		end := t.parents(k, ir.Plus(c, ir.Int(1)))
		if k == 0 {
			end = ir.Times(ir.Minus(hi, a.op.Offset(0)), a.between(1, p.level))
		}
		l.closePos(lev, ir.Plus(end, ir.Int(1)))
	}
}

// publish gives the arrays to the caller.
func (t *passes) publish() {
	for k, p := range t.levels {
		t.a.publish(p.level, ir.Pos, p.pos, ir.Plus(t.parents(k, t.chunks), ir.Int(1)))
		t.a.publish(p.level, ir.Crd, p.crd, p.at(t.chunks))
	}
	t.a.publish(0, ir.Vals, t.vals, t.size())
	for _, p := range t.levels {
		if p.before != p.pos {
			t.a.l.b.Emit(&ir.Free{A: p.before})
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

// byRows runs the statement twice, with a chunk for each coordinate of level 0.
func (a *twoPassResult) byRows(run func()) {
	l := a.l
	var lo, n ir.Expr
	if a.op.Kind(0).CanLocate() {
		lo, n = a.op.Offset(0), a.op.Size(0)
	} else {
		s := l.rangeOf(&env{}, l.resultVars[0])
		lo, n = s.Lo, ir.Minus(s.Hi, s.Lo)
	}
	n = l.b.Named("rows", n)
	a.chunks(n, func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		a.rows = &rowChunks{lo, open, closeAt}
		run()
		a.rows = nil
	})
}

// row lowers the body for coordinate x of level 0 in its chunk.
func (a *twoPassResult) row(x ir.Expr, body func() ir.Expr) ir.Expr {
	c := a.l.b.Named("row", ir.Minus(x, a.rows.lo))
	a.rows.open(c, x)
	some := body()
	a.rows.closeAt(c, ir.Plus(x, ir.Int(1)))
	return some
}

// rowsOf returns the assembly if f is the loop over a dense level 0 of a result whose rows are
// chunks. Otherwise it returns nil.
func (l *lowerer) rowsOf(f *cin.Forall) *twoPassResult {
	a, ok := l.assembly.(*twoPassResult)
	if !ok || a.rows == nil || f.Var != l.resultVars[0] || !a.op.Kind(0).CanLocate() || !l.assigns(f) {
		return nil
	}
	return a
}

// loop appends the coordinates that f visits. Each coordinate of level 0 has its own chunk.
func (a *twoPassResult) loop(f *cin.Forall, e *env, k int, want bool) ir.Expr {
	if k > 0 || a.rows == nil {
		return a.growing.loop(f, e, k, want)
	}
	return (&loop{l: a.l, f: f, e: e, want: want, body: func(in *env) ir.Expr {
		return a.row(in.coord.at(f.Var), func() ir.Expr { return a.appendOne(f, in, 0) })
	}}).loops()
}

// closeRows closes the parents of all rows as if the rows were empty, if the first compressed level
// is below several dense levels. Rows that are not empty write their parents again.
func (t *passes) closeRows() {
	p, l := &t.levels[0], t.a.l
	if p.level < 2 {
		return
	}
	parents := t.a.between(1, p.level)
	l.spread(p.pos.Name+"_row", ir.Int(0), t.chunks, func(c ir.Expr) {
		end := l.b.Named(p.pos.Name+"_end", p.at(ir.Plus(c, ir.Int(1))))
		first := l.b.Named(p.pos.Name+"_first", ir.Times(c, parents))
		q := l.b.Var(p.pos.Name + "_q")
		l.b.Emit(&ir.For{V: q, Lo: first, Hi: ir.Plus(first, parents), Step: 1, Body: l.b.Within(func() {
			l.b.Store(p.pos, ir.Plus(q, ir.Int(1)), end)
		})})
	})
}
