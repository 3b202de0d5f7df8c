// Package jobfile implements the language of job files: several statements over tensors that stay
// in memory between them.
//
// A file is processed in three steps, without data. Parse reads the text. Its errors are about
// syntax, and have a line and column of the file, the text of the line, and a caret. Bind gives
// params the values of -D and puts params into everything that may contain a number. Check walks
// the file in the order of its execution and reports mistakes that do not depend on data: names
// with two meanings, reads before writes, tensors with two numbers of modes, types that would lose
// values, and features that are not supported. Between Bind and Check, a caller may change the
// fields of tensors for -i, -o, -t, -f and -d. Several fields share the syntax trees, so nobody may
// change these.
//
// The code that runs a file walks Items in order. It evaluates sizes with Size.Eval and conditions
// with Cond.Eval, and Repeat.N is the number of passes of a repeat. Statement.Locate gives an error
// that the compiler or the loader finds in a statement its place in the file.
//
// # Files
//
//	jobfile.go    File and its items
//	source.go     places in the file, in included files and in calls
//	lines.go      comments, lines, indentation
//	parse.go      Parse: items and blocks
//	declare.go    param, machine, tensor
//	statement.go  statements with the lines that are indented under them
//	reader.go     reads words, names and quotes for the other files
//	size.go       Size
//	cond.go       Cond
//	linalg.go     functions of whole matrices
//	def.go        functions of scalars, and their calls
//	proc.go       procedures and their calls
//	bind.go       Bind: puts numbers in place of params
//	check.go      Check: names and declarations
//	order.go      Check: in the order of execution
//	machine.go    machines, and their uses in placements and commands
//	types.go      CheckTypes: types of tensors without a declared type
//	sizes.go      CheckSizes: sizes of names and tensors
//	print.go      the text form
//	help.go       the forms of lines, for help
package jobfile

import (
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"iter"
	"slices"
)

// Codes of errors in job files. Statements, formats, types and scheduling commands in a file have
// the same codes as elsewhere.
const (
	Syntax      diag.Code = "job-syntax"      // a line does not follow the grammar
	NameClash   diag.Code = "job-name-clash"  // one name for two things
	Unknown     diag.Code = "job-unknown"     // a name without a meaning
	ReadEarly   diag.Code = "job-read-early"  // a tensor is read before it is written
	Declaration diag.Code = "job-declaration" // a line, or a part of it, is not allowed here
	BadNumber   diag.Code = "job-number"      // a number of the wrong kind or range
)

// File is a job file. While Bind or Check runs, a File and everything in it belong to one
// goroutine. Afterwards several goroutines may read them.
type File struct {
	Name  string // the name in messages
	Items []Item // in order
	// Tensors lists the declared tensors in the order of their declarations. After Check, the
	// temporaries follow, in the order of their first writes.
	Tensors []*Tensor
	// Sizes has sizes of names that come neither from the file nor from its inputs, but from -d. It
	// may be nil.
	Sizes map[string]int64
	// SizesFrom has what gave each of Sizes, for messages, or nothing.
	SizesFrom map[string]string
	// Formats has the formats of temporaries, which -f gives. It may be nil.
	Formats map[string]string

	text  string // without a byte order mark
	clean string // text with spaces in place of comments
	// segments has the parts of text, in order.
	segments []*segment
	params   []*Param // in order
	named    map[string]*Param
	// maybe has, after Check, the tensors that may have no values at the end of the file: by name,
	// what a message says about the tensor.
	maybe map[string]string
}

// MayLackValues returns what a message says about a tensor that may have no values at the end of
// the file, because a condition decides whether it is computed. It returns "" if the tensor has
// values.
func (f *File) MayLackValues(name string) string { return f.maybe[name] }

// Text returns the file's text without a byte order mark. Spans are offsets in this text. The texts
// of included files, and the texts that calls make, follow the text of the file.
func (f *File) Text() string { return f.text }

// Statements returns the statements in the order of the text.
func (f *File) Statements() iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for it := range All(f.Items) {
			if s, ok := it.(*Statement); ok && !yield(s) {
				return
			}
		}
	}
}

// All returns the items and the items inside them, in the order of the text.
func All(items []Item) iter.Seq[Item] {
	return func(yield func(Item) bool) { all(items, yield) }
}

func all(items []Item, yield func(Item) bool) bool {
	for _, it := range items {
		if !yield(it) {
			return false
		}
		for _, block := range Blocks(it) {
			if !all(block, yield) {
				return false
			}
		}
	}
	return true
}

// Blocks returns the lists of items inside an item, in the order of the text. The items inside a
// call are the items of the procedure, with the names of the call.
func Blocks(it Item) [][]Item {
	switch it := it.(type) {
	case *Repeat:
		return [][]Item{it.Body}
	case *If:
		return [][]Item{it.Then, it.Else}
	case *Call:
		return [][]Item{it.Body}
	}
	return nil
}

// Idle reports whether running f does nothing: it has no statement, prints nothing and writes no
// file.
func (f *File) Idle() bool {
	for it := range All(f.Items) {
		switch it.(type) {
		case *Statement, *Linalg, *Print:
			return false
		}
	}
	return !slices.ContainsFunc(f.Tensors, func(t *Tensor) bool { return t.To != "" })
}

// Branches reports whether some items run only if a condition holds: items of an if, or items after
// a break or a continue.
func (f *File) Branches() bool {
	for it := range All(f.Items) {
		switch it.(type) {
		case *If, *Leave:
			return true
		}
	}
	return false
}

// Placements returns the placements of declared tensors and of place items, in the order of the
// text.
func (f *File) Placements() iter.Seq[*Placed] {
	return func(yield func(*Placed) bool) {
		for it := range All(f.Items) {
			more := true
			switch it := it.(type) {
			case *Tensor:
				more = it.Placement == nil || yield(it.Placement)
			case *Place:
				more = yield(it.Placement)
			}
			if !more {
				return
			}
		}
	}
}

// Param returns the declaration of the param with the given name, or nil.
func (f *File) Param(name string) *Param { return f.named[name] }

// Given returns the values of params that were passed to Bind and differ from the values in the
// file.
func (f *File) Given() map[string]string {
	given := map[string]string{}
	for _, p := range f.params {
		if own, _ := parseNumber(p.text); p.Value != own {
			given[p.Name] = p.Value.Text
		}
	}
	return given
}

// Tensor returns the tensor with the given name, or nil. Temporaries are known after Check.
func (f *File) Tensor(name string) *Tensor {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Assigned returns the number of modes of a tensor on a left side. ok is false if no left side has
// the tensor.
func (f *File) Assigned(name string) (order int, ok bool) {
	for it := range All(f.Items) {
		switch it := it.(type) {
		case *Statement:
			if it.raw.LHS.Name == name {
				return len(it.raw.LHS.Vars), true
			}
		case *Linalg:
			if k := slices.Index(it.Out, name); k >= 0 {
				return it.order(k), true
			}
		}
	}
	return 0, false
}

// Item is a *Param, *Machine, *Tensor, *Statement, *Place, *Repeat, *If, *Leave, *Linalg,
// *Def, *Proc, *Call or *Print.
type Item interface {
	// Span returns the place of the item in the file, without the lines that are indented under it.
	Span() notation.Span
	print(p *printer)
}

// span is the place of something in the file.
type span notation.Span

// Span implements Item.
func (s span) Span() notation.Span { return notation.Span(s) }

// Param is a number with a name. -D can give it another value.
type Param struct {
	span
	Name  string
	Value Number
	at    notation.Span // the place of Name
	text  string        // the value in the file
}

// Number is a real number. If IsInt is true, its value is Int, and Float is Int rounded to a float.
type Number struct {
	Text  string // as written, without a plus sign and spaces
	IsInt bool
	Int   int64
	Float float64
}

// Machine arranges the ranks in a grid of Extents, or in a hierarchy of grids.
type Machine struct {
	span
	Name    string
	Extents []Size // of all grids, outer grids first; none for cosma and if -m gives the machine
	Text    string // "nodes=2x2;gpus=4", or "cosma"; "" if the file lists the extents
	// levels has the grids that Text describes. An extent that is not written as a number is 1
	// there. levels is nil if Text is "".
	levels *place.Machine
	at     notation.Span // the place of Name
}

// Tensor is a tensor of the file: a declared one, or a temporary. Fields that neither the file nor
// a flag gives are zero.
type Tensor struct {
	span
	Name     string
	Declared bool
	Order    int    // the number of modes
	Sizes    []Size // one for each mode; empty if the tensor is a temporary
	Format   string // LEVELS[:ORDER]
	Type     string
	// Placement is the tensor's initial placement. If it is nil, the tensor has the default
	// placement.
	Placement *Placed
	// At most one of these is not "". From is the file that the tensor is read from. FromKind is
	// the kind of generated data, in the syntax of -g. FromNumber is the value of a scalar.
	From, FromKind, FromNumber string
	FromAt                     notation.Span
	// IndexBase and Duplicates say how From is read, like the flags --index-base and --duplicates;
	// "" means the default. BaseAt is the place of IndexBase in the file.
	IndexBase, Duplicates string
	BaseAt                notation.Span
	To                    string // the file that the tensor is written to at the end
	ToAt                  notation.Span

	at   notation.Span // the place of Name
	from string        // the word after from as written, if it is a param's name or a kind
}

// Placed is a placement in a file.
type Placed struct {
	span
	Placement place.Placement
}

// At returns the place of the placement.
func (p *Placed) At() notation.Span { return notation.Span(p.span) }

// Statement is a statement with the lines that are indented under it.
type Statement struct {
	span
	// Stmt is the statement with the values of params. Its Src is the file's text, so its spans are
	// offsets in the file.
	Stmt *notation.Stmt
	// Text is the text of Stmt: the text of the file, with numbers in place of params.
	Text string
	// Schedule has the statement's scheduling commands. Split, Extend, Order and Map have the
	// values of the flags with these names.
	Schedule      []Command
	Split, Extend []string
	Order, Map    string
	// Network and IntermediateOrder say how products are contracted, like the flags with these
	// names. They are "" and 0 if the file does not say so.
	Network           string
	IntermediateOrder int
	// On names the target of the statement, "cpu" or "gpu". It is "" if the file names none.
	On string

	machine *Machine // see the method Machine

	file  *File
	raw   *notation.Stmt // with the names of params
	edits []edit         // the edits that turn the file's text into Text
	lines []blockLine
}

// blockLine is a line that begins with one of blockWords.
type blockLine struct {
	span
	word, value string // the value with the names of params, without needless spaces
}

// Command is a scheduling command.
type Command struct {
	span
	// Text is the command with numbers in place of params.
	Text  string
	raw   string // the command as in the file
	edits []edit // the edits that turn raw into Text
}

// Place moves a tensor.
type Place struct {
	span
	Name      string
	Placement *Placed
	at        notation.Span // the place of Name
}

// Repeat runs Body at most N times. After each pass it tests the condition Until, if there is one,
// and ends if the condition is true.
type Repeat struct {
	span
	N     int64
	Until *Cond // nil if the repeat has no condition
	Fail  bool  // the job fails if Until is still false after N passes
	Body  []Item

	count Size // N as written
}

// If runs Then if Cond is true, and Else if Cond is false.
type If struct {
	span
	Cond       *Cond
	Then, Else []Item
	chained    bool // the file has "else if": the only item of Else is an If
}

// Leave ends the current pass of the innermost repeat if Cond is true. With Next, the repeat goes
// on: it tests its condition, and begins the next pass. Otherwise the repeat ends.
type Leave struct {
	span
	Cond *Cond
	Next bool
}

// Word returns the keyword of l.
func (l *Leave) Word() string {
	if l.Next {
		return "continue"
	}
	return "break"
}

// Print prints a tensor each time that the run reaches it.
type Print struct {
	span
	Name string
	at   notation.Span // the place of Name
}
