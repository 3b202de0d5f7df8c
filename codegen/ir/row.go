package ir

import (
	"iter"
	"strings"

	"distaff/io/tensor"
)

// Stmt is an imperative statement. Its method row is all that this package and the analyses of
// other packages need to know about an operation. A statement whose operands have rules of their
// own also has a method check (see checker).
type Stmt interface {
	// row gives r the statement's text form, its operands in the order of the text, and its traits.
	row(r *Row)
	// clone returns a copy that has its own lists. It shares the blocks inside the statement.
	clone() Stmt
}

// Row describes a statement: its operands, in the order of the text form, and its traits.
type Row struct {
	Operands []Operand
	Traits   Trait
	reader   *parser   // if set, row reads the statement's text
	writer   *printer  // if set, row writes the statement's text
	texts    *[]string // if set, row appends the texts of its form
}

// Trait is a set of properties of a statement.
type Trait uint16

const (
	// Pure statements do nothing except setting their variable, if they have one.
	Pure Trait = 1 << iota
	// Allocates: the statement takes memory. It fails if there is none.
	Allocates
	// Frees: the statement returns memory.
	Frees
	// Ends: the statement ends the leaf.
	Ends
	// OnHost: the host of a GPU can run the statement.
	OnHost
	// OnThread: a thread of a Launch can run the statement.
	OnThread
	// OnlyThread: only a thread of a Launch can run the statement.
	OnlyThread
	// Waits: the threads of a Launch that run the statement wait for each other.
	Waits
)

// Role says what a statement does with an operand.
type Role uint8

const (
	Computes Role = iota // evaluates an expression
	Values               // evaluates a value that the statement stores, or gives to a variable
	Scales               // evaluates a factor of such values

	// From, To and Count are numbers. The statement visits the elements from From up to To, or as
	// many elements as the product of its Counts.
	From
	To
	Count

	Loads   // reads elements of an array, or of a table
	Stores  // stores to elements of an array
	Updates // reads elements of an array, and stores to them
	Hints   // gives advice about an array

	Makes       // makes an array or a table, which the leaf owns
	MakesLocal  // makes an array in registers, or on the stack
	MakesShared // makes an array that the threads of a block share
	Owns        // resizes, frees or hands over an array or a table that the leaf made

	Declares // introduces a variable
	Sets     // changes a variable
	Sums     // adds to a variable in each iteration
)

// Makes reports whether the role is to make an array or a table.
func (r Role) Makes() bool { return r >= Makes && r <= MakesShared }

// Operand is an operand of a statement.
type Operand struct {
	Role  Role
	typ   tensor.Type // the type that it must have; None if the statement's own check says it
	least uint8       // the largest integer that the text form leaves out, if text is not empty
	// text is the operand's name in errors. For a flag, it is the flag's spelling if it is set, a
	// bar, and the spelling if it is not set.
	text string
	at   any // a pointer to the field that holds it
}

// of returns the operand o with t as its required type.
func (o Operand) of(t tensor.Type) Operand { o.typ = t; return o }

// num returns the operand for an Int64 expression. name is the operand's name in error messages.
func num(x *Expr, name string) Operand {
	return Operand{at: x, typ: tensor.Int64, text: name}
}

func count(x *Expr, name string) Operand {
	return Operand{at: x, typ: tensor.Int64, text: name, Role: Count}
}

func start(x *Expr) Operand { return Operand{at: x, typ: tensor.Int64, text: "start", Role: From} }
func end(x *Expr) Operand   { return Operand{at: x, typ: tensor.Int64, text: "end", Role: To} }
func cond(x *Expr) Operand  { return Operand{at: x, typ: tensor.Bool, text: "condition"} }

// value returns the operand for an expression of any type, whose value the statement stores, gives
// to a variable or passes on.
func value(x *Expr) Operand { return Operand{at: x, Role: Values} }

// factor returns the operand for an expression that the text form writes in parentheses if it is an
// operation such as x + y.
func factor(x *Expr) Operand { return Operand{at: x, Role: Scales} }

func loads(a **Array) Operand   { return Operand{at: a, Role: Loads} }
func stores(a **Array) Operand  { return Operand{at: a, Role: Stores} }
func updates(a **Array) Operand { return Operand{at: a, Role: Updates} }
func hints(a **Array) Operand   { return Operand{at: a, Role: Hints} }
func makes(a **Array) Operand   { return Operand{at: a, Role: Makes} }
func owns(a **Array) Operand    { return Operand{at: a, Role: Owns} }

func table(t **Table, role Role) Operand { return Operand{at: t, Role: role} }

// declares returns the operand for a variable that the text form writes with its type.
func declares(v **Var) Operand { return Operand{at: v, Role: Declares} }

// counter returns the operand for a variable of type Int64 that the statement introduces.
func counter(v **Var) Operand { return Operand{at: v, Role: Declares, typ: tensor.Int64} }

func sets(v **Var) Operand { return Operand{at: v, Role: Sets} }

// word returns the operand for a flag. text has two parts, separated by a bar: the text form writes
// the first part if the flag is set, and the second part otherwise.
func word(b *bool, text string) Operand { return Operand{at: b, text: text} }

// constant returns the operand for the integer n of a statement. The integer is fixed when code is
// generated; it is not an expression of the code.
func constant(n *int64) Operand { return Operand{at: n} }

// above returns the operand for the integer *n of a statement. If *n is more than least, the
// statement is written with a prefix (text) and the integer. Otherwise both are left out.
func above(n *int64, least uint8, text string) Operand {
	return Operand{at: n, text: text, least: least}
}

func label(s *string) Operand { return Operand{at: s} }

// inside returns the operand for a block.
func inside(b **Block) Operand { return Operand{at: b} }

// orElse returns the operand for a block that may be nil. The text form writes it after else.
func orElse(b **Block) Operand { return Operand{at: b, text: " else "} }

// Arrays yields the arrays of the statement itself, with their roles. It leaves out arrays that
// only the statement's expressions read.
func (r *Row) Arrays() iter.Seq2[*Array, Role] {
	return func(yield func(*Array, Role) bool) {
		for k := range r.Operands {
			o := &r.Operands[k]
			if a, ok := o.at.(**Array); ok && !yield(*a, o.Role) {
				return
			}
		}
	}
}

// Tables yields the tables of the statement.
func (r *Row) Tables() iter.Seq2[*Table, Role] {
	return func(yield func(*Table, Role) bool) {
		for k := range r.Operands {
			o := &r.Operands[k]
			if t, ok := o.at.(**Table); ok && !yield(*t, o.Role) {
				return
			}
		}
	}
}

// Vars yields the variables that the statement declares, sets or sums.
func (r *Row) Vars() iter.Seq2[*Var, Role] {
	return func(yield func(*Var, Role) bool) {
		for k := range r.Operands {
			o := &r.Operands[k]
			if v, ok := o.at.(**Var); ok && !yield(*v, o.Role) {
				return
			}
		}
	}
}

// Exprs yields the expressions of the statement itself, without the expressions of statements
// inside it.
func (r *Row) Exprs() iter.Seq2[Expr, Role] {
	return func(yield func(Expr, Role) bool) {
		for k := range r.Operands {
			o := &r.Operands[k]
			if x := o.expr(); x != nil && !yield(*x, o.Role) {
				return
			}
		}
	}
}

// expr returns the field that holds an expression, or nil if the operand is something else.
func (o *Operand) expr() *Expr {
	x, _ := o.at.(*Expr)
	return x
}

// IsDead reports whether the statement does nothing except computing a variable that nothing reads.
// live has the variables that something reads.
func (r *Row) IsDead(live map[*Var]bool) bool {
	if r.Traits&Pure != 0 {
		for v := range r.Vars() {
			return !live[v]
		}
	}
	return false
}

// replace replaces array a of the statement by b.
func (r *Row) replace(a, b *Array) {
	for _, o := range r.Operands {
		if at, ok := o.at.(**Array); ok && *at == a {
			*at = b
		}
	}
}

// RowOf returns the row of s.
func RowOf(s Stmt) *Row {
	r := &Row{}
	s.row(r)
	return r
}

// Describe makes r the row of s.
func (r *Row) Describe(s Stmt) {
	r.Operands, r.Traits = r.Operands[:0], 0
	s.row(r)
}

// The following methods are called by the methods row of statements.

// add adds operands to the row. But while the statement is printed, add writes the operands, and
// while the statement is parsed, add reads the operands. form is the text form of the operands,
// with a % for each.
func (r *Row) add(form string, operands ...Operand) {
	switch {
	case r.writer != nil:
		r.writer.form(form, operands)
	case r.reader != nil:
		r.reader.form(form, operands)
	case r.texts != nil:
		if len(*r.texts) == 0 && form[0] == '%' { // the text begins with a flag or a name
			form = operands[0].text + form
		}
		*r.texts = append(*r.texts, form)
	default:
		r.Operands = append(r.Operands, operands...)
	}
}

// hasNext reports whether a list has another element. sep is the text before this element.
//
// While a statement is parsed, the next token decides. If sep is not "", the result is true if this
// token is sep, which hasNext then skips. If sep is "", the result is true unless the token is a
// closing bracket.
//
// At other times the caller knows the answer, and hasNext returns the argument more. While a
// statement is printed and more is true, hasNext also writes sep.
func (r *Row) hasNext(more bool, sep string) bool {
	switch {
	case r.reader != nil && sep == "":
		return !r.reader.is(")") && !r.reader.is("}")
	case r.reader != nil:
		return r.reader.accept(strings.TrimSpace(sep))
	case r.writer != nil && more:
		r.writer.text(sep)
	case r.texts != nil:
		*r.texts = append(*r.texts, sep)
	}
	return more
}

// at returns a pointer to element k of a list. If the list has k elements, at appends one.
func at[T any](list *[]T, k int) *T {
	if k == len(*list) {
		*list = append(*list, *new(T))
	}
	return &(*list)[k]
}

// sep returns the text before element k of a list.
func sep(k int) string {
	if k == 0 {
		return ""
	}
	return ", "
}

// inBraces adds operands with the given role to r: the extents or strides of several index
// variables. The text form has braces around them, unless there is exactly one.
func (r *Row) inBraces(list *[]Expr, role Role) {
	element := func(k int) {
		r.add("%", Operand{at: at(list, k), typ: tensor.Int64, text: "number", Role: role})
	}
	if !r.hasNext(len(*list) != 1, "{") {
		element(0)
		return
	}
	for k := 0; r.hasNext(k < len(*list), sep(k)); k++ {
		element(k)
	}
	r.add("}")
}

// Statements returns an empty statement of each kind.
func Statements() []Stmt {
	return []Stmt{&Block{}, &Comment{}, &Declare{}, &Assign{}, &Store{}, &For{}, &While{}, &If{},
		&Ordered{}, &Fail{}, &Alloc{}, &Local{}, &Shared{}, &Grow{}, &Free{}, &Publish{}, &Prefetch{},
		&AllocTable{}, &Keep{}, &Take{}, &FreeTable{}, &Fill{}, &Copy{}, &Sort{}, &SortBy{}, &Scan{},
		&Mark{}, &Collect{}, &Union{}, &Gemm{}, &SpMM{}, &Call{Func: &Extern{}}, &Launch{}, &Barrier{},
		&Shuffle{}, &Fetch{}}
}
