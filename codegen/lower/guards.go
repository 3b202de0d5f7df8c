package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
	"distaff/codegen/provenance"
)

// guardedLoop lowers a loop of a component whose loops are not in natural order (see package
// provenance). The loop counts from 0, except in a piece of its range and if bounds.Steps returns a
// larger step than 1. The last loop of the component computes the original variables from the
// counts of all loops. It runs its body only if these variables are in their ranges.
func (l *lowerer) guardedLoop(f *cin.Forall, e *scope.Env, c *scope.Component, want bool) ir.Expr {
	id := c.Roots[0]
	s := e.Counts.At(id)
	if s == nil {
		nothing := bounds.LoopsOverAbsent(c, e)
		if l.leaf.Assigns(f) && (nothing || !units.StoresEachOnce(f, c, e)) {
			e = merge.Zero(e)
		}
		if nothing {
			return ir.Truth(false)
		}
		s = bounds.CountAll(c, e)
	}
	if some, ok := l.privateLoop(f, e, want); ok {
		return some
	}
	p := &merge.Loop{F: f, E: e, Want: want, Body: l.body(f.Body)}
	p.CountAssigned()
	over, step := bounds.Steps(l.leaf, f, c, s)
	from, to := pieceRange(l.b, e, over, ir.Int(0), bounds.Code(s.Counting.N[over]))
	sure := map[string]bool{}
	if len(s.Counting.Value) == len(c.Leaves)-1 {
		var end provenance.Form
		end, sure = s.Counting.Reach(over, bounds.Form(to), bounds.NameForm(l.b))
		to = bounds.Code(end)
	}
	if step > 1 {
		from = bounds.Code(s.Counting.Value[l.leaf.Graph.MadeBy(f.Var).To[1]])
		sure[over] = true
	}
	v := l.b.Var(over)
	return p.Collect(nil, func() ir.Expr {
		some := ir.Expr(ir.Truth(false))
		body := units.BodyOf(l.leaf, f, func() {
			in := units.AtomicEnv(f, e.Clone())
			next := &scope.Counts{Counting: s.Counting.Bind(over, bounds.Form(v)), Start: s.Start}
			in.Counts = in.Counts.With(id, next)
			inner := func(in *scope.Env) { some = scope.AnyOf(some, p.RunBody(in)) }
			if len(next.Counting.Value) < len(c.Leaves) {
				inner(in)
				return
			}
			bounds.Recover(c, next, sure, in, func() { l.arrive(f, c, in, inner) })
		})
		l.b.Emit(units.SetKind(f, e, &ir.For{V: v, Lo: from, Hi: to, Step: step, Body: body}))
		return some
	})
}

// arrive lowers the body of loop f when the loops of component c have determined the values of all
// original variables of c. It binds these variables in env, the environment of the body. It then
// calls body, which lowers the body in env.
func (l *lowerer) arrive(f *cin.Forall, c *scope.Component, env *scope.Env, body func(*scope.Env)) {
	s := env.Counts.At(c.Roots[0])
	for _, r := range c.Roots {
		env.Coord = env.Coord.With(r, bounds.Code(s.Counting.Value[r]))
		if s.Start == nil {
			env.Coord = env.Coord.With(r, l.b.Named(r, ir.Plus(env.Coord.At(r), env.RangeOf(r).Lo)))
		}
	}
	env.EnterAll(f.Body)
	merge.BindResultAt(f, env)
	body(env)
}
