package tensor

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Type is the type of an element: of a tensor's values, of a variable of a leaf, or of a buffer
// that ranks exchange. The constants from Float64 to Complex64 are the codes of the .tcs format.
type Type uint8

const (
	None       Type = iota // no type was given, or the type is not known
	Float64                // 1 to 6 are the types of values
	Float32                //
	Int64                  //
	Int32                  //
	Complex128             //
	Complex64              //
	Bool                   // variables of leaves only
	Byte                   // buffers only: raw memory, which reductions combine bitwise
	Uint64                 // buffers only

	NumTypes // the number of types
)

// ValueTypes lists the types of values. A type that holds all values of another comes after it.
var ValueTypes = []Type{Int32, Int64, Float32, Float64, Complex64, Complex128}

var types = [NumTypes]struct {
	name string
	size int64
}{
	None: {"none", 0}, Bool: {"bool", 1}, Byte: {"byte", 1}, Uint64: {"uint64", 8},
	Int32: {"int32", 4}, Int64: {"int64", 8}, Float32: {"float32", 4}, Float64: {"float64", 8},
	Complex64: {"complex64", 8}, Complex128: {"complex128", 16},
}

// aliases maps other names of types, including TACO's names, to the types of this package. If this
// package has no such type, as for "uint8", aliases maps the name to the type that stores such
// values.
var aliases = map[string]Type{
	"double": Float64, "float": Float32, "complexdouble": Complex128, "complexfloat": Complex64,
	"bool": Int32, "char": Int32, "uchar": Int32, "short": Int32, "ushort": Int32, "int": Int32,
	"int8": Int32, "uint8": Int32, "int16": Int32, "uint16": Int32,
	"uint": Int64, "uint32": Int64, "long": Int64, "longlong": Int64,
	"ulong": Int64, "ulonglong": Int64, "uint64": Int64,
}

// native lists the aliases that are other names of supported types. Every other alias names a type
// that is not supported, and its values are stored in another type.
var native = []string{"double", "float", "complexdouble", "complexfloat", "int", "long", "longlong"}

// ParseType returns the type of values with the given name, which is a name of this package or one
// of TACO's. It returns false for another name.
func ParseType(name string) (Type, bool) {
	for _, t := range ValueTypes {
		if types[t].name == name {
			return t, true
		}
	}
	t, ok := aliases[name]
	return t, ok
}

// TypeNames returns every name that ParseType accepts.
func TypeNames() []string {
	names := slices.Sorted(maps.Keys(aliases))
	for _, t := range ValueTypes {
		names = append(names, types[t].name)
	}
	return names
}

// TypeNote returns a note for a user if the values of the named type are stored in another type. It
// returns "" for any other name.
func TypeNote(name string) string {
	t, ok := aliases[name]
	switch {
	case !ok || slices.Contains(native, name):
		return ""
	case t == Int64 && name != "uint" && name != "uint32":
		return name + " is stored as int64: values of 2^63 and more are refused, and sums may " +
			"overflow"
	case name == "bool":
		return "bool is stored as int32, in which sums count"
	}
	return name + " is stored as " + t.String() + ", in which sums overflow later"
}

// String returns the type's name, such as "float64".
func (t Type) String() string {
	if t < NumTypes {
		return types[t].name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Size returns the size of an element in bytes. The size of None is 0.
func (t Type) Size() int64 { return types[t].size }

// IsNumber reports whether t is a type of values: an integer, float or complex type.
func (t Type) IsNumber() bool { return t >= Float64 && t <= Complex64 }

// IsInt reports whether t is Int32 or Int64.
func (t Type) IsInt() bool { return t == Int32 || t == Int64 }

// IsFloat reports whether t is Float32 or Float64.
func (t Type) IsFloat() bool { return t == Float32 || t == Float64 }

// IsComplex reports whether t is Complex64 or Complex128.
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
// For Int64 the result is one more, because a float64 cannot hold 2^63-1.
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

// Promote returns the smallest type that can hold every value of both types, as NumPy does for two
// arrays. Float64 is used for a mix of int64 and a float type, although it cannot hold every int64.
// If one of the types is None, Promote returns the other.
func Promote(a, b Type) Type {
	if a == b || b == None {
		return a
	}
	if a == None {
		return b
	}
	if slices.Index(ValueTypes, a) > slices.Index(ValueTypes, b) {
		a, b = b, a
	}
	// From here a precedes b in ValueTypes.
	switch {
	case b.IsInt(): // int32, int64
		return Int64
	case b.IsFloat(): // with an integer, float32's 24 bits hold no int32
		return Float64
	case b == Complex64 && a == Float32:
		return Complex64
	}
	return Complex128 // int32, int64 and float64 need 53-bit parts
}

// CanNarrow reports whether a value of type source may be stored as type target, even if precision
// is lost. It returns false if source is complex and target is not, or if source is a float type
// and target is an integer type. Otherwise it returns true.
func CanNarrow(source, target Type) bool {
	switch {
	case source.IsComplex():
		return target.IsComplex()
	case source.IsFloat():
		return !target.IsInt()
	}
	return true
}

// Element lists the Go types that have a Type.
type Element interface {
	~uint8 | ~int8 | ~int32 | ~int64 | ~int | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128
}

// TypeOf returns the type of elements of the Go type T. It is Byte if an element has one byte.
func TypeOf[T Element]() Type {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int32:
		return Int32
	case reflect.Int, reflect.Int64:
		return Int64
	case reflect.Uint64:
		return Uint64
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Complex64:
		return Complex64
	case reflect.Complex128:
		return Complex128
	}
	return Byte
}
