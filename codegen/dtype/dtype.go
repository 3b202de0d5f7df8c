// Package dtype defines the types of tensor values: their names, their sizes, and the type that two
// types promote to, which follows NumPy's rules.
//
// There are six types: 32- and 64-bit integers and floats, and complex numbers with parts of 32 or
// 64 bits. Promote returns the smallest type that holds every value of both types; float64 counts
// as holding every int64.
package dtype

import (
	"maps"
	"slices"

	"distaff/codegen/diag"
)

// Type is the type of a value. The zero Type, None, means that no type was given.
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

// All lists the types except None.
var All = []Type{Int32, Int64, Float32, Float64, Complex64, Complex128}

var names = [...]string{"none", "int32", "int64", "float32", "float64", "complex64", "complex128"}

// String returns the type's name, such as "float64".
func (t Type) String() string { return names[t] }

// aliases maps other names, TACO's among them, to the type in which values are kept.
var aliases = map[string]Type{
	"double": Float64, "float": Float32, "complexdouble": Complex128, "complexfloat": Complex64,
	"bool": Int32, "char": Int32, "uchar": Int32, "short": Int32, "ushort": Int32, "int": Int32,
	"int8": Int32, "uint8": Int32, "int16": Int32, "uint16": Int32,
	"uint": Int64, "uint32": Int64, "long": Int64, "longlong": Int64,
	"ulong": Int64, "ulonglong": Int64, "uint64": Int64,
}

// native lists the aliases that are only other names of a type that is stored.
var native = []string{"double", "float", "complexdouble", "complexfloat", "int", "long", "longlong"}

// Parse returns the type with the given name. It also accepts TACO's names.
func Parse(s string) (Type, error) {
	for _, t := range All {
		if names[t] == s {
			return t, nil
		}
	}
	if t, ok := aliases[s]; ok {
		return t, nil
	}
	known := slices.Sorted(maps.Keys(aliases))
	for _, t := range All {
		known = append(known, names[t])
	}
	return None, diag.Errorf(diag.BadType,
		"got type %q, want float64, float32, int64, int32, complex128 or complex64%s",
		s, diag.Meant(s, known))
}

// Note returns what a user should know who gives a tensor the type of that name, whose values are
// kept in another type; "" for any other name.
func Note(name string) string {
	t, ok := aliases[name]
	switch {
	case !ok || slices.Contains(native, name):
		return ""
	case t == Int64 && name != "uint" && name != "uint32":
		return name + " is kept as int64: values from 2^63 on are refused, and sums wrap there"
	case name == "bool":
		return "bool is kept as int32: sums count"
	}
	return name + " is kept as " + t.String() + ", in which sums wrap later"
}

// Size returns the number of bytes of a value.
func (t Type) Size() int {
	return [...]int{0, 4, 8, 4, 8, 8, 16}[t]
}

// IsInt, IsFloat and IsComplex report whether the type is an integer, float or complex type.
func (t Type) IsInt() bool     { return t == Int32 || t == Int64 }
func (t Type) IsFloat() bool   { return t == Float32 || t == Float64 }
func (t Type) IsComplex() bool { return t == Complex64 || t == Complex128 }

// Epsilon returns the distance from 1 to the next larger value of the type, or of its parts if it
// is complex. It returns 0 for integers.
func (t Type) Epsilon() float64 {
	switch t {
	case Float32, Complex64:
		return 0x1p-23
	case Float64, Complex128:
		return 0x1p-52
	}
	return 0
}

// ExactMax returns the largest n such that the type represents every integer in [-n, n] exactly.
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

// Promote returns the type that NumPy promotes two arrays of types a and b to. If one of them is
// None, it returns the other.
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

// Narrow reports whether values of type from may be stored as type to. Complex to real and
// non-integer to integer are refused. Fewer bits within the same family are allowed.
func Narrow(from, to Type) bool {
	switch {
	case from.IsComplex():
		return to.IsComplex()
	case from.IsFloat():
		return !to.IsInt()
	}
	return true
}
