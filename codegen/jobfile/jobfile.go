// Package jobfile is the language of job files: several statements over tensors that stay
// in memory between them.
//
// A file goes through three steps, none of which needs data. Parse reads the text; its
// errors are about syntax, and stand at a line and column of the file with the line and a
// caret. Bind gives params the values of -D and puts params into everything that may hold a
// number. Check walks the file in the order in which it runs and refuses what is wrong
// whatever the data are: names with two meanings, reading before writing, tensors with two
// numbers of modes, types that would lose, and what is not built. Between Bind and Check a
// caller may change the fields of tensors as -i, -o, -t, -f and -d ask for; the syntax trees
// are shared by several fields, and nobody changes them.
//
// What runs a file walks Items in order. Sizes, conditions and the number of passes of a
// repeat are evaluated with Size.Eval, Cond.Eval and Repeat.N; errors that the compiler or
// the loader find in a statement are placed in the file by Statement.Locate.
//
// # Files
//
//	jobfile.go    File and its items
//	lines.go      comments, lines, indentation
//	parse.go      Parse: items and blocks
//	declare.go    param, machine, tensor
//	statement.go  statements with what is indented under them
//	reader.go     what all of these read with
//	size.go       Size
//	cond.go       Cond
//	bind.go       Bind: params become numbers
//	check.go      Check: names and declarations
//	order.go      Check: in the order in which the file runs
//	machine.go    machines, and what placements and commands say of them
//	types.go      CheckTypes: types of tensors that have none given
//	sizes.go      CheckSizes: sizes of names and tensors
//	print.go      the text form
package jobfile

import (
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"iter"
	"slices"
)

// Codes of job files' errors. Statements, formats, types and scheduling commands in a file
// have the codes that they have outside of one.
const (
	Syntax      diag.Code = "job-syntax"      // a line follows no rule of the grammar
	NameClash   diag.Code = "job-name-clash"  // one name for two things
	Unknown     diag.Code = "job-unknown"     // a name that nothing gives a meaning
	ReadEarly   diag.Code = "job-read-early"  // a tensor is read before anything is written to it
	Declaration diag.Code = "job-declaration" // a declaration whose parts do not fit each other
	BadNumber   diag.Code = "job-number"      // a number of the wrong kind or range
)

// File is a job file. A File and what it holds belong to one goroutine while Bind or Check
// runs; afterwards they may be read from several.
type File struct {
	Name  string // as messages name it
	Items []Item // in order
	// Tensors are those that are declared, in order of their declarations, and behind them,
	// after Check, the temporaries, in the order in which they are first written.
	Tensors []*Tensor
	// Sizes are those that names have from elsewhere than the file and its inputs, as -d
	// gives them. Nil for none.
	Sizes map[string]int64
	// SizesFrom has what gave each of Sizes, for messages, or nothing.
	SizesFrom map[string]string

	text   string   // without a byte order mark
	clean  string   // text with spaces for comments
	params []*Param // in order
	named  map[string]*Param
}

// Text is the text that spans are offsets into: the file's own, without a byte order mark.
func (f *File) Text() string { return f.text }

// Errorf makes an error at a place of the file.
func (f *File) Errorf(at notation.Span, code diag.Code, format string, args ...any) *diag.Error {
	return diag.At(code, f.text, at.Pos, at.End, format, args...).InFile(f.Name, 1, 1)
}

// Position is the line and column of an offset into the text, both from 1.
func (f *File) Position(offset int) (line, col int) {
	e := f.Errorf(notation.Span{Pos: offset, End: offset}, Syntax, "")
	return e.Line, e.Col
}

// Statements are the statements, in the order of the text.
func (f *File) Statements() iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) { statements(f.Items, yield) }
}

func statements(items []Item, yield func(*Statement) bool) bool {
	for _, it := range items {
		more := true
		switch it := it.(type) {
		case *Statement:
			more = yield(it)
		case *Repeat:
			more = statements(it.Body, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// Idle reports whether running f does nothing: it has no statement, prints nothing and writes no
// file.
func (f *File) Idle() bool {
	return !acts(f.Items) &&
		!slices.ContainsFunc(f.Tensors, func(t *Tensor) bool { return t.To != "" })
}

// acts reports whether an item is a statement or prints.
func acts(items []Item) bool {
	return slices.ContainsFunc(items, func(it Item) bool {
		switch it := it.(type) {
		case *Statement, *Print:
			return true
		case *Repeat:
			return acts(it.Body)
		}
		return false
	})
}

// Placements are those of declared tensors and of place, in the order of the text.
func (f *File) Placements() iter.Seq[*Placed] {
	return func(yield func(*Placed) bool) { placements(f.Items, yield) }
}

func placements(items []Item, yield func(*Placed) bool) bool {
	for _, it := range items {
		more := true
		switch it := it.(type) {
		case *Tensor:
			more = it.Placement == nil || yield(it.Placement)
		case *Place:
			more = yield(it.Placement)
		case *Repeat:
			more = placements(it.Body, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// Param is the declaration of a parameter, of the given name or nil.
func (f *File) Param(name string) *Param { return f.named[name] }

// Given returns the values of the params that Bind was given for them and that differ from those of
// the file.
func (f *File) Given() map[string]string {
	given := map[string]string{}
	for _, p := range f.params {
		if own, _ := parseNumber(p.text); p.Value != own {
			given[p.Name] = p.Value.Text
		}
	}
	return given
}

// Tensor is the tensor of the given name, nil for none. Temporaries are known after Check.
func (f *File) Tensor(name string) *Tensor {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Item is a *Param, *Machine, *Tensor, *Statement, *Place, *Repeat or *Print.
type Item interface {
	// Span is where the item stands in the file, without what is indented under it.
	Span() notation.Span
	print(p *printer)
}

// span is where something stands.
type span notation.Span

// Span implements Item.
func (s span) Span() notation.Span { return notation.Span(s) }

// Param is a number with a name. -D gives it another value.
type Param struct {
	span
	Name  string
	Value Number
	at    notation.Span // of Name
	text  string        // the value in the file
}

// Number is a real number. Where IsInt is true it is Int, and Float is Int rounded.
type Number struct {
	Text  string // as it was written
	IsInt bool
	Int   int64
	Float float64
}

// Machine arranges the ranks in a grid of Extents, or in a hierarchy of grids.
type Machine struct {
	span
	Name    string
	Extents []Size         // of all grids, those of outer ones first
	Text    string         // "nodes=2x2;gpus=4", or "cosma"; "" for one grid without a name
	levels  *place.Machine // what Text says, but for Extents; nil for one grid without a name
	at      notation.Span  // of Name
}

// Tensor is a tensor of the file: one that is declared, or a temporary. What is not given
// is the zero value.
type Tensor struct {
	span
	Name     string
	Declared bool
	Order    int    // the number of modes
	Sizes    []Size // one a mode; none for a temporary
	Format   string // LEVELS[:ORDER]
	Type     string
	// Placement is where it lies from the beginning; nil for the default.
	Placement *Placed
	// From is the file that it is read from, FromKind the kind that it is generated as
	// (what -g takes), FromNumber the value of a scalar: one of them at most is not "".
	From, FromKind, FromNumber string
	FromAt                     notation.Span
	// IndexBase and Duplicates say how From is read, as the flags do; "" for the default. BaseAt is
	// where the file says IndexBase.
	IndexBase, Duplicates string
	BaseAt                notation.Span
	To                    string // the file that it is written to at the end
	ToAt                  notation.Span

	at   notation.Span // of Name
	from string        // the word behind from where it is a param's name or a kind, as written
}

// Placed is a placement in a file.
type Placed struct {
	span
	Placement place.Placement
}

// At is where it stands.
func (p *Placed) At() notation.Span { return notation.Span(p.span) }

// Statement is a statement with what is indented under it.
type Statement struct {
	span
	// Stmt is the statement with the values of params in it. Its Src is the file's text,
	// so that its spans are those of the file.
	Stmt *notation.Stmt
	// Text is Stmt as a text: that of the file, with numbers for params.
	Text string
	// Schedule are its scheduling commands, Split and Extend the values of those flags, and
	// so are Order and Map.
	Schedule      []Command
	Split, Extend []string
	Order, Map    string
	// Network and IntermediateOrder say how products are contracted, as the flags do; "" and 0 where
	// the file does not.
	Network           string
	IntermediateOrder int

	machine *Machine // see Machine

	file  *File
	raw   *notation.Stmt // with the names of params
	edits []edit         // that made Text of the file's text
	lines []blockLine
}

// blockLine is a line that begins with one of blockWords.
type blockLine struct {
	span
	word, value string // the value as it was written
}

// Command is a scheduling command.
type Command struct {
	span
	// Text is the command with numbers for params.
	Text  string
	raw   string // that of the file
	edits []edit // that made Text of raw
}

// Place moves a tensor.
type Place struct {
	span
	Name      string
	Placement *Placed
	at        notation.Span // of Name
}

// Repeat runs Body N times, or until Until holds after a pass.
type Repeat struct {
	span
	N     int64
	Until *Cond // nil for none
	Fail  bool  // the job fails where Until does not hold after N passes
	Body  []Item

	count Size // N as it was written
}

// Print prints a tensor whenever it is passed.
type Print struct {
	span
	Name string
	at   notation.Span // of Name
}
