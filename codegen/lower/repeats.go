package lower

import "distaff/codegen/ir"

// If a level stores repeated coordinates, like all levels of COO except the last, tiles of its
// positions end only after all repeats of a coordinate, so that each coordinate is in a single
// tile.

// pastRepeats returns position p of an interval's level, moved past repeats. If the position before
// p has the same coordinates as p, it returns the first position after p with other coordinates. It
// compares this level and the levels above that have the same position numbers.
func (l *lowerer) pastRepeats(iv interval, p ir.Expr, e *env) ir.Expr {
	if iv.unit != positions || never(e.cur[iv.key].pres) {
		return p
	}
	c := e.cur[iv.key]
	last := c.level + max(len(iv.roots), 1) - 1
	if !c.op.hasRepeats(last) {
		return p
	}
	first := last
	for first > c.level && c.op.caps(first).IsSingle() {
		first--
	}
	at := l.declare(c.op.prefix()+"_at", p)
	within := func(lo, hi ir.Expr) {
		same := ir.Expr(ir.Truth(true))
		for k := first; k <= last; k++ {
			same = ir.Both(same, ir.Equal(ir.Coord(c.op.crd(k), ir.Minus(at, ir.Int(1))),
				ir.Coord(c.op.crd(k), at)))
		}
		inside := ir.Both(ir.Less(lo, at), ir.Less(at, hi))
		l.when(ir.Both(inside, same), func() {
			end := hi
			for k := first; k <= last; k++ {
				end = l.named(c.op.prefix()+"_r",
					&ir.Search{A: c.op.crd(k), Lo: at, Hi: end, Key: ir.Coord(c.op.crd(k), at), Upper: true})
			}
			l.set(at, end)
		})
	}
	if first == c.level {
		within(iv.all[0], iv.all[1])
		return at
	}
	l.when(ir.Both(ir.Less(iv.all[0], at), ir.Less(at, iv.all[1])), func() {
		above := l.ancestors(c, iv, len(iv.roots), at)[first-c.level-1]
		within(l.named(c.op.prefix()+"_s", l.below(c.op, first, above)),
			l.named(c.op.prefix()+"_e", l.below(c.op, first, ir.Plus(above, ir.Int(1)))))
	})
	return at
}
