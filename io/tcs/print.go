package tcs

import (
	"math"
	"strconv"
)

// Text formats the value with the fewest digits that read back the same value: 3.5, 120000,
// 1e+30, 1+2i.
func (v Value) Text() string {
	bits := 64
	switch v.Type {
	case Int64, Int32:
		return strconv.FormatInt(v.I, 10)
	case Float32, Complex64:
		bits = 32
	}
	s := floatText(real(v.C), bits)
	if !v.Type.IsComplex() {
		return s
	}
	im := floatText(imag(v.C), bits)
	if im[0] != '-' && im[0] != '+' {
		im = "+" + im
	}
	return s + im + "i"
}

func floatText(f float64, bits int) string {
	switch a := math.Abs(f); {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case a == 0 || a >= 1e-5 && a < 1e16:
		return strconv.FormatFloat(f, 'f', -1, bits)
	default:
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
}
