package clike

import (
	"fmt"
	"strings"

	"distaff/codegen/ir"
)

// Function is a function as it is printed: its body's text, and the names in it. It is a Dialect's
// Variable and Array.
type Function struct {
	Names  *Namer // of what the IR names, all given at the start
	Temps  *Namer // of what is declared in the block at hand
	Depth  int    // of blocks around what is printed
	vars   map[*ir.Var]string
	arrays map[*ir.Array]string
	text   strings.Builder
}

// NewFunction is a function whose names differ from those of a file.
func NewFunction(file *Namer) *Function {
	names := NewNamer(file)
	return &Function{Names: names, Temps: names, Depth: 1, vars: map[*ir.Var]string{},
		arrays: map[*ir.Array]string{}}
}

// Beside is text of its own, with the same names.
func (f *Function) Beside() *Function {
	return &Function{Names: f.Names, Temps: f.Names, Depth: 1, vars: f.vars, arrays: f.arrays}
}

// Scoped runs write between two braces: temporaries of its block have names of their own.
func (f *Function) Scoped(write func()) {
	before := f.Temps
	f.Temps = NewNamer(before)
	f.Depth++
	write()
	f.Depth--
	f.Temps = before
}

// Line prints a line.
func (f *Function) Line(format string, args ...any) {
	f.text.WriteString(strings.Repeat("    ", f.Depth))
	f.Margin(format, args...)
}

// Margin prints a line at the margin.
func (f *Function) Margin(format string, args ...any) {
	fmt.Fprintf(&f.text, format, args...)
	f.text.WriteByte('\n')
}

// Text is what was printed.
func (f *Function) Text() string { return f.text.String() }

// Comment prints a comment, of one line or several, where names may show.
func (f *Function) Comment(text string) {
	if f.Names.unnamed {
		return
	}
	for _, l := range strings.Split(text, "\n") {
		f.Line("// %s", Comment(l))
	}
}

// Variable is the name of v.
func (f *Function) Variable(v *ir.Var) string {
	if _, ok := f.vars[v]; !ok {
		f.vars[v] = f.Names.User(v.Name)
	}
	return f.vars[v]
}

// Array is the name of a.
func (f *Function) Array(a *ir.Array) string {
	if _, ok := f.arrays[a]; !ok {
		f.arrays[a] = f.Names.User(a.Name)
	}
	return f.arrays[a]
}
