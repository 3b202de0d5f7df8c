package codegen

import (
	"math"
	"slices"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// max32 is the largest number that a 32-bit position or coordinate can hold.
const max32 = math.MaxInt32

// Widths returns the widths in bytes that Compile would choose for the elements of the result's pos
// and crd arrays, by level. It assumes that the result does not share these arrays with an operand.
// The request may be a whole statement whose terms are later computed by several leaves.
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

// widths returns the widths in bytes of the elements of the result's pos and crd arrays, by level.
// If the request has widths, it returns these; otherwise it chooses the smallest safe ones.
//
// 4 bytes are safe only if no call of the leaf can produce a larger position or coordinate, because
// leaves do not check this. A coordinate is less than the size of its variable. The positions of a
// level are distinct coordinates of the variables of this level and the levels above. So their
// number is at most the product of these variables' sizes. It is also at most the number of
// coordinates that the terms may assign (see entries). An element of a pos array is such a number.
func (c *compilation) widths(f tensor.Format) (pos, crd []uint8) {
	if t := c.tensor(c.request.Statement.Stmt.LHS.Name); t.PosWidth != nil {
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
		if size <= max32 {
			crd[l] = 4
		}
		if min(dims, entries) <= max32 {
			pos[l] = 4
		}
	}
	return pos, crd
}

// entries returns an upper bound of the number of coordinates in the result's compressed levels.
func (c *compilation) entries() float64 {
	total := Entries(c.normal, Counting[float64]{
		Stored: func(tensor string) float64 { return known(c.tensor(tensor).NNZ) },
		Size:   func(v string) float64 { return float64(c.size(v)) },
		Times:  func(x, y float64) float64 { return x * y },
		Plus:   func(x, y float64) float64 { return x + y },
		Least:  func(x, y float64) float64 { return min(x, y) },
		Any:    math.Inf(1),
	})
	if c.normal.Accumulate && c.request.Tensors.Old != nil {
		total += known(c.request.Tensors.Old.NNZ)
	}
	return total
}

func known(nnz int64) float64 {
	if nnz < 0 {
		return math.Inf(1)
	}
	return float64(nnz)
}

// Counting has the arithmetic operations that Entries uses to compute a bound. If T is a number,
// Entries returns the bound itself. If T is the text of an expression, Entries returns the
// expression that computes the bound.
type Counting[T any] struct {
	Stored             func(tensor string) T // returns the number of a tensor's stored values
	Size               func(v string) T      // returns the size of a variable
	Times, Plus, Least func(x, y T) T
	Any                T // an upper bound of every count
}

// Entries returns an upper bound of the number of coordinates in the compressed levels of a result.
// The bound of an access is its number of entries, times the sizes of the left side's variables
// that the access lacks. The bound of a term is the smallest bound of its factors. The left
// tensor's old value is not counted.
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
				bound = b.expr(f.X)
			case *notation.Quotient:
				bound = b.expr(f.Num)
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

// bounding holds the state of a call of Entries.
type bounding[T any] struct {
	counting Counting[T]
	left     []string // the left side's variables
}

// expr returns an upper bound of the number of coordinates where an expression has a value.
func (b bounding[T]) expr(e notation.Expr) T {
	switch e := e.(type) {
	case *notation.Access:
		return b.access(e)
	case *notation.Neg:
		return b.expr(e.X)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return b.counting.Least(b.expr(e.X), b.expr(e.Y))
		case '/':
			return b.expr(e.X)
		}
		return b.counting.Plus(b.expr(e.X), b.expr(e.Y))
	}
	return b.counting.Any
}

// access returns the number of entries of access x, multiplied by the size of each variable of the
// left side that x does not have.
func (b bounding[T]) access(x *notation.Access) T {
	n := b.counting.Stored(x.Name)
	for _, v := range b.left {
		if !slices.Contains(x.Vars, v) {
			n = b.counting.Times(n, b.counting.Size(v))
		}
	}
	return n
}

// convertedWidths returns the widths in bytes of the level arrays of an operand that is converted
// to another format. crd elements are wide enough for the operand's coordinates. pos elements are
// wide enough for its number of entries, and have 8 bytes if the number is unknown.
func convertedWidths(u *use) (pos, crd []uint8) {
	f := u.format
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	for l, mode := range f.Order {
		caps := f.Levels[l]
		if caps.HasCrd() {
			crd[l] = 8
			if u.given.Dims[mode] <= max32 {
				crd[l] = 4
			}
		}
		if caps.HasPos() {
			pos[l] = 8
			if u.given.NNZ >= 0 && u.given.NNZ <= max32 {
				pos[l] = 4
			}
		}
	}
	return pos, crd
}
