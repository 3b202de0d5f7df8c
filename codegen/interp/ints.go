package interp

import (
	"fmt"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// int compiles an expression of type Bool, Int32 or Int64.
func (c *compiler) int(x ir.Expr) intFn {
	switch x := x.(type) {
	case *ir.Var:
		k := c.variable(x)
		return func(fr *frame) int64 { return fr.ints[k] }
	case *ir.Lit:
		v := x.I
		return func(*frame) int64 { return v }
	case *ir.Binary:
		switch {
		case x.Op.IsLogic():
			return c.logic(x)
		case x.Op.IsCompare():
			return c.compare(x)
		case x.Type() == tensor.Int32:
			f := c.arithmetic(x)
			return func(fr *frame) int64 { return int64(int32(f(fr))) }
		}
		return c.arithmetic(x)
	case *ir.Unary:
		f := c.int(x.X)
		switch {
		case x.Op == ir.Not:
			return func(fr *frame) int64 { return f(fr) ^ 1 }
		case x.Type() == tensor.Int32:
			return func(fr *frame) int64 { return int64(int32(-f(fr))) }
		}
		return func(fr *frame) int64 { return -f(fr) }
	case *ir.Load:
		return c.loadInt(x)
	case *ir.Cast:
		return c.castInt(x)
	case *ir.Select:
		cond, a, b := c.int(x.Cond), c.int(x.X), c.int(x.Y)
		return func(fr *frame) int64 {
			if cond(fr) != 0 {
				return a(fr)
			}
			return b(fr)
		}
	case *ir.Search:
		return c.search(x)
	}
	panic(fmt.Sprintf("BUG: interp: integer expression %T", x))
}

func (c *compiler) logic(x *ir.Binary) intFn {
	a, b := c.int(x.X), c.int(x.Y)
	if x.Op == ir.And {
		return func(fr *frame) int64 {
			if a(fr) == 0 {
				return 0
			}
			return b(fr)
		}
	}
	return func(fr *frame) int64 {
		if a(fr) != 0 {
			return 1
		}
		return b(fr)
	}
}

// arithmetic compiles an integer operation, which it computes in 64 bits. If the type is Int32, the
// operands are in the range of Int32, and the caller wraps the result to 32 bits.
func (c *compiler) arithmetic(x *ir.Binary) intFn {
	a, b := c.int(x.X), c.int(x.Y)
	if l, ok := x.Y.(*ir.Lit); ok && (x.Op == ir.Add || x.Op == ir.Sub) {
		v := l.I
		if x.Op == ir.Sub {
			v = -v
		}
		return func(fr *frame) int64 { return a(fr) + v }
	}
	switch x.Op {
	case ir.Add:
		return func(fr *frame) int64 { return a(fr) + b(fr) }
	case ir.Sub:
		return func(fr *frame) int64 { return a(fr) - b(fr) }
	case ir.Mul:
		return func(fr *frame) int64 { return a(fr) * b(fr) }
	case ir.Div:
		return func(fr *frame) int64 {
			u, v := a(fr), b(fr)
			if v == 0 {
				fr.errorf("integer division by zero: %s", x)
			}
			return u / v
		}
	case ir.Rem:
		return func(fr *frame) int64 {
			u, v := a(fr), b(fr)
			if v == 0 {
				fr.errorf("integer division by zero: %s", x)
			}
			return u % v
		}
	case ir.BitAnd:
		return func(fr *frame) int64 { return a(fr) & b(fr) }
	case ir.Min:
		return func(fr *frame) int64 { return min(a(fr), b(fr)) }
	case ir.Max:
		return func(fr *frame) int64 { return max(a(fr), b(fr)) }
	}
	panic(fmt.Sprintf("BUG: interp: integer operator %s", x.Op))
}

func (c *compiler) compare(x *ir.Binary) intFn {
	switch t := x.X.Type(); {
	case t.IsFloat():
		return comparison(x.Op, c.float(x.X), c.float(x.Y))
	case t.IsComplex():
		a, b := c.complex(x.X), c.complex(x.Y)
		if x.Op == ir.Eq {
			return func(fr *frame) int64 { return truth(a(fr) == b(fr)) }
		}
		return func(fr *frame) int64 { return truth(a(fr) != b(fr)) }
	}
	return comparison(x.Op, c.int(x.X), c.int(x.Y))
}

func comparison[T int64 | float64](op ir.Op, a, b func(*frame) T) intFn {
	switch op {
	case ir.Eq:
		return func(fr *frame) int64 { return truth(a(fr) == b(fr)) }
	case ir.Ne:
		return func(fr *frame) int64 { return truth(a(fr) != b(fr)) }
	case ir.Lt:
		return func(fr *frame) int64 { return truth(a(fr) < b(fr)) }
	default:
		return func(fr *frame) int64 { return truth(a(fr) <= b(fr)) }
	}
}

// loadInt loads from an array of Bool, Int32 or Int64.
func (c *compiler) loadInt(x *ir.Load) intFn {
	k, index, elem := c.array(x.A), c.int(x.Index), x.A.Elem
	if tracks := c.tracks(x.A); tracks != nil {
		return func(fr *frame) int64 {
			m := fr.arrays[k]
			i := index(fr) - m.first
			fr.readable(m, i)
			fr.touch(m, i, tracks, reading)
			return m.int(i)
		}
	}
	switch elem {
	case tensor.Int32:
		return func(fr *frame) int64 {
			m := fr.arrays[k]
			i := index(fr) - m.first
			if uint64(i) >= uint64(len(m.i32)) || m.init != nil {
				fr.readable(m, i)
			}
			return int64(m.i32[i])
		}
	case tensor.Int64:
		return func(fr *frame) int64 {
			m := fr.arrays[k]
			i := index(fr) - m.first
			if uint64(i) >= uint64(len(m.i64)) || m.init != nil {
				fr.readable(m, i)
			}
			return m.i64[i]
		}
	}
	return func(fr *frame) int64 {
		m := fr.arrays[k]
		i := index(fr) - m.first
		fr.readable(m, i)
		return m.int(i)
	}
}

func (m *memory) int(i int64) int64 {
	switch m.elem {
	case tensor.Int32:
		return int64(m.i32[i])
	case tensor.Int64:
		return m.i64[i]
	}
	return truth(m.b[i])
}

func (c *compiler) castInt(x *ir.Cast) intFn {
	from := x.X.Type()
	switch {
	case from.IsComplex():
		f := c.complex(x.X)
		if x.Typ == tensor.Bool {
			return func(fr *frame) int64 { return truth(f(fr) != 0) }
		}
		panic("BUG: interp: cast of a complex number to an integer")
	case from.IsFloat():
		f := c.float(x.X)
		switch x.Typ {
		case tensor.Bool:
			return func(fr *frame) int64 { return truth(f(fr) != 0) }
		case tensor.Int32:
			return func(fr *frame) int64 { return int64(ir.Truncate32(f(fr))) }
		}
		return func(fr *frame) int64 { return ir.Truncate(f(fr)) }
	}
	f := c.int(x.X)
	switch {
	case x.Typ == tensor.Bool:
		return func(fr *frame) int64 { return truth(f(fr) != 0) }
	case x.Typ == tensor.Int32 && from == tensor.Int64:
		return func(fr *frame) int64 { return int64(int32(f(fr))) }
	}
	return f
}

// search compiles a binary search that probes the same elements as the generated C, so that it
// checks the reads of the C code.
func (c *compiler) search(x *ir.Search) intFn {
	k, lo, hi, key := c.array(x.A), c.int(x.Lo), c.int(x.Hi), c.int(x.Key)
	tracks, upper := c.tracks(x.A), x.Upper
	return func(fr *frame) int64 {
		m := fr.arrays[k]
		l, h, v := lo(fr), hi(fr), key(fr)
		fr.span(m, l, h)
		for l < h {
			mid := l + (h-l)/2
			fr.readable(m, mid-m.first)
			if tracks != nil {
				fr.touch(m, mid-m.first, tracks, reading)
			}
			got := m.int(mid - m.first)
			if got < v || upper && got == v {
				l = mid + 1
			} else {
				h = mid
			}
		}
		return l
	}
}
