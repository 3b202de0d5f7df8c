package text

import "distaff/io/tcs"

func width(t tcs.Type) int {
	switch t {
	case tcs.Float64, tcs.Int64, tcs.Complex64:
		return 8
	case tcs.Float32, tcs.Int32:
		return 4
	case tcs.Complex128:
		return 16
	}
	return 0
}

func typeName(t tcs.Type) string {
	return [...]string{"no type", "float64", "float32", "int64", "int32", "complex128", "complex64"}[t]
}
