package comm

import (
	"distaff/io/tensor"
	"fmt"
	"math"
	"unsafe"
)

// Op combines two elements. Every operation is associative except for rounding. None is assumed to
// be commutative: the left operand always comes from the lower ranks.
type Op uint8

// The operations. Min and Max of floats return NaN if an operand is NaN, and order -0 below 0.
// Complex types have only Sum and Prod, bytes have only And and Or, and floats have no And and Or.
const (
	Sum Op = iota
	Prod
	Min
	Max
	And // bitwise
	Or  // bitwise
)

func (o Op) String() string {
	names := [...]string{"Sum", "Prod", "Min", "Max", "And", "Or"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// combiner sets dst[i] = a[i] op b[i] for n elements. dst may be the same memory as a or b.
type combiner func(dst, a, b unsafe.Pointer, n int64)

// combiners holds the combiner of each operation and type, or nil if the type lacks the operation.
var combiners = func() (all [Or + 1][tensor.NumTypes]combiner) {
	for op := range all {
		for t := range all[op] {
			all[op][t] = newCombiner(Op(op), tensor.Type(t))
		}
	}
	return all
}()

// combinerOf returns the combiner of op for type t, or an error if there is none.
func combinerOf(op Op, t tensor.Type) (combiner, error) {
	if op <= Or && t < tensor.NumTypes && combiners[op][t] != nil {
		return combiners[op][t], nil
	}
	return nil, fmt.Errorf("%v of %v", op, t)
}

func newCombiner(op Op, t tensor.Type) combiner {
	switch t {
	case tensor.Byte:
		if op == And || op == Or {
			return bitwise[uint8](op)
		}
	case tensor.Bool: // the sum of bools is true if one of them is
		return bitwise[uint8](map[Op]Op{Sum: Or, Max: Or, Or: Or, Prod: And, Min: And, And: And}[op])
	case tensor.Int8:
		return integer[int8](op)
	case tensor.Int16:
		return integer[int16](op)
	case tensor.Int32:
		return integer[int32](op)
	case tensor.Int64:
		return integer[int64](op)
	case tensor.Uint8:
		return integer[uint8](op)
	case tensor.Uint16:
		return integer[uint16](op)
	case tensor.Uint32:
		return integer[uint32](op)
	case tensor.Uint64:
		return integer[uint64](op)
	case tensor.Float32:
		return ordered[float32](op)
	case tensor.Float64:
		return ordered[float64](op)
	case tensor.Complex64:
		return arithmetic[complex64](op)
	case tensor.Complex128:
		return arithmetic[complex128](op)
	}
	return nil
}

func each[T any](f func(dst, a, b []T)) combiner {
	return func(dst, a, b unsafe.Pointer, n int64) {
		f(unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(a), n), unsafe.Slice((*T)(b), n))
	}
}

type ints interface {
	~uint8 | ~int8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~int64 | ~uint64
}

func bitwise[T ints](op Op) combiner {
	switch op {
	case And:
		return each(func(dst, a, b []T) {
			for i := range dst {
				dst[i] = a[i] & b[i]
			}
		})
	case Or:
		return each(func(dst, a, b []T) {
			for i := range dst {
				dst[i] = a[i] | b[i]
			}
		})
	}
	return nil
}

func integer[T ints](op Op) combiner {
	if op == And || op == Or {
		return bitwise[T](op)
	}
	return ordered[T](op)
}

// ordered returns the combiner of op for a type whose values are ordered.
func ordered[T ints | ~float32 | ~float64](op Op) combiner {
	switch op {
	case Min: // the built-in min and max propagate NaN and order zeros
		return each(func(dst, a, b []T) {
			for i := range dst {
				dst[i] = min(a[i], b[i])
			}
		})
	case Max:
		return each(func(dst, a, b []T) {
			for i := range dst {
				dst[i] = max(a[i], b[i])
			}
		})
	}
	return arithmetic[T](op)
}

func arithmetic[T tensor.Element](op Op) combiner {
	switch op {
	case Sum:
		return each(func(dst, a, b []T) {
			for i := range dst {
				dst[i] = a[i] + b[i]
			}
		})
	case Prod:
		return each(func(dst, a, b []T) {
			for i := range dst {
				dst[i] = a[i] * b[i]
			}
		})
	}
	return nil
}

// setNeutral fills b with the neutral element of op.
func setNeutral(op Op, b Buf) {
	switch b.Type {
	case tensor.Byte, tensor.Uint8:
		fillInt[uint8](b, op)
	case tensor.Bool:
		fill(b, map[bool]uint8{true: 1}[op == Prod || op == Min || op == And])
	case tensor.Int8:
		fillInt[int8](b, op)
	case tensor.Int16:
		fillInt[int16](b, op)
	case tensor.Uint16:
		fillInt[uint16](b, op)
	case tensor.Int32:
		fillInt[int32](b, op)
	case tensor.Uint32:
		fillInt[uint32](b, op)
	case tensor.Int64:
		fillInt[int64](b, op)
	case tensor.Uint64:
		fillInt[uint64](b, op)
	case tensor.Float32:
		fill(b, floatNeutral[float32](op))
	case tensor.Float64:
		fill(b, floatNeutral[float64](op))
	case tensor.Complex64:
		fill(b, complex(floatNeutral[float32](op), 0))
	case tensor.Complex128:
		fill(b, complex(floatNeutral[float64](op), 0))
	}
}

func fill[T any](b Buf, v T) {
	s := unsafe.Slice((*T)(b.Ptr), b.Len)
	for i := range s {
		s[i] = v
	}
}

func fillInt[T ints](b Buf, op Op) {
	var zero T
	lo, hi := tensor.TypeOf[T]().IntRange()
	fill(b, map[Op]T{Sum: 0, Prod: 1, Min: T(hi), Max: T(lo), Or: 0, And: ^zero}[op])
}

func floatNeutral[T ~float32 | ~float64](op Op) T {
	switch op {
	case Prod:
		return 1
	case Min:
		return T(math.Inf(1))
	case Max:
		return T(math.Inf(-1))
	}
	return 0
}
