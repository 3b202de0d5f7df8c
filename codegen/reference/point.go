package reference

import (
	"math"

	"distaff/codegen/dtype"
)

// Point is the result at one coordinate.
type Point struct {
	Present bool
	Value   Value   // of the result's type; zero where absent
	Mag     float64 // the sum of the absolute values of what was added up
	Ops     int64   // the number of operations that may have rounded
	Exact   bool    // no order of evaluation gives another value

	Overflow bool // an integer that the result's type does not hold: Value is what is left of it

	loose           bool // not finite: which of NaN and the infinities is open
	open            bool // any value may come of it
	compute, result dtype.Type
}

// Tolerance is the largest difference (of a component, if complex) that a
// right evaluation in another order may show: 0 where Exact. It is the
// standard bound on the error of a sum of products, Ops times the rounding
// unit times Mag, for each of the two evaluations, with what underflow loses.
// The unit is that of the wider-spaced of compute and result type: a sum may be
// accumulated in either.
func (p Point) Tolerance() float64 {
	if p.Exact {
		return 0
	}
	return rounding(max(p.compute.Epsilon(), p.result.Epsilon()), p.Ops, p.Mag)
}

// Agrees tells whether v, of the result's type, is a right value: equal where
// Exact, else within Tolerance. Infinities must be the same, a NaN a NaN; but
// where a division by a zero of uncertain sign took part, in sums of products or quotients that are
// infinite, and among complex numbers, whose infinities become NaN in one order and
// not in another, any of them is as good. Zeros of either sign are equal. Where a denominator
// is zero within its rounding, as x - y + (y - x) may be, nothing can be told.
func (p Point) Agrees(v Value) bool {
	if p.result.IsInt() {
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

func finite(v Value) bool {
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
		// Something infinite went in and left no trace: 1/inf, say.
		return got == want
	}
	return math.Abs(got-want) <= tol
}
