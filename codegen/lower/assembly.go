package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// assembly writes a leaf's result. Each strategy.Assembly has an implementation, which is chosen
// once. Loops and assignments call the methods and never ask which implementation it is.
//
// In an assembly with random access (dense, shared pattern, mapped), a coordinate's position is
// computed, or equals the position of an operand's entry. In an assembly in order (fixed pattern,
// append, two passes), the result's compressed levels are visited in storage order, each coordinate
// once, and the method loop lowers the loops over them.
type assembly interface {
	// whole emits the code that makes the result. run lowers the statement, and may be called
	// twice. parallel is true if loops on threads make the result in chunks.
	whole(parallel bool, run func())
	// inOrder reports whether the result's coordinates must be visited in storage order.
	inOrder() bool
	// pattern returns the key of the access to the operand whose pattern the result's values
	// follow, or "".
	pattern() string
	// at returns the result's cursor for position p of that operand's level. The level corresponds
	// to the result's last compressed level.
	at(p ir.Expr) resultCursor
	// loop lowers f over compressed level k of the result and places its coordinates. See
	// lowerer.stmt for want and the returned value.
	loop(f *cin.Forall, e *env, k int, want bool) ir.Expr
	// parallel lowers f on threads, in chunks of about equal work, as o says. The iterations of f
	// write different places of the result. If inOrder is true, f is over the variable of the
	// result's level 0.
	parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr
	// chunks makes the result from n chunks, in a schedule's loop over tiles, which run emits. run
	// may be called twice. Each iteration calls open for chunk c when the chunk's range of level
	// 0's variable begins at lo, and closeAt when that range ends at hi.
	chunks(n ir.Expr, run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)))
	// store stores x at e's cursor, which is through all levels. Nothing has been stored at this
	// place yet, not even 0.
	store(x value, e *env)
	// sumsInPlace reports whether the result itself can replace workspace t. consumer must copy t
	// to the levels from k on.
	sumsInPlace(consumer cin.Stmt, t *cin.Access, k int) bool
	// sum lowers a where that sumsInPlace accepts, without its workspace.
	sum(s *cin.Where, t *cin.Access, e *env) ir.Expr
}

// loopsOverResult reports whether a loop is over the next level of a result in order, and which
// level it is. The level is compressed.
func (l *lowerer) loopsOverResult(f *cin.Forall, e *env) (level int, ok bool) {
	k := e.res.level
	if !l.assembly.inOrder() || k >= l.out.op.Order() || l.out.op.Kind(k).CanLocate() ||
		!l.assigns(f) {
		return 0, false
	}
	if l.resultVars[k] != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where the result appends " + l.resultVars[k])
	}
	return k, true
}

// bindResult moves the result's cursor after p's variable has been bound in in.
func (p *loop) bindResult(in *env) {
	l := p.l
	if !l.assigns(p.f) {
		return
	}
	if r, key := l.out, l.assembly.pattern(); key != "" && in.res.level <= r.deep &&
		l.resultVars[r.deep] == p.v() {
		for _, it := range p.iters {
			if it.key == key {
				in.res = l.assembly.at(it.p)
			}
		}
	}
	l.enterResult(in)
}

// bindResultAt moves the result's cursor after f's variable has been bound in in. The operands'
// cursors in in have already been moved.
func (l *lowerer) bindResultAt(f *cin.Forall, in *env) {
	if !l.assigns(f) {
		return
	}
	if r, key := l.out, l.assembly.pattern(); key != "" && in.res.level <= r.deep {
		v := l.resultVars[r.deep]
		if cur := in.cur[key]; in.coord.at(v) != nil && cur != nil && cur.Level > r.deep {
			in.res = l.assembly.at(r.positionOf(cur))
		}
	}
	l.enterResult(in)
}

// enterResult moves the result's cursor through the dense levels whose variables are bound.
func (l *lowerer) enterResult(e *env) {
	op := l.out.op
	if l.assembly.pattern() != "" && e.res.level <= l.out.deep {
		return
	}
	if c := &e.res; c.tile != nil {
		if v := l.resultVars[c.level]; c.pos == nil && e.coord.at(v) != nil {
			c.pos = e.lane(v)
		}
		return
	}
	for c := &e.res; c.level < op.Order() && op.Kind(c.level).CanLocate(); {
		at, bound := e.coord.get(l.resultVars[c.level])
		if c.base == nil {
			c.base = ir.Minus(ir.Times(c.pos, op.Size(c.level)), op.Offset(c.level))
			if !bound {
				c.base = l.b.Named(op.Prefix()+"_b", c.base)
				return
			}
		}
		if !bound {
			return
		}
		*c = resultCursor{level: c.level + 1, pos: l.b.Named(op.Prefix()+"_p", ir.Plus(c.base, at)),
			zeroed: c.zeroed, first: c.first, here: c.here}
	}
}
