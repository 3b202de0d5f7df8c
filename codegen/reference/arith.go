package reference

import (
	"math"
	"math/cmplx"

	"distaff/codegen/dtype"
	"distaff/codegen/ir"
)

// fit brings the result of an operation into type t: integers wrap, floats
// round. (An operation on 32-bit floats, done in 64 bits and then rounded, is
// the 32-bit operation.)
func fit(t dtype.Type, v Value) Value {
	switch t {
	case dtype.Int32:
		v.I = int64(int32(v.I))
	case dtype.Float32, dtype.Complex64:
		v.C = complex128(complex64(v.C))
	}
	return v
}

func add(t dtype.Type, a, b Value) Value { return fit(t, Value{a.I + b.I, a.C + b.C}) }

func neg(t dtype.Type, a Value) Value { return fit(t, Value{-a.I, -a.C}) }

func mul(t dtype.Type, a, b Value) Value {
	if t.IsComplex() {
		return fit(t, Value{C: ir.MulComplex(a.C, b.C)})
	}
	return fit(t, Value{I: a.I * b.I, C: complex(real(a.C)*real(b.C), 0)})
}

// div divides; integers towards zero, and not by zero.
func div(t dtype.Type, a, b Value) Value {
	switch {
	case t.IsInt():
		return fit(t, Value{I: a.I / b.I})
	case t.IsComplex():
		return fit(t, Value{C: ir.DivComplex(a.C, b.C)})
	}
	return fit(t, Value{C: complex(real(a.C)/real(b.C), 0)})
}

// Convert turns a value of one type into another's. Of lossy conversions only
// those that SPEC allows are asked for: to fewer bits, or an integer to a float.
func Convert(v Value, from, to dtype.Type) Value {
	switch {
	case from == to:
		return v
	case from.IsInt() && !to.IsInt():
		v = Value{C: complex(float64(v.I), 0)}
		if to == dtype.Float32 || to == dtype.Complex64 {
			return fit(to, v)
		}
		return v
	case !from.IsInt() && to.IsInt() || from.IsComplex() && !to.IsComplex():
		panic("BUG: reference: conversion of " + from.String() + " to " + to.String())
	}
	return fit(to, v)
}

// num is a value with what is known of its rounding: mag bounds the sum of the absolute values of
// all products that went into it, ops the number of operations on the longest way to it, and exact
// says that it is an integer that no order of evaluation can round (or of an integer type, which
// wraps). unsigned says that a -0 went into it: if it is zero, its sign is uncertain, since adding
// -0 to an absent value, or to memory that was cleared, may or may not keep it. wild says that a
// product or quotient was infinite, or infinity times zero; loose that there was a division by a
// zero of uncertain sign, or a sum of what was wild: with a factor that all products have taken out
// of it, as workspaces and schedules do, inf*1 - inf*3 is inf*(1-3), an infinity instead of NaN.
// open says that it was divided by what may as well be zero, or of the other sign, by the rounding
// of the sum that it is.
type num struct {
	v     Value
	mag   float64
	ops   int64
	exact bool
	flags flags
}

// flags are what else is known of a num; they go from operands to results.
type flags uint8

const (
	unsigned flags = 1 << iota
	wild
	loose
	open
)

// marked is unsigned where a float's value is -0.
func (v Value) marked() flags {
	if re := real(v.C); re == 0 && math.Signbit(re) {
		return unsigned
	}
	return 0
}

// madeWild is wild where v, of a and b that are not NaN, is not finite.
func madeWild(v Value, a, b *num) flags {
	if !finite(v) && !cmplx.IsNaN(a.v.C) && !cmplx.IsNaN(b.v.C) {
		return wild
	}
	return 0
}

// operand makes a num of an input value or literal.
func operand(t dtype.Type, v Value) num {
	if t.IsInt() {
		return num{v: v, mag: math.Abs(float64(v.I)), exact: true}
	}
	re, im := real(v.C), imag(v.C)
	mag := math.Abs(re) + math.Abs(im)
	return num{v: v, mag: mag, flags: v.marked(),
		exact: re == math.Trunc(re) && im == math.Trunc(im) && mag <= t.ExactMax()}
}

// plus adds y to x.
func (x *num) plus(t dtype.Type, y *num) {
	x.mag += y.mag
	x.v = add(t, x.v, y.v)
	x.ops = max(x.ops, y.ops) + 1
	x.exact = t.IsInt() || x.exact && y.exact && x.mag <= t.ExactMax()
	x.flags |= y.flags | x.v.marked()
	if x.flags&wild != 0 {
		x.flags |= loose
	}
}

// times multiplies x by y.
func (x *num) times(t dtype.Type, y *num) {
	v := mul(t, x.v, y.v)
	x.mag *= y.mag
	x.ops += y.ops + 1
	x.exact = t.IsInt() || x.exact && y.exact && x.mag <= t.ExactMax()
	x.flags |= y.flags | v.marked() | madeWild(v, x, y)
	x.v = v
}

func (x *num) negate(t dtype.Type) {
	x.v = neg(t, x.v)
	x.flags |= x.v.marked()
}

// over is a/b. The error of the denominator counts relative to its size.
func over(t dtype.Type, a, b *num) num {
	q := num{v: div(t, a.v, b.v), ops: a.ops + b.ops + 1, exact: t.IsInt()}
	q.flags = a.flags | b.flags | q.v.marked() | madeWild(q.v, a, b)
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

// openWithin is up to how many times its rounding a denominator leaves a quotient open:
// below that its relative error is past what a bound of first order covers.
const openWithin = 4

// rounding bounds the difference between two orders of evaluation of a value.
func rounding(eps float64, ops int64, mag float64) float64 {
	least := 0x1p-1074 // what underflow may lose
	if eps == dtype.Float32.Epsilon() {
		least = 0x1p-149
	}
	return float64(ops+2) * (eps*mag + least)
}

func abs(t dtype.Type, v Value) float64 {
	if t.IsInt() {
		return math.Abs(float64(v.I))
	}
	return cmplx.Abs(v.C)
}

func isZero(t dtype.Type, v Value) bool {
	if t.IsInt() {
		return v.I == 0
	}
	return v.C == 0
}
