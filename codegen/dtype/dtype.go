// Package dtype is the types of tensor values: their names, sizes, and how
// they promote when they meet, which is NumPy's rule.
//
// Six types exist: 32- and 64-bit integers, floats, and complex numbers of
// 32- and 64-bit parts. Promote gives the smallest of them that holds every
// value of both, where int64 counts as held by float64.
package dtype

import "distaff/codegen/diag"

// Type is the type of a value. The zero Type is no type: "not given".
type Type uint8

const (
	None Type = iota
	Int32
	Int64
	Float32
	Float64
	Complex64
	Complex128
)

// All lists the types.
var All = []Type{Int32, Int64, Float32, Float64, Complex64, Complex128}

var names = [...]string{"none", "int32", "int64", "float32", "float64", "complex64", "complex128"}

// String is SPEC's name of the type, such as "float64".
func (t Type) String() string { return names[t] }

// aliases are TACO's names.
var aliases = map[string]Type{
	"double": Float64, "float": Float32, "long": Int64, "int": Int32,
	"complexdouble": Complex128, "complexfloat": Complex64,
}

// Parse reads a type's name, SPEC's or TACO's.
func Parse(s string) (Type, error) {
	for _, t := range All {
		if names[t] == s {
			return t, nil
		}
	}
	if t, ok := aliases[s]; ok {
		return t, nil
	}
	return None, diag.Errorf(diag.BadType,
		"got type %q, want float64, float32, int64, int32, complex128 or complex64", s)
}

// Size is the number of bytes of a value.
func (t Type) Size() int {
	return [...]int{0, 4, 8, 4, 8, 8, 16}[t]
}

// IsInt, IsFloat and IsComplex tell the three families apart.
func (t Type) IsInt() bool     { return t == Int32 || t == Int64 }
func (t Type) IsFloat() bool   { return t == Float32 || t == Float64 }
func (t Type) IsComplex() bool { return t == Complex64 || t == Complex128 }

// Epsilon is the distance from 1 to the next larger value of the type (of its
// parts, if complex): 0 for integers.
func (t Type) Epsilon() float64 {
	switch t {
	case Float32, Complex64:
		return 0x1p-23
	case Float64, Complex128:
		return 0x1p-52
	}
	return 0
}

// ExactMax is the largest n such that every integer of [-n, n] is a value.
func (t Type) ExactMax() float64 {
	switch t {
	case Int32:
		return 0x1p31 - 1
	case Int64:
		return 0x1p63 // as a float64; the largest is one less
	case Float32, Complex64:
		return 0x1p24
	}
	return 0x1p53
}

// Promote is NumPy's promotion of two arrays' types. None promotes to the other.
func Promote(a, b Type) Type {
	if a == b || b == None {
		return a
	}
	if a == None {
		return b
	}
	if a > b {
		a, b = b, a
	}
	// From here a < b in the order of the constants.
	switch {
	case b.IsInt(): // int32, int64
		return Int64
	case b == Float32: // with an integer: no 24-bit mantissa holds one
		return Float64
	case b == Float64:
		return Float64
	case b == Complex64:
		if a == Float32 {
			return Complex64
		}
		return Complex128 // int32, int64 and float64 need 53-bit parts
	}
	return Complex128
}

// Narrow tells whether values of type from may be stored as to: SPEC refuses
// complex to real and non-integer to integer; fewer bits of one family are allowed.
func Narrow(from, to Type) bool {
	switch {
	case from.IsComplex():
		return to.IsComplex()
	case from.IsFloat():
		return !to.IsInt()
	}
	return true
}
