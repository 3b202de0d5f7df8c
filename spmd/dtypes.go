package spmd

import (
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/io/tcs"
)

// The compiler and the files know nothing of each other; a type or a format of
// the one is turned into the other's here.

var tcsTypes = map[dtype.Type]tcs.Type{
	dtype.None: tcs.Invalid, dtype.Int32: tcs.Int32, dtype.Int64: tcs.Int64, dtype.Float32: tcs.Float32,
	dtype.Float64: tcs.Float64, dtype.Complex64: tcs.Complex64, dtype.Complex128: tcs.Complex128,
}

func tcsType(t dtype.Type) tcs.Type { return tcsTypes[t] }

func dataType(t tcs.Type) dtype.Type {
	for d, x := range tcsTypes {
		if x == t {
			return d
		}
	}
	panic("BUG: spmd: a tensor of an unknown type")
}

// formatOf is a stored tensor's format.
func formatOf(t *tcs.Tensor) format.Format {
	kinds, order := t.Format()
	f := format.Format{Order: order}
	for _, k := range []byte(kinds) {
		f.Levels = append(f.Levels, format.Kind(k))
	}
	return f
}
