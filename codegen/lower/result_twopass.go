package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
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
	// On a GPU, where the host should load an element only once: chunks is the number of chunks,
	// and all is the number of coordinates in all chunks, or nil before it is known.
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
		if a.op.caps(0).CanLocate() {
			lo, hi = a.op.offset(0), ir.Plus(a.op.offset(0), a.op.size(0))
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
		c := l.newVar("chunk")
		body := l.inScope(func() {
			s := w.chunk(f.Var, c)
			open(c, s.lo)
			in := e.clone()
			in.ranges[f.Var] = s
			l.serial(f, in, false)
			closeAt(c, s.hi)
		})
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
			Chunk: 1, Body: body})
	})
	return ir.Truth(true)
}

// chunks calls run once for each pass.
func (a *twoPassResult) chunks(n ir.Expr,
	run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr))) {
	l, t := a.l, a.newPasses(n)
	pass := func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)) {
		b := l.within(func() { run(open, closeAt) })
		strip(b, t.drop)
		l.blk.List = append(l.blk.List, b.List...)
	}
	pass(t.count, t.counted)
	t.scan()
	pass(t.fill, t.filled)
	t.publish()
}

func (a *twoPassResult) newPasses(chunks ir.Expr) *passes {
	l := a.l
	t := &passes{a: a, chunks: chunks, drop: map[*ir.Array]bool{}}
	for k := range a.op.order() {
		if !a.op.caps(k).HasPos() {
			continue
		}
		p := passLevel{level: k, before: l.newArray("before", tensor.Int64)}
		n := ir.Plus(chunks, ir.Int(1))
		if l.spec.GPU {
			if len(t.levels) == 0 && k == 1 {
				p.before = a.newPos(k) // each chunk is a row, whose children the level has
			}
			l.emit(&ir.Alloc{A: p.before, Len: n})
			// rows that no loop visits keep the count 0
			l.emit(&ir.Fill{A: p.before, Lo: ir.Int(0), Hi: n, X: ir.Zero(p.before.Elem)})
		} else {
			l.emit(&ir.Alloc{A: p.before, Len: n})
			l.store(p.before, ir.Int(0), ir.Int(0))
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

// isPos reports whether the prefix sums of the counts are the level's pos array.
func (t *passes) isPos(p *passLevel) bool {
	return t.a.l.spec.GPU && p == &t.levels[0] && p.level == 1
}

// nowhere returns an array for writes that are removed afterwards.
func (t *passes) nowhere(name string, typ tensor.Type) *ir.Array {
	arr := t.a.l.newArray(name, typ)
	t.drop[arr] = true
	return arr
}

// count opens a chunk that only counts.
func (t *passes) count(_, _ ir.Expr) {
	a, l := t.a, t.a.l
	a.levels, a.values = make([]growingLevel, a.op.order()), t.nowhere("vals", a.op.operand.Type)
	for _, p := range t.levels {
		a.levels[p.level] = growingLevel{
			pos: t.nowhere("pos", tensor.Int64), crd: t.nowhere("crd", tensor.Int64),
			count: l.declare(t.countName(p.level), ir.Int(0)),
		}
	}
}

func (t *passes) countName(k int) string { return t.a.op.prefix() + "_n" + string(rune('0'+k)) }

// counted stores a chunk's counts.
func (t *passes) counted(c, _ ir.Expr) {
	for _, p := range t.levels {
		t.a.l.store(p.before, ir.Plus(c, ir.Int(1)), t.a.levels[p.level].count)
	}
}

// scan replaces the counts with their prefix sums, and allocates the arrays of the result.
func (t *passes) scan() {
	a, l := t.a, t.a.l
	if l.spec.GPU {
		for k := range t.levels {
			p := &t.levels[k]
			l.emit(&ir.Scan{A: p.before, Lo: ir.Int(0), Hi: ir.Plus(t.chunks, ir.Int(1))})
			p.chunks, p.all = t.chunks, l.named(t.countName(p.level)+"_all", p.at(t.chunks))
		}
	} else {
		c := l.newVar("chunk")
		l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: t.chunks, Step: 1, Body: l.within(func() {
			for _, p := range t.levels {
				l.emit(&ir.Store{A: p.before, Index: ir.Plus(c, ir.Int(1)), Accumulate: true,
					X: ir.At(p.before, c)})
			}
		})})
	}
	for k := range t.levels {
		p := &t.levels[k]
		p.crd = l.newArray(a.op.prefix()+"_crd", intOf(a.op.operand.CrdWidth[p.level]))
		if t.isPos(p) {
			p.pos = p.before
		} else {
			p.pos = a.newPos(p.level)
			l.emit(&ir.Alloc{A: p.pos, Len: ir.Plus(t.parents(k, t.chunks), ir.Int(1))})
			l.setOne(p.pos, ir.Int(0), ir.Int(0))
		}
		l.emit(&ir.Alloc{A: p.crd, Len: p.at(t.chunks)})
		if p.level == 0 {
			l.setOne(p.pos, ir.Int(1), p.at(t.chunks))
		}
	}
	if l.spec.GPU {
		t.closeRows()
	}
	t.vals = l.newArray(a.op.prefix()+"_vals", a.op.operand.Type)
	l.emit(&ir.Alloc{A: t.vals, Len: t.size()})
}

// size returns the number of values.
func (t *passes) size() ir.Expr {
	return capped(t.levels[len(t.levels)-1].at(t.chunks), t.a.block(t.a.deep+1))
}

// parents returns the number of positions in the level above compressed level number k in the
// chunks before c.
func (t *passes) parents(k int, c ir.Expr) ir.Expr {
	level := t.levels[k].level
	if k == 0 {
		return t.a.between(0, level)
	}
	above := t.levels[k-1]
	return capped(above.at(c), t.a.between(above.level+1, level))
}

// fill opens the places of a chunk.
func (t *passes) fill(c, lo ir.Expr) {
	a, l := t.a, t.a.l
	a.levels, a.values = make([]growingLevel, a.op.order()), t.vals
	for k := range t.levels {
		p := &t.levels[k]
		lev := growingLevel{pos: p.pos, crd: p.crd, count: l.declare(t.countName(p.level), p.at(c)),
			limit: l.named(t.countName(p.level)+"_end", p.at(ir.Plus(c, ir.Int(1))))}
		gaps := p.level > 0 && !a.op.caps(p.level-1).HasPos()
		switch {
		case p.level == 0, t.isPos(p):
			// the end of the root, or of the row, is already known
			lev.pos = t.nowhere("pos", tensor.Int64)
		case k == 0:
			lev.closed = l.declare(lev.count.Name+"_last",
				ir.Times(ir.Minus(lo, a.op.offset(0)), a.between(1, p.level)))
		case gaps:
			lev.closed = l.declare(lev.count.Name+"_last", t.parents(k, c))
		}
		a.levels[p.level] = lev
	}
}

// filled closes the parents of a chunk whose range ends at hi.
func (t *passes) filled(c, hi ir.Expr) {
	a, l := t.a, t.a.l
	for k, p := range t.levels {
		lev := &a.levels[p.level]
		if lev.closed == nil {
			continue
		}
		end := t.parents(k, ir.Plus(c, ir.Int(1)))
		if k == 0 {
			end = ir.Times(ir.Minus(hi, a.op.offset(0)), a.between(1, p.level))
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
			t.a.l.emit(&ir.Free{A: p.before})
		}
	}
}
