package bounds

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
)

// If a level stores repeated coordinates, like all levels of COO except the last, tiles of its
// positions end only after all repeats of a coordinate, so that each coordinate is in a single
// tile.

// pastRepeats returns the position where a tile may begin or end, so that repeats of a coordinate
// are in one tile. If the position before p has the same coordinates as p, the result is the first
// position after p with other coordinates. Otherwise it is p. The compared coordinates are those in
// the level of iv, and in the fused levels above it that have the same position numbers.
func pastRepeats(iv scope.Interval, p ir.Expr, e *scope.Env) ir.Expr {
	l := e.Leaf
	if iv.Unit != scope.Positions || ir.IsFalse(e.Cur[iv.Key].Present) {
		return p
	}
	c := e.Cur[iv.Key]
	last := c.Level + max(len(iv.Roots), 1) - 1
	if !c.Of.Argument.Format.HasRepeats(last) {
		return p
	}
	first := last
	for first > c.Level && c.Of.Kind(first).IsSingle() {
		first--
	}
	at := l.B.Declare(c.Of.Prefix()+"_at", p)
	within := func(lo, hi ir.Expr) {
		same := ir.Expr(ir.Truth(true))
		for k := first; k <= last; k++ {
			same = ir.Both(same, ir.Equal(ir.Coord(c.Of.Crd(k), ir.Minus(at, ir.Int(1))),
				ir.Coord(c.Of.Crd(k), at)))
		}
		inside := ir.Both(ir.Less(lo, at), ir.Less(at, hi))
		l.B.When(ir.Both(inside, same), func() {
			end := hi
			for k := first; k <= last; k++ {
				end = l.B.Named(c.Of.Prefix()+"_r",
					&ir.Search{A: c.Of.Crd(k), Lo: at, Hi: end, Key: ir.Coord(c.Of.Crd(k), at), Upper: true})
			}
			l.B.Set(at, end)
		})
	}
	if first == c.Level {
		within(iv.All[0], iv.All[1])
		return at
	}
	l.B.When(ir.Both(ir.Less(iv.All[0], at), ir.Less(at, iv.All[1])), func() {
		above := c.Ancestors(iv.Ancestor, len(iv.Roots), at)[first-c.Level-1]
		within(l.B.Named(c.Of.Prefix()+"_s", c.Of.Below(first, above)),
			l.B.Named(c.Of.Prefix()+"_e", c.Of.Below(first, ir.Plus(above, ir.Int(1)))))
	})
	return at
}
