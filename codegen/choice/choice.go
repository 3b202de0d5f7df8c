package choice

import (
	"cmp"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Choice is a decision that lowering leaves open. A scheduling command can make the decision. Each
// choice has a file of its own and an entry in Choices. Some choices mark loops. Most other choices
// have a field in strategy.Value or strategy.Loop. Follow sets this field, and package lower reads
// it.
type Choice struct {
	Name    string // the name of the command
	Params  []Param
	Meaning string // what the command does, in a few words
	// CPUOnly is the reason why a schedule for a GPU cannot have the command, or "" if it can.
	CPUOnly string
	// Minor is true if the choice's instructions matter only where the leaf's loops have the
	// required form.
	Minor bool
	// First is true if the command must be the first one, because it changes the statement that the
	// other commands refer to.
	First bool
	// BeforeParallelize is true if a parallelize before the command is applied after it.
	BeforeParallelize bool
	// Takes reports whether a command with this name and these arguments is of this choice. nil
	// means any arguments. Of several choices with one name, the first one that takes the arguments
	// counts.
	Takes func(args []string) bool
	// Mark returns the statement's body (Facts.Body) with the order on its loops, or an error that
	// says why the loops cannot have it. If Mark is nil, the order changes no loops.
	Mark func(f *analysis.Facts, o Order) (cin.Stmt, error)
	// AtEnd returns an error if the loops cannot have the order after all commands of the schedule.
	// AtEnd may be nil.
	AtEnd func(f *analysis.Facts, o Order) error
	// Default returns the instructions of the default schedule, with reasons. v already follows the
	// instructions of all choices before this one in Choices. Default may be nil.
	Default func(f *analysis.Facts, v *strategy.Value) []Chosen
	// Always returns further instructions of the default schedule. A schedule of the user also
	// follows each of them, unless it decides the same thing itself. Always may be nil.
	Always func(f *analysis.Facts, v *strategy.Value) []Chosen
	// Follow changes v as the instruction o says, or returns an error that says why this is
	// impossible. The error is a Fault if an argument is wrong. Follow is called when the command
	// is read, and again on the final loops. Follow may be nil.
	Follow func(f *analysis.Facts, v *strategy.Value, o Order) error
	// DecisionKey returns a key of the decision that an instruction makes. If two instructions have
	// the same key, the later one counts. DecisionKey may be nil if Always and Made are nil.
	DecisionKey func(f *analysis.Facts, o Order) string
	// Made returns the instructions that describe the finished strategy v. If Made is nil, these
	// are the instructions that Default and Always returned.
	Made func(f *analysis.Facts, v *strategy.Value) []Chosen
	// Off returns the instruction that undoes o, which Always returned. If Off is nil, a schedule
	// cannot undo o.
	Off func(o Order) Order
}

// Chosen is an instruction that a strategy follows although no command gave it, with the reason.
type Chosen struct {
	Order Order
	Why   string
	// Minor is true if the instruction matters only where the leaf's loops have the required form.
	Minor bool
}

// Usage returns the command with its parameters' names, as in "tile(i, N)".
func (c *Choice) Usage() string {
	text, closing := c.Name+"(", ")"
	for k, p := range c.Params {
		if p.Optional {
			text, closing = text+"[", "]"+closing
		}
		if k > 0 {
			text += ", "
		}
		text += cmp.Or(p.Name, strings.Join(p.Words, "|"))
	}
	return text + closing
}

// Args returns the smallest and the largest number of arguments of the command.
func (c *Choice) Args() (least, most int) {
	for _, p := range c.Params {
		if !p.Optional {
			least++
		}
		if most++; p.Kind == ModesParam {
			least, most = least+1, maxModes
		}
	}
	return least, most
}

// ApplyCommand reads the arguments of a command of choice c and returns the instruction. The second
// result is the body of the statement after the instruction was applied to its loops. p describes
// the statement, and before has the instructions of the preceding commands. ApplyCommand returns a
// Fault if an argument is wrong. Any other error says why the instruction cannot be followed.
func (c *Choice) ApplyCommand(p *analysis.Problem, before []Order, args []string) (Order, cin.Stmt,
	error) {
	f := analysis.New(p)
	o, err := c.read(f, args)
	if err != nil || c.Mark == nil {
		return o, f.Body, cmp.Or(err, Check(p, before, o))
	}
	body, err := c.Mark(f, o)
	if err != nil {
		return o, nil, err
	}
	marked := *p
	marked.Stmt = f.With(body)
	return o, body, Check(&marked, before, o)
}
