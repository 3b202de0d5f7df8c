package c

import (
	"embed"
	"strconv"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

//go:embed prelude/*.h
var preludeFiles embed.FS

// ordered lists the types of values that have a minimum.
var ordered = append([]tensor.Type{tensor.Float32, tensor.Float64}, clike.Ints...)

// helpers lists the helpers of the prelude in printing order. A helper uses only earlier ones. A
// helper with Types is printed once for each type that is needed, with a suffix for the type in its
// name.
var helpers = append(clike.Calls(), []clike.Helper{
	{Name: "base"},
	{Name: "rows", Uses: []string{"base"}},
	{Name: "bytes"},
	{Name: "min", Types: ordered},
	{Name: "max", Types: ordered},
	{Name: "select", Types: []tensor.Type{tensor.Float32, tensor.Float64}},
	{Name: "select_one", Types: []tensor.Type{tensor.Float32, tensor.Float64}},
	{Name: "div", Types: clike.Ints},
	{Name: "rem", Types: clike.Ints},
	{Name: "trunc", Types: clike.Ints},
	{Name: "make", Types: []tensor.Type{tensor.Complex64, tensor.Complex128}},
	{Name: "fma", Types: []tensor.Type{tensor.Float32, tensor.Float64}},
	{Name: "neg", Types: []tensor.Type{tensor.Float32, tensor.Float64}},
	{Name: "neg_complex", Types: []tensor.Type{tensor.Complex64, tensor.Complex128},
		Uses: []string{"make", "neg:$P"}},
	{Name: "mul", Types: []tensor.Type{tensor.Complex64, tensor.Complex128},
		Uses: []string{"make", "fma:$P"}},
	{Name: "div_c128", Uses: []string{"make:complex128", "fma:float64"}},
	{Name: "div_c64", Uses: []string{"div_c128"}},
	{Name: "search", Types: []tensor.Type{tensor.Int32, tensor.Int64}},
	{Name: "search_upper", Types: []tensor.Type{tensor.Int32, tensor.Int64}},
	{Name: "copy"},
	{Name: "line"},
	{Name: "stream", Uses: []string{"line"}},
	{Name: "sort", Types: []tensor.Type{tensor.Int32, tensor.Int64}},
	{Name: "bitmap", Uses: []string{"sort:int32"}},
	{Name: "window"},
	{Name: "union", Types: []tensor.Type{tensor.Float32, tensor.Float64},
		Uses: []string{"select_one"}},
	{Name: "alloc", Uses: []string{"bytes"}},
	{Name: "release"},
	{Name: "grow", Uses: []string{"bytes"}},
	{Name: "free_table", Uses: []string{"release"}},
	{Name: "sort_by", Uses: []string{"alloc", "release"}},
	{Name: "times", Types: []tensor.Type{tensor.Float32, tensor.Float64}},
	{Name: "gemm_shape"},
	{Name: "gemm", Types: []tensor.Type{tensor.Float32, tensor.Float64, tensor.Complex64,
		tensor.Complex128}},
	{Name: "address"},
	{Name: "alone"},
	{Name: "fetch"},
	{Name: "chunk"},
	{Name: "progress"},
	{Name: "tell", Uses: []string{"progress"}},
	{Name: "fault"},
	{Name: "ordered", Uses: []string{"fault"}},
}...)

// ctype returns the C type of a value.
func ctype(t tensor.Type) string { return ir.CType(t) }

// need adds a helper to the file. The name of a typed helper has the form "name:type".
func (f *file) need(name string) { f.needs[name] = true }

// helper adds a typed helper to the file and returns its C name.
func (f *file) helper(name string, t tensor.Type) string {
	f.need(name + ":" + t.String())
	return "dst_" + name + "_" + clike.Suffix(t)
}

// prelude returns the text of all helpers that were added and of the helpers that they use.
func (f *file) prelude() string {
	return clike.Prelude(helpers, f.needs, func(name string, t tensor.Type) string {
		if t == tensor.None {
			return snippet(name)
		}
		if text := clike.CallText(name, "static inline ", true, t); text != "" {
			return text
		}
		if name == "trunc" {
			return clike.Truncation("static inline ", "L", t, ctype(t))
		}
		part := t // of a complex number
		if t.IsComplex() {
			part = clike.Component(t)
		}
		unsigned := map[tensor.Type]string{tensor.Int8: "unsigned char", tensor.Int16: "unsigned short",
			tensor.Int32: "unsigned int", tensor.Int64: "unsigned long",
			tensor.Float32: "unsigned int", tensor.Float64: "unsigned long"}[t]
		return strings.NewReplacer(
			"$T", ctype(t), "$S", clike.Suffix(t), "$U", unsigned, "$I",
			strings.TrimPrefix(unsigned, "unsigned "), "$P", ctype(part),
			"$Q", clike.Suffix(part), "$F", strings.ToUpper(floatSuffix(part)), "$f", floatSuffix(part),
			"$X", product(t), "$K", strconv.Itoa(gemmKinds[t]), "$L", tileStep(t), "$V", tileValue(t), "$B",
			panelStore(t),
		).Replace(snippet(name))
	})
}

func snippet(name string) string {
	text, err := preludeFiles.ReadFile("prelude/" + name + ".h")
	if err != nil {
		panic("BUG: emit/c: " + err.Error())
	}
	return string(text)
}
