package lower

import (
	"fmt"

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

// newAssembly returns the implementation of the strategy's assembly.
func (l *lowerer) newAssembly(how strategy.Assembly) assembly {
	r := l.out
	if r.op.operand.Format.AllDense() != (how == strategy.Dense) {
		panic(fmt.Sprintf("BUG: lower: a result of format %s is to be assembled as %v",
			r.op.operand.Format, how))
	}
	switch how {
	case strategy.Dense:
		return newDenseResult(r)
	case strategy.SharedPattern:
		return newSharedResult(r)
	case strategy.Mapped:
		return newMappedResult(r)
	case strategy.FixedPattern:
		return newFixedResult(r)
	case strategy.Append:
		return &appendResult{growing{result: r}}
	case strategy.TwoPass:
		return &twoPassResult{growing: growing{result: r}}
	}
	panic(fmt.Sprintf("BUG: lower: assembly %v", how))
}

// loopsOverResult reports whether a loop is over the next level of a result in order, and which
// level it is. The level is compressed.
func (l *lowerer) loopsOverResult(f *cin.Forall, e *env) (level int, ok bool) {
	k := e.res.level
	if !l.assembly.inOrder() || k >= l.out.op.order() || l.out.op.caps(k).CanLocate() ||
		!l.assigns(f) {
		return 0, false
	}
	if l.resultVars[k] != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where the result appends " + l.resultVars[k])
	}
	return k, true
}

// bindResult moves the result's cursor after p's variable has been bound in in.
func (l *lowerer) bindResult(p *loop, in *env) {
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
		if cur := in.cur[key]; in.coord[v] != nil && cur != nil && cur.level > r.deep {
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
		if v := l.resultVars[c.level]; c.pos == nil && e.coord[v] != nil {
			c.pos = e.lane(v)
		}
		return
	}
	for c := &e.res; c.level < op.order() && op.caps(c.level).CanLocate(); {
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
		*c = resultCursor{level: c.level + 1, pos: l.named(op.prefix()+"_p", ir.Plus(c.base, at)),
			zeroed: c.zeroed, first: c.first, here: c.here}
	}
}
