package tensor

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Type is the type of an element: of a tensor's values, of a variable of a leaf, or of a buffer
// that ranks exchange. The constants from Float64 to Uint64 are the codes of the .tcs format.
type Type uint8

const (
	None       Type = iota // no type was given, or the type is not known
	Float64                // 1 to 13 are the types of values
	Float32                //
	Int64                  //
	Int32                  //
	Complex128             //
	Complex64              //
	Bool                   // a byte, 0 or 1
	Int8                   //
	Int16                  //
	Uint8                  //
	Uint16                 //
	Uint32                 //
	Uint64                 //
	Byte                   // buffers only: raw memory, which reductions combine bitwise

	NumTypes // the number of types
)

// ValueTypes lists the types of values. A type that holds all values of another comes after it.
var ValueTypes = []Type{Bool, Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float32,
	Float64, Complex64, Complex128}

var types = [NumTypes]struct {
	name string
	size int64
}{
	None: {"none", 0}, Bool: {"bool", 1}, Byte: {"byte", 1},
	Int8: {"int8", 1}, Int16: {"int16", 2}, Int32: {"int32", 4}, Int64: {"int64", 8},
	Uint8: {"uint8", 1}, Uint16: {"uint16", 2}, Uint32: {"uint32", 4}, Uint64: {"uint64", 8},
	Float32: {"float32", 4}, Float64: {"float64", 8},
	Complex64: {"complex64", 8}, Complex128: {"complex128", 16},
}

// aliases maps TACO's names of types to the types of this package.
var aliases = map[string]Type{
	"double": Float64, "float": Float32, "complexdouble": Complex128, "complexfloat": Complex64,
	"char": Int8, "uchar": Uint8, "short": Int16, "ushort": Uint16, "int": Int32, "uint": Uint32,
	"long": Int64, "longlong": Int64, "ulong": Uint64, "ulonglong": Uint64,
}

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

// String returns the type's name, such as "float64".
func (t Type) String() string {
	if t < NumTypes {
		return types[t].name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Size returns the size of an element in bytes. The size of None is 0.
func (t Type) Size() int64 { return types[t].size }

// TypeList names the types of values, for messages.
const TypeList = "bool, int8 to int64, uint8 to uint64, float32, float64, complex64 or complex128"

// IsValue reports whether t is a type of values.
func (t Type) IsValue() bool { return t > None && t < Byte }

// IsNumber reports whether t is an integer, float or complex type.
func (t Type) IsNumber() bool { return t.IsValue() && t != Bool }

// IsInt reports whether t is an integer type, signed or unsigned.
func (t Type) IsInt() bool { return t == Int64 || t == Int32 || t > Bool && t < Byte }

// IsUnsigned reports whether t is a type of integers that are never negative.
func (t Type) IsUnsigned() bool { return t >= Uint8 && t <= Uint64 }

// HoldsInts reports whether values of t are kept as integers: t is an integer type or Bool.
func (t Type) HoldsInts() bool { return t == Bool || t.IsInt() }

// IntRange returns the smallest and the largest value of Bool or of an integer type. The largest
// value of Uint64 is returned as -1, which has the same bits.
func (t Type) IntRange() (lo, hi int64) {
	switch bits := 8 * t.Size(); {
	case t == Bool:
		return 0, 1
	case t == Uint64:
		return 0, -1
	case t.IsUnsigned():
		return 0, 1<<bits - 1
	default:
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
}

// Wrap returns i wrapped around to the range of Bool or of an integer type. For Bool it returns 1
// for all numbers but 0.
func (t Type) Wrap(i int64) int64 {
	switch t {
	case Bool:
		if i != 0 {
			return 1
		}
	case Int8:
		return int64(int8(i))
	case Int16:
		return int64(int16(i))
	case Int32:
		return int64(int32(i))
	case Uint8:
		return int64(uint8(i))
	case Uint16:
		return int64(uint16(i))
	case Uint32:
		return int64(uint32(i))
	}
	return i
}

// LessInt reports whether x is less than y. Both are values of Bool or of the integer type t.
func (t Type) LessInt(x, y int64) bool {
	if t == Uint64 {
		return uint64(x) < uint64(y)
	}
	return x < y
}

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

// ExactMax returns the largest n such that the type represents every integer in [-n, n] exactly, or
// in [0, n] if the type is Bool or unsigned. For types of 64-bit integers the result is one more,
// because a float64 cannot hold 2^63-1 and 2^64-1.
func (t Type) ExactMax() float64 {
	switch {
	case t == Uint64:
		return 0x1p64
	case t.HoldsInts():
		_, hi := t.IntRange()
		return float64(hi)
	case t == Float32 || t == Complex64:
		return 0x1p24
	}
	return 0x1p53
}

// Promote returns the smallest type that can hold every value of both types, as NumPy does for two
// arrays. Float64 is used for a mix of a 64-bit integer type and a float type, or of int64 and
// uint64, although it cannot hold every such integer. If one of the types is None, Promote returns
// the other.
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
	small := a.HoldsInts() && a.Size() < 4 // float32 holds its values
	switch {
	case a == Bool:
		return b
	case b.IsInt():
		return promoteInts(a, b)
	case b == Float32 && small, b == Complex64 && (small || a == Float32):
		return b
	case b.IsFloat():
		return Float64
	}
	return Complex128 // integers of 32 and more bits and float64 need 53-bit parts
}

// Common returns the smallest type that can hold every value of all given types (see Promote).
func Common(types []Type) (t Type) {
	for _, x := range types {
		t = Promote(t, x)
	}
	return t
}

// promoteInts returns the smallest integer type that holds the values of two integer types, or
// Float64 if there is none.
func promoteInts(a, b Type) Type {
	if a.IsUnsigned() == b.IsUnsigned() {
		return b // the larger one
	}
	if !a.IsUnsigned() {
		a, b = b, a
	}
	for _, t := range []Type{Int16, Int32, Int64} { // b is signed
		if t.Size() >= b.Size() && t.Size() > a.Size() {
			return t
		}
	}
	return Float64
}

// CanNarrow reports whether a value of type source may be stored as type target, even if precision
// is lost. It returns false if source is complex and target is not, if source is a float type
// and target is an integer type, or if target is Bool and source is not. Otherwise it returns true.
func CanNarrow(source, target Type) bool {
	switch {
	case target == Bool:
		return source == Bool
	case source.IsComplex():
		return target.IsComplex()
	case source.IsFloat():
		return !target.IsInt()
	}
	return true
}

// Element lists the Go types that have a Type. The Go type of Bool is Truth.
type Element interface {
	Real | ~complex64 | ~complex128
}

// Real lists the Go types of integers and real numbers that have a Type.
type Real interface {
	~uint8 | ~int8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~int | ~uint64 | ~float32 |
		~float64
}

// Truth is a value of type Bool in memory: 0 or 1.
type Truth uint8

// TypeOf returns the type of elements of the Go type T.
func TypeOf[T Element]() Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[Truth]() {
		return Bool
	}
	switch t.Kind() {
	case reflect.Int8:
		return Int8
	case reflect.Int16:
		return Int16
	case reflect.Int32:
		return Int32
	case reflect.Int, reflect.Int64:
		return Int64
	case reflect.Uint8:
		return Uint8
	case reflect.Uint16:
		return Uint16
	case reflect.Uint32:
		return Uint32
	case reflect.Uint64:
		return Uint64
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Complex64:
		return Complex64
	}
	return Complex128
}
