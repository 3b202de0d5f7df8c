package interp

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// narrow returns f with its result rounded to float32 if t is Float32. Computing in float64 and
// rounding once gives the same result as float32 arithmetic.
func narrow(t tensor.Type, f floatFn) floatFn {
	if t != tensor.Float32 {
		return f
	}
	return func(fr *frame) float64 { return float64(float32(f(fr))) }
}

// float compiles an expression of type Float32 or Float64.
func (c *compiler) float(x ir.Expr) floatFn {
	switch x := x.(type) {
	case *ir.Var:
		k := c.variable(x)
		return func(fr *frame) float64 { return fr.floats[k] }
	case *ir.Lit:
		v := real(x.C)
		return func(*frame) float64 { return v }
	case *ir.Binary:
		return narrow(x.Type(), c.floatBinary(x))
	case *ir.Unary:
		f := c.float(x.X)
		return func(fr *frame) float64 { return -f(fr) }
	case *ir.Load:
		return c.loadFloat(x)
	case *ir.Cast:
		return narrow(x.Typ, c.castFloat(x))
	case *ir.Apply:
		a, b := c.float(x.X), func(*frame) float64 { return 0 }
		if x.Y != nil {
			b = c.float(x.Y)
		}
		return narrow(x.Type(), func(fr *frame) float64 { return x.Func.Value(a(fr), b(fr)) })
	case *ir.Select:
		cond, a, b := c.int(x.Cond), c.float(x.X), c.float(x.Y)
		return func(fr *frame) float64 {
			if cond(fr) != 0 {
				return a(fr)
			}
			return b(fr)
		}
	}
	panic(fmt.Sprintf("BUG: interp: float expression %T", x))
}

func (c *compiler) floatBinary(x *ir.Binary) floatFn {
	a, b := c.float(x.X), c.float(x.Y)
	switch x.Op {
	case ir.Add:
		return func(fr *frame) float64 { return a(fr) + b(fr) }
	case ir.Sub:
		return func(fr *frame) float64 { return a(fr) - b(fr) }
	case ir.Mul:
		return func(fr *frame) float64 { return a(fr) * b(fr) }
	case ir.Div:
		return func(fr *frame) float64 { return a(fr) / b(fr) }
	case ir.Min:
		return func(fr *frame) float64 {
			u, v := a(fr), b(fr)
			if v < u {
				return v
			}
			return u
		}
	case ir.Max:
		return func(fr *frame) float64 {
			u, v := a(fr), b(fr)
			if u < v {
				return v
			}
			return u
		}
	}
	panic(fmt.Sprintf("BUG: interp: float operator %s", x.Op))
}

func (c *compiler) castFloat(x *ir.Cast) floatFn {
	switch t := x.X.Type(); {
	case t.IsFloat():
		return c.float(x.X)
	case t.IsComplex():
		f := c.complex(x.X)
		return func(fr *frame) float64 { return real(f(fr)) }
	}
	f := c.int(x.X)
	switch unsigned := x.X.Type() == tensor.Uint64; {
	case unsigned && x.Typ == tensor.Float32:
		return func(fr *frame) float64 { return float64(float32(uint64(f(fr)))) }
	case unsigned:
		return func(fr *frame) float64 { return float64(uint64(f(fr))) }
	case x.Typ == tensor.Float32:
		return func(fr *frame) float64 { return float64(float32(f(fr))) }
	}
	return func(fr *frame) float64 { return float64(f(fr)) }
}

func (c *compiler) loadFloat(x *ir.Load) floatFn {
	k, index := c.array(x.A), c.int(x.Index)
	if tracks := c.tracks(x.A); tracks != nil {
		return func(fr *frame) float64 {
			m := fr.arrays[k]
			i := index(fr) - m.first
			fr.readable(m, i)
			fr.touch(m, i, tracks, reading)
			if m.elem == tensor.Float32 {
				return float64(m.f32[i])
			}
			return m.f64[i]
		}
	}
	if x.A.Elem == tensor.Float32 {
		return func(fr *frame) float64 {
			m := fr.arrays[k]
			i := index(fr) - m.first
			if uint64(i) >= uint64(len(m.f32)) || m.init != nil {
				fr.readable(m, i)
			}
			return float64(m.f32[i])
		}
	}
	return func(fr *frame) float64 {
		m := fr.arrays[k]
		i := index(fr) - m.first
		if uint64(i) >= uint64(len(m.f64)) || m.init != nil {
			fr.readable(m, i)
		}
		return m.f64[i]
	}
}
