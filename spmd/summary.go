package spmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/io/tcs"
)

// describeTensor is a line about a tensor: sizes, format, type, entries.
func describeTensor(name string, t *tcs.Tensor) string {
	if t.Order() == 0 {
		return name + " = " + FormatValue(t.Value(0))
	}
	return fmt.Sprintf("%s: %s, %s, %v, %s", name, sizesString(t.Dims), t.FormatString(), t.Type, plural(entries(t), "entry"))
}

// summary is the line about a result that no file was asked for.
func summary(name string, t *tcs.Tensor) string {
	return describeTensor(name, t) + ", sum " + FormatValue(sum(t))
}

// entries counts the stored entries: every position of the values that is not
// padding.
func entries(t *tcs.Tensor) int64 {
	kinds, _ := t.Format()
	if !strings.Contains(kinds, "p") {
		return t.Vals.Len
	}
	n := int64(0)
	t.Entries(func([]int64, int64) bool { n++; return true })
	return n
}

// sum adds all values, floats with compensation (Neumaier 1974), so that the
// printed sum does not depend on the size of the tensor.
func sum(t *tcs.Tensor) tcs.Value {
	if t.Type.IsInt() {
		total := tcs.Value{Type: tcs.Int64}
		for i := range t.Vals.Len {
			total.I += t.Value(i).I
		}
		return total
	}
	var re, im, cre, cim float64
	add := func(s, c *float64, x float64) {
		n := *s + x
		if math.Abs(*s) >= math.Abs(x) {
			*c += *s - n + x
		} else {
			*c += x - n + *s
		}
		*s = n
	}
	for i := range t.Vals.Len {
		v := t.Value(i).C
		add(&re, &cre, real(v))
		add(&im, &cim, imag(v))
	}
	whole := func(s, c float64) float64 {
		if math.IsNaN(c) || math.IsInf(s, 0) {
			return s
		}
		return s + c
	}
	v := tcs.Value{Type: tcs.Float64, C: complex(whole(re, cre), whole(im, cim))}
	if t.Type.IsComplex() {
		v.Type = tcs.Complex128
	}
	return v
}

// FormatValue prints a value with the fewest digits that read back the same:
// 3.5, 120000, 1e+30, 1+2i.
func FormatValue(v tcs.Value) string {
	bits := 64
	switch v.Type {
	case tcs.Int64, tcs.Int32:
		return strconv.FormatInt(v.I, 10)
	case tcs.Float32, tcs.Complex64:
		bits = 32
	}
	s := formatFloat(real(v.C), bits)
	if !v.Type.IsComplex() {
		return s
	}
	im := formatFloat(imag(v.C), bits)
	if im[0] != '-' && im[0] != '+' {
		im = "+" + im
	}
	return s + im + "i"
}

func formatFloat(f float64, bits int) string {
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
