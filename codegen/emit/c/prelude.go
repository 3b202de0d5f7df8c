package c

import (
	"embed"
	"strings"

	"distaff/codegen/ir"
)

//go:embed prelude/*.h
var preludeFiles embed.FS

// helpers are the pieces of the prelude in the order in which they are printed:
// a piece uses earlier ones only. Where types are given, there is a copy for
// each, named after the type.
var helpers = []struct {
	name  string
	types []ir.Type
	uses  []string
}{
	{name: "base"},
	{name: "bytes"},
	{name: "min", types: []ir.Type{ir.Int32, ir.Int64, ir.Float32, ir.Float64}},
	{name: "max", types: []ir.Type{ir.Int32, ir.Int64, ir.Float32, ir.Float64}},
	{name: "select", types: []ir.Type{ir.Float32, ir.Float64}},
	{name: "select_one", types: []ir.Type{ir.Float32, ir.Float64}},
	{name: "div", types: []ir.Type{ir.Int32, ir.Int64}},
	{name: "rem", types: []ir.Type{ir.Int32, ir.Int64}},
	{name: "trunc_i32"},
	{name: "trunc_i64"},
	{name: "make_c", types: []ir.Type{ir.Complex64, ir.Complex128}},
	{name: "mul_c", types: []ir.Type{ir.Complex64, ir.Complex128}, uses: []string{"make_c"}},
	{name: "div_c128", uses: []string{"make_c:complex128"}},
	{name: "div_c64", uses: []string{"div_c128"}},
	{name: "search", types: []ir.Type{ir.Int32, ir.Int64}},
	{name: "search_upper", types: []ir.Type{ir.Int32, ir.Int64}},
	{name: "copy"},
	{name: "stream", uses: []string{"copy"}},
	{name: "sort", types: []ir.Type{ir.Int32, ir.Int64}},
	{name: "bitmap", uses: []string{"sort:int32"}},
	{name: "alloc", uses: []string{"bytes"}},
	{name: "release"},
	{name: "grow", uses: []string{"bytes"}},
	{name: "free_table", uses: []string{"release"}},
	{name: "sort_by", uses: []string{"alloc", "release"}},
	{name: "chunk"},
	{name: "fault"},
	{name: "ordered", uses: []string{"fault"}},
}

// suffix names a type in the names of the prelude.
func suffix(t ir.Type) string {
	return map[ir.Type]string{
		ir.Bool: "b", ir.Int32: "i32", ir.Int64: "i64", ir.Float32: "f32", ir.Float64: "f64",
		ir.Complex64: "c64", ir.Complex128: "c128",
	}[t]
}

// ctype is the C type of a value.
func ctype(t ir.Type) string {
	return map[ir.Type]string{
		ir.Bool: "_Bool", ir.Int32: "int32_t", ir.Int64: "int64_t", ir.Float32: "float", ir.Float64: "double",
		ir.Complex64: "float _Complex", ir.Complex128: "double _Complex",
	}[t]
}

// component is the type of a component of a complex number.
func component(t ir.Type) ir.Type {
	if t == ir.Complex64 {
		return ir.Float32
	}
	return ir.Float64
}

// need asks for a helper; a typed one as "name:type".
func (f *file) need(name string) { f.needs[name] = true }

// helper asks for a typed helper, and is its C name.
func (f *file) helper(name string, t ir.Type) string {
	f.need(name + ":" + t.String())
	return "dst_" + strings.TrimSuffix(name, "_c") + "_" + suffix(t)
}

// prelude is the text of all helpers asked for, and of those that they use.
func (f *file) prelude() string {
	for i := len(helpers) - 1; i >= 0; i-- {
		h := helpers[i]
		if len(h.types) == 0 && f.needs[h.name] {
			for _, u := range h.uses {
				f.need(u)
			}
		}
		for _, t := range h.types {
			if f.needs[h.name+":"+t.String()] {
				for _, u := range h.uses {
					f.need(u + ":" + t.String())
				}
			}
		}
	}
	var b strings.Builder
	for _, h := range helpers {
		if len(h.types) == 0 {
			if f.needs[h.name] {
				b.WriteString("\n" + snippet(h.name))
			}
			continue
		}
		for _, t := range h.types {
			if f.needs[h.name+":"+t.String()] {
				unsigned := map[ir.Type]string{ir.Int32: "unsigned int", ir.Int64: "unsigned long", ir.Float32: "unsigned int", ir.Float64: "unsigned long"}[t]
				b.WriteString("\n" + strings.NewReplacer(
					"$T", ctype(t), "$S", suffix(t), "$U", unsigned, "$I", strings.TrimPrefix(unsigned, "unsigned "), "$P", ctype(component(t)),
				).Replace(snippet(h.name)))
			}
		}
	}
	return b.String()
}

func snippet(name string) string {
	text, err := preludeFiles.ReadFile("prelude/" + name + ".h")
	if err != nil {
		panic("BUG: emit/c: " + err.Error())
	}
	return string(text)
}
