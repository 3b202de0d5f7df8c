package lower

import (
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// twoPass puts a sparse result together in memory of the right size: the chunks
// of a loop run twice. The first time they only count the coordinates of each
// compressed level; the counts are summed over the chunks before, which gives each
// chunk its place in every level; the second time they write there. Nothing
// grows or is copied, for computing the pattern twice (assemble(T, Insert)).
type twoPass struct {
	a      *assembly
	chunks ir.Expr
	first  int // the outermost compressed level
	parts  []passLevel
	vals   *ir.Array
	drop   map[*ir.Array]bool // arrays to which nothing is written after all
}

// passLevel is a compressed level. before[c] is the number of its coordinates
// in the chunks before c.
type passLevel struct {
	level            int
	before, pos, crd *ir.Array
}

// inChunks makes the pieces of the result that grows: run emits the loop over
// the chunks, each of which opens its piece (lo is where its range of level 0's
// variable starts), and keeps it (hi is where that ends).
func (l *lowerer) inChunks(chunks ir.Expr, run func(open func(c, lo ir.Expr), keep func(c, hi ir.Expr))) {
	if l.spec.Assembly == strategy.Append {
		g := l.out.newGather(chunks)
		run(func(_, lo ir.Expr) { g.open(lo, chunks) }, func(c, hi ir.Expr) {
			g.end(c, hi)
			g.keep(c)
		})
		g.publish()
		return
	}
	t := l.out.newTwoPass(chunks)
	pass := func(open func(c, lo ir.Expr), keep func(c, hi ir.Expr)) {
		b := l.within(func() { run(open, keep) })
		strip(b, t.drop)
		l.blk.List = append(l.blk.List, b.List...)
	}
	pass(t.count, t.counted)
	t.scan()
	pass(t.fill, t.filled)
	t.publish()
}

func (a *assembly) newTwoPass(chunks ir.Expr) *twoPass {
	l := a.l
	t := &twoPass{a: a, chunks: chunks, first: a.nextSparse(0), drop: map[*ir.Array]bool{}}
	for k := range a.op.order() {
		if !a.op.caps(k).HasPos {
			continue
		}
		p := passLevel{level: k, before: l.newArray("before", ir.Int64)}
		l.emit(&ir.Alloc{A: p.before, Len: ir.Plus(chunks, ir.Int(1))})
		l.store(p.before, ir.Int(0), ir.Int(0))
		t.parts = append(t.parts, p)
	}
	return t
}

// nowhere is an array that takes what is not to be written.
func (t *twoPass) nowhere(name string, typ ir.Type) *ir.Array {
	arr := t.a.l.newArray(name, typ)
	t.drop[arr] = true
	return arr
}

// count opens a chunk that only counts.
func (t *twoPass) count(_, _ ir.Expr) {
	a, l := t.a, t.a.l
	b := &buffers{fixed: true, levels: make([]resultLevel, a.op.order()), vals: t.nowhere("vals", a.op.Type)}
	for _, p := range t.parts {
		b.levels[p.level] = resultLevel{
			pos: t.nowhere("pos", ir.Int64), crd: t.nowhere("crd", ir.Int64), count: l.declare(t.countName(p.level), ir.Int(0)),
		}
	}
	a.buf = b
}

func (t *twoPass) countName(k int) string { return t.a.op.prefix() + "_n" + string(rune('0'+k)) }

// counted keeps a chunk's counts.
func (t *twoPass) counted(c, _ ir.Expr) {
	for _, p := range t.parts {
		t.a.l.store(p.before, ir.Plus(c, ir.Int(1)), t.a.buf.levels[p.level].count)
	}
}

// scan sums the counts and makes the arrays.
func (t *twoPass) scan() {
	a, l := t.a, t.a.l
	c := l.newVar("chunk")
	l.emit(&ir.For{V: c, Lo: ir.Int(0), Hi: t.chunks, Step: 1, Body: l.within(func() {
		for _, p := range t.parts {
			l.emit(&ir.Store{A: p.before, Index: ir.Plus(c, ir.Int(1)), Accumulate: true, X: ir.At(p.before, c)})
		}
	})})
	for k := range t.parts {
		p := &t.parts[k]
		p.pos, p.crd = a.newPos(p.level), l.newArray(a.op.prefix()+"_crd", intOf(a.op.CrdWidth[p.level]))
		l.emit(&ir.Alloc{A: p.pos, Len: ir.Plus(t.parents(k, t.chunks), ir.Int(1))})
		l.store(p.pos, ir.Int(0), ir.Int(0))
		l.emit(&ir.Alloc{A: p.crd, Len: ir.At(p.before, t.chunks)})
		if p.level == 0 {
			l.store(p.pos, ir.Int(1), ir.At(p.before, t.chunks))
		}
	}
	t.vals = l.newArray(a.op.prefix()+"_vals", a.op.Type)
	l.emit(&ir.Alloc{A: t.vals, Len: t.size()})
}

// size is the number of values.
func (t *twoPass) size() ir.Expr {
	return ir.Times(ir.At(t.parts[len(t.parts)-1].before, t.chunks), t.a.block(t.a.deep+1))
}

// parents is the number of positions of the level above part k in the chunks before c.
func (t *twoPass) parents(k int, c ir.Expr) ir.Expr {
	level := t.parts[k].level
	if k == 0 {
		return t.a.between(0, level)
	}
	above := t.parts[k-1]
	return ir.Times(ir.At(above.before, c), t.a.between(above.level+1, level))
}

// fill opens a chunk's places.
func (t *twoPass) fill(c, lo ir.Expr) {
	a, l := t.a, t.a.l
	b := &buffers{fixed: true, levels: make([]resultLevel, a.op.order()), vals: t.vals}
	for k, p := range t.parts {
		lev := resultLevel{pos: p.pos, crd: p.crd, count: l.declare(t.countName(p.level), ir.At(p.before, c)),
			limit: l.named(t.countName(p.level)+"_end", ir.At(p.before, ir.Plus(c, ir.Int(1))))}
		last := p.level > 0 && !a.op.caps(p.level-1).HasPos
		switch {
		case p.level == 0:
			lev.pos = t.nowhere("pos", ir.Int64) // the root's end is known
		case k == 0:
			lev.last = l.declare(lev.count.Name+"_last", ir.Times(ir.Minus(lo, a.op.offset(0)), a.between(1, p.level)))
		case last:
			lev.last = l.declare(lev.count.Name+"_last", t.parents(k, c))
		}
		b.levels[p.level] = lev
	}
	a.buf = b
}

// filled closes the parents of a chunk whose range ends at hi.
func (t *twoPass) filled(c, hi ir.Expr) {
	a, l := t.a, t.a.l
	for k, p := range t.parts {
		lev := &a.buf.levels[p.level]
		if lev.last == nil {
			continue
		}
		end := t.parents(k, ir.Plus(c, ir.Int(1)))
		if k == 0 {
			end = ir.Times(ir.Minus(hi, a.op.offset(0)), a.between(1, p.level))
		}
		l.fillPos(lev, ir.Plus(end, ir.Int(1)))
	}
}

// publish hands the arrays to the caller.
func (t *twoPass) publish() {
	for k, p := range t.parts {
		t.a.publish(p.level, ir.Pos, p.pos, ir.Plus(t.parents(k, t.chunks), ir.Int(1)))
		t.a.publish(p.level, ir.Crd, p.crd, ir.At(p.before, t.chunks))
	}
	t.a.publish(0, ir.Vals, t.vals, t.size())
	for _, p := range t.parts {
		t.a.l.emit(&ir.Free{A: p.before})
	}
}

// strip removes what is written to arrays, and then what is computed for
// nothing else: variables that nothing reads, and statements without content.
func strip(b *ir.Block, arrays map[*ir.Array]bool) {
	filter(b, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Store:
			return !arrays[s.A]
		case *ir.Fill:
			return !arrays[s.A]
		case *ir.Prefetch:
			return !arrays[s.A]
		}
		return true
	})
	for changed := true; changed; {
		changed = false
		read, declared := map[*ir.Var]bool{}, map[*ir.Var]bool{}
		ir.Walk(b, func(s ir.Stmt) {
			for _, x := range ir.Exprs(s) {
				ir.WalkExpr(x, func(x ir.Expr) {
					if v, ok := x.(*ir.Var); ok {
						read[v] = true
					}
				})
			}
			switch s := s.(type) {
			case *ir.Grow:
				read[s.Cap] = true
			case *ir.Declare:
				declared[s.V] = true
			}
		})
		idle := func(v *ir.Var) bool { return declared[v] && !read[v] }
		filter(b, func(s ir.Stmt) bool {
			keep := true
			switch s := s.(type) {
			case *ir.Declare:
				keep = !idle(s.V)
			case *ir.Assign:
				keep = !idle(s.V)
			case *ir.For:
				var sums []*ir.Var
				for _, v := range s.Reduce {
					if !idle(v) {
						sums = append(sums, v)
					}
				}
				s.Reduce = sums
				keep = len(s.Body.List) > 0
			case *ir.If:
				if s.Else != nil && len(s.Else.List) == 0 {
					s.Else = nil
				}
				keep = len(s.Then.List) > 0 || s.Else != nil
			}
			changed = changed || !keep
			return keep
		})
	}
}

// filter removes the statements of b, in place and inner ones first, that keep
// does not want.
func filter(b *ir.Block, keep func(ir.Stmt) bool) {
	if b == nil {
		return
	}
	kept := b.List[:0]
	for _, s := range b.List {
		switch s := s.(type) {
		case *ir.Block:
			filter(s, keep)
		case *ir.For:
			filter(s.Body, keep)
		case *ir.While:
			filter(s.Body, keep)
		case *ir.If:
			filter(s.Then, keep)
			filter(s.Else, keep)
		case *ir.Turn:
			filter(s.Body, keep)
		}
		if keep(s) {
			kept = append(kept, s)
		}
	}
	b.List = kept
}
