// Package gopkg prints a compiled statement as a separate Go package: the C leaf, compiled by cgo,
// and Go functions that call it on slices.
//
// The printed package imports only the standard library. Operands are tensors as level arrays, in
// the formats that the leaf reads. A struct gives the sizes of the statement's variables.
// Everything that the leaf relies on is checked before the call. The result is in Go memory. Arrays
// that a leaf allocates are copied there.
//
// The directory template/ has the parts that all packages share: tensor.go.tmpl (tensors and their
// checks), and call.go.tmpl and call.c.tmpl (a call). source.go prints the parts that depend on the
// statement: its sizes, operands and functions.
package gopkg

import (
	"embed"
	"go/format"
	"go/token"
	"slices"
	"strings"
	"unicode"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/emit/clib"
	"distaff/codegen/emit/signature"
	"distaff/io/tensor"
)

// Package describes a package to print.
type Package struct {
	Name      string // the package's name; see Name
	Statement string
	Unit      *codegen.Unit
	// Values, if it is not nil, is the leaf that computes values for a given pattern; see Values.
	Values *codegen.Unit
	// Types has the value types of the unit's arguments.
	Types []tensor.Type
}

// Name makes a package name from any text. It keeps ASCII letters, in lower case, and digits after
// the first letter. It returns "leaf" if nothing is kept, or if the result would be main or a
// keyword of Go.
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

// Values compiles a second leaf for a unit whose result has its own level arrays. This leaf, the
// numeric phase, computes new values for the level arrays of an earlier result. Values returns nil
// if the result has no level arrays of its own, or if the unit has a schedule. It also returns nil
// if the second leaf cannot be compiled, or would have other arguments or variables than the unit.
func Values(u *codegen.Unit) *codegen.Unit {
	if u.Result.Format.AllDense() || u.Result.Shares >= 0 || u.Request.Ask.Schedule != nil {
		return nil
	}
	r := u.Request
	left := r.Statement.Stmt.LHS.Name
	tensors := map[string]codegen.Tensor{}
	for name, t := range r.Tensors.All {
		if name == left {
			t.Format, t.PosWidth, t.CrdWidth = u.Result.Format, u.Result.PosWidth, u.Result.CrdWidth
		}
		tensors[name] = t
	}
	r.Tensors.All, r.Ask.FixedPattern, r.Ask.Trace = tensors, true, nil
	r.Ask.Name = u.Func.Name + "_values"
	v, err := codegen.Compile(r)
	same := func(a, b codegen.Arg) bool {
		return a.Tensor == b.Tensor && a.Old == b.Old && a.Format.Equal(b.Format) &&
			slices.Equal(a.PosWidth, b.PosWidth) && slices.Equal(a.CrdWidth, b.CrdWidth)
	}
	if err != nil || !v.Result.FixedPattern || !slices.EqualFunc(u.Args[1:], v.Args[1:], same) ||
		!slices.Equal(u.Vars, v.Vars) {
		return nil
	}
	return v
}

//go:embed template
var templates embed.FS

// Files returns the package's files, by name.
func (p *Package) Files() map[string]string {
	// All C names begin with the leaf's name, so that two packages can be linked into one program.
	symbol := c.Symbol(p.Unit.Func.Name)
	leaves := []clib.Leaf{{Func: p.Unit.Func, Signature: signature.Of(p.Statement, p.Unit, p.Types)}}
	call := symbol + "(c->t, bounds, &c->env)"
	if p.Values != nil {
		leaves = append(leaves, clib.Leaf{Func: p.Values.Func,
			Signature: signature.Of(p.Statement, p.Values, p.Types)})
		call = "values ? " + c.Symbol(p.Values.Func.Name) + "(c->t, bounds, &c->env) : " + call
	} else {
		call = "(void)values, " + call
	}
	names := strings.NewReplacer("PACKAGE", p.Name, "LEAF", symbol, "CALL;", call+";")
	files := map[string]string{
		p.Name + ".go": p.source(leaves[0].Signature),
		"leaf.h":       clib.Header(p.Name, leaves...),
		"leaf.c":       clib.Source(leaves...),
	}
	for _, name := range []string{"tensor.go", "call.go", "call.c", "call.h"} {
		text, err := templates.ReadFile("template/" + name + ".tmpl")
		if err != nil {
			panic("BUG: gopkg: " + err.Error())
		}
		files[fileName(name, p.Name)] = names.Replace(string(text))
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		formatted, err := format.Source([]byte(text))
		if err != nil {
			panic("BUG: gopkg: what is printed is no Go: " + err.Error())
		}
		files[name] = string(formatted)
	}
	return files
}

// fileName returns the name of a file that every package gets. name is the file's usual name. The
// result differs from name if the main file of the package pkg has the same name.
func fileName(name, pkg string) string {
	if name == pkg+".go" {
		return "own" + name
	}
	return name
}
