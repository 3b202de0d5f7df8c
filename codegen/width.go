package codegen

import (
	"math"

	"distaff/codegen/format"
	"distaff/codegen/notation"
)

// narrow is the largest number that 32-bit positions and coordinates hold.
const narrow = math.MaxInt32

// Widths are those that Compile chooses for the level arrays of a request's result, where
// they are the result's own. The request may be of more terms than a leaf computes.
func Widths(r Request) (pos, crd []uint8, err error) {
	c := &compilation{Request: r, unit: &Unit{Request: r}}
	if err := c.normalize(); err != nil {
		return nil, nil, err
	}
	if err := c.result(); err != nil {
		return nil, nil, err
	}
	return c.planned.PosWidth, c.planned.CrdWidth, nil
}

// widths are the widths of the result's level arrays, or as the request says.
// A position or coordinate takes 4 bytes only where none can be larger than these
// hold, so that no leaf has to ask. A coordinate is below its variable's size. The
// positions of a level are distinct coordinates of the variables down to it: no more
// than the product of their sizes, and no more than the coordinates of the whole
// result that a term may assign, which entries bounds. A pos element is such a count.
func (c *compilation) widths(f format.Format) (pos, crd []uint8) {
	if t := c.tensor(c.Stmt.LHS.Name); t.PosWidth != nil {
		return t.PosWidth, t.CrdWidth
	}
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	entries := c.entries()
	dims := 1.0
	for l, mode := range f.Order {
		size := c.size(c.normal.LHS.Vars[mode])
		dims *= float64(size)
		if f.Levels[l].Caps().Locate {
			continue
		}
		crd[l], pos[l] = 8, 8
		if size <= narrow {
			crd[l] = 4
		}
		if min(dims, entries) <= narrow {
			pos[l] = 4
		}
	}
	return pos, crd
}

// entries bounds the number of coordinates that the result stores in its
// compressed levels: for each term, the entries of one of its factors at every
// coordinate of the variables that this factor lacks.
func (c *compilation) entries() float64 {
	total := 0.0
	if c.normal.Accumulate && c.Old != nil {
		total += known(c.Old.NNZ)
	}
	for _, t := range c.normal.Terms {
		least := math.Inf(1)
		for _, f := range t.Factors {
			switch f := f.(type) {
			case *notation.Access:
				least = min(least, c.bound(f))
			case *notation.Group:
				least = min(least, c.bound(f.X))
			case *notation.Quotient:
				least = min(least, c.bound(f.Num))
			}
		}
		total += least
	}
	return total
}

// bound is entries for a plain expression.
func (c *compilation) bound(e notation.Expr) float64 {
	switch e := e.(type) {
	case *notation.Access:
		return known(c.tensor(e.Name).NNZ) * c.lacking(e)
	case *notation.Neg:
		return c.bound(e.X)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return min(c.bound(e.X), c.bound(e.Y))
		case '/':
			return c.bound(e.X)
		}
		return c.bound(e.X) + c.bound(e.Y)
	}
	return math.Inf(1)
}

func known(nnz int64) float64 {
	if nnz < 0 {
		return math.Inf(1)
	}
	return float64(nnz)
}

// lacking is the number of coordinates of the left side's variables that a lacks.
func (c *compilation) lacking(a *notation.Access) float64 {
	n := 1.0
	for _, v := range c.normal.LHS.Vars {
		has := false
		for _, u := range a.Vars {
			has = has || u == v
		}
		if !has {
			n *= float64(c.size(v))
		}
	}
	return n
}

// convertedWidths are the widths of a converted operand's level arrays: those
// that hold its coordinates and its count of entries, where that is known.
func convertedWidths(u *use) (pos, crd []uint8) {
	f := u.format
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	for l, mode := range f.Order {
		caps := f.Levels[l].Caps()
		if caps.HasCrd {
			crd[l] = 8
			if u.given.Dims[mode] <= narrow {
				crd[l] = 4
			}
		}
		if caps.HasPos {
			pos[l] = 8
			if u.given.NNZ >= 0 && u.given.NNZ <= narrow {
				pos[l] = 4
			}
		}
	}
	return pos, crd
}
