package interp

import (
	"fmt"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// int compiles an expression of type Bool or of an integer type.
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
		}
		return wrapped(x.Type(), c.arithmetic(x))
	case *ir.Unary:
		f := c.int(x.X)
		if x.Op == ir.Not {
			return func(fr *frame) int64 { return f(fr) ^ 1 }
		}
		return wrapped(x.Type(), func(fr *frame) int64 { return -f(fr) })
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

// wrapped returns f with its result wrapped around to the range of the type.
func wrapped(t tensor.Type, f intFn) intFn {
	switch {
	case t.Size() == 8:
		return f
	case t == tensor.Int32:
		return func(fr *frame) int64 { return int64(int32(f(fr))) }
	}
	return func(fr *frame) int64 { return t.Wrap(f(fr)) }
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

// arithmetic compiles an operation of integers, which it computes in 64 bits, or of Bools. The
// operands are in the range of their type, and the caller wraps the result to this range.
func (c *compiler) arithmetic(x *ir.Binary) intFn {
	a, b := c.int(x.X), c.int(x.Y)
	if x.Type() == tensor.Uint64 && (x.Op == ir.Div || x.Op == ir.Rem) {
		return c.divideUnsigned(x, a, b)
	}
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
	case ir.Min, ir.Max:
		t, greatest := x.Type(), x.Op == ir.Max
		return func(fr *frame) int64 {
			u, v := a(fr), b(fr)
			if t.LessInt(u, v) == greatest {
				return v
			}
			return u
		}
	}
	panic(fmt.Sprintf("BUG: interp: integer operator %s", x.Op))
}

// divideUnsigned compiles a quotient or a remainder of two Uint64.
func (c *compiler) divideUnsigned(x *ir.Binary, a, b intFn) intFn {
	remainder := x.Op == ir.Rem
	return func(fr *frame) int64 {
		u, v := uint64(a(fr)), uint64(b(fr))
		switch {
		case v == 0:
			fr.errorf("integer division by zero: %s", x)
		case remainder:
			return int64(u % v)
		}
		return int64(u / v)
	}
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
	if a, b := c.int(x.X), c.int(x.Y); x.X.Type() != tensor.Uint64 {
		return comparison(x.Op, a, b)
	} else {
		return comparison(x.Op, func(fr *frame) uint64 { return uint64(a(fr)) },
			func(fr *frame) uint64 { return uint64(b(fr)) })
	}
}

func comparison[T int64 | uint64 | float64](op ir.Op, a, b func(*frame) T) intFn {
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

// loadInt loads from an array of Bool or of integers.
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
	case tensor.Bool:
		return truth(m.b[i])
	}
	return m.elem.Load(m.at(i)).I
}

// setInt sets an element of a memory of Bool or of integers to v, which its type can hold.
func (m *memory) setInt(i, v int64) {
	switch m.elem {
	case tensor.Int32:
		m.i32[i] = int32(v)
	case tensor.Int64:
		m.i64[i] = v
	case tensor.Bool:
		m.b[i] = v != 0
	default:
		m.elem.Store(m.at(i), tensor.Value{Type: m.elem, I: v})
	}
}

// at returns the address of element i of a memory whose elements are in m.raw.
func (m *memory) at(i int64) unsafe.Pointer { return unsafe.Pointer(&m.raw[i*m.elem.Size()]) }

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
		if t := x.Typ; t != tensor.Bool {
			return func(fr *frame) int64 { return ir.TruncateTo(t, f(fr)) }
		}
		return func(fr *frame) int64 { return truth(f(fr) != 0) }
	}
	if f := c.int(x.X); tensor.Promote(from, x.Typ) != x.Typ {
		return wrapped(x.Typ, f)
	} else {
		return f
	}
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
