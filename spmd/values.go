package spmd

import (
	"unsafe"

	"distaff/io/tcs"
)

// storeValue stores v, of its own type, at the start of dst.
func storeValue(dst []byte, v tcs.Value) {
	_ = dst[v.Type.Size()-1]
	v.Type.Store(unsafe.Pointer(unsafe.SliceData(dst)), v)
}

// FormatSize prints bytes with a binary unit: 1.5 GiB.
func FormatSize(bytes int64) string { return tcs.Size(bytes) }

// convertValue is v as a value of type to; what would be lost is an error.
func convertValue(v tcs.Value, to tcs.Type) (tcs.Value, error) {
	var src, dst [16]byte
	storeValue(src[:], v)
	if _, err := tcs.ConvertValues(dst[:], to, src[:v.Type.Size()], v.Type, 1); err != nil {
		return tcs.Value{}, err
	}
	return to.Load(unsafe.Pointer(&dst[0])), nil
}

// loadValue is the value of type t at the start of src.
func loadValue(t tcs.Type, src []byte) tcs.Value {
	_ = src[t.Size()-1]
	return t.Load(unsafe.Pointer(unsafe.SliceData(src)))
}
