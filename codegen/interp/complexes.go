package interp

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// complex compiles an expression of type Complex64 or Complex128.
func (c *compiler) complex(x ir.Expr) complexFn {
	switch x := x.(type) {
	case *ir.Var:
		k := c.variable(x)
		return func(fr *frame) complex128 { return fr.complexs[k] }
	case *ir.Lit:
		v := x.C
		return func(*frame) complex128 { return v }
	case *ir.Binary:
		f := c.complexBinary(x)
		if x.Type() == tensor.Complex64 {
			return func(fr *frame) complex128 { return complex128(complex64(f(fr))) }
		}
		return f
	case *ir.Unary:
		f := c.complex(x.X)
		return func(fr *frame) complex128 { return -f(fr) }
	case *ir.Load:
		return c.loadComplex(x)
	case *ir.Cast:
		return c.castComplex(x)
	case *ir.Select:
		cond, a, b := c.int(x.Cond), c.complex(x.X), c.complex(x.Y)
		return func(fr *frame) complex128 {
			if cond(fr) != 0 {
				return a(fr)
			}
			return b(fr)
		}
	}
	panic(fmt.Sprintf("BUG: interp: complex expression %T", x))
}

func (c *compiler) complexBinary(x *ir.Binary) complexFn {
	a, b := c.complex(x.X), c.complex(x.Y)
	switch x.Op {
	case ir.Add:
		return func(fr *frame) complex128 { return a(fr) + b(fr) }
	case ir.Sub:
		return func(fr *frame) complex128 { return a(fr) - b(fr) }
	case ir.Mul:
		if x.Type() == tensor.Complex64 {
			return func(fr *frame) complex128 { return mulComplex64(a(fr), b(fr)) }
		}
		return func(fr *frame) complex128 { return ir.MulComplex(a(fr), b(fr)) }
	case ir.Div:
		return func(fr *frame) complex128 { return ir.DivComplex(a(fr), b(fr)) }
	}
	panic(fmt.Sprintf("BUG: interp: complex operator %s", x.Op))
}

// mulComplex64 multiplies like float32 arithmetic: it rounds each of the four products and the two
// sums to float32.
func mulComplex64(x, y complex128) complex128 {
	a, b, c, d := float32(real(x)), float32(imag(x)), float32(real(y)), float32(imag(y))
	re := float32(a*c) - float32(b*d)
	im := float32(a*d) + float32(b*c)
	return complex(float64(re), float64(im))
}

func (c *compiler) castComplex(x *ir.Cast) complexFn {
	from := x.X.Type()
	if from.IsComplex() {
		f := c.complex(x.X)
		if x.Typ == tensor.Complex64 {
			return func(fr *frame) complex128 { return complex128(complex64(f(fr))) }
		}
		return f
	}
	part := tensor.Float64
	if x.Typ == tensor.Complex64 {
		part = tensor.Float32
	}
	f := c.float(&ir.Cast{Typ: part, X: x.X})
	return func(fr *frame) complex128 { return complex(f(fr), 0) }
}

func (c *compiler) loadComplex(x *ir.Load) complexFn {
	k, index, tracks := c.array(x.A), c.int(x.Index), c.tracks(x.A)
	return func(fr *frame) complex128 {
		m := fr.arrays[k]
		i := index(fr) - m.first
		fr.readable(m, i)
		if tracks != nil {
			fr.touch(m, i, tracks, reading)
		}
		if m.elem == tensor.Complex64 {
			return complex128(m.c64[i])
		}
		return m.c128[i]
	}
}
