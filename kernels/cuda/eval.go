package cuda

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// memoryReader reads elements of arrays for expressions that are evaluated on the host.
type memoryReader interface {
	// load returns an element of an array.
	load(a *ir.Array, index int64) (*ir.Lit, error)
}

// scope holds the values of the host's variables.
type scope map[*ir.Var]*ir.Lit

// eval returns the value of an expression. Arithmetic is computed by the constant folding of
// package ir. Package ir does not fold products of complex64, so mulComplex64 computes them. The
// elements of arrays are read from mem.
func (s scope) eval(x ir.Expr, mem memoryReader) (*ir.Lit, error) {
	switch x := x.(type) {
	case *ir.Lit:
		return x, nil
	case *ir.Var:
		if l := s[x]; l != nil {
			return l, nil
		}
		return nil, fmt.Errorf("BUG: cuda: variable %s has no value", x.Name)
	case *ir.Binary:
		return s.binary(x, mem)
	case *ir.Unary:
		l, err := s.eval(x.X, mem)
		if err != nil {
			return nil, err
		}
		if x.Op == ir.Not {
			return literal(ir.Inverse(l), x)
		}
		return literal(ir.Negated(l), x)
	case *ir.Load:
		i, err := s.int(x.Index, mem)
		if err != nil {
			return nil, err
		}
		l, err := mem.load(x.A, i)
		if err != nil || !x.Widen {
			return l, err
		}
		return &ir.Lit{Typ: tensor.Int64, I: l.I}, nil
	case *ir.Cast:
		l, err := s.eval(x.X, mem)
		if err != nil {
			return nil, err
		}
		return literal(ir.Convert(x.Typ, l), x)
	case *ir.Apply:
		a, err := s.eval(x.X, mem)
		b := ir.Zero(x.Type())
		if err == nil && x.Y != nil {
			b, err = s.eval(x.Y, mem)
		}
		if err != nil {
			return nil, err
		}
		return ir.Number(x.Type(), complex(x.Func.Value(real(a.C), real(b.C)), 0)), nil
	case *ir.Select:
		cond, err := s.eval(x.Cond, mem)
		if err != nil {
			return nil, err
		}
		if cond.I != 0 {
			return s.eval(x.X, mem)
		}
		return s.eval(x.Y, mem)
	case *ir.Search:
		return s.search(x, mem)
	}
	return nil, fmt.Errorf("BUG: cuda: an expression of type %T on the host", x)
}

// literal returns x, the value of expr, as a constant. The caller has made x from constants with a
// constructor of package ir. If x is not a constant, for example after a division by zero, literal
// returns an internal error that shows expr.
func literal(x, expr ir.Expr) (*ir.Lit, error) {
	if l, ok := x.(*ir.Lit); ok {
		return l, nil
	}
	return nil, fmt.Errorf("BUG: cuda: %s has no value", expr)
}

func (s scope) int(x ir.Expr, mem memoryReader) (int64, error) {
	l, err := s.eval(x, mem)
	if err != nil {
		return 0, err
	}
	return l.I, nil
}

func (s scope) truth(x ir.Expr, mem memoryReader) (bool, error) {
	l, err := s.eval(x, mem)
	return err == nil && l.I != 0, err
}

func (s scope) binary(x *ir.Binary, mem memoryReader) (*ir.Lit, error) {
	a, err := s.eval(x.X, mem)
	if err != nil {
		return nil, err
	}
	// The second operand is not evaluated if the first one decides.
	if x.Op == ir.And && a.I == 0 || x.Op == ir.Or && a.I != 0 {
		return a, nil
	}
	b, err := s.eval(x.Y, mem)
	if err != nil {
		return nil, err
	}
	if x.Op == ir.Mul && a.Typ == tensor.Complex64 {
		return &ir.Lit{Typ: tensor.Complex64, C: complex128(
			mulComplex64(complex64(a.C), complex64(b.C)))}, nil
	}
	return literal(ir.Bin(x.Op, a, b), x)
}

// mulComplex64 multiplies two numbers and rounds each partial product to float32. Package ir does
// not fold products of complex64.
func mulComplex64(x, y complex64) complex64 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	ac, bd, ad, bc := float32(a*c), float32(b*d), float32(a*d), float32(b*c)
	return complex(ac-bd, ad+bc)
}

// search performs a binary search.
func (s scope) search(x *ir.Search, mem memoryReader) (*ir.Lit, error) {
	lo, err := s.int(x.Lo, mem)
	if err != nil {
		return nil, err
	}
	hi, err := s.int(x.Hi, mem)
	if err != nil {
		return nil, err
	}
	key, err := s.int(x.Key, mem)
	if err != nil {
		return nil, err
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		l, err := mem.load(x.A, mid)
		if err != nil {
			return nil, err
		}
		if l.I < key || x.Upper && l.I == key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return ir.Int(lo), nil
}
