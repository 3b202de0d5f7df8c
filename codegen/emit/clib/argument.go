package clib

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/signature"
	"distaff/io/tensor"
)

// ctypes maps types of values to C types.
var ctypes = map[tensor.Type]string{
	tensor.Bool: "_Bool", tensor.Int8: "int8_t", tensor.Int16: "int16_t", tensor.Int32: "int32_t",
	tensor.Int64: "int64_t", tensor.Uint8: "uint8_t", tensor.Uint16: "uint16_t",
	tensor.Uint32: "uint32_t", tensor.Uint64: "uint64_t",
	tensor.Float32: "float", tensor.Float64: "double",
	tensor.Complex64: "float _Complex", tensor.Complex128: "double _Complex",
}

// argument describes the argument t[k] in the comment of the header.
func argument(s *signature.Signature, k int) string {
	a := s.Args[k]
	var b strings.Builder
	fmt.Fprintf(&b, "t[%d] is %s", k, a.Tensor)
	switch {
	case k == 0:
		b.WriteString(", the result")
	case a.Old:
		b.WriteString(", what is added to")
	}
	if f := a.Format.String(); f != "" {
		fmt.Fprintf(&b, ", stored as %s", f)
	} else {
		b.WriteString(", a scalar")
	}
	fmt.Fprintf(&b, "; nlevels is %d:\n", len(a.Levels))
	given := k > 0 || s.Result.Dense || s.Result.Shares >= 0 || s.Result.Pattern
	for l, lev := range a.Levels {
		fmt.Fprintf(&b, "    levels[%d]  %s\n", l, level(s, l, lev, given))
	}
	vals := fmt.Sprintf("    vals       %s", ctypes[a.Type])
	switch {
	case k > 0:
		b.WriteString(vals + ", one for each position of the last level\n")
	case given:
		b.WriteString(
			vals + ", memory of the caller's for each position of the last level, written whole\n")
	default:
		b.WriteString(vals + ", made by the leaf\n")
	}
	switch {
	case k == 0 && s.Result.Shares >= 0:
		fmt.Fprintf(&b, "    The arrays of its levels that are not dense are those of t[%d].\n",
			s.Result.Shares)
	case k == 0 && !given:
		b.WriteString(
			"    The caller must free what the leaf allocates: with free() if env has no " +
				"allocator.\n")
	}
	return b.String()
}

// level describes a level of an argument in the comment of the header. given is true if the caller
// makes the level's arrays.
func level(s *signature.Signature, l int, lev signature.Level, given bool) string {
	v := s.Vars[lev.Var].Name
	if lev.Kind == tensor.Dense {
		return fmt.Sprintf("dense, %s: size is that of %s, offset 0", v, v)
	}
	text := fmt.Sprintf("%s, %s: ", lev.Kind.Words(), v)
	above := "positions of the level above"
	if l == 0 {
		above = "1"
	}
	switch {
	case !given:
		text += "made by the leaf, "
		if lev.Pos != 0 {
			text += fmt.Sprintf("pos int%d_t, ", 8*lev.Pos)
		}
		return text + fmt.Sprintf("crd int%d_t", 8*lev.Crd)
	case lev.Pos != 0:
		order := "ascending in each segment"
		if !lev.Kind.IsUnique() {
			order = "sorted in each segment, repeats allowed"
		}
		return text + fmt.Sprintf("pos int%d_t[%s + 1], crd int%d_t[the last of pos], %s", 8*lev.Pos,
			above, 8*lev.Crd, order)
	}
	return text + fmt.Sprintf("crd int%d_t[%s], ascending under equal coordinates of the level above",
		8*lev.Crd, above)
}
