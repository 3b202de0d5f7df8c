package bounds

import (
	"strings"

	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/provenance"
)

// checkCountable makes the leaf fail at its start if the variables have too many points to number.
func checkCountable(l *scope.Leaf, roots []string) {
	if key := strings.Join(roots, ","); !l.Numbered[key] {
		l.Numbered[key] = true
		checkPoints(l, spanForms(&scope.Env{Leaf: l}, roots))
	}
}

// CheckCounts emits tests at the start of the leaf. There is a test for each fuse of coordinates in
// a component whose loops are not in natural order. The leaf fails if the fused variables have more
// points than it can number.
func CheckCounts(l *scope.Leaf) {
	s := &provenance.Counting{G: l.Graph, N: map[string]provenance.Form{}}
	for v, c := range l.Comps {
		if r := l.Graph.MadeBy(v); r == nil && !c.Natural {
			s.N[v] = spanForm(&scope.Env{Leaf: l}, v).Extent()
		}
	}
	for _, r := range l.Graph.Relations() {
		if r.Kind == provenance.Precompute || r.Kind == provenance.Pos || s.N[r.From[0]] == nil {
			continue // positions are already numbered
		}
		if r.Kind == provenance.Fuse {
			var spans []provenance.Range
			for _, v := range r.From {
				spans = append(spans, provenance.Range{Lo: provenance.Const(0), Hi: s.N[v], Size: -1})
			}
			checkPoints(l, spans)
		}
		s.Count(&r, func(_ string, f provenance.Form) provenance.Form { return f })
	}
}

// checkPoints emits code at the leaf's start. The code fails if the ranges in spans together have
// more than emit.MaxPoints points. A point has one value from each range.
func checkPoints(l *scope.Leaf, spans []provenance.Range) {
	n, some, many := ir.Expr(ir.Int(1)), ir.Expr(ir.Truth(true)), ir.Expr(ir.Truth(false))
	var sizes []ir.Expr
	for _, s := range spans {
		size := Code(s.Extent())
		sizes, some = append(sizes, size), ir.Both(some, ir.Less(ir.Int(0), size))
		size = ir.Greatest(size, ir.Int(1))
		many = ir.Either(many, ir.Less(ir.Over(ir.Int(emit.MaxPoints), size), n))
		n = ir.Times(n, size)
	}
	l.B.AtStart(func() {
		l.B.When(ir.Both(some, many), func() { l.B.Emit(&ir.Fail{Code: ir.FailSpace, Coord: sizes}) })
	})
}
