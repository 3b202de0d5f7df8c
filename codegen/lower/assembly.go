package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// assembly is how a leaf writes its result. Each strategy.Assembly has an
// implementation, which is chosen once; loops and assignments ask it, and never which
// one it is.
//
// In an assembly with random access (dense, shared pattern, mapped) a coordinate's
// position is computed, or is that of an operand's entry. In one in order (fixed
// pattern, append, two passes) the result's compressed levels are met in the
// order of their storage, each coordinate once, and loop lowers the loops over them.
type assembly interface {
	// whole emits what makes the result. run lowers the statement; it may be called
	// twice. parallel says that loops on threads make the result chunk by chunk.
	whole(parallel bool, run func())
	// inOrder tells whether the result's coordinates have to come in the order of storage.
	inOrder() bool
	// pattern is the key of the access to the operand whose pattern the values follow;
	// "" where there is none.
	pattern() string
	// at is the result's cursor at position p of that operand's level which corresponds
	// to the result's last compressed one.
	at(p ir.Expr) resultCursor
	// loop lowers f over compressed level k of the result, whose coordinates it places.
	// See lowerer.stmt for want and what is returned.
	loop(f *cin.Forall, e *env, k int, want bool) ir.Expr
	// parallel lowers f, whose iterations write different places of the result, as
	// chunks of about equal work on threads, as o says. In order, f is over the result's level 0.
	parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr
	// chunks makes the result of n chunks that a schedule's loop over tiles makes. run
	// emits that loop. An iteration opens chunk c, whose range of level 0's variable begins at lo,
	// and closes it where that range ends, at hi. run may be called twice.
	chunks(n ir.Expr, run func(open func(c, lo ir.Expr), closeAt func(c, hi ir.Expr)))
	// store stores x at e's cursor, which is through all levels, where nothing is stored
	// yet, not even 0.
	store(x value, e *env)
	// sumsInPlace tells whether the result itself can take the place of workspace t, which
	// consumer copies to the levels from k on.
	sumsInPlace(consumer cin.Stmt, t *cin.Access, k int) bool
	// sum lowers such a where without its workspace.
	sum(s *cin.Where, t *cin.Access, e *env) ir.Expr
}

// newAssembly is the assembly that the strategy says.
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

// assembles tells whether a loop is over the next level of a result in order, a
// compressed one, and which.
func (l *lowerer) assembles(f *cin.Forall, e *env) (level int, ok bool) {
	k := e.res.level
	if !l.assembly.inOrder() || k >= l.out.op.order() || l.out.op.caps(k).Locate || !l.assigns(f) {
		return 0, false
	}
	if l.resultVars[k] != f.Var {
		panic("BUG: lower: loop over " + f.Var + " where the result appends " + l.resultVars[k])
	}
	return k, true
}

// bindResult moves the result's cursor after p's variable was bound in in.
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

// bindResultAt moves the result's cursor after f's variable was bound in in, at
// cursors that are there already.
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

// enterResult moves the result's cursor through the dense levels whose
// variables are bound.
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
		*c = resultCursor{level: c.level + 1, pos: l.named(op.prefix()+"_p", ir.Plus(c.base, at)),
			zeroed: c.zeroed, first: c.first, here: c.here}
	}
}
