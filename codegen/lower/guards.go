package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// guardedLoop lowers a loop of a component whose loops are not in natural order. Every loop counts
// from 0. The last loop computes the original variables from all counts, and runs its body only if
// they are in their ranges.
func (l *lowerer) guardedLoop(f *cin.Forall, e *env, c *component, want bool) ir.Expr {
	id := c.component.Roots[0]
	s := e.counts.at(id)
	if s == nil {
		nothing := l.loopsOverAbsent(c, e)
		if l.assigns(f) && (nothing || !l.storesEachOnce(f, c, e)) {
			l.zero(e)
		}
		if nothing {
			return ir.Truth(false)
		}
		s = l.countAll(c, e)
	}
	if some, ok := l.privateLoop(f, e, want); ok {
		return some
	}
	p := &loop{l: l, f: f, e: e, want: want}
	done := p.countAssigned()
	over, step := l.steps(f, c, s)
	from, to := l.pieceRange(e, over, ir.Int(0), code(s.counting.N[over]))
	sure := map[string]bool{}
	if len(s.counting.Value) == len(c.component.Leaves)-1 {
		var end provenance.Form
		end, sure = s.counting.Reach(over, form(to), l.nameForm)
		to = code(end)
	}
	if step > 1 {
		from = code(s.counting.Value[l.sched.g.MadeBy(f.Var).To[1]])
		sure[over] = true
	}
	v := l.b.Var(over)
	some := ir.Expr(ir.Truth(false))
	p.inFlag(func() {
		body := l.bodyOf(f, func() {
			in := l.atomicEnv(f, e.clone())
			next := &counts{s.counting.Bind(over, form(v)), s.start}
			in.counts = in.counts.with(id, next)
			inner := func(in *env) {
				got := l.stmt(f.Body, in, p.want || p.count != nil)
				p.noteAssigned(got)
				some = anyOf(some, got)
			}
			if len(next.counting.Value) < len(c.component.Leaves) {
				inner(in)
				return
			}
			l.recover(c, next, sure, in, func() { l.arrive(f, c, in, inner) })
		})
		l.b.Emit(l.setKind(f, e, &ir.For{V: v, Lo: from, Hi: to, Step: step, Body: body}))
	}, func() bool { return ir.Never(some) })
	if done != nil {
		return done()
	}
	return p.result(some)
}

// steps returns the variable that the loop f runs over, and its step. On a GPU, the last loop of a
// component may count the tiles of a split, inside loops that have chosen a place in each tile. It
// then runs over the variable that was split, with the tile's size as its step, which saves the
// number of tiles and a product.
func (l *lowerer) steps(f *cin.Forall, c *component, s *counts) (over string, step int64) {
	r := l.sched.g.MadeBy(f.Var)
	if !l.spec.GPU || f.Unit != cin.Serial || f.Unroll != 0 ||
		len(s.counting.Value) < len(c.component.Leaves)-1 ||
		r == nil || len(r.To) != 2 || r.To[0] != f.Var || s.counting.Value[r.To[1]] == nil {
		return f.Var, 1
	}
	if tile, ok := s.counting.N[r.To[1]].(provenance.Const); ok && tile > 1 {
		return r.From[0], int64(tile)
	}
	return f.Var, 1
}

// storesEachOnce reports whether the loops from f on, on a GPU, store each value of the result
// exactly once. The loops must be over component c and directly nested, and the sum must be
// computed in a scalar. Loops over positions of an operand are excluded, because they skip places
// without an entry.
func (l *lowerer) storesEachOnce(f *cin.Forall, c *component, e *env) bool {
	if slices.ContainsFunc(l.sched.g.Relations(),
		func(r provenance.Relation) bool { return l.isPosOf(r, c) }) {
		return false
	}
	k := e.res.level
	if !l.spec.GPU || e.res.zeroed || len(c.component.Roots) != 1 || l.out.sparse() ||
		k != l.out.op.Order()-1 || l.resultVars[k] != c.component.Roots[0] {
		return false
	}
	s := cin.Stmt(f)
	for range c.component.Leaves {
		g, ok := s.(*cin.Forall)
		if !ok || !slices.Contains(c.component.Leaves, g.Var) {
			return false
		}
		s = g.Body
	}
	in := e.clone()
	in.coord = in.coord.with(c.component.Roots[0], ir.Int(0))
	switch s := s.(type) {
	case *cin.Forall:
		return l.sumsSingleValue(s, in)
	case *cin.Assign:
		return true
	}
	return false
}

// loopsOverAbsent reports whether a component's loops run over positions of an operand that is
// absent here. They then have no iterations.
func (l *lowerer) loopsOverAbsent(c *component, e *env) bool {
	return slices.ContainsFunc(l.sched.g.Relations(), func(r provenance.Relation) bool {
		return l.isPosOf(r, c) && ir.Never(e.cur[r.Access].Present)
	})
}

// isPosOf reports whether r makes a component's loops run over positions of an operand.
func (l *lowerer) isPosOf(r provenance.Relation, c *component) bool {
	return r.Kind == provenance.Pos && l.sched.comps[r.From[0]] == c
}

// countAll computes the number of values of every variable of a component.
func (l *lowerer) countAll(c *component, e *env) *counts {
	s := &counts{counting: &provenance.Counting{G: l.sched.g, N: map[string]provenance.Form{}}}
	for _, r := range c.component.Roots {
		b := l.rangeOf(e, r)
		s.counting.N[r] = form(ir.Minus(b.Hi, b.Lo))
		if b.Size > 0 {
			s.counting.N[r] = provenance.Const(b.Size)
		}
	}
	for _, r := range l.sched.g.Relations() {
		if r.Kind == provenance.Precompute || s.counting.N[r.From[0]] == nil {
			continue
		}
		switch r.Kind {
		case provenance.Pos:
			lo, hi := e.cur[r.Access].Segment()
			s.start = lo
			s.counting.N[r.To[0]] = l.nameForm(r.To[0]+"_n", form(ir.Minus(hi, lo)))
			continue
		case provenance.Bound:
			// checked
			l.bounded(&r, interval{lo: ir.Int(0), hi: code(s.counting.N[r.From[0]]), size: -1}, e)
		}
		s.counting.Count(&r, l.nameForm)
	}
	return s
}

// recover emits code that computes the component's variables from its loops' variables, and then
// the code of body under the condition that all of them are in their ranges. The variables in sure
// are not tested.
func (l *lowerer) recover(c *component, s *counts, sure map[string]bool, in *env, body func()) {
	rels := l.sched.g.Relations()
	var back func(k int)
	back = func(k int) {
		if k < 0 {
			body()
			return
		}
		r := &rels[k]
		switch {
		case r.Kind == provenance.Precompute || s.counting.N[r.From[0]] == nil ||
			l.sched.comps[r.From[0]] != c:
		case r.Kind == provenance.Pos:
			cur := in.cur[r.Access]
			p := l.b.Named(r.To[0], ir.Plus(s.start, code(s.counting.Value[r.To[0]])))
			d := *cur
			d.Level++
			d.Pos, d.End, d.Base, d.Present = p, nil, nil, ir.Truth(true)
			s.counting.Value[r.From[0]] = form(l.b.Named(r.From[0], ir.Coord(cur.Of.Crd(cur.Level), p)))
			in.cur[r.Access] = &d
		case s.counting.Value[r.From[0]] != nil: // the loops run over it
		case s.counting.Recover(r, sure, l.nameForm):
			l.b.When(ir.Less(code(s.counting.Value[r.From[0]]), code(s.counting.N[r.From[0]])),
				func() { back(k - 1) })
			return
		}
		back(k - 1)
	}
	back(len(rels) - 1)
}

// arrive binds the component's original variables, and calls body to lower f's body there.
func (l *lowerer) arrive(f *cin.Forall, c *component, in *env, body func(*env)) {
	s := in.counts.at(c.component.Roots[0])
	for _, r := range c.component.Roots {
		in.coord = in.coord.with(r, code(s.counting.Value[r]))
		if s.start == nil {
			in.coord = in.coord.with(r, l.b.Named(r, ir.Plus(in.coord.at(r), l.rangeOf(in, r).Lo)))
		}
	}
	l.enterAll(f.Body, in)
	l.bindResultAt(f, in)
	body(in)
}
