package cuda

import (
	"embed"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/io/tensor"
)

//go:embed prelude/*.cuh
var preludeFiles embed.FS

var (
	ints  = []tensor.Type{tensor.Int32, tensor.Int64}
	reals = []tensor.Type{tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64}
	// ordered lists the types of values that have a minimum. Atomic operations of the types in
	// small need a loop, because the hardware has none.
	ordered   = append([]tensor.Type{tensor.Float32, tensor.Float64}, clike.Ints...)
	small     = []tensor.Type{tensor.Bool, tensor.Int8, tensor.Int16, tensor.Uint8, tensor.Uint16}
	summed    = append([]tensor.Type{tensor.Uint32, tensor.Uint64}, reals...)
	complexes = []tensor.Type{tensor.Complex64, tensor.Complex128}
)

// helpers lists the parts of a file's prelude in the order of printing.
var helpers = append(clike.Calls(), []clike.Helper{
	{Name: "complex", Types: complexes},
	{Name: "cast", Uses: []string{"complex:complex64", "complex:complex128"}},
	{Name: "mul", Types: complexes, Uses: []string{"complex"}},
	{Name: "div_c128", Uses: []string{"complex:complex128"}},
	{Name: "div_c64", Uses: []string{"div_c128", "cast"}},
	{Name: "min", Types: ordered},
	{Name: "max", Types: ordered},
	{Name: "div", Types: clike.Ints},
	{Name: "rem", Types: clike.Ints},
	{Name: "wrap", Types: ints},
	{Name: "trunc", Types: clike.Ints},
	{Name: "search", Types: ints},
	{Name: "search_upper", Types: ints},
	{Name: "shuffle_c", Types: complexes, Uses: []string{"complex"}},
	{Name: "warp_sum", Types: summed},
	{Name: "atomic", Types: summed, Uses: []string{"warp_sum"}},
	{Name: "atomic_small", Types: small},
	{Name: "atomic_c", Types: complexes, Uses: []string{"complex", "atomic:$P"}},
	{Name: "fetch", Types: ints},
	{Name: "stream", Types: reals},
	{Name: "resident"},
	{Name: "fail"},
	{Name: "dynamic"},
}...)

// ctype returns the CUDA type of a value.
func ctype(t tensor.Type) string {
	return map[tensor.Type]string{
		tensor.Bool: "bool", tensor.Int8: "signed char", tensor.Int16: "short", tensor.Int32: "int",
		tensor.Int64: "long long", tensor.Uint8: "unsigned char", tensor.Uint16: "unsigned short",
		tensor.Uint32: "unsigned", tensor.Uint64: "unsigned long long",
		tensor.Float32: "float", tensor.Float64: "double",
		tensor.Complex64: "dst_c64", tensor.Complex128: "dst_c128",
	}[t]
}

// atomicType returns the type of atomicAdd for values of a type. Integers are added as unsigned
// integers.
func atomicType(t tensor.Type) string {
	if t == tensor.Int32 || t == tensor.Int64 {
		return "unsigned " + ctype(t)
	}
	return ctype(t)
}

// helperText returns the text of a helper for a type.
func helperText(name string, t tensor.Type) string {
	if text := clike.CallText(name, "__device__ __forceinline__ ", false, t); text != "" {
		return text
	}
	if name == "trunc" {
		return clike.Truncation("__device__ __forceinline__ ", "LL", t, ctype(t))
	}
	text, err := preludeFiles.ReadFile("prelude/" + name + ".cuh")
	if err != nil {
		panic("BUG: emit/cuda: " + err.Error())
	}
	if t == tensor.None {
		return string(text)
	}
	align := "8"
	if t == tensor.Complex128 {
		align = "16"
	}
	part := clike.Component(t)
	register := map[tensor.Type]string{tensor.Int32: "r", tensor.Int64: "l", tensor.Float32: "f",
		tensor.Float64: "d"}[t]
	return strings.NewReplacer("$T", ctype(t), "$S", clike.Suffix(t), "$U", atomicType(t), "$A", align,
		"$C", register, "$B", map[string]string{"r": "s32", "l": "s64", "f": "f32", "d": "f64"}[register],
		"$P", ctype(part), "$R", clike.Suffix(part)).Replace(string(text))
}
