// Package gopkg prints a compiled statement as a Go package of its own: the C
// leaf, compiled by cgo, and functions in Go that call it on slices.
//
// The package imports nothing but the standard library. Operands are tensors as
// level arrays, in the formats that the leaf reads; the statement's variables
// get their sizes from a struct. All that the leaf trusts is checked before it is
// called. The result is in Go's memory: what a leaf publishes is copied there.
//
// What all packages have is in template/: tensor.go.tmpl (tensors and what is checked of
// them), call.go.tmpl and call.c.tmpl (a call). What depends on the statement, its sizes,
// operands and functions, is printed by source.go.
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
	"distaff/codegen/ir"
)

// Package is what is printed.
type Package struct {
	Name      string // of the package; see Name
	Statement string
	Unit      *codegen.Unit
	// Values, if not nil, is the leaf that computes values for a pattern that is given;
	// see Values.
	Values *codegen.Unit
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

// Values compiles the numeric phase of a unit whose result has level arrays of its own: the
// leaf that computes values for level arrays of a former result. It is nil where the result
// needs none, and where there is no such leaf.
func Values(u *codegen.Unit) *codegen.Unit {
	if u.Result.Format.AllDense() || u.Result.Shares >= 0 || u.Request.Schedule != nil {
		return nil
	}
	r := u.Request
	left := r.Stmt.LHS.Name
	tensors := map[string]codegen.Tensor{}
	for name, t := range r.Tensors {
		if name == left {
			t.Format, t.PosWidth, t.CrdWidth = u.Result.Format, u.Result.PosWidth, u.Result.CrdWidth
		}
		tensors[name] = t
	}
	r.Tensors, r.FixedPattern, r.Name, r.Trace = tensors, true, u.Func.Name+"_values", nil
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

// Files are the package's files, by name.
func (p *Package) Files() map[string]string {
	// All C names begin with the leaf's, so that two packages can be linked into
	// one program.
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

// fileName is the name of a file that all packages have: another one where the package's
// own file has that name.
func fileName(name, pkg string) string {
	if name == pkg+".go" {
		return "own" + name
	}
	return name
}
