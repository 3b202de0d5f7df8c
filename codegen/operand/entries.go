package operand

import (
	"slices"

	"distaff/codegen/notation"
)

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

// expr returns an upper bound of the number of coordinates that have a value in an expression.
func (b bounding[T]) expr(e notation.Expr) T {
	switch e := e.(type) {
	case *notation.Access:
		return b.access(e)
	case *notation.Call:
		if !e.Func.KeepsZero {
			break
		}
		n := b.expr(e.Args[0])
		for _, x := range e.Args[1:] {
			n = b.counting.Plus(n, b.expr(x))
		}
		return n
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
