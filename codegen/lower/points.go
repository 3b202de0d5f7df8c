package lower

import (
	"strings"

	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// maxPoints is the largest number of points of fused variables, or of elements of an array, that a
// leaf can number. The amounts that splits and tiles add to such a number stay within 64 bits.
const maxPoints = 1 << 62

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
// maxPoints points.
func (l *lowerer) checkPoints(spans []provenance.Range) {
	n, some, many := ir.Expr(ir.Int(1)), ir.Expr(ir.Truth(true)), ir.Expr(ir.Truth(false))
	var sizes []ir.Expr
	for _, s := range spans {
		size := code(s.Extent())
		sizes, some = append(sizes, size), ir.Both(some, ir.Less(ir.Int(0), size))
		size = ir.Greatest(size, ir.Int(1))
		many = ir.Either(many, ir.Less(ir.Over(ir.Int(maxPoints), size), n))
		n = ir.Times(n, size)
	}
	outer := l.blk
	l.blk = l.before
	l.when(ir.Both(some, many), func() { l.emit(&ir.Fail{Code: ir.FailSpace, Coord: sizes}) })
	l.blk = outer
}

// onceBefore returns the expression that x returns. x is called only once for each key, and emits
// its code at the leaf's start. It may use only the leaf's arguments.
func (l *lowerer) onceBefore(key string, x func() ir.Expr) ir.Expr {
	if v := l.computed[key]; v != nil {
		return v
	}
	outer := l.blk
	l.blk = l.before
	v := x()
	l.blk = outer
	l.computed[key] = v
	return v
}

// capped returns x * y of two numbers that are not negative, or maxPoints if the product is larger.
func capped(x, y ir.Expr) ir.Expr {
	if one, ok := x.(*ir.Lit); ok && one.I <= 1 {
		return ir.Times(x, y)
	}
	if one, ok := y.(*ir.Lit); ok && one.I <= 1 {
		return ir.Times(x, y)
	}
	most := ir.Over(ir.Int(maxPoints), ir.Greatest(y, ir.Int(1)))
	return ir.Choose(ir.Less(most, x), ir.Int(maxPoints), ir.Times(x, y))
}

// part returns the start of part k of a range that is cut into of even parts: lo + ⌊(hi-lo)·k/of⌋.
// It avoids the product of k and the length, which may be up to 2^61.
func part(lo, hi, k, of ir.Expr) ir.Expr {
	n := ir.Minus(hi, lo)
	return ir.Plus(lo, ir.Plus(ir.Times(ir.Over(n, of), k),
		ir.Over(ir.Times(ir.Modulo(n, of), k), of)))
}
