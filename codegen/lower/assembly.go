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
	// pattern returns the key of the access to the operand that shares its pattern with the result,
	// or "" if there is none.
	pattern() string
	// at returns the result's cursor for position p of that operand, in the level that corresponds
	// to the result's last compressed level.
	at(p ir.Expr) resultCursor
	// loop lowers f over compressed level k of the result and places its coordinates. See
	// lowerer.stmt for want and the returned value.
	loop(f *cin.Forall, e *env, k int, want bool) ir.Expr
	// parallel lowers f as a loop on threads, in chunks of about equal work. o is the strategy of
	// f. Different iterations of f must write different places of the result. If inOrder returns
	// true, f must be over the variable of the result's level 0.
	parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr
	// chunks makes the result from n chunks, which a schedule's parallel loop over tiles computes.
	// run emits this loop and may be called twice. Each iteration calls open for its chunk c, whose
	// range of level 0's variable begins at lo, and calls closeAt where the range ends, at hi.
	chunks(n ir.Expr, run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)))
	// store stores x at e's cursor, which has passed all levels. Nothing has been stored at this
	// place before, not even 0.
	store(x value, e *env)
	// sumsInPlace reports whether workspace t can be summed directly in the result. This requires
	// that consumer does nothing but copy t to the result's levels from k on.
	sumsInPlace(consumer cin.Stmt, t *cin.Access, k int) bool
	// sum lowers a where that sumsInPlace accepts, without its workspace.
	sum(s *cin.Where, t *cin.Access, e *env) ir.Expr
}

// loopsOverResult reports whether f must visit the result's next level in storage order, and
// returns the level. This is so if the level is compressed and the assembly writes in order.
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

// bindResult moves the result's cursor in an iteration's environment, in, which already binds p's
// variable.
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

// bindResultAt moves the result's cursor in the environment of an iteration of f. The environment,
// in, already binds f's variable and has the operands' new cursors.
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
