package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// counts is the state of a component whose loops count: the number of values
// of each of its variables, and those that are bound, all counted from 0; but
// where positions are counted, the coordinates are those that they hold.
type counts struct {
	n     map[string]ir.Expr
	value map[string]ir.Expr
	// start is the first of the positions that a pos is about.
	start ir.Expr
}

// counting lowers a loop of a component whose loops do not come in natural
// order.
func (l *lowerer) counting(f *cin.Forall, e *env, c *component, want bool) ir.Expr {
	id := c.Roots[0]
	s := e.counts[id]
	if s == nil {
		if l.assigns(f) {
			l.zero(e)
		}
		if l.overNothing(c, e) {
			return ir.Truth(false)
		}
		s = l.countAll(c, e)
	}
	if some, ok := l.separate(f, e, want); ok {
		return some
	}
	p := &loop{f: f, e: e, want: want}
	done := l.tally(p)
	from, to := l.pieceRange(e, f.Var, ir.Int(0), s.n[f.Var])
	sure := map[string]bool{}
	if len(s.value) == len(c.Leaves)-1 {
		to, sure = l.reach(f.Var, s, to)
	}
	v := l.newVar(f.Var)
	some := ir.Expr(ir.Truth(false))
	l.inFlag(p, func() {
		body := l.bodyOf(f, func() {
			in := l.atomically(f, e.clone())
			next := &counts{n: s.n, start: s.start, value: map[string]ir.Expr{f.Var: v}}
			for x, y := range s.value {
				next.value[x] = y
			}
			in.counts[id] = next
			inner := func(in *env) {
				got := l.stmt(f.Body, in, p.want || p.count != nil)
				l.note(p, got)
				some = anyOf(some, got)
			}
			if len(next.value) < len(c.Leaves) {
				inner(in)
				return
			}
			l.recover(c, next, sure, in, func() { l.arrive(f, c, in, inner) })
		})
		l.emit(l.dress(f, &ir.For{V: v, Lo: from, Hi: to, Step: 1, Body: body}))
	}, func() bool { return never(some) })
	if done != nil {
		return done()
	}
	return p.result(some)
}

// overNothing tells whether a component's loops are over positions of an operand
// that is absent here.
func (l *lowerer) overNothing(c *component, e *env) bool {
	return slices.ContainsFunc(l.sched.g.Relations(), func(r provenance.Relation) bool {
		return r.Kind == provenance.Pos && l.sched.comps[r.From[0]] == c && never(e.cur[r.Access].pres)
	})
}

// countAll finds the number of values of every variable of a component.
func (l *lowerer) countAll(c *component, e *env) *counts {
	s := &counts{n: map[string]ir.Expr{}}
	for _, r := range c.Roots {
		b := l.span(e, r)
		s.n[r] = ir.Minus(b.hi, b.lo)
	}
	for _, r := range l.sched.g.Relations() {
		if r.Kind == provenance.Precompute || s.n[r.From[0]] == nil {
			continue
		}
		n := s.n[r.From[0]]
		switch r.Kind {
		case provenance.Bound:
			iv := l.bounded(&r, interval{lo: ir.Int(0), hi: n, size: -1}, e)
			n = iv.hi
		case provenance.Fuse:
			n = l.named(r.To[0]+"_n", ir.Times(n, s.n[r.From[1]]))
		case provenance.Pos:
			lo, hi := l.segment(e.cur[r.Access])
			s.start, n = lo, l.named(r.To[0]+"_n", ir.Minus(hi, lo))
		case provenance.Split, provenance.Divide:
			// There are no more parts, and none is longer, than there are things to part.
			few, many := r.To[0], r.To[1]
			if r.Kind == provenance.Divide {
				few, many = many, few
			}
			s.n[few] = l.named(few+"_n", ir.Over(ir.Plus(n, ir.Int(r.N-1)), ir.Int(r.N)))
			s.n[many] = l.named(many+"_n", piecesOf(n, r.N))
			continue
		}
		s.n[r.To[0]] = n
	}
	return s
}

// reach is where the loop over v, the last of a component's, ends instead of at to, so
// that variables which grow with v stay in their ranges, and which these are: no
// iteration has to ask.
func (l *lowerer) reach(v string, s *counts, to ir.Expr) (end ir.Expr, sure map[string]bool) {
	sure = map[string]bool{}
	a, b := ir.Expr(ir.Int(1)), ir.Expr(ir.Int(0)) // x is a*v + b
	for x := v; ; {
		r := l.sched.g.MadeBy(x)
		switch {
		case r == nil || r.Kind == provenance.Pos || r.Kind == provenance.Fuse:
			return l.named(v+"_end", to), sure
		case len(r.To) == 2:
			tile := s.n[r.To[1]]
			if x == r.To[0] {
				inner := l.valueOf(r.To[1], s)
				if inner == nil {
					return l.named(v+"_end", to), sure
				}
				a, b = ir.Times(a, tile), ir.Plus(ir.Times(b, tile), inner)
			} else {
				outer := l.valueOf(r.To[0], s)
				if outer == nil {
					return l.named(v+"_end", to), sure
				}
				b = ir.Plus(ir.Times(outer, tile), b)
			}
			sure[r.From[0]] = true
			if n := s.n[r.From[0]]; !even(n, r.N) {
				left := ir.Greatest(ir.Minus(n, b), ir.Int(0))
				to = ir.Least(to, ir.Over(ir.Minus(ir.Plus(left, a), ir.Int(1)), a))
			}
		}
		x = r.From[0]
	}
}

// even tells whether a number of coordinates is known, and a multiple of n, so that
// neither tiles of n nor n tiles of them reach past the end.
func even(x ir.Expr, n int64) bool {
	k, ok := x.(*ir.Lit)
	return ok && k.I%n == 0
}

// valueOf is the value of a variable of a component where the loops around determine
// it; nil where they do not, or by a coordinate that is looked up.
func (l *lowerer) valueOf(x string, s *counts) ir.Expr {
	r := l.sched.g.ReplacedBy(x)
	if r == nil {
		return s.value[x]
	}
	v := l.valueOf(r.To[0], s)
	if v == nil {
		return nil
	}
	switch r.Kind {
	case provenance.Split, provenance.Divide:
		inner := l.valueOf(r.To[1], s)
		if inner == nil {
			return nil
		}
		return ir.Plus(ir.Times(v, s.n[r.To[1]]), inner)
	case provenance.Fuse:
		n := ir.Greatest(s.n[r.From[1]], ir.Int(1))
		if x == r.From[0] {
			return ir.Over(v, n)
		}
		return ir.Modulo(v, n)
	case provenance.Pos:
		return nil
	}
	return v
}

// recover computes the component's variables from those of its loops and runs
// body where all are in their ranges; those that are sure to be are not asked.
func (l *lowerer) recover(c *component, s *counts, sure map[string]bool, in *env, body func()) {
	rels := l.sched.g.Relations()
	var back func(k int)
	back = func(k int) {
		if k < 0 {
			body()
			return
		}
		r := rels[k]
		if r.Kind == provenance.Precompute || s.n[r.From[0]] == nil || l.sched.comps[r.From[0]] != c {
			back(k - 1)
			return
		}
		x := s.value[r.To[0]]
		switch r.Kind {
		case provenance.Split, provenance.Divide:
			tile := s.n[r.To[1]]
			x = l.named(r.From[0], ir.Plus(ir.Times(x, tile), s.value[r.To[1]]))
			s.value[r.From[0]] = x
			if sure[r.From[0]] || even(s.n[r.From[0]], r.N) {
				back(k - 1)
				return
			}
			l.when(ir.Less(x, s.n[r.From[0]]), func() { back(k - 1) })
			return
		case provenance.Fuse:
			n := ir.Greatest(s.n[r.From[1]], ir.Int(1))
			s.value[r.From[0]] = l.named(r.From[0], ir.Over(x, n))
			s.value[r.From[1]] = l.named(r.From[1], ir.Modulo(x, n))
		case provenance.Pos:
			cur := in.cur[r.Access]
			p := l.named(r.To[0], ir.Plus(s.start, x))
			d := *cur
			d.level++
			d.pos, d.end, d.base, d.pres = p, nil, nil, ir.Truth(true)
			s.value[r.From[0]] = l.named(r.From[0], ir.Coord(cur.op.crd(cur.level), p))
			in.cur[r.Access] = &d
		default:
			s.value[r.From[0]] = x
		}
		back(k - 1)
	}
	back(len(rels) - 1)
}

// arrive binds the component's roots and runs the body there.
func (l *lowerer) arrive(f *cin.Forall, c *component, in *env, body func(*env)) {
	s := in.counts[c.Roots[0]]
	for _, r := range c.Roots {
		in.coord[r] = s.value[r]
		if s.start == nil {
			in.coord[r] = l.named(r, ir.Plus(s.value[r], l.span(in, r).lo))
		}
	}
	l.enterAll(f.Body, in)
	l.bindResultAt(f, in)
	body(in)
}
