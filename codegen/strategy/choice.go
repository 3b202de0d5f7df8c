package strategy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/cin"
)

// Choice is something that lowering leaves open, and that a scheduling command may decide. Each
// choice has a file of its own and a line in Choices. A new choice has a field in Value or Loop,
// which Follow sets and package lower reads.
type Choice struct {
	Name    string // the name of the command
	Params  []Param
	Meaning string // what the command does, in a few words
	// CPUOnly is the reason why a schedule for a GPU cannot have the command, or "" if it can.
	CPUOnly string
	// Minor is true if the choice's instructions matter only where the leaf's loops have the
	// required form.
	Minor bool
	// Default returns the instructions of the default schedule, with reasons. v already follows the
	// instructions of all choices before this one in Choices. Default may be nil.
	Default func(f *facts, v *Value) []Chosen
	// Always returns further instructions of the default schedule. A schedule of the user also
	// follows each of them, unless it decides the same thing itself. Always may be nil.
	Always func(f *facts, v *Value) []Chosen
	// Follow changes v as the instruction o says, or returns an error that says why this is
	// impossible.
	Follow func(f *facts, v *Value, o Order) error
	// Decides returns a key for what an instruction decides. If two instructions have the same key,
	// the later one counts. Decides may be nil if Always is nil.
	Decides func(f *facts, o Order) string
	// Made returns the instructions that describe the finished strategy v. If Made is nil, these
	// are the instructions that Default and Always returned.
	Made func(f *facts, v *Value) []Chosen
	// Off returns the instruction that undoes o, which Always returned. If Off is nil, a schedule
	// cannot undo o.
	Off func(o Order) Order
}

// Order is an instruction to the strategy: a choice with its arguments, as a scheduling command
// gives them.
type Order struct {
	Choice *Choice
	Loop   Ref    // the loops, or the variable
	Name   string // a tensor, an access, a workspace, or variables separated by commas
	Word   string // a word of the language, or several separated by commas
	N, Far int64  // numbers
}

// Chosen is an instruction that a strategy follows although no command gave it, with the reason.
type Chosen struct {
	Order Order
	Why   string
	// Minor is true if the instruction matters only where the leaf's loops have the required form.
	Minor bool
}

// ParamKind says which values a parameter has, and which field of an Order holds them.
type ParamKind uint8

const (
	LoopParam   ParamKind = iota // Loop: an outermost loop, i or i[2]
	VarParam                     // Loop: a variable that has a loop
	IndexParam                   // Loop: a variable that has a loop, or had one that others replaced
	SameVar                      // Loop: the same variable again
	VarsParam                    // Name: variables in braces
	NameParam                    // Name: a tensor, an access or a workspace
	ResultParam                  // Name: the result
	WordParam                    // Word: one of the parameter's words, or a name in quotes
	NumberParam                  // N
	FarParam                     // Far: a second number
)

// Param is a parameter of a command.
type Param struct {
	Kind     ParamKind
	Name     string   // in the command's usage
	Words    []string // of a WordParam
	Least    int64    // the smallest value of a number
	Optional bool
}

// text returns the argument of o for the parameter, or "" if o does not have it.
func (p Param) text(o Order) string {
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
	case WordParam:
		if len(p.Words) == 1 {
			return p.Words[0]
		}
		return o.Word
	case NumberParam:
		return number(o.N)
	case FarParam:
		return number(o.Far)
	}
	return o.Loop.String()
}

// String returns the scheduling command.
func (o Order) String() string {
	var args []string
	for _, p := range o.Choice.Params {
		if text := p.text(o); text != "" {
			args = append(args, text)
		}
	}
	return o.Choice.Name + "(" + strings.Join(args, ",") + ")"
}

// Usage returns the command with its parameters' names, as in "tile(i, N)".
func (c *Choice) Usage() string {
	var b strings.Builder
	b.WriteString(c.Name + "(")
	for k, p := range c.Params {
		name := p.Name
		if p.Kind == WordParam && name == "" {
			name = strings.Join(p.Words, "|")
		}
		switch {
		case k > 0 && p.Optional:
			name = "[, " + name + "]"
		case k > 0:
			name = ", " + name
		}
		b.WriteString(name)
	}
	return b.String() + ")"
}

// of returns o for the loops over v.
func (o Order) of(v string) Order {
	o.Loop = Ref{Var: v}
	return o
}

// Vars returns the variables that Name lists.
func (o Order) Vars() []string { return strings.Split(o.Name, ",") }

// Ref names loops over Var: the Nth loop in the order of the text, counted from 1, or all loops
// that the context allows if N is 0.
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

// ParseRef parses the name of a loop.
func ParseRef(text string) (Ref, bool) {
	name, rest, numbered := strings.Cut(text, "[")
	if !numbered {
		return Ref{Var: text}, true
	}
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	return Ref{name, n}, err == nil && n > 0 && strings.HasSuffix(rest, "]")
}

// Outermost returns the loops in s that r names and that are not inside other loops.
func (r Ref) Outermost(s cin.Stmt) (out []*cin.Forall) {
	top := outermost(s)
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
