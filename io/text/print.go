package text

import (
	"math"
	"strconv"
	"unsafe"

	"distaff/io/tensor"
)

// AppendValue appends value k of vals, which has values of type typ. It writes the fewest
// significant digits that read back as the same value. A complex value is its two parts with a
// space between them.
func AppendValue(dst, vals []byte, typ tensor.Type, k int) []byte {
	p := unsafe.Pointer(&vals[k*int(typ.Size())])
	switch typ {
	case tensor.Float64:
		return appendFloat(dst, *(*float64)(p), 64)
	case tensor.Float32:
		return appendFloat(dst, float64(*(*float32)(p)), 32)
	case tensor.Int64:
		return strconv.AppendInt(dst, *(*int64)(p), 10)
	case tensor.Uint64:
		return strconv.AppendUint(dst, *(*uint64)(p), 10)
	case tensor.Complex128:
		q := (*[2]float64)(p)
		return appendFloat(append(appendFloat(dst, q[0], 64), ' '), q[1], 64)
	case tensor.Complex64:
		q := (*[2]float32)(p)
		return appendFloat(append(appendFloat(dst, float64(q[0]), 32), ' '), float64(q[1]), 32)
	}
	return strconv.AppendInt(dst, typ.Load(p).I, 10)
}

// appendFloat formats integers below 1e16 without a point. It uses an exponent only if a plain
// number would be long: below 1e-4 and from 1e16.
func appendFloat(dst []byte, f float64, size int) []byte {
	a := math.Abs(f)
	switch {
	case a < 1<<53 && f == math.Trunc(f):
		if f == 0 && math.Signbit(f) {
			return append(dst, "-0"...)
		}
		if size == 64 || a < 1<<24 {
			return strconv.AppendInt(dst, int64(f), 10)
		}
		return strconv.AppendFloat(dst, f, 'f', -1, 32)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case a >= 1e-4 && a < 1e16:
		return strconv.AppendFloat(dst, f, 'f', -1, size)
	}
	return strconv.AppendFloat(dst, f, 'e', -1, size)
}
