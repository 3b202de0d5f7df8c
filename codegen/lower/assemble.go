package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// assembly builds the result.
//
// A result of dense levels alone is the caller's memory, set to zero first and
// written at random. With compressed levels it grows in order: level l has
// count[l] coordinates so far; the next one is written at that place while its
// children are computed below it, and counts only if some were. pos arrays are
// closed behind each parent position. Parents are visited in ascending order,
// but under dense levels not all of them are: last is the place of pos up to
// which it is written, and the gap is filled as the next parent comes.
type assembly struct {
	l      *lowerer
	op     *operand
	sparse bool
	levels []resultLevel
	vals   *ir.Array
	capV   *ir.Var
	deep   int // the last compressed level
}

type resultLevel struct {
	pos, crd   *ir.Array
	capP, capC *ir.Var // nil where the array cannot grow
	count      *ir.Var
	last       *ir.Var // nil under a compressed level, whose positions are all visited
}

// resultCursor is how far the bound variables lead down the result's levels.
type resultCursor struct {
	level int
	pos   ir.Expr
	base  ir.Expr // as in cursor
}

func (l *lowerer) openResult() *assembly {
	op := l.ops[l.spec.Operands[0].Name]
	a := &assembly{l: l, op: op, levels: make([]resultLevel, op.order()), deep: -1}
	for k := range a.levels {
		if op.caps(k).HasPos {
			a.deep = k
		}
	}
	if a.deep < 0 {
		a.vals = op.vals()
		l.emit(&ir.Fill{A: a.vals, Lo: ir.Int(0), Hi: a.block(0), X: ir.Zero(op.Type)})
		return a
	}
	a.sparse = true
	guess := l.named("guess", a.guess())
	a.vals = l.newArray(op.prefix()+"_vals", op.Type)
	a.capV = l.declare(a.vals.Name+"_cap", guess)
	l.emit(&ir.Alloc{A: a.vals, Len: a.capV})
	above := -1 // the last compressed level before k
	for k := range a.levels {
		if !op.caps(k).HasPos {
			continue
		}
		lev := &a.levels[k]
		lev.pos = l.newArray(fmt.Sprintf("%s_pos%d", op.prefix(), k), intOf(op.PosWidth[k]))
		lev.crd = l.newArray(fmt.Sprintf("%s_crd%d", op.prefix(), k), intOf(op.CrdWidth[k]))
		if above < 0 {
			l.emit(&ir.Alloc{A: lev.pos, Len: ir.Plus(a.between(0, k), ir.Int(1))})
		} else {
			lev.capP = l.declare(lev.pos.Name+"_cap", ir.Plus(guess, ir.Int(1)))
			l.emit(&ir.Alloc{A: lev.pos, Len: lev.capP})
		}
		lev.capC = l.declare(lev.crd.Name+"_cap", guess)
		l.emit(&ir.Alloc{A: lev.crd, Len: lev.capC})
		l.store(lev.pos, ir.Int(0), ir.Int(0))
		lev.count = l.declare(fmt.Sprintf("%s_n%d", op.prefix(), k), ir.Int(0))
		if above != k-1 || k == 0 {
			lev.last = l.declare(fmt.Sprintf("%s_last%d", op.prefix(), k), ir.Int(0))
		}
		above = k
	}
	return a
}

// guess is how many entries to make room for at first: those of the sparse
// operands together.
func (a *assembly) guess() ir.Expr {
	n := ir.Expr(ir.Int(16))
	for _, o := range a.l.spec.Operands[1:] {
		if !o.Format.AllDense() {
			n = ir.Plus(n, a.l.ops[o.Name].nnz())
		}
	}
	return n
}

// between is the number of positions of level hi-1 under one of level lo-1,
// all levels between being dense.
func (a *assembly) between(lo, hi int) ir.Expr {
	n := ir.Expr(ir.Int(1))
	for k := lo; k < hi; k++ {
		n = ir.Times(n, a.op.size(k))
	}
	return n
}

// block is the number of values under one position of level lo-1, the levels
// from lo on being dense.
func (a *assembly) block(lo int) ir.Expr { return a.between(lo, a.op.order()) }

// nextSparse is the first compressed level from k on, or -1.
func (a *assembly) nextSparse(k int) int {
	for ; k < a.op.order(); k++ {
		if a.op.caps(k).HasPos {
			return k
		}
	}
	return -1
}

// appends tells whether a loop runs over the next level of the result, a
// compressed one, and which.
func (l *lowerer) appends(f *cin.Forall, e *env) (level int, ok bool) {
	k := e.res.level
	if !l.out.sparse || k >= l.out.op.order() || l.out.op.caps(k).Locate || cin.Target(f).Name != l.out.op.Name {
		return 0, false
	}
	if l.resultVars[k] != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where the result appends " + l.resultVars[k])
	}
	return k, true
}

// appendLoop lowers a loop over a compressed level of the result.
func (l *lowerer) appendLoop(f *cin.Forall, e *env, k int, want bool) ir.Expr {
	lev := &l.out.levels[k]
	parent := e.res.pos
	next := ir.Plus(parent, ir.Int(1))
	if lev.last != nil {
		// The children before this parent are all there.
		q := l.newVar(lev.pos.Name + "_q")
		l.emit(&ir.For{V: q, Lo: ir.Plus(lev.last, ir.Int(1)), Hi: next, Step: 1, Body: l.within(func() { l.store(lev.pos, q, lev.count) })})
	}
	from := ir.Expr(lev.count)
	if want {
		from = l.declare(lev.count.Name+"_from", lev.count)
	}
	some := l.loops(&loop{f: f, e: e, want: false, body: func(in *env) ir.Expr { return l.appendOne(f, in, k) }})
	l.store(lev.pos, next, lev.count)
	if lev.last != nil {
		l.set(lev.last, next)
	}
	if never(some) || !want {
		return some
	}
	return l.named("some_"+f.Var, ir.Unequal(lev.count, from))
}

// appendOne lowers the body for one coordinate of compressed level k.
func (l *lowerer) appendOne(f *cin.Forall, in *env, k int) ir.Expr {
	a := l.out
	lev := &a.levels[k]
	some := ir.Expr(ir.Truth(false))
	body := l.within(func() {
		more := ir.Plus(lev.count, ir.Int(1))
		l.reserve(lev.crd, lev.capC, more)
		if next := a.nextSparse(k + 1); next >= 0 {
			below := &a.levels[next]
			l.reserve(below.pos, below.capP, ir.Plus(ir.Times(more, a.between(k+1, next)), ir.Int(1)))
		} else {
			size := a.block(k + 1)
			end := ir.Times(more, size)
			l.reserve(a.vals, a.capV, end)
			if k+1 < a.op.order() {
				l.emit(&ir.Fill{A: a.vals, Lo: ir.Times(lev.count, size), Hi: end, X: ir.Zero(a.op.Type)})
			}
		}
		in.res = resultCursor{level: k + 1, pos: lev.count}
		l.enterResult(in)
		some = l.stmt(f.Body, in, true)
		l.when(some, func() {
			l.store(lev.crd, lev.count, in.coord[f.Var])
			l.incr(lev.count, ir.Int(1))
		})
	})
	if !never(some) {
		l.blk.List = append(l.blk.List, body.List...)
	}
	return some
}

func (l *lowerer) reserve(a *ir.Array, have *ir.Var, need ir.Expr) {
	l.when(ir.Less(have, need), func() { l.emit(&ir.Grow{A: a, Cap: have, Need: need}) })
}

// bindResult moves the result's cursor after p's variable was bound in in.
func (l *lowerer) bindResult(p *loop, in *env) {
	if cin.Target(p.f).Name == l.out.op.Name {
		l.enterResult(in)
	}
}

// enterResult moves the result's cursor through the dense levels whose
// variables are bound.
func (l *lowerer) enterResult(e *env) {
	op := l.out.op
	for c := &e.res; c.level < op.order() && op.caps(c.level).Locate; {
		at, bound := e.coord[l.resultVars[c.level]]
		if c.base == nil {
			c.base = ir.Minus(ir.Times(c.pos, op.size(c.level)), op.offset(c.level))
			if !bound {
				c.base = l.named(op.prefix()+"_b", c.base)
				return
			}
		}
		if !bound {
			return
		}
		*c = resultCursor{level: c.level + 1, pos: l.named(op.prefix()+"_p", ir.Plus(c.base, at))}
	}
}

// publish hands the result's arrays to the caller.
func (a *assembly) publish() {
	if !a.sparse {
		return
	}
	l := a.l
	parents := ir.Expr(ir.Int(1)) // positions of the level above k
	for k := range a.levels {
		lev := &a.levels[k]
		if !a.op.caps(k).HasPos {
			parents = ir.Times(parents, a.op.size(k))
			continue
		}
		if lev.last != nil {
			q := l.newVar(lev.pos.Name + "_q")
			l.emit(&ir.For{V: q, Lo: ir.Plus(lev.last, ir.Int(1)), Hi: ir.Plus(parents, ir.Int(1)), Step: 1,
				Body: l.within(func() { l.store(lev.pos, q, lev.count) })})
		}
		l.emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Level: k, Part: ir.Pos}, A: lev.pos, Len: ir.Plus(parents, ir.Int(1))})
		l.emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Level: k, Part: ir.Crd}, A: lev.crd, Len: lev.count})
		parents = lev.count
	}
	l.emit(&ir.Publish{Slot: ir.Slot{Arg: 0, Part: ir.Vals}, A: a.vals, Len: parents})
}
