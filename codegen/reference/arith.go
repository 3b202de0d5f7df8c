package reference

import (
	"math"
	"math/cmplx"

	"distaff/codegen/algebra"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// fit converts v, the result of an operation, to type t: integers wrap around and floats are
// rounded. An operation on 32-bit floats may be computed in 64 bits, because fit then rounds it to
// the value that a 32-bit operation would give.
func fit(t tensor.Type, v tensor.Value) tensor.Value {
	switch v.Type = t; {
	case t.HoldsInts():
		v.I = t.Wrap(v.I)
	case t == tensor.Float32 || t == tensor.Complex64:
		v.C = complex128(complex64(v.C))
	}
	return v
}

func add(t tensor.Type, a, b tensor.Value) tensor.Value {
	return fit(t, tensor.Value{I: a.I + b.I, C: a.C + b.C})
}

func neg(t tensor.Type, a tensor.Value) tensor.Value { return fit(t, tensor.Value{I: -a.I, C: -a.C}) }

func mul(t tensor.Type, a, b tensor.Value) tensor.Value {
	if t.IsComplex() {
		return fit(t, tensor.Value{C: ir.MulComplex(a.C, b.C)})
	}
	return fit(t, tensor.Value{I: a.I * b.I, C: complex(real(a.C)*real(b.C), 0)})
}

// div returns a/b. Integers are truncated towards zero, and b must then not be 0.
func div(t tensor.Type, a, b tensor.Value) tensor.Value {
	switch {
	case t == tensor.Uint64:
		return tensor.Value{Type: t, I: int64(uint64(a.I) / uint64(b.I))}
	case t.IsInt():
		return fit(t, tensor.Value{I: a.I / b.I})
	case t.IsComplex():
		return fit(t, tensor.Value{C: ir.DivComplex(a.C, b.C)})
	}
	return fit(t, tensor.Value{C: complex(real(a.C)/real(b.C), 0)})
}

// Convert converts v from one type to another. Callers use only the lossy conversions that Distaff
// allows: to fewer bits, or from an integer to a float.
func Convert(v tensor.Value, from, to tensor.Type) tensor.Value {
	switch {
	case from == to:
		v.Type = to
		return v
	case from.HoldsInts() && !to.HoldsInts():
		v.Type = from
		if to == tensor.Float32 || to == tensor.Complex64 {
			return tensor.Value{Type: to, C: complex(float64(float32Of(v)), 0)}
		}
		return tensor.Value{Type: to, C: v.Complex()}
	case !from.HoldsInts() && to.HoldsInts() || from.IsComplex() && !to.IsComplex():
		panic("BUG: reference: conversion of " + from.String() + " to " + to.String())
	}
	return fit(to, v)
}

// float32Of returns an integer, rounded once to a float32.
func float32Of(v tensor.Value) float32 {
	if v.Type == tensor.Uint64 {
		return float32(uint64(v.I))
	}
	return float32(v.I)
}

// num is a value with bounds on its rounding error. The value is a sum of products. mag is a bound
// on the sum of the absolute values of the products. ops is the largest number of operations in one
// of the products. If exact is true, the value is the same in every order of evaluation: it has an
// integer type, which wraps around, or it is an integer of moderate size.
type num struct {
	v     tensor.Value
	mag   float64
	ops   int64
	exact bool
	flags flags
}

// flags are further properties of a num. A result has all flags of its operands.
type flags uint8

const (
	// The flags of a num:
	//
	//   - unsigned: a -0 went into the value. If the value is zero, its sign is uncertain, because
	//     adding -0 to an absent value or to cleared memory may or may not keep the sign.
	//   - wild: a product or quotient was infinite, or it was NaN although its operands were not.
	//   - loose: there was a division by a zero of uncertain sign, or a sum with wild operands.
	//     Workspaces and schedules may take a common factor out of a sum: inf*1 - inf*3, a NaN,
	//     becomes inf*(1-3), an infinity.
	//   - open: there was a division by a sum that is, within its rounding error, zero or of
	//     another sign.
	unsigned flags = 1 << iota
	wild
	loose
	open
)

// marked returns the flags of a value that depend only on the value. It returns the flag named
// unsigned if the real part of the value is the float -0, because the sign of a zero is uncertain.
// Otherwise it returns 0.
func marked(v tensor.Value) flags {
	if re := real(v.C); re == 0 && math.Signbit(re) {
		return unsigned
	}
	return 0
}

// madeWild returns the flag wild if an operation on a and b made v infinite or NaN, although
// neither a nor b is NaN. Otherwise madeWild returns 0.
func madeWild(v tensor.Value, a, b *num) flags {
	if !finite(v) && !cmplx.IsNaN(a.v.C) && !cmplx.IsNaN(b.v.C) {
		return wild
	}
	return 0
}

// operand returns the num of an input value or a literal.
func operand(t tensor.Type, v tensor.Value) num {
	if t.HoldsInts() {
		return num{v: v, mag: abs(t, v), exact: true}
	}
	re, im := real(v.C), imag(v.C)
	mag := math.Abs(re) + math.Abs(im)
	return num{v: v, mag: mag, flags: marked(v),
		exact: re == math.Trunc(re) && im == math.Trunc(im) && mag <= t.ExactMax()}
}

// plus adds y to x.
func (x *num) plus(t tensor.Type, y *num) {
	x.mag += y.mag
	x.v = add(t, x.v, y.v)
	x.ops = max(x.ops, y.ops) + 1
	x.exact = t.HoldsInts() || x.exact && y.exact && x.mag <= t.ExactMax()
	x.flags |= y.flags | marked(x.v)
	if x.flags&wild != 0 {
		x.flags |= loose
	}
}

// times multiplies x by y.
func (x *num) times(t tensor.Type, y *num) {
	v := mul(t, x.v, y.v)
	x.mag *= y.mag
	x.ops += y.ops + 1
	x.exact = t.HoldsInts() || x.exact && y.exact && x.mag <= t.ExactMax()
	x.flags |= y.flags | marked(v) | madeWild(v, x, y)
	x.v = v
}

func (x *num) negate(t tensor.Type) {
	x.v = neg(t, x.v)
	x.flags |= marked(x.v)
}

// over returns a/b. Its error bound includes the error of the denominator, relative to the
// denominator's size.
func over(t tensor.Type, a, b *num) num {
	q := num{v: div(t, a.v, b.v), ops: a.ops + b.ops + 1, exact: t.HoldsInts()}
	q.flags = a.flags | b.flags | marked(q.v) | madeWild(q.v, a, b)
	if t.IsFloat() && b.flags&unsigned != 0 && isZero(t, b.v) {
		q.flags |= loose
	}
	size := abs(t, b.v)
	if !b.exact && size <= openWithin*rounding(t.Epsilon(), b.ops, b.mag) {
		q.flags |= open
	}
	if size > 0 {
		q.mag = a.mag / size * max(1, b.mag/size)
	}
	if own := abs(t, q.v); math.IsNaN(q.mag) || q.mag < own {
		q.mag = own
	}
	if t.IsComplex() {
		q.mag *= 2 // a component's error is relative to the whole
	}
	return q
}

// applied returns the value of function f. Its error bound includes the difference that the errors
// of the arguments make, found by moving each argument by its error.
func applied(t tensor.Type, f *algebra.Function, x, y *num) num {
	if t.HoldsInts() {
		v := fit(t, tensor.Value{I: f.Int(t, x.v.I, y.v.I)})
		return num{v: v, exact: true, ops: x.ops + y.ops, mag: abs(t, v)}
	}
	at := func(dx, dy float64) float64 {
		v := fit(t, tensor.Value{C: complex(f.Value(real(x.v.C)+dx, real(y.v.C)+dy), 0)})
		return real(v.C)
	}
	v := at(0, 0)
	out := num{v: tensor.Value{C: complex(v, 0)}, exact: f.Exact && x.exact && y.exact,
		flags: x.flags | y.flags}
	out.v = fit(t, out.v)
	out.flags |= marked(out.v) | madeWild(out.v, x, y)
	if x.flags&unsigned != 0 && x.v.C == 0 || y.flags&unsigned != 0 && y.v.C == 0 {
		out.flags |= unsigned
		if f.Args == 2 && !f.Folds { // atan2 and pow tell -0 from 0
			out.flags |= open
		}
	}
	// The libraries of two processors differ by a few units of the last place.
	out.ops, out.mag = callOps, math.Abs(v)
	if !x.exact || !y.exact {
		ex, ey := x.bound(t), y.bound(t)
		for _, d := range [][2]float64{{ex, 0}, {-ex, 0}, {0, ey}, {0, -ey}} {
			moved := at(d[0], d[1])
			if math.IsNaN(moved) != math.IsNaN(v) || math.IsInf(moved, 0) != math.IsInf(v, 0) {
				out.flags |= open
			}
			off := 2 * math.Abs(moved-v) / (callOps + 2) / t.Epsilon()
			out.mag = max(out.mag, off) // NaN if off is
		}
	}
	if math.IsNaN(out.mag) || math.IsInf(out.mag, 0) {
		out.mag = math.Abs(v)
	}
	return out
}

// callOps is the error of a function of the C library, as a number of roundings of its value.
const callOps = 8

// bound returns a bound of the rounding error of x.
func (x *num) bound(t tensor.Type) float64 {
	if x.exact {
		return 0
	}
	return rounding(t.Epsilon(), x.ops, x.mag)
}

// openWithin limits how small the denominator of a quotient may be, compared with its rounding
// error. The quotient gets the flag named open if the denominator is not exact and its absolute
// value is at most openWithin times this error. A first-order error bound is not valid for such a
// denominator.
const openWithin = 4

// rounding returns a bound on the difference between the results of two orders of evaluation. eps
// is the Epsilon of the type, ops is the number of operations, and mag is the sum of the absolute
// values of the terms. The bound also covers underflow.
func rounding(eps float64, ops int64, mag float64) float64 {
	least := 0x1p-1074 // what underflow may lose
	if eps == tensor.Float32.Epsilon() {
		least = 0x1p-149
	}
	return float64(ops+2) * (eps*mag + least)
}

func abs(t tensor.Type, v tensor.Value) float64 {
	v.Type = t
	return cmplx.Abs(v.Complex())
}

func isZero(t tensor.Type, v tensor.Value) bool {
	if t.HoldsInts() {
		return v.I == 0
	}
	return v.C == 0
}
