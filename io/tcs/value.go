package tcs

import (
	"fmt"
	"unsafe"

	"distaff/io/tensor"
)

// Value returns element i of the value array.
func (t *Tensor) Value(i int64) tensor.Value {
	if uint64(i) >= uint64(t.Vals.Len) {
		panic("BUG: tcs: value index out of range")
	}
	return t.Header.Type.Load(unsafe.Add(t.Vals.Ptr, i*int64(t.Vals.Width)))
}

// SetValue stores v as element i of the value array.
func (t *Tensor) SetValue(i int64, v tensor.Value) {
	if uint64(i) >= uint64(t.Vals.Len) {
		panic("BUG: tcs: value index out of range")
	}
	t.Header.Type.Store(unsafe.Add(t.Vals.Ptr, i*int64(t.Vals.Width)), v)
}

// Values returns the tensor's values as a slice over the tensor's memory. T must be the Go type of
// the tensor's Type.
func Values[T tensor.Element](t *Tensor) []T {
	if tensor.TypeOf[T]() != t.Header.Type {
		panic(fmt.Sprintf("BUG: tcs: values of a %v tensor taken as %v", t.Header.Type,
			tensor.TypeOf[T]()))
	}
	return Slice[T](t.Vals)
}

// CanConvert returns an error if src is a complex type and dst is not, because such a conversion is
// never allowed. Other conversions may still fail for single values (see ConvertValues).
func CanConvert(dst, src tensor.Type) error {
	if src.IsComplex() && !dst.IsComplex() {
		return &Error{Exit: exitCommand,
			Msg: fmt.Sprintf(
				"values of type %v cannot become %v: the imaginary parts would be lost", src, dst)}
	}
	return nil
}

// ConvertValues converts the first n values of src to another type and stores them in dst. srcType
// and dstType are the types of the values in src and dst. The memory of dst and src must not
// overlap. A conversion to a real or complex type may round a value. Three conversions are errors
// (exit code 2): complex to real, a value that is not an integer to an integer type, and an integer
// that does not fit. In the last two cases bad is the index of the value. In all other cases bad is
// -1.
func ConvertValues(dst []byte, dstType tensor.Type, src []byte, srcType tensor.Type, n int) (
	bad int, err error) {
	if err := CanConvert(dstType, srcType); err != nil {
		return -1, err
	}
	if dstType == srcType {
		copy(dst[:n*int(dstType.Size())], src)
		return -1, nil
	}
	if n == 0 {
		return -1, nil
	}
	ds, ss := uintptr(dstType.Size()), uintptr(srcType.Size())
	dst, src = dst[:uintptr(n)*ds], src[:uintptr(n)*ss]
	d, s := unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0])
	for i := range n {
		v := srcType.Load(unsafe.Add(s, uintptr(i)*ss))
		if dstType.HoldsInts() && !v.FitsInt(dstType) {
			return i, &Error{Exit: exitCommand,
				Msg: fmt.Sprintf("value %v does not fit type %v", v, dstType)}
		}
		dstType.Store(unsafe.Add(d, uintptr(i)*ds), v)
	}
	return -1, nil
}
