package choice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/provenance"
)

// Order is an instruction to the strategy: a choice with its arguments, as a scheduling command
// gives them.
type Order struct {
	Choice *Choice
	Loop   Ref    // the loops, or the variable
	Name   string // a tensor, an access, a workspace, or variables separated by commas
	Word   string // a word of the language, or several separated by commas
	N, Far int64  // numbers
}

// ParamKind says which values a parameter has, and which field of an Order holds them.
type ParamKind uint8

const (
	LoopParam   ParamKind = iota // Loop: an outermost loop, i or i[2]
	VarParam                     // Loop: a variable that has a loop
	IndexParam                   // Loop: a variable that has a loop, or had one that others replaced
	KeptParam                    // Loop: a variable that has a loop, also one that others replaced
	SameVar                      // Loop: the same variable again
	VarsParam                    // Name: variables in braces
	NameParam                    // Name: a tensor, an access or a workspace
	ResultParam                  // Name: the result
	WordParam                    // a part of Word: one of the parameter's words
	TextParam                    // a part of Word: any text, which Mark or Follow checks
	ModesParam                   // a part of Word: the modes of a tensor, in all further arguments
	NumberParam                  // N
	FarParam                     // Far: a second number
	PartParam                    // N: a number of at least 1; or Name: another text
)

// Param is a parameter of a command.
type Param struct {
	Kind     ParamKind
	Name     string   // in the command's usage
	Words    []string // of a WordParam or TextParam; Order.Word lacks the only word of a WordParam
	Least    int64    // the smallest value of a number
	Optional bool
}

// isWord reports whether Order.Word holds the argument.
func (p Param) isWord() bool {
	return p.Kind == TextParam || p.Kind == ModesParam || p.Kind == WordParam && len(p.Words) != 1
}

// String returns the scheduling command.
func (o Order) String() string {
	var args []string
	words := strings.SplitN(o.Word, ",", o.Choice.words())
	for _, p := range o.Choice.Params {
		word := ""
		if p.isWord() && len(words) > 0 {
			word, words = words[0], words[1:]
		}
		if text := p.text(o, word); text != "" {
			args = append(args, text)
		}
	}
	return o.Choice.Name + "(" + strings.Join(args, ",") + ")"
}

// words returns the number of parts of Order.Word.
func (c *Choice) words() (n int) {
	for _, p := range c.Params {
		if p.isWord() {
			n++
		}
	}
	return n
}

// text returns the argument that o has for parameter p, or "" if o has none. word is the
// parameter's part of o.Word.
func (p Param) text(o Order, word string) string {
	number := func(n int64) string {
		if n == 0 && p.Optional {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	switch p.Kind {
	case VarsParam:
		return "{" + o.Name + "}"
	case NameParam, ResultParam:
		return o.Name
	case WordParam, TextParam, ModesParam:
		if !p.isWord() {
			return p.Words[0]
		}
		return word
	case NumberParam:
		return number(o.N)
	case FarParam:
		return number(o.Far)
	case PartParam:
		return cmp.Or(o.Name, number(o.N))
	}
	return o.Loop.String()
}

// Fault is a mistake in argument Arg of a command, counted from 0, or in the whole command if Arg
// is -1. Syntax is true if the argument does not have the form that the command requires.
type Fault struct {
	Arg    int
	Syntax bool
	Why    string
}

func (e *Fault) Error() string { return e.Why }

// refused returns a Fault in argument k.
func refused(k int, format string, args ...any) error {
	return &Fault{Arg: k, Why: diag.Sprintf(format, args...)}
}

// misspelt returns a Fault for argument k, whose text does not have the form that the command
// requires. The message is made from format and args.
func misspelt(k int, format string, args ...any) error {
	return &Fault{Arg: k, Syntax: true, Why: diag.Sprintf(format, args...)}
}

// Wanted returns the error for argument k, which is not one of the words that a command accepts
// there.
func Wanted(k int, got string, words []string) error {
	return misspelt(k, "got %s, want %s%s", got, diag.Either(words), diag.DidYouMean(got, words))
}

// Number parses argument k as a number from least to 2^40.
func Number(k int, text string, least int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0, misspelt(k, "got %s, want a whole number", text)
	case n < least || n > 1<<40:
		return 0, refused(k, "got the number %d, want %d to 2^40", n, least)
	}
	return n, nil
}

// HasLoop checks argument k of a command, which names the variable v. It returns an error if s has
// no loop over v, or if a relation in g replaced v.
func HasLoop(k int, v string, s cin.Stmt, g *provenance.Graph) error {
	if r := g.ReplacedBy(v); r != nil {
		return refused(k, "%s no longer exists: it was replaced by %s", v, r)
	}
	if !notation.IsName(v) || len(cin.Loops(s, v)) == 0 {
		return refused(k, "got %s, want a variable that the statement loops over: %s", v,
			strings.Join(cin.LoopVars(s), ", "))
	}
	return nil
}

// read returns the order that a command's arguments give.
func (c *Choice) read(f *analysis.Facts, args []string) (Order, error) {
	o, last := Order{Choice: c}, len(c.Params)-1
	for k, text := range args {
		p := c.Params[min(k, last)]
		err := p.read(f, k, text, &o)
		if p.Kind == ModesParam {
			err = checkMode(k, text, len(args)-last, o.Word)
		}
		if err != nil {
			return o, err
		}
		switch {
		case p.isWord() && o.Word != "":
			o.Word += "," + text
		case p.isWord():
			o.Word = text
		}
	}
	return o, nil
}

// read reads argument k of a command and sets it in o. It checks a word but leaves o.Word to
// Choice.read.
func (p Param) read(f *analysis.Facts, k int, text string, o *Order) (err error) {
	switch p.Kind {
	case LoopParam:
		o.Loop, err = parseRef(f, k, text)
	case VarParam:
		o.Loop.Var, err = text, HasLoop(k, text, f.Body, f.Graph)
	case IndexParam:
		if o.Loop.Var = text; !f.Graph.IsReplaced(text) {
			err = HasLoop(k, text, f.Body, f.Graph)
		}
	case KeptParam:
		if o.Loop.Var = text; !f.Graph.IsReplaced(text) || len(cin.Loops(f.Body, text)) == 0 {
			err = HasLoop(k, text, f.Body, f.Graph)
		}
	case NameParam:
		o.Name = text
	case ResultParam:
		if o.Name = f.ResultName(); text != o.Name {
			err = refused(k, "got %s, want the result, %s", text, o.Name)
		}
	case WordParam:
		if !slices.Contains(p.Words, text) {
			err = Wanted(k, text, p.Words)
		}
	case NumberParam:
		o.N, err = Number(k, text, p.Least)
	case FarParam:
		o.Far, err = Number(k, text, p.Least)
	case PartParam:
		if o.N, err = strconv.ParseInt(text, 10, 64); err != nil || o.N < 1 {
			o.N, o.Name, err = 0, text, nil
		}
	}
	return err
}

// parseRef parses argument k as a reference to a loop: a variable that has a loop, followed by [N]
// to select the Nth of several loops.
func parseRef(f *analysis.Facts, k int, text string) (Ref, error) {
	name, rest, numbered := strings.Cut(text, "[")
	r, ok := Ref{Var: name}, true
	if numbered {
		n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
		r.N, ok = n, err == nil && n > 0 && strings.HasSuffix(rest, "]")
	}
	if !ok || !notation.IsName(name) || len(cin.Loops(f.Body, name)) < max(r.N, 1) {
		return r, refused(k,
			"got %s, want a variable that the statement loops over, with [N] for the Nth of its "+
				"loops: %s", text, strings.Join(cin.LoopVars(f.Body), ", "))
	}
	return r, nil
}

// of returns o for the loops over v.
func (o Order) of(v string) Order {
	o.Loop = Ref{Var: v}
	return o
}

// Vars returns the variables that Name lists.
func (o Order) Vars() []string { return strings.Split(o.Name, ",") }

// Ref names loops over the variable Var. If N is 0, it names all loops that the context allows.
// Otherwise it names the Nth loop in the order of the text, counted from 1.
type Ref struct {
	Var string
	N   int
}

func (r Ref) String() string {
	if r.N == 0 {
		return r.Var
	}
	return fmt.Sprintf("%s[%d]", r.Var, r.N)
}

// Outermost returns the loops in s that r names and that are not inside other loops.
func (r Ref) Outermost(s cin.Stmt) (out []*cin.Forall) {
	top := analysis.Outermost(s)
	n := 0
	cin.Walk(s, func(t cin.Stmt) {
		if l, ok := t.(*cin.Forall); ok && l.Var == r.Var {
			if n++; (r.N == 0 || r.N == n) && slices.Contains(top, l) {
				out = append(out, l)
			}
		}
	})
	return out
}
