package lower

import (
	"strings"

	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/provenance"
)

// checkCountable makes the leaf fail at its start if the variables have too many points to number.
func (l *lowerer) checkCountable(roots []string) {
	if key := strings.Join(roots, ","); !l.numbered[key] {
		l.numbered[key] = true
		l.checkPoints(l.spanForms(&env{}, roots))
	}
}

// checkCounts makes the leaf fail at its start if loops that are not in natural order count the
// points of fused variables and there are too many to number.
func (l *lowerer) checkCounts() {
	s := &provenance.Counting{G: l.sched.g, N: map[string]provenance.Form{}}
	for v, c := range l.sched.comps {
		if r := l.sched.g.MadeBy(v); r == nil && !c.natural {
			s.N[v] = l.spanForm(&env{}, v).Extent()
		}
	}
	for _, r := range l.sched.g.Relations() {
		if r.Kind == provenance.Precompute || r.Kind == provenance.Pos || s.N[r.From[0]] == nil {
			continue // positions are already numbered
		}
		if r.Kind == provenance.Fuse {
			var spans []provenance.Range
			for _, v := range r.From {
				spans = append(spans, provenance.Range{Lo: provenance.Const(0), Hi: s.N[v], Size: -1})
			}
			l.checkPoints(spans)
		}
		s.Count(&r, func(_ string, f provenance.Form) provenance.Form { return f })
	}
}

// checkPoints emits code at the leaf's start that fails if a space of ranges has more than
// emit.MaxPoints points.
func (l *lowerer) checkPoints(spans []provenance.Range) {
	n, some, many := ir.Expr(ir.Int(1)), ir.Expr(ir.Truth(true)), ir.Expr(ir.Truth(false))
	var sizes []ir.Expr
	for _, s := range spans {
		size := code(s.Extent())
		sizes, some = append(sizes, size), ir.Both(some, ir.Less(ir.Int(0), size))
		size = ir.Greatest(size, ir.Int(1))
		many = ir.Either(many, ir.Less(ir.Over(ir.Int(emit.MaxPoints), size), n))
		n = ir.Times(n, size)
	}
	l.b.AtStart(func() {
		l.b.When(ir.Both(some, many), func() { l.b.Emit(&ir.Fail{Code: ir.FailSpace, Coord: sizes}) })
	})
}
