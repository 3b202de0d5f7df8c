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
	// Strategy returns a statement and what package strategy must know to choose how it is lowered.
	// If shared is true, the result uses an operand's level arrays.
	Strategy func(s cin.Stmt, shared bool) *strategy.Problem
	// Source returns the user's name for a tensor of Stmt. If it is nil, the default removes the
	// marks (') that distinguish copies of a tensor in further formats.
	Source func(string) string
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

func (s *state) stmt() cin.Stmt {
	return &cin.SuchThat{Body: s.body, Relations: s.g, Insert: s.insert && s.isAppended()}
}

// refuse returns a refusal of the current command. k is the number of the argument to blame, or -1
// for the whole command.
func (s *state) refuse(k int, format string, args ...any) error {
	at := s.cmd.arg
	if k >= 0 {
		at = s.cmd.Args[k].arg
	}
	return at.errorf(Refused, s.cmd.Name+": "+format, args...)
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
		return a.errorf(Refused, "%s: %s no longer exists: it was replaced by %s",
			s.cmd.Name, v, r)
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
		return "", s.refuse(k, "the name %s is in use; want a new one", v)
	}
	return v, nil
}

// factor parses argument k as a number from 1 to 2^40.
func (s *state) factor(k int) (int64, error) { return s.number(k, 1) }

// number parses argument k as a number from least to 2^40.
func (s *state) number(k int, least int64) (int64, error) {
	n, err := strconv.ParseInt(s.cmd.Args[k].Text, 10, 64)
	if err != nil {
		return 0, s.cmd.Args[k].errorf(BadCommand, "%s: got %s, want a whole number", s.cmd.Name,
			s.cmd.Args[k].Text)
	}
	if n < least || n > 1<<40 {
		return 0, s.refuse(k, "got %d, want %d to 2^40", n, least)
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
// producer and consumer share v. How the loop merges does not matter, because a replacement merges
// in the same way.
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
			"%s is the name of %s in the loops that fill a workspace; commands that replace "+
				"%s must come before precompute",
			v, u, u)
	}
	for _, u := range s.loopVars() {
		if u != v && s.g.ConsumerVar(u) == v {
			return s.refuse(k,
				"%s is the name of %s in the loops that fill a workspace; commands that "+
					"replace %s must come before precompute",
				u, v, v)
		}
	}
	return nil
}

// refuseUnrolled refuses to replace a loop that is unrolled.
func (s *state) refuseUnrolled(k int, v string) error {
	for _, f := range s.loops(v) {
		if f.Unroll != 0 {
			return s.refuse(k,
				"the loop over %s is unrolled; unroll must come after the commands that "+
					"replace the variable", v)
		}
	}
	return nil
}

// wanted returns the error for argument k, which is not one of the words that the command accepts
// there.
func (s *state) wanted(k int, among []string) error {
	got := s.cmd.Args[k].Text
	return s.cmd.Args[k].errorf(BadCommand, "%s: got %s, want %s%s", s.cmd.Name, got,
		diag.Either(among), diag.Meant(got, among))
}
