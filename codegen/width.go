package codegen

import (
	"math"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// narrow is the largest number that 32-bit positions and coordinates hold.
const narrow = math.MaxInt32

// Widths are those that Compile chooses for the level arrays of a request's result, where
// they are the result's own. The request may be of more terms than a leaf computes.
func Widths(r Request) (pos, crd []uint8, err error) {
	c := &compilation{request: r, unit: &Unit{Request: r}}
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
func (c *compilation) widths(f tensor.Format) (pos, crd []uint8) {
	if t := c.tensor(c.request.Stmt.LHS.Name); t.PosWidth != nil {
		return t.PosWidth, t.CrdWidth
	}
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	entries := c.entries()
	dims := 1.0
	for l, mode := range f.Order {
		size := c.size(c.normal.LHS.Vars[mode])
		dims *= float64(size)
		if f.Levels[l].CanLocate() {
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
// compressed levels.
func (c *compilation) entries() float64 {
	total := Entries(c.normal, Counting[float64]{
		Stored: func(tensor string) float64 { return known(c.tensor(tensor).NNZ) },
		Size:   func(v string) float64 { return float64(c.size(v)) },
		Times:  func(x, y float64) float64 { return x * y },
		Plus:   func(x, y float64) float64 { return x + y },
		Least:  func(x, y float64) float64 { return min(x, y) },
		Any:    math.Inf(1),
	})
	if c.normal.Accumulate && c.request.Old != nil {
		total += known(c.request.Old.NNZ)
	}
	return total
}

func known(nnz int64) float64 {
	if nnz < 0 {
		return math.Inf(1)
	}
	return float64(nnz)
}

// Counting is the arithmetic of Entries, on numbers or on the text of expressions.
type Counting[T any] struct {
	Stored             func(tensor string) T // its stored values
	Size               func(v string) T      // a variable's
	Times, Plus, Least func(x, y T) T
	Any                T // more than any count
}

// Entries bounds the number of coordinates that a result stores in its compressed levels:
// for each term, the entries of one of its factors at every coordinate of the variables of
// the left side that this factor lacks. The left tensor's old value is not among them.
func Entries[T any](n *notation.Normal, by Counting[T]) T {
	b := bounding[T]{by, n.LHS.Vars}
	var total T
	for k, t := range n.Terms {
		least := by.Any
		for i, f := range t.Factors {
			bound := by.Any
			switch f := f.(type) {
			case *notation.Access:
				bound = b.access(f)
			case *notation.Group:
				bound = b.of(f.X)
			case *notation.Quotient:
				bound = b.of(f.Num)
			}
			if i == 0 {
				least = bound
			} else {
				least = by.Least(least, bound)
			}
		}
		if k == 0 {
			total = least
		} else {
			total = by.Plus(total, least)
		}
	}
	return total
}

// bounding is an Entries in progress.
type bounding[T any] struct {
	counting Counting[T]
	left     []string // the left side's variables
}

// of is Entries of a plain expression.
func (b bounding[T]) of(e notation.Expr) T {
	switch e := e.(type) {
	case *notation.Access:
		return b.access(e)
	case *notation.Neg:
		return b.of(e.X)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return b.counting.Least(b.of(e.X), b.of(e.Y))
		case '/':
			return b.of(e.X)
		}
		return b.counting.Plus(b.of(e.X), b.of(e.Y))
	}
	return b.counting.Any
}

// access is the entries of a, each at all coordinates of the left side's variables that a lacks.
func (b bounding[T]) access(a *notation.Access) T {
	n := b.counting.Stored(a.Name)
	for _, v := range b.left {
		if !slices.Contains(a.Vars, v) {
			n = b.counting.Times(n, b.counting.Size(v))
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
		caps := f.Levels[l]
		if caps.HasCrd() {
			crd[l] = 8
			if u.given.Dims[mode] <= narrow {
				crd[l] = 4
			}
		}
		if caps.HasPos() {
			pos[l] = 8
			if u.given.NNZ >= 0 && u.given.NNZ <= narrow {
				pos[l] = 4
			}
		}
	}
	return pos, crd
}
