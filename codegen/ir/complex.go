package ir

import (
	"math"

	"distaff/io/tensor"
)

// MulComplex returns the product of two complex numbers as every engine computes it: (ac-bd) +
// (ad+bc)i, without the special handling of infinities in C99.
func MulComplex(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(a*c-b*d, a*d+b*c)
}

// DivComplex returns the quotient of two complex numbers as every engine computes it (reference,
// interp, and generated C and CUDA). It uses Smith's algorithm (CACM 5(8), 1962), which scales by
// the larger component of the divisor. If the divisor is zero, each component is divided by +0, as
// in NumPy. A complex64 quotient is computed from the widened operands and then rounded.
func DivComplex(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	if math.Abs(c) >= math.Abs(d) {
		if c == 0 && d == 0 {
			z := math.Abs(c)
			return complex(a/z, b/z)
		}
		r := d / c
		den := c + d*r
		return complex((a+b*r)/den, (b-a*r)/den)
	}
	r := c / d
	den := d + c*r
	return complex((a*r+b)/den, (b*r-a)/den)
}

// TruncateTo returns the cast of a float to the integer type t: it rounds towards zero and saturates
// at the bounds of t. NaN becomes 0.
func TruncateTo(t tensor.Type, x float64) int64 {
	lo, hi := t.IntRange()
	switch {
	case x != x:
		return 0
	case x >= t.ExactMax():
		if t.Size() == 8 || x > t.ExactMax() {
			return hi
		}
	case x <= float64(lo):
		return lo
	case t == tensor.Uint64:
		return int64(uint64(x))
	}
	return int64(x)
}
