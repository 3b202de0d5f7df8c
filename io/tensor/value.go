package tensor

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

// Value is one value of any type. I holds an integer or a bool (0 or 1), C a real or complex
// number. For a Uint64, I has the same bits.
type Value struct {
	Type Type
	I    int64
	C    complex128
}

// Complex returns the value as a complex number. Integers beyond 2^53 or -2^53 may be rounded.
func (v Value) Complex() complex128 {
	switch {
	case v.Type == Uint64:
		return complex(float64(uint64(v.I)), 0)
	case v.Type.HoldsInts():
		return complex(float64(v.I), 0)
	}
	return v.C
}

// Float returns the real part of the value.
func (v Value) Float() float64 { return real(v.Complex()) }

// Equal reports whether two integers, or two real or complex numbers, are equal. It does not
// compare their widths. An integer equals a real or complex number only if both are 0. Zeros of
// either sign are equal, and a NaN is equal to no value.
func (v Value) Equal(w Value) bool { return v.I == w.I && v.C == w.C }

// IsZero reports whether the value equals zero, of either sign.
func (v Value) IsZero() bool { return v.I == 0 && v.C == 0 }

// Load reads a value of type t at p.
func (t Type) Load(p unsafe.Pointer) Value {
	switch t {
	case Float64:
		return Value{Type: t, C: complex(*(*float64)(p), 0)}
	case Float32:
		return Value{Type: t, C: complex(float64(*(*float32)(p)), 0)}
	case Int64:
		return Value{Type: t, I: *(*int64)(p)}
	case Int32:
		return Value{Type: t, I: int64(*(*int32)(p))}
	case Bool, Uint8:
		return Value{Type: t, I: int64(*(*uint8)(p))}
	case Int8:
		return Value{Type: t, I: int64(*(*int8)(p))}
	case Int16:
		return Value{Type: t, I: int64(*(*int16)(p))}
	case Uint16:
		return Value{Type: t, I: int64(*(*uint16)(p))}
	case Uint32:
		return Value{Type: t, I: int64(*(*uint32)(p))}
	case Uint64:
		return Value{Type: t, I: int64(*(*uint64)(p))}
	case Complex128:
		return Value{Type: t, C: *(*complex128)(p)}
	case Complex64:
		return Value{Type: t, C: complex128(*(*complex64)(p))}
	}
	panic("BUG: tensor: load of an invalid type")
}

// Store writes v at p as a value of type t. The value must fit the type (see tcs.ConvertValues).
func (t Type) Store(p unsafe.Pointer, v Value) {
	switch t {
	case Float64:
		*(*float64)(p) = v.Float()
	case Float32:
		*(*float32)(p) = float32(v.Float())
	case Int64, Uint64:
		*(*int64)(p) = v.asInt(t)
	case Int32, Uint32:
		*(*int32)(p) = int32(v.asInt(t))
	case Int16, Uint16:
		*(*int16)(p) = int16(v.asInt(t))
	case Bool, Int8, Uint8:
		*(*int8)(p) = int8(v.asInt(t))
	case Complex128:
		*(*complex128)(p) = v.Complex()
	case Complex64:
		*(*complex64)(p) = complex64(v.Complex())
	default:
		panic("BUG: tensor: store of an invalid type")
	}
}

// asInt returns the value as a number of the integer type t, or of Bool. A float must be in t's
// range.
func (v Value) asInt(t Type) int64 {
	switch f := real(v.C); {
	case v.Type.HoldsInts():
		return v.I
	case t == Uint64:
		return int64(uint64(f))
	default:
		return int64(f)
	}
}

// Add returns a + b in type t. Integers wrap around, and the sum of bools is true if one of them
// is.
func (t Type) Add(a, b Value) Value {
	switch {
	case t == Bool:
		return Value{Type: t, I: a.I | b.I}
	case t.IsInt():
		return Value{Type: t, I: t.Wrap(a.I + b.I)}
	case t == Float32:
		return Value{Type: t, C: complex(float64(float32(real(a.C))+float32(real(b.C))), 0)}
	case t == Complex64:
		return Value{Type: t, C: complex128(complex64(a.C) + complex64(b.C))}
	default:
		return Value{Type: t, C: a.C + b.C}
	}
}

// FitsInt reports whether the real part of the value is a whole number that t, an integer type or
// Bool, can represent.
func (v Value) FitsInt(t Type) bool {
	if v.Type.HoldsInts() {
		if large := v.Type == Uint64 && v.I < 0; large || t == Uint64 {
			return large && t == Uint64 || !large && v.I >= 0
		}
		return t.Wrap(v.I) == v.I
	}
	f := real(v.C)
	lo, hi := -0x1p63, 0x1p63
	if t == Uint64 {
		lo, hi = 0, 0x1p64
	}
	return f == math.Trunc(f) && f >= lo && f < hi && (t == Uint64 || t.Wrap(int64(f)) == int64(f))
}

// String formats the value as Go's fmt does: 2.5, -7, 1+2i.
func (v Value) String() string {
	switch v.Type {
	case Uint64:
		return fmt.Sprint(uint64(v.I))
	case Float32:
		return fmt.Sprint(float32(real(v.C)))
	case Float64:
		return fmt.Sprint(real(v.C))
	case Complex64:
		s := fmt.Sprint(complex64(v.C))
		return s[1 : len(s)-1]
	case Complex128:
		s := fmt.Sprint(v.C)
		return s[1 : len(s)-1]
	}
	if v.Type.HoldsInts() {
		return fmt.Sprint(v.I)
	}
	return "invalid"
}

// Text formats the value with the fewest digits that read back the same value: 3.5, 120000,
// 1e+30, 1+2i.
func (v Value) Text() string {
	bits := 64
	switch {
	case v.Type == Uint64:
		return strconv.FormatUint(uint64(v.I), 10)
	case v.Type.HoldsInts():
		return strconv.FormatInt(v.I, 10)
	case v.Type == Float32 || v.Type == Complex64:
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

// floatText formats a float of 32 or 64 bits.
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
