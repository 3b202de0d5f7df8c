package reference

import (
	"math"

	"distaff/io/tensor"
)

// Point is the result at one coordinate.
type Point struct {
	Present bool
	Value   tensor.Value // of the result's type; zero if absent
	Mag     float64      // the sum of the absolute values of all products that were added
	Ops     int64        // the number of operations that may have rounded
	Exact   bool         // every order of evaluation gives the same value

	Overflow bool // the integer does not fit the result's type: Value has its low bits

	loose           bool // if Value is not finite, NaN and both infinities are right
	open            bool // every value is right
	compute, result tensor.Type
}

// Tolerance returns the largest difference from p's value that a correct evaluation in another
// order may have. It is 0 if Exact is set. If the value is complex, the tolerance applies to the
// real part and to the imaginary part.
//
// The tolerance is the standard error bound of a sum of products. Each of the two evaluations
// contributes (Ops+2) times the rounding unit times Mag, and the loss by underflow. A sum may be
// accumulated in the compute type or in the result type, so the larger of the two rounding units
// counts.
func (p Point) Tolerance() float64 {
	if p.Exact {
		return 0
	}
	return rounding(max(p.compute.Epsilon(), p.result.Epsilon()), p.Ops, p.Mag)
}

// Agrees reports whether v, a value of the result's type, is a correct result at p. An integer must
// equal p's value. Another value may differ from p's value by Tolerance. Zeros of either sign are
// equal. An infinity agrees with the same infinity, and a NaN with a NaN.
//
// If p's value is infinite or NaN, there are three cases in which any infinity or NaN is accepted,
// because the order of evaluation decides which of them results: the result is complex, a division
// had a zero of uncertain sign as its denominator, or infinite products or quotients were summed.
// If a denominator is zero within its rounding error, as x - y + (y - x) may be, any value is
// accepted, unless the result is an integer.
func (p Point) Agrees(v tensor.Value) bool {
	if p.result.HoldsInts() {
		return p.Value.I == v.I
	}
	if p.open {
		return true
	}
	if (p.loose || p.result.IsComplex()) && !finite(p.Value) {
		return !finite(v)
	}
	tol := p.Tolerance()
	return near(real(p.Value.C), real(v.C), tol) && near(imag(p.Value.C), imag(v.C), tol)
}

func finite(v tensor.Value) bool {
	sum := real(v.C) + imag(v.C)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func near(want, got, tol float64) bool {
	switch {
	case math.IsNaN(want):
		return math.IsNaN(got)
	case math.IsInf(want, 0):
		return got == want
	case math.IsNaN(tol) || math.IsInf(tol, 0):
		// An operand was infinite, but the value is not, as in 1/inf.
		return got == want
	}
	return math.Abs(got-want) <= tol
}
