// Package gopkg prints a compiled statement as a Go package of its own: the C
// leaf, compiled by cgo, and a function in Go that calls it on slices.
//
// The package imports nothing but the standard library. Operands are tensors as
// level arrays, in the formats that the leaf reads; the statement's variables
// get their sizes from a struct. The result is in Go's memory: what a leaf
// publishes is copied there.
package gopkg

import (
	"fmt"
	"go/format"
	"go/token"
	"strings"
	"unicode"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
)

// Package is what is printed.
type Package struct {
	Name      string // of the package; see Name
	Statement string
	Unit      *codegen.Unit
	// Types are the value types of the unit's arguments.
	Types []ir.Type
}

// Name makes a package name of any text, "leaf" where nothing of it serves.
func Name(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || b.Len() > 0 && unicode.IsDigit(r)) {
			b.WriteRune(r)
		}
	}
	if s := b.String(); s != "" && !token.IsKeyword(s) && s != "main" {
		return s
	}
	return "leaf"
}

// goTypes are the Go types of values.
var goTypes = map[ir.Type]string{
	ir.Int32: "int32", ir.Int64: "int64", ir.Float32: "float32", ir.Float64: "float64", ir.Complex64: "complex64", ir.Complex128: "complex128",
}

// Files are the package's files, by name.
func (p *Package) Files() map[string]string {
	// All C names begin with the leaf's, so that two packages can be linked into
	// one program.
	named := func(text string) string { return strings.ReplaceAll(text, "LEAF", c.Symbol(p.Unit.Func.Name)) }
	text, err := format.Source([]byte(named(p.source())))
	if err != nil {
		panic("BUG: gopkg: what is printed is no Go: " + err.Error())
	}
	return map[string]string{
		p.Name + ".go": string(text),
		"call.h":       named(callHeader),
		"call.c":       named(callSource),
		"leaf.c":       optimize + c.File(p.Unit.Func),
	}
}

// optimize says what cgo takes no flags for: integers wrap, and of floating
// point nothing is relaxed that a value shows.
const optimize = `#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("wrapv", "no-math-errno", "no-trapping-math")
#endif
`

// field is a name of the user's as an exported Go field.
func field(name string, taken map[string]bool) string {
	var b strings.Builder
	for _, r := range name {
		if r == '\'' {
			r = '_' // a second format of the same tensor
		}
		b.WriteRune(r)
	}
	s := b.String()
	s = strings.ToUpper(s[:1]) + s[1:]
	for taken[s] {
		s += "_"
	}
	taken[s] = true
	return s
}

// operands names the fields of the operands, by argument.
func (p *Package) operands() []string {
	taken := map[string]bool{}
	out := []string{""}
	for _, a := range p.Unit.Args[1:] {
		name := a.Tensor
		if a.Old {
			name = "Old" + strings.ToUpper(name[:1]) + name[1:]
		}
		out = append(out, field(name, taken))
	}
	return out
}

func (p *Package) source() string {
	var b strings.Builder
	u := p.Unit
	result := goTypes[p.Types[0]]
	fmt.Fprintf(&b, goHead, p.Name, p.Statement)
	fmt.Fprintf(&b, "// Sizes are the sizes of the statement's variables.\ntype Sizes struct {\n")
	taken := map[string]bool{}
	var sizes []string
	for _, v := range u.Vars {
		f := field(v, taken)
		sizes = append(sizes, f)
		fmt.Fprintf(&b, "%s int64 // %s\n", f, v)
	}
	fmt.Fprintf(&b, "}\n\n// Operands are what the statement reads.\ntype Operands struct {\n")
	names := p.operands()
	for k, a := range u.Args[1:] {
		fmt.Fprintf(&b, "%s Tensor[%s] // %s\n", names[k+1], goTypes[p.Types[k+1]], p.describe(a))
	}
	fmt.Fprintf(&b, "}\n\n")
	fmt.Fprintf(&b, "// Run computes %s\n// with that many threads (at least 1). The result is %s, levels %s.\n", p.Statement, u.Args[0].Tensor, levelsText(u.Result.Format.String()))
	fmt.Fprintf(&b, "func Run(n Sizes, in Operands, threads int) (Tensor[%s], error) {\n", result)
	fmt.Fprintf(&b, "\tvar out Tensor[%s]\n\tc := newCall(%d, %d, threads)\n\tdefer c.free()\n", result, len(u.Args), len(u.Vars))
	fmt.Fprintf(&b, "\tc.bounds(%s)\n", strings.Join(prefixed(sizes, "n."), ", "))
	for k, a := range u.Args[1:] {
		fmt.Fprintf(&b, "\tif err := operand(c, %d, %q, %s, in.%s); err != nil {\n\t\treturn out, err\n\t}\n", k+1, a.Tensor, p.levels(k+1), names[k+1])
	}
	fmt.Fprintf(&b, "\tout = newResult[%s](c, %s, %v)\n", result, p.levels(0), u.Result.Format.AllDense())
	if u.Result.Shares >= 0 {
		deep := len(u.Result.Format.Levels) - 1 - u.Result.Format.TrailingDense()
		fmt.Fprintf(&b, "\tshare(c, &out, in.%s.Levels, %d)\n", names[u.Result.Shares], deep)
	}
	fmt.Fprintf(&b, "\tif err := c.run(); err != nil {\n\t\treturn out, err\n\t}\n\tpublished(c, &out)\n\treturn out, nil\n}\n")
	b.WriteString(goRest)
	return b.String()
}

func prefixed(names []string, prefix string) []string {
	out := make([]string, len(names))
	for k, n := range names {
		out[k] = prefix + n
	}
	return out
}

func (p *Package) describe(a codegen.Arg) string {
	s := "levels " + levelsText(a.Format.String())
	if a.Convert {
		s += ", to be converted from another order"
	}
	if a.Old {
		s = "what the result is added to, " + s
	}
	return s
}

func levelsText(s string) string {
	if s == "" {
		return "none (a scalar: one value)"
	}
	return s
}

// levels prints what the leaf wants of an argument's levels.
func (p *Package) levels(arg int) string {
	u := p.Unit
	f, pos, crd := u.Args[arg].Format, u.Args[arg].PosWidth, u.Args[arg].CrdWidth
	vars := accessVars(u, arg)
	if arg == 0 {
		f, pos, crd = u.Result.Format, u.Result.PosWidth, u.Result.CrdWidth
	}
	var b strings.Builder
	b.WriteString("[]want{")
	for l, k := range f.Levels {
		w := [2]uint8{}
		if k.Caps().HasPos {
			w[0] = pos[l]
		}
		if k.Caps().HasCrd {
			w[1] = crd[l]
		}
		size := "0"
		if arg == 0 {
			size = "n." + sizeField(u, vars[f.Order[l]])
		}
		fmt.Fprintf(&b, "{%d, %d, %s}, ", w[0], w[1], size)
	}
	return b.String() + "}"
}

// accessVars are the variables of the result's modes.
func accessVars(u *codegen.Unit, arg int) []string {
	if arg != 0 {
		return nil
	}
	return u.Vars[:len(u.Result.Format.Levels)] // the left side's come first
}

func sizeField(u *codegen.Unit, v string) string {
	taken := map[string]bool{}
	for _, w := range u.Vars {
		f := field(w, taken)
		if w == v {
			return f
		}
	}
	panic("BUG: gopkg: a variable that the unit lacks")
}
