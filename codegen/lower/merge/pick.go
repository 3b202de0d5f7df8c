package merge

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// picked returns the key of a pick that every case of the loop needs, or "" if there is none. The
// loop then has one coordinate at most, which pick computes. Other operands are searched for the
// coordinate, so that they must be sorted.
func (p *Loop) picked() (key string) {
	if p.onUnits() || p.atResult() || p.Lat.Coarse || p.Lat.Universe() {
		return ""
	}
	for k, it := range p.Lat.Iters {
		c := p.E.Cur[it]
		if c.Of.RootLen != nil || c.Of.Kind(c.Level).IsPadded() ||
			c.Of.Argument.Format.HasRepeats(c.Level) || c.Of.Argument.Number < 0 {
			return ""
		}
		if _, ok := p.E.Parts.Get(scope.PlaceKey(it, p.V())); ok {
			return ""
		}
		always := c.Of.Argument.Pick != nil && c.Level == len(c.Vars)-1
		for _, x := range p.Lat.Points {
			always = always && x.Iters.Has(k)
		}
		if always && key == "" {
			key = it
		}
	}
	return key
}

// pick emits the loop's body for the only coordinate of the pick with the given key.
func (p *Loop) pick(key string) ir.Expr {
	l, c := p.E.Leaf, p.E.Cur[key]
	x := c.Of.Argument.Pick
	at := ir.Expr(ir.Int(x.First))
	for k, v := range c.Vars[:len(c.Vars)-1] {
		at = ir.Plus(at, ir.Times(ir.Int(x.Coef[k]), p.E.Coord.At(v)))
	}
	span := p.E.RangeOf(p.V())
	always, here := ir.Expr(ir.Truth(true)), ir.Expr(ir.Truth(true))
	if span.Clip = span.Clip || x.Partial || p.passesChunk(); span.Clip {
		always = nil
	}
	return p.Collect(always, func() (some ir.Expr) {
		i := l.B.Declare(p.V(), at)
		if span.Clip {
			here = ir.Both(ir.AtLeast(i, span.Lo), ir.Less(i, span.Hi))
		}
		l.B.When(here, func() {
			d := *c
			d.Level, d.Pos, d.Value = len(c.Vars), ir.Int(0), ir.One(l.Spec.Compute)
			in := p.E.Bind(p.F.Body, p.V(), i, map[string]*tree.Cursor{key: &d})
			p.bindResult(in)
			some = p.RunBody(in)
		})
		return some
	})
}
