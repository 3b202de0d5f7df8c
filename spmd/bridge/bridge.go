// Package bridge turns types and formats of the compiler into those of files, and back:
// the two know nothing of each other.
package bridge

import (
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/io/tcs"
)

var tcsTypes = map[dtype.Type]tcs.Type{
	dtype.None: tcs.Invalid, dtype.Int32: tcs.Int32, dtype.Int64: tcs.Int64,
	dtype.Float32: tcs.Float32,
	dtype.Float64: tcs.Float64, dtype.Complex64: tcs.Complex64, dtype.Complex128: tcs.Complex128,
}

var irTypes = map[dtype.Type]ir.Type{
	dtype.Int32: ir.Int32, dtype.Int64: ir.Int64, dtype.Float32: ir.Float32,
	dtype.Float64: ir.Float64, dtype.Complex64: ir.Complex64, dtype.Complex128: ir.Complex128,
}

// TCS is a type as files have it; Invalid for none.
func TCS(t dtype.Type) tcs.Type { return tcsTypes[t] }

// IR is a type as leaves have it.
func IR(t dtype.Type) ir.Type { return irTypes[t] }

// Type is a file's type as statements have it.
func Type(t tcs.Type) dtype.Type {
	for d, x := range tcsTypes {
		if x == t {
			return d
		}
	}
	panic("BUG: bridge: a tensor of an unknown type")
}

// Format is a stored tensor's format.
func Format(t *tcs.Tensor) format.Format {
	return FormatOf(t.Format())
}

// FormatOf is the format of these level kinds and modes.
func FormatOf(kinds string, order []int) format.Format {
	f := format.Format{Order: order}
	for _, k := range []byte(kinds) {
		f.Levels = append(f.Levels, format.Kind(k))
	}
	return f
}
