package c

import (
	"embed"
	"strconv"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

//go:embed prelude/*.h
var preludeFiles embed.FS

// helpers are the pieces of the prelude in the order in which they are printed:
// a piece uses earlier ones only. Where types are given, there is a copy for
// each, named after the type.
var helpers = []clike.Helper{
	{Name: "base"},
	{Name: "rows", Uses: []string{"base"}},
	{Name: "bytes"},
	{Name: "min", Types: []ir.Type{ir.Int32, ir.Int64, ir.Float32, ir.Float64}},
	{Name: "max", Types: []ir.Type{ir.Int32, ir.Int64, ir.Float32, ir.Float64}},
	{Name: "select", Types: []ir.Type{ir.Float32, ir.Float64}},
	{Name: "select_one", Types: []ir.Type{ir.Float32, ir.Float64}},
	{Name: "div", Types: []ir.Type{ir.Int32, ir.Int64}},
	{Name: "rem", Types: []ir.Type{ir.Int32, ir.Int64}},
	{Name: "trunc_i32"},
	{Name: "trunc_i64"},
	{Name: "make", Types: []ir.Type{ir.Complex64, ir.Complex128}},
	{Name: "fma", Types: []ir.Type{ir.Float32, ir.Float64}},
	{Name: "neg", Types: []ir.Type{ir.Float32, ir.Float64}},
	{Name: "neg_complex", Types: []ir.Type{ir.Complex64, ir.Complex128}, Uses: []string{"make", "neg:$P"}},
	{Name: "mul", Types: []ir.Type{ir.Complex64, ir.Complex128}, Uses: []string{"make", "fma:$P"}},
	{Name: "div_c128", Uses: []string{"make:complex128", "fma:float64"}},
	{Name: "div_c64", Uses: []string{"div_c128"}},
	{Name: "search", Types: []ir.Type{ir.Int32, ir.Int64}},
	{Name: "search_upper", Types: []ir.Type{ir.Int32, ir.Int64}},
	{Name: "copy"},
	{Name: "line"},
	{Name: "stream", Uses: []string{"line"}},
	{Name: "sort", Types: []ir.Type{ir.Int32, ir.Int64}},
	{Name: "bitmap", Uses: []string{"sort:int32"}},
	{Name: "window"},
	{Name: "union", Types: []ir.Type{ir.Float32, ir.Float64}, Uses: []string{"select_one"}},
	{Name: "alloc", Uses: []string{"bytes"}},
	{Name: "release"},
	{Name: "grow", Uses: []string{"bytes"}},
	{Name: "free_table", Uses: []string{"release"}},
	{Name: "sort_by", Uses: []string{"alloc", "release"}},
	{Name: "times", Types: []ir.Type{ir.Float32, ir.Float64}},
	{Name: "gemm_shape"},
	{Name: "gemm", Types: []ir.Type{ir.Float32, ir.Float64, ir.Complex64, ir.Complex128}},
	{Name: "address"},
	{Name: "alone"},
	{Name: "fetch"},
	{Name: "chunk"},
	{Name: "progress"},
	{Name: "tell", Uses: []string{"progress"}},
	{Name: "fault"},
	{Name: "ordered", Uses: []string{"fault"}},
}

// ctype is the C type of a value.
func ctype(t ir.Type) string { return t.C() }

// need asks for a helper; a typed one as "name:type".
func (f *file) need(name string) { f.needs[name] = true }

// helper asks for a typed helper, and is its C name.
func (f *file) helper(name string, t ir.Type) string {
	f.need(name + ":" + t.String())
	return "dst_" + name + "_" + clike.Suffix(t)
}

// prelude is the text of all helpers asked for, and of those that they use.
func (f *file) prelude() string {
	return clike.Prelude(helpers, f.needs, func(name string, t ir.Type) string {
		if t == ir.Invalid {
			return snippet(name)
		}
		part := t // of a complex number
		if t.IsComplex() {
			part = clike.Component(t)
		}
		unsigned := map[ir.Type]string{ir.Int32: "unsigned int", ir.Int64: "unsigned long",
			ir.Float32: "unsigned int", ir.Float64: "unsigned long"}[t]
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
