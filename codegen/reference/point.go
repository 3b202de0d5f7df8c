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

	loose           bool // an infinity may have either sign
	compute, result dtype.Type
}

// Tolerance is the largest difference (of a component, if complex) that a
// right evaluation in another order may show: 0 where Exact. It is the
// standard bound on the error of a sum of products, Ops times the rounding
// unit times Mag, for each of the two evaluations, with what underflow loses and a
// rounding at the store.
func (p Point) Tolerance() float64 {
	if p.Exact {
		return 0
	}
	least := 0x1p-1074 // what underflow may lose
	if p.compute == dtype.Float32 || p.compute == dtype.Complex64 {
		least = 0x1p-149
	}
	return float64(p.Ops+1)*(p.compute.Epsilon()*p.Mag+least) + p.result.Epsilon()*abs(p.result, p.Value)
}

// Agrees tells whether v, of the result's type, is a right value: equal where
// Exact, else within Tolerance. Infinities must be the same (but for those
// that a division by -0 made), a NaN a NaN; zeros of either sign are equal.
func (p Point) Agrees(v Value) bool {
	if p.result.IsInt() {
		return p.Value.I == v.I
	}
	if p.loose && !finite(p.Value) {
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
