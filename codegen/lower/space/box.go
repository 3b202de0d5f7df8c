package space

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
)

// Point returns the coordinate of variable number m.
type Point func(m int) ir.Expr

// Box is the set of places of a workspace that has a place for every coordinate of its variables.
// The coordinates of each variable are in [Lo, Hi). The places are numbered from 0, row by row.
type Box struct{ Lo, Hi []ir.Expr }

// Size returns the number of coordinates of variable m.
func (b Box) Size(m int) ir.Expr { return ir.Minus(b.Hi[m], b.Lo[m]) }

// last returns the index of the last variable, along which rows run.
func (b Box) last() int { return len(b.Lo) - 1 }

// spaces returns the number of points of the first m variables.
func (b Box) spaces(m int) ir.Expr {
	n := ir.Expr(ir.Int(1))
	for k := range m {
		n = ir.Times(n, b.Size(k))
	}
	return n
}

// Places returns the number of places. If the sizes are not all constants in the leaf, their
// product may overflow. Places then returns emit.MaxPoints, and an allocation of so many places
// fails.
func (b Box) Places() ir.Expr {
	n, constants := ir.Expr(ir.Int(1)), ir.Expr(ir.Int(1))
	for m := range b.Lo {
		size := b.Size(m)
		if _, lit := size.(*ir.Lit); lit {
			constants = ir.Times(constants, size)
		} else {
			n = emit.Capped(n, size)
		}
	}
	return emit.Capped(n, constants)
}

// rows returns the number of rows.
func (b Box) rows() ir.Expr { return b.spaces(b.last()) }

// place returns the number of a point in the space of the first n variables.
func (b Box) place(n int, p Point) ir.Expr {
	at := ir.Minus(p(0), b.Lo[0])
	for m := 1; m < n; m++ {
		at = ir.Plus(ir.Times(at, b.Size(m)), ir.Minus(p(m), b.Lo[m]))
	}
	return at
}

// At returns the place of a point.
func (b Box) At(p Point) ir.Expr { return b.place(len(b.Lo), p) }

// coord returns the coordinate of variable m at a place.
func (b Box) coord(m int, place ir.Expr) ir.Expr {
	for k := b.last(); k > m; k-- {
		place = ir.Over(place, b.Size(k))
	}
	if m > 0 {
		place = ir.Modulo(place, b.Size(m))
	}
	return ir.Plus(b.Lo[m], place)
}
