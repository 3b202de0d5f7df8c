package tcs

import (
	"fmt"
	"math"
	"unsafe"
)

// Type is the type of a tensor's values.
type Type uint8

const (
	Invalid Type = iota
	Float64
	Float32
	Int64
	Int32
	Complex128
	Complex64
)

var typeNames = [...]string{"invalid", "float64", "float32", "int64", "int32", "complex128",
	"complex64"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Valid reports whether t is one of the value types.
func (t Type) Valid() bool { return t >= Float64 && t <= Complex64 }

// Size returns the bytes of one value.
func (t Type) Size() int {
	switch t {
	case Float64, Int64, Complex64:
		return 8
	case Float32, Int32:
		return 4
	case Complex128:
		return 16
	}
	panic("BUG: tcs: size of an invalid type")
}

// IsComplex reports whether t is a complex type.
func (t Type) IsComplex() bool { return t == Complex128 || t == Complex64 }

// IsInt reports whether t is an integer type.
func (t Type) IsInt() bool { return t == Int64 || t == Int32 }

// typesByName has the names of types, this project's and TACO's. Each has the type that its values
// are kept in.
var typesByName = map[string]Type{
	"float64": Float64, "double": Float64, "float32": Float32, "float": Float32,
	"complex128": Complex128, "complexdouble": Complex128,
	"complex64": Complex64, "complexfloat": Complex64,
	"int64": Int64, "long": Int64, "longlong": Int64, "uint": Int64, "uint32": Int64,
	"ulong": Int64, "ulonglong": Int64, "uint64": Int64,
	"int32": Int32, "int": Int32, "bool": Int32, "char": Int32, "uchar": Int32, "short": Int32,
	"ushort": Int32, "int8": Int32, "uint8": Int32, "int16": Int32, "uint16": Int32,
}

// ParseType returns the type with the given name: this project's name or TACO's. It returns
// false for any other name.
func ParseType(name string) (Type, bool) {
	t, ok := typesByName[name]
	return t, ok
}

// Value is one value of any type. I holds an integer, C a real or complex number.
type Value struct {
	Type Type
	I    int64
	C    complex128
}

// Complex returns the value as a complex number. Integers above 2^53 are rounded.
func (v Value) Complex() complex128 {
	if v.Type.IsInt() {
		return complex(float64(v.I), 0)
	}
	return v.C
}

// Float returns the real part of the value.
func (v Value) Float() float64 { return real(v.Complex()) }

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
	case Complex128:
		return Value{Type: t, C: *(*complex128)(p)}
	case Complex64:
		return Value{Type: t, C: complex128(*(*complex64)(p))}
	}
	panic("BUG: tcs: load of an invalid type")
}

// Store writes v at p as a value of type t. The value must fit the type (see ConvertValues).
func (t Type) Store(p unsafe.Pointer, v Value) {
	switch t {
	case Float64:
		*(*float64)(p) = v.Float()
	case Float32:
		*(*float32)(p) = float32(v.Float())
	case Int64:
		*(*int64)(p) = v.asInt()
	case Int32:
		*(*int32)(p) = int32(v.asInt())
	case Complex128:
		*(*complex128)(p) = v.Complex()
	case Complex64:
		*(*complex64)(p) = complex64(v.Complex())
	default:
		panic("BUG: tcs: store of an invalid type")
	}
}

func (v Value) asInt() int64 {
	if v.Type.IsInt() {
		return v.I
	}
	return int64(real(v.C))
}

// Value returns element i of the value array.
func (t *Tensor) Value(i int64) Value {
	if uint64(i) >= uint64(t.Vals.Len) {
		panic("BUG: tcs: value index out of range")
	}
	return t.Header.Type.Load(unsafe.Add(t.Vals.Ptr, i*int64(t.Vals.Width)))
}

// SetValue stores v as element i of the value array.
func (t *Tensor) SetValue(i int64, v Value) {
	if uint64(i) >= uint64(t.Vals.Len) {
		panic("BUG: tcs: value index out of range")
	}
	t.Header.Type.Store(unsafe.Add(t.Vals.Ptr, i*int64(t.Vals.Width)), v)
}

// Values returns the tensor's values as a slice over its memory. T must be the Go type of the
// tensor's Type.
func Values[T float64 | float32 | int64 | int32 | complex128 | complex64](t *Tensor) []T {
	var z T
	if goType(z) != t.Header.Type {
		panic(fmt.Sprintf("BUG: tcs: values of a %v tensor taken as %T", t.Header.Type, z))
	}
	return Slice[T](t.Vals)
}

func goType(z any) Type {
	switch z.(type) {
	case float64:
		return Float64
	case float32:
		return Float32
	case int64:
		return Int64
	case int32:
		return Int32
	case complex128:
		return Complex128
	case complex64:
		return Complex64
	}
	return Invalid
}

// Add returns a + b in type t. Integers wrap around.
func (t Type) Add(a, b Value) Value {
	switch t {
	case Int64:
		return Value{Type: t, I: a.I + b.I}
	case Int32:
		return Value{Type: t, I: int64(int32(a.I) + int32(b.I))}
	case Float32:
		return Value{Type: t, C: complex(float64(float32(real(a.C))+float32(real(b.C))), 0)}
	case Complex64:
		return Value{Type: t, C: complex128(complex64(a.C) + complex64(b.C))}
	default:
		return Value{Type: t, C: a.C + b.C}
	}
}

// CanConvert returns an error if no value of type from can become type to: complex to real.
func CanConvert(to, from Type) error {
	if from.IsComplex() && !to.IsComplex() {
		return &Error{Exit: exitCommand,
			Msg: fmt.Sprintf(
				"values of type %v cannot become %v: the imaginary parts would be lost", from, to)}
	}
	return nil
}

// ConvertValues converts n values of type from at src into values of type to at dst. The memory
// of dst and src must not overlap. A value may be rounded to a narrower float. Complex to real,
// a fraction to an integer type, and an integer that does not fit are errors (exit code 2). For
// the last two, bad is the index of the value; otherwise it is -1.
func ConvertValues(dst []byte, to Type, src []byte, from Type, n int) (bad int, err error) {
	if err := CanConvert(to, from); err != nil {
		return -1, err
	}
	if to == from {
		copy(dst[:n*to.Size()], src[:n*to.Size()])
		return -1, nil
	}
	if n == 0 {
		return -1, nil
	}
	dst, src = dst[:n*to.Size()], src[:n*from.Size()]
	d, s := unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0])
	ds, ss := uintptr(to.Size()), uintptr(from.Size())
	for i := range n {
		v := from.Load(unsafe.Add(s, uintptr(i)*ss))
		if to.IsInt() && !v.fitsInt(to) {
			return i, &Error{Exit: exitCommand,
				Msg: fmt.Sprintf("value %v does not fit type %v", v, to)}
		}
		to.Store(unsafe.Add(d, uintptr(i)*ds), v)
	}
	return -1, nil
}

func (v Value) fitsInt(to Type) bool {
	if !v.Type.IsInt() {
		f := real(v.C)
		if f != math.Trunc(f) || !(f >= -0x1p63 && f < 0x1p63) {
			return false
		}
		v = Value{Type: Int64, I: int64(f)}
	}
	return to == Int64 || v.I >= math.MinInt32 && v.I <= math.MaxInt32
}

// String formats the value as Go's fmt does: 2.5, -7, 1+2i.
func (v Value) String() string {
	switch v.Type {
	case Int64, Int32:
		return fmt.Sprint(v.I)
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
	return "invalid"
}
