package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// box is the set of places of a workspace that has a place for every coordinate of its variables.
// The coordinates of each variable run from lo to hi. The places are numbered from 0, row by row.
type box struct{ lo, hi []ir.Expr }

// newBox returns the box of all coordinates of t's variables. If a thread has only a part of a
// variable's range, the box has only this part.
func (l *lowerer) newBox(t *cin.Access) box {
	var b box
	for _, v := range t.Vars {
		s := l.rangeOf(&env{ranges: l.own}, v)
		b.lo, b.hi = append(b.lo, s.lo), append(b.hi, s.hi)
	}
	return b
}

// size returns the number of coordinates of variable m.
func (b box) size(m int) ir.Expr { return ir.Minus(b.hi[m], b.lo[m]) }

// last returns the index of the last variable, along which rows run.
func (b box) last() int { return len(b.lo) - 1 }

// spaces returns the number of points of the first m variables.
func (b box) spaces(m int) ir.Expr {
	n := ir.Expr(ir.Int(1))
	for k := range m {
		n = ir.Times(n, b.size(k))
	}
	return n
}

// places returns the number of places. If the product of sizes that are not compiled in overflows,
// it returns maxPoints, for which an allocation fails. A workspace has a box only if the box is
// small, but a leaf may be called with other sizes than it was compiled for.
func (b box) places() ir.Expr {
	n := ir.Expr(ir.Int(1))
	known := true
	for m := range b.lo {
		size := b.size(m)
		if _, lit := size.(*ir.Lit); lit || known {
			n, known = ir.Times(n, size), known && lit
		} else {
			n = capped(n, size)
		}
	}
	return n
}

// rows returns the number of rows.
func (b box) rows() ir.Expr { return b.spaces(b.last()) }

// place returns the number of the point with coordinates coord(m) in the space of the first n
// variables.
func (b box) place(n int, coord func(m int) ir.Expr) ir.Expr {
	at := ir.Minus(coord(0), b.lo[0])
	for m := 1; m < n; m++ {
		at = ir.Plus(ir.Times(at, b.size(m)), ir.Minus(coord(m), b.lo[m]))
	}
	return at
}

// at returns the place of a's coordinates in e.
func (b box) at(a *cin.Access, e *env) ir.Expr {
	return b.place(len(a.Vars), func(m int) ir.Expr { return e.coord[a.Vars[m]] })
}

// coord returns the coordinate of variable m at a place.
func (b box) coord(m int, place ir.Expr) ir.Expr {
	for k := b.last(); k > m; k-- {
		place = ir.Over(place, b.size(k))
	}
	if m > 0 {
		place = ir.Modulo(place, b.size(m))
	}
	return ir.Plus(b.lo[m], place)
}
