package clike

import (
	"fmt"
	"strings"

	"distaff/codegen/ir"
)

// Function is a function while it is printed: its body's text and its names. It implements Variable
// and Array of Dialect.
type Function struct {
	Names  *Namer // names for the IR's names, which are all assigned at the start
	Temps  *Namer // names for temporaries that are declared in the current block
	Depth  int    // number of blocks around the printed place
	vars   map[*ir.Var]string
	arrays map[*ir.Array]string
	text   strings.Builder
}

// NewFunction returns a function whose names differ from the names of a file.
func NewFunction(file *Namer) *Function {
	names := NewNamer(file)
	return &Function{Names: names, Temps: names, Depth: 1, vars: map[*ir.Var]string{},
		arrays: map[*ir.Array]string{}}
}

// WithSharedNames returns a function that starts with an empty text and shares the names of f.
func (f *Function) WithSharedNames() *Function {
	return &Function{Names: f.Names, Temps: f.Names, Depth: 1, vars: f.vars, arrays: f.arrays}
}

// Scoped calls write to print the statements of a block, indented by one more level. The caller
// prints the braces. Temporaries of the block get names that are valid only there.
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

// Margin prints a line without indentation.
func (f *Function) Margin(format string, args ...any) {
	fmt.Fprintf(&f.text, format, args...)
	f.text.WriteByte('\n')
}

// Text returns the printed text.
func (f *Function) Text() string { return f.text.String() }

// Comment prints a comment of one or more lines. It prints nothing if the function is printed
// without the user's names, because comments contain names.
func (f *Function) Comment(text string) {
	if f.Names.unnamed {
		return
	}
	for _, l := range strings.Split(text, "\n") {
		f.Line("// %s", Comment(l))
	}
}

// Variable returns the name of v.
func (f *Function) Variable(v *ir.Var) string {
	if _, ok := f.vars[v]; !ok {
		f.vars[v] = f.Names.User(v.Name)
	}
	return f.vars[v]
}

// Array returns the name of a.
func (f *Function) Array(a *ir.Array) string {
	if _, ok := f.arrays[a]; !ok {
		f.arrays[a] = f.Names.User(a.Name)
	}
	return f.arrays[a]
}
