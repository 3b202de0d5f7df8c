// Package schedule implements the scheduling language: commands that rewrite a statement in
// concrete index notation so that it is faster and means the same.
//
// A command is a function from a statement to a statement, or to a refusal with its reason.
// Commands on loops (split, fuse, ...) replace loops with loops over derived variables and record
// the relation between the variables (package provenance). The accesses keep their variables.
// Package lower uses the relations to decide what the loops do. After each command, the whole
// statement is checked against the rules that lowering relies on (check.go). A schedule that passes
// is therefore correct for every input. The exception is IgnoreRaces: the user who writes it takes
// responsibility.
//
// The language is the one of Senanayake (2020), chapters 5 and 7, with TACO's precompute (Kjolstad
// et al., "Tensor Algebra Compilation with Workspaces", 2019).
//
// # Files
//
//	schedule.go     the table of commands; Apply
//	state.go        the state that commands change, and their arguments
//	parse.go        the text of commands; text.go, the text of a whole schedule
//	spelling.go     words of the language, and how TACO and DISTAL write them
//	choices.go      commands that only give the strategy an instruction
//	part.go         the commands that apply to some of a statement's terms
//	check.go        the rules that a scheduled statement must satisfy
//	split.go        split and divide
//	fuse.go         fuse; fission.go, the loop fission that it may need
//	reorder.go      reorder
//	pos.go          pos: from coordinates to positions
//	coord.go        coord: from positions to coordinates
//	bound.go        bound
//	precompute.go   precompute; implicit.go, the temporaries that no command made
//	quotient.go     where precompute may divide integers
//	substitute.go   substitute
package schedule

import (
	"slices"
	"strings"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/provenance"
)

// command is one command of the language.
type command struct {
	name, usage string
	meaning     string // what the command does, in a few words
	min, max    int    // bounds of the number of arguments
	// makes lists the numbers of the arguments that name new variables or workspaces.
	makes []int
	// words is the number of the first argument that can be a word of the language, or 0.
	words int
	apply func(*state) error // nil if the command distributes a statement over ranks
	// A parallelize may stay before a late command (see parallelLast).
	late bool
	// cpuOnly is the reason why a schedule for a GPU cannot have the command, or "".
	cpuOnly string
}

// commands lists all commands in the order in which the help shows them. The commands of
// choice.Choices only pass an instruction on to the strategy. A call of chosen places such a
// command in the list. All others of choice.Choices are inserted before distribute.
var commands = func() []command {
	list := []command{
		{name: "split", usage: "split(i, i0, i1, N)", meaning: "divides the loop over i into tiles of N",
			min: 4, max: 4, makes: []int{1, 2}, apply: outsideProducts(split)},
		{name: "divide", usage: "divide(i, i0, i1, N)", meaning: "divides the loop over i into N equal " +
			"tiles",
			min: 4, max: 4, makes: []int{1, 2}, apply: outsideProducts(divide)},
		{name: "fuse", usage: "fuse(i, j, f)", meaning: "makes one loop over pairs of two nested loops",
			min: 3, max: 3, makes: []int{2}, apply: outsideProducts(fuse)},
		{name: "reorder", usage: "reorder(i, j, ...)", meaning: "orders nested loops, outermost first",
			min: 2, max: 100, apply: outsideProducts(reorder)},
		{name: "bound", usage: "bound(i, ib, N, TYPE)",
			meaning: "states where the range of i begins or ends", min: 4, max: 4, makes: []int{1},
			words: 3, apply: outsideProducts(bound)},
		chosen("unroll"),
		{name: "pos", usage: "pos(i, ip, T)", meaning: "loops over the entries of T, instead of i",
			min: 3, max: 3, makes: []int{1}, apply: outsideProducts(pos)},
		{name: "coord", usage: "coord(p, c)", meaning: "loops over coordinates again, after pos",
			min: 2, max: 2, makes: []int{1}, apply: outsideProducts(coord)},
		chosen("parallelize"),
		chosen("temporaries"),
		{name: "precompute", usage: "precompute(EXPR, i, iw[, W])",
			meaning: "computes EXPR first, into a workspace W", min: 3, max: 4, makes: []int{2, 3},
			apply: precompute},
		chosen("assemble"),
		chosen("layout"),
		chosen("mergeby"),
		{name: "substitute",
			usage:   "substitute({i, j, k}, gemm) or substitute({i, ...}, \"file.c:name\")",
			meaning: choice.Substitute.Meaning, min: 2, max: 2, words: 1, apply: substitute, late: true},
	}
	return slices.Concat(list, others(list), []command{
		{name: "distribute", usage: "distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
			meaning: "runs iterations on different ranks", min: 1, max: 4},
		{name: "communicate", usage: "communicate(T, i)",
			meaning: "fetches what an iteration of i needs of T", min: 2, max: 2},
		{name: "rotate", usage: "rotate(i, {j, k}, ir)",
			meaning: "starts the loop elsewhere on each rank", min: 3, max: 3},
	})
}()

// find returns the command with the given name, or nil.
func find(name string) *command {
	if k := slices.IndexFunc(commands, func(c command) bool { return c.name == name }); k >= 0 {
		return &commands[k]
	}
	return nil
}

// Scheduled is the result of applying a schedule to a statement.
type Scheduled struct {
	Stmt   cin.Stmt
	Shared bool // the result still shares its pattern with an operand
	// instructions for lowering, which must be checked again because later commands may change the
	// statement
	Orders []Order
}

// newNames returns the numbers of some arguments of the command called name: the arguments that are
// names for new variables or workspaces.
func newNames(name string) []int {
	if c := find(name); c != nil {
		return c.makes
	}
	return nil
}

// Apply applies the commands in order, but moves each parallelize as parallelLast says. A refusal
// is a *diag.Error with the place of the command.
func Apply(p Problem, list []*Command) (*Scheduled, error) {
	if p.Source == nil {
		p.Source = func(name string) string { return strings.TrimRight(name, "'") }
	}
	s := &state{problem: &p, body: cin.Body(p.Stmt), g: cin.Relations(p.Stmt), list: list,
		products: map[*cin.Assign]int{}}
	for _, c := range parallelLast(list) {
		s.cmd = c
		if err := c.Check(); err != nil {
			return nil, err
		}
		rule := find(c.Name)
		switch {
		case rule.apply == nil:
			return nil, c.errorf(Refused,
				"%s: got it in a leaf, want it in a whole statement: a leaf is the part that "+
					"one rank runs", c.Name)
		case s.problem.GPU && rule.cpuOnly != "":
			return nil, c.errorf(Refused, "%s: %s, but --target=cuda compiles for a GPU", c.Name,
				rule.cpuOnly)
		}
		if err := rule.apply(s); err != nil {
			return nil, err
		}
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	if err := s.checkAtEnd(); err != nil {
		return nil, err
	}
	if s.g == nil {
		s.g = &provenance.Graph{}
	}
	return &Scheduled{s.stmt(), s.problem.Shared, s.orders}, nil
}

// checkAtEnd makes the checks that need all commands, because these commands may come in any order.
// It checks the units of a GPU's loops, and the choices that can be checked only after the last
// command.
func (s *state) checkAtEnd() error {
	if s.problem.GPU && len(s.list) > 0 {
		if l, err := choice.CheckGrid(s.facts(), s.given()); err != nil {
			return s.refuseUnit(l, err)
		}
	}
	for _, o := range s.orders {
		if err := choice.CheckAtEnd(s.facts(), o.Order); err != nil {
			s.cmd = o.By
			return s.blame(err)
		}
	}
	return nil
}

// refuseUnit returns an error with the reason why. The error names the command that runs loop l on
// a unit of the GPU or on threads. If l is nil, the error names the last command.
func (s *state) refuseUnit(l *cin.Forall, why error) error {
	if l == nil {
		return s.blame(why)
	}
	for _, c := range s.list {
		if c.Name == choice.Units.Name && c.Args[0].Text == l.Var {
			s.cmd = c
		}
	}
	return s.refuse(-1, "%s on %s: %v", l.Var, l.Unit, why)
}

// Check reports the mistakes in a command that do not depend on the statement: an unknown name, a
// wrong number of arguments, or an unknown kernel.
func (c *Command) Check() error {
	rule := find(c.Name)
	switch {
	case rule == nil:
		if near := diag.DidYouMean(c.Name, Names()); near != "" {
			return c.errorf(BadCommand, "got %s, which is not a scheduling command%s",
				c.Name, near)
		}
		return c.errorf(BadCommand, "got %s, want a scheduling command: %s", c.Name,
			strings.Join(Names(), " "))
	case len(c.Args) < rule.min || len(c.Args) > rule.max:
		return c.errorf(BadCommand, "got %s, want %s", plural(len(c.Args), "argument"), rule.usage)
	case c.Name == "substitute":
		return c.checkKernel()
	}
	return nil
}

// Temporaries reports whether a schedule begins with a temporaries command.
func Temporaries(texts []string) bool {
	list, err := Parse(texts)
	return err == nil && len(list) > 0 && list[0].Name == choice.Temporaries.Name
}

// Layout returns the order of modes that a layout command asks for, outermost first.
func (c *Command) Layout() ([]int, error) {
	modes, err := choice.Modes(c.texts())
	return modes, (&state{cmd: c}).blame(err)
}

// Names returns the names of all commands, sorted.
func Names() []string {
	out := make([]string, len(commands))
	for k, c := range commands {
		out[k] = c.name
	}
	slices.Sort(out)
	return out
}

// Help returns the usage of each command, as in "fuse(i, j, f)", and what the command does.
func Help() [][2]string {
	out := make([][2]string, len(commands))
	for k, c := range commands {
		out[k] = [2]string{c.usage, c.meaning}
	}
	return out
}

// RefusalOf returns an error that refuses one of the commands in list. why is the reason, which was
// found when statement s, the result of the commands, was lowered. v is a variable that the reason
// concerns.
//
// RefusalOf refuses the first of the following commands that exists. If there are several of one
// kind, it refuses the last of them.
//
//   - a command that substitutes a kernel for the loop over v
//   - a command that runs the loop over v in parallel
//   - a command that runs a loop derived from v in parallel
//   - a command that names v
//   - the last command
func RefusalOf(list []*Command, s cin.Stmt, v, why string) error {
	g := cin.Relations(s)
	at := list[len(list)-1]
	best := 0
	for _, c := range list {
		rank := 0
		for k, a := range c.Args {
			switch {
			case c.Name == "substitute" &&
				slices.ContainsFunc(a.List, func(b Arg) bool { return b.Text == v }):
				rank = 5
			case c.Name == "parallelize" && k == 0 && a.Text == v:
				rank = 4
			case c.Name == "parallelize" && k == 0 && slices.Contains(g.Underived(a.Text), v):
				rank = 3
			case a.Text == v && g.MadeBy(v) != nil:
				rank = max(rank, 2)
			case a.Text == v:
				rank = max(rank, 1)
			}
		}
		if rank > 0 && rank >= best {
			at, best = c, rank
		}
	}
	// The reason is not shortened, because it may contain a whole prototype.
	return at.errorf(Refused, "%s: "+strings.ReplaceAll(why, "%", "%%"), at.Name)
}

// Words reports for each argument whether it is a word of the language. A word keeps its meaning
// even if a variable has the same name.
func (c *Command) Words() (which []bool) {
	rule := find(c.Name)
	for k, a := range c.Args {
		which = append(which, rule != nil && rule.words > 0 && k >= rule.words &&
			(slices.Contains(words, a.Text) || strings.HasPrefix(a.Text, `"`)))
	}
	return which
}

// parallelLast returns the commands with each parallelize moved after all commands that are not
// late, because most of these commands change loops and assume that loops run in order.
func parallelLast(list []*Command) []*Command {
	last := -1 // the last command that changes loops
	for k, c := range list {
		if rule := find(c.Name); rule != nil && rule.apply != nil && !rule.late {
			last = k
		}
	}
	var before, moved []*Command
	for _, c := range list[:last+1] {
		if c.Name == "parallelize" {
			moved = append(moved, c)
		} else {
			before = append(before, c)
		}
	}
	return slices.Concat(before, moved, list[last+1:])
}
