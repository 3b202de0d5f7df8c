package cuda

import (
	"embed"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

//go:embed prelude/*.cuh
var preludeFiles embed.FS

var (
	ints      = []ir.Type{ir.Int32, ir.Int64}
	reals     = []ir.Type{ir.Int32, ir.Int64, ir.Float32, ir.Float64}
	complexes = []ir.Type{ir.Complex64, ir.Complex128}
)

// helpers lists the parts of a file's prelude in the order of printing.
var helpers = []clike.Helper{
	{Name: "complex", Types: complexes},
	{Name: "cast", Uses: []string{"complex:complex64", "complex:complex128"}},
	{Name: "mul", Types: complexes, Uses: []string{"complex"}},
	{Name: "div_c128", Uses: []string{"complex:complex128"}},
	{Name: "div_c64", Uses: []string{"div_c128", "cast"}},
	{Name: "min", Types: reals},
	{Name: "max", Types: reals},
	{Name: "div", Types: ints},
	{Name: "rem", Types: ints},
	{Name: "wrap", Types: ints},
	{Name: "trunc_i32"},
	{Name: "trunc_i64"},
	{Name: "search", Types: ints},
	{Name: "search_upper", Types: ints},
	{Name: "shuffle_c", Types: complexes, Uses: []string{"complex"}},
	{Name: "warp_sum", Types: reals},
	{Name: "atomic", Types: reals, Uses: []string{"warp_sum"}},
	{Name: "atomic_c", Types: complexes, Uses: []string{"complex", "atomic:$P"}},
	{Name: "fail"},
	{Name: "dynamic"},
}

// ctype returns the CUDA type of a value.
func ctype(t ir.Type) string {
	return map[ir.Type]string{
		ir.Bool: "bool", ir.Int32: "int", ir.Int64: "long long", ir.Float32: "float",
		ir.Float64:   "double",
		ir.Complex64: "dst_c64", ir.Complex128: "dst_c128",
	}[t]
}

// atomicType returns the type of atomicAdd for values of a type. Integers are added as unsigned
// integers.
func atomicType(t ir.Type) string {
	if t.IsInt() {
		return "unsigned " + ctype(t)
	}
	return ctype(t)
}

// helperText returns the text of a helper for a type.
func helperText(name string, t ir.Type) string {
	text, err := preludeFiles.ReadFile("prelude/" + name + ".cuh")
	if err != nil {
		panic("BUG: emit/cuda: " + err.Error())
	}
	if t == ir.Invalid {
		return string(text)
	}
	align := "8"
	if t == ir.Complex128 {
		align = "16"
	}
	part := clike.Component(t)
	return strings.NewReplacer("$T", ctype(t), "$S", clike.Suffix(t), "$U", atomicType(t), "$A", align,
		"$P", ctype(part), "$R", clike.Suffix(part)).Replace(string(text))
}
