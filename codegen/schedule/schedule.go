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
// The language is the one of source 004, chapters 5 and 7, with TACO's precompute (Kjolstad et al.,
// "Tensor Algebra Compilation with Workspaces", 2019).
//
// # Files
//
//	schedule.go     Apply, and the state that commands change
//	parse.go        the text of commands
//	spelling.go     words of the language, and how TACO and DISTAL write them
//	choices.go      commands that only give an order to the strategy
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
//	unroll.go       unroll
//	parallelize.go  parallelize
//	chunks.go       parallelize with chunks of equal work
//	gpu.go          the rules of a GPU
//	mergeby.go      mergeby
//	assemble.go     assemble
//	temporaries.go  temporaries
//	layout.go       layout
//	substitute.go   substitute
package schedule

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Problem describes the statement to schedule.
type Problem struct {
	Stmt cin.Stmt
	// Formats has the format of every operand and of the result, by its name in Stmt.
	Formats map[string]tensor.Format
	// Shared reports whether the result uses an operand's level arrays. Its values are then written
	// at random.
	Shared  bool
	Compute tensor.Type
	// Size returns the size of an original variable.
	Size func(string) int64
	// Parts lists the original variables for which one call of the leaf gets only a part of the
	// range.
	Parts []string
	// GPU reports whether the loops run on a GPU. Otherwise they run on a CPU.
	GPU bool
	// Strategy returns the choices that lowering has for a statement. If shared is true, the result
	// uses an operand's level arrays.
	Strategy func(s cin.Stmt, shared bool) *strategy.Problem
	// Source returns the user's name for a tensor of Stmt. If it is nil, the default removes the
	// marks (') that distinguish copies of a tensor in further formats.
	Source func(string) string
}

// command is one command of the language.
type command struct {
	name, usage string
	meaning     string // what the command does, in a few words
	min, max    int    // bounds of the number of arguments
	// words is the number of the first argument that can be a word of the language, or 0.
	words int
	apply func(*state) error // nil if the command distributes a statement over ranks
	// A late command does not change loops, so it keeps its place after a parallelize that precedes
	// it.
	late bool
	// cpuOnly is the reason why a schedule for a GPU cannot have the command, or "".
	cpuOnly string
}

// commands lists all commands, in the order of the help. Commands that only give an order to the
// strategy follow from strategy.Choices.
var commands = slices.Concat([]command{
	{name: "split", usage: "split(i, i0, i1, N)", meaning: "cuts the loop over i into tiles of N",
		min: 4, max: 4, apply: split},
	{name: "divide", usage: "divide(i, i0, i1, N)", meaning: "cuts the loop over i into N equal " +
		"tiles",
		min: 4, max: 4, apply: divide},
	{name: "fuse", usage: "fuse(i, j, f)", meaning: "makes one loop over pairs of two nested loops",
		min: 3, max: 3, apply: fuse},
	{name: "reorder", usage: "reorder(i, j, ...)", meaning: "orders nested loops, outermost first",
		min: 2, max: 100, apply: reorder},
	{name: "bound", usage: "bound(i, ib, N, TYPE)",
		meaning: "states where the range of i begins or ends", min: 4, max: 4, words: 3, apply: bound},
	{name: "unroll", usage: "unroll(i[, N])", meaning: "copies the body of the loop N times",
		min: 1, max: 2, apply: unroll},
	{name: "pos", usage: "pos(i, ip, T)", meaning: "loops over the stored entries of T",
		min: 3, max: 3, apply: pos},
	{name: "coord", usage: "coord(p, c)", meaning: "returns from positions to coordinates",
		min: 2, max: 2, apply: coord},
	{name: "parallelize", usage: "parallelize(i, UNIT, STRATEGY[, CHUNK[, N]])",
		meaning: strategy.Threads.Meaning, min: 3, max: 5, words: 1, apply: parallelize, late: true},
	{name: "temporaries", usage: "temporaries(T)",
		meaning: "takes sums in scalars or workspaces; comes " +
			"first", min: 1, max: 1, apply: temporaries},
	{name: "precompute", usage: "precompute(EXPR, i, iw[, W])",
		meaning: "computes EXPR first, into a workspace W", min: 3, max: 4, apply: precompute},
	{name: "assemble", usage: "assemble(T, Append|Insert[, true|false])",
		meaning: "builds a sparse result in one or two " +
			"passes", min: 2, max: 3, words: 1, apply: assemble,
		late: true},
	{name: "layout", usage: "layout(T(i, j), M, N)",
		meaning: "reads a dense T with its modes in another order", min: 3, max: 100, apply: layout,
		late: true},
	{name: "mergeby", usage: strategy.MergeBy.Usage(), meaning: strategy.MergeBy.Meaning, min: 2, max: 2,
		words: 1, apply: mergeby},
	{name: "substitute",
		usage:   "substitute({i, j, k}, gemm) or substitute({i, ...}, \"file.c:name\")",
		meaning: strategy.Substitute.Meaning, min: 2, max: 2, words: 1, apply: substitute, late: true},
}, choices(), []command{
	{name: "distribute", usage: "distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
		meaning: "runs iterations on different ranks", min: 1, max: 4},
	{name: "communicate", usage: "communicate(T, i)", meaning: "brings what an iteration of i needs " +
		"of T",
		min: 2, max: 2},
	{name: "rotate", usage: "rotate(i, {j, k}, ir)", meaning: "starts the loop elsewhere on each " +
		"rank",
		min: 3, max: 3},
})

// find returns the command with the given name, or nil.
func find(name string) *command {
	if k := slices.IndexFunc(commands, func(c command) bool { return c.name == name }); k >= 0 {
		return &commands[k]
	}
	return nil
}

// state is the state of a schedule while its commands are applied.
type state struct {
	problem *Problem
	body    cin.Stmt
	g       *provenance.Graph
	list    []*Command // all commands
	cmd     *Command   // the current command
	first   *Command
	insert  bool       // assemble asked for Insert
	gallops []*Command // each mergeby command with Gallop
	orders  []Order
	made    []string // the workspaces that precompute commands made
}

// Order is an instruction of a command about how the statement is lowered.
type Order struct {
	Order strategy.Order
	By    *Command
}

// Scheduled is the result of applying a schedule to a statement.
type Scheduled struct {
	Stmt   cin.Stmt
	Shared bool // the result still shares its pattern with an operand
	// instructions for lowering, which must be checked again because later commands may change the
	// statement
	Orders []Order
}

// order records an instruction of the current command. It refuses an instruction that cannot be
// followed.
func (s *state) order(o strategy.Order) error {
	before := make([]strategy.Order, len(s.orders))
	for k, x := range s.orders {
		before[k] = x.Order
	}
	if err := strategy.Check(s.problem.Strategy(s.stmt(), s.problem.Shared), before, o); err != nil {
		return s.refuse(-1, "%v", err)
	}
	s.orders = append(s.orders, Order{o, s.cmd})
	return nil
}

// Apply applies the commands in order, but applies each parallelize after all commands that change
// loops. A refusal is a *diag.Error with the place of the command.
func Apply(p Problem, list []*Command) (*Scheduled, error) {
	if p.Source == nil {
		p.Source = func(name string) string { return strings.TrimRight(name, "'") }
	}
	s := &state{problem: &p, body: cin.Body(p.Stmt), g: cin.Relations(p.Stmt), list: list,
		insert: p.GPU}
	for _, c := range parallelLast(list) {
		s.cmd = c
		if s.first == nil {
			s.first = c
		}
		if err := c.Check(); err != nil {
			return nil, err
		}
		rule := find(c.Name)
		switch {
		case rule.apply == nil:
			return nil, c.errorf(Refused,
				"%s: a statement of a run can be distributed over ranks, but not the part of it that one "+
					"rank runs", c.Name)
		case s.problem.GPU && rule.cpuOnly != "":
			return nil, c.errorf(Refused, "%s: %s, and --target=cuda compiles for a GPU", c.Name,
				rule.cpuOnly)
		}
		if err := rule.apply(s); err != nil {
			return nil, err
		}
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	if err := checkUnits(s); err != nil {
		return nil, err
	}
	if err := checkGallop(s); err != nil {
		return nil, err
	}
	if s.g == nil {
		s.g = &provenance.Graph{}
	}
	return &Scheduled{s.stmt(), s.problem.Shared, s.orders}, nil
}

// Check reports the mistakes in a command that do not depend on the statement: an unknown name, or
// a wrong number of arguments.
func (c *Command) Check() error {
	rule := find(c.Name)
	switch {
	case rule == nil:
		if near := diag.Meant(c.Name, Names()); near != "" {
			return c.errorf(BadCommand, "there is no scheduling command %s%s", c.Name, near)
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

func (s *state) stmt() cin.Stmt {
	return &cin.SuchThat{Body: s.body, Relations: s.g, Insert: s.insert && s.isAppended()}
}

// refuse returns a refusal of the current command. Argument k is the reason, or the whole command
// if k is -1.
func (s *state) refuse(k int, format string, args ...any) error {
	at := s.cmd.arg
	if k >= 0 {
		at = s.cmd.Args[k].arg
	}
	return at.errorf(Refused, s.cmd.Name+": "+format, args...)
}

// Blame returns a refusal for a reason that was found only when s, which the commands made, was
// lowered. The refusal names the command that is most likely responsible: in this order, a command
// that substitutes a kernel for the loop over v, one that runs the loop in parallel, one that made
// v, or the last command.
func Blame(list []*Command, s cin.Stmt, v, why string) error {
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

// loops returns the statement's loops over v.
func (s *state) loops(v string) []*cin.Forall {
	var out []*cin.Forall
	cin.Walk(s.body, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok && f.Var == v {
			out = append(out, f)
		}
	})
	return out
}

// variable returns argument k, which must be a variable that has a loop.
func (s *state) variable(k int) (string, error) {
	v := s.cmd.Args[k].Text
	return v, s.hasLoop(s.cmd.Args[k])
}

// indexed returns argument k, which must be a variable that has a loop, or an original variable
// whose loops other loops replaced.
func (s *state) indexed(k int) (string, error) {
	if v := s.cmd.Args[k].Text; s.g.ReplacedBy(v) != nil && s.g.MadeBy(v) == nil {
		return v, nil
	}
	return s.variable(k)
}

// looped returns argument k, which must be a variable that has a loop. It may be a replaced
// variable if a term has loops of its own over it (fission.go).
func (s *state) looped(k int) (string, error) {
	if v := s.cmd.Args[k].Text; s.isReplacedOriginal(v) && len(s.loops(v)) > 0 {
		return v, nil
	}
	return s.variable(k)
}

// ref parses argument k as a reference to a loop: a variable that has a loop, followed by [N] to
// select the Nth of several loops.
func (s *state) ref(k int) (strategy.Ref, error) {
	r, ok := strategy.ParseRef(s.cmd.Args[k].Text)
	if !ok || !notation.IsName(r.Var) || len(s.loops(r.Var)) < max(r.N, 1) {
		return r, s.cmd.Args[k].errorf(Refused,
			"%s: got %s, want a variable that the statement loops over, with [N] for the Nth of its "+
				"loops: %s", s.cmd.Name, s.cmd.Args[k].Text, strings.Join(s.loopVars(), ", "))
	}
	return r, nil
}

// target returns the user's name for the result.
func (s *state) target() string { return s.problem.Source(cin.Target(s.body).Name) }

func (s *state) hasLoop(a Arg) error {
	v := a.Text
	if r := s.g.ReplacedBy(v); r != nil {
		return a.errorf(Refused, "%s: %s was replaced, by %s", s.cmd.Name, v, r)
	}
	if !notation.IsName(v) || len(s.loops(v)) == 0 {
		return a.errorf(Refused, "%s: got %s, want a variable that the statement loops over: %s",
			s.cmd.Name, v, strings.Join(s.loopVars(), ", "))
	}
	return nil
}

func (s *state) loopVars() []string {
	var out []string
	cin.Walk(s.body, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok && !slices.Contains(out, f.Var) {
			out = append(out, f.Var)
		}
	})
	return out
}

// inUse reports whether a tensor, a temporary or a variable has the given name.
func (s *state) inUse(name string) bool {
	if _, ok := s.problem.Formats[name]; ok || s.g.Derived(name) {
		return true
	}
	used := slices.Contains(s.loopVars(), name)
	cin.Paths(s.body, func(_ []*cin.Forall, a *cin.Assign) {
		note := func(x *cin.Access) { used = used || x.Name == name || slices.Contains(x.Vars, name) }
		note(a.LHS)
		cin.ExprAccesses(a.RHS, note)
	})
	return used
}

// fresh returns argument k, which must be a name for a new variable.
func (s *state) fresh(k int) (string, error) {
	v := s.cmd.Args[k].Text
	if !notation.IsName(v) {
		return "", s.cmd.Args[k].errorf(BadCommand, "%s: got %s, want a name for a new variable",
			s.cmd.Name, v)
	}
	s.giveWay(v)
	if s.inUse(v) {
		return "", s.refuse(k, "the name %s is in use", v)
	}
	return v, nil
}

// factor parses argument k as a positive number.
func (s *state) factor(k int) (int64, error) { return s.number(k, 1) }

// number parses argument k as a number that is at least least.
func (s *state) number(k int, least int64) (int64, error) {
	n, err := strconv.ParseInt(s.cmd.Args[k].Text, 10, 64)
	if err != nil {
		return 0, s.cmd.Args[k].errorf(BadCommand, "%s: got %s, want a whole number", s.cmd.Name,
			s.cmd.Args[k].Text)
	}
	if n < least || n > 1<<40 {
		return 0, s.refuse(k, "got %d, want at least %d and at most 2^40", n, least)
	}
	return n, nil
}

// relate adds a relation to the provenance graph.
func (s *state) relate(r provenance.Relation) error {
	g, err := s.g.With(r)
	if err != nil {
		return s.refuse(-1, "%v", err)
	}
	s.g = g
	return nil
}

// replace replaces each loop f over v with fn(f).
func (s *state) replace(v string, fn func(*cin.Forall) cin.Stmt) {
	s.body = cin.Map(s.body, func(t cin.Stmt) cin.Stmt {
		if f, ok := t.(*cin.Forall); ok && f.Var == v {
			return fn(f)
		}
		return t
	})
}

// mayReplace refuses to replace the loop over v if the loop is unrolled or if a workspace's
// producer and consumer share v. A replacement merges in the same way as the loop.
func (s *state) mayReplace(k int, v string) error {
	if err := s.ofWorkspace(k, v); err != nil {
		return err
	}
	return s.refuseUnrolled(k, v)
}

// ofWorkspace refuses to replace v if a precompute related it to another variable: if one of the
// two is the producer's name for the other.
func (s *state) ofWorkspace(k int, v string) error {
	if u := s.g.ConsumerVar(v); u != v {
		return s.refuse(k,
			"%s is the name of %s in the producer of a workspace; commands that replace %s must come "+
				"before the precompute",
			v, u, u)
	}
	for _, u := range s.loopVars() {
		if u != v && s.g.ConsumerVar(u) == v {
			return s.refuse(k,
				"%s is the name of %s in the producer of a workspace; commands that replace %s must come "+
					"before the precompute",
				u, v, v)
		}
	}
	return nil
}

// refuseUnrolled refuses to replace a loop that is unrolled.
func (s *state) refuseUnrolled(k int, v string) error {
	for _, f := range s.loops(v) {
		if f.Unroll != 0 {
			return s.refuse(k, "the loop over %s is unrolled; unroll comes after the commands that "+
				"replace the variable", v)
		}
	}
	return nil
}
