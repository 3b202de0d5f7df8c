// Package bridge converts types and formats between the compiler (codegen) and files (io), because
// neither of them imports the other.
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

// TCS returns a type as files name it. It returns tcs.Invalid for dtype.None.
func TCS(t dtype.Type) tcs.Type { return tcsTypes[t] }

// IR returns a type as leaves name it.
func IR(t dtype.Type) ir.Type { return irTypes[t] }

// Type returns a file's type as statements name it.
func Type(t tcs.Type) dtype.Type {
	for d, x := range tcsTypes {
		if x == t {
			return d
		}
	}
	panic("BUG: bridge: a tensor of an unknown type")
}

// Format returns the format of a stored tensor.
func Format(t *tcs.Tensor) format.Format {
	return FormatOf(t.Format())
}

// FormatOf returns the format with these level kinds, whose level l stores mode order[l].
func FormatOf(kinds string, order []int) format.Format {
	f := format.Format{Order: order}
	for _, k := range []byte(kinds) {
		f.Levels = append(f.Levels, format.Kind(k))
	}
	return f
}
