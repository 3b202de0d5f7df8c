package schedule

import (
	"errors"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/provenance"
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
	// Batches reports whether a library may compute several products of matrices in one call.
	Batches bool
	// Strategy returns a statement and what package choice must know to choose how it is lowered.
	// If shared is true, the result uses an operand's level arrays.
	Strategy func(s cin.Stmt, shared bool) *analysis.Problem
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
	orders  []Order
	made    []string // the workspaces that precompute commands made
	// products has the assignments whose innermost loops a library runs as products of matrices.
	// The value is the number of these loops.
	products map[*cin.Assign]int
}

// outsideProducts returns the command that changes loops as fn does, except the loops that a
// library runs as products of matrices. While fn runs, such a product is an assignment without
// loops.
func outsideProducts(fn func(*state) error) func(*state) error {
	return func(s *state) error {
		nests := map[cin.Stmt]cin.Stmt{}
		s.body = cin.Descend(s.body, func(t cin.Stmt) (cin.Stmt, bool) {
			f, ok := t.(*cin.Forall)
			if !ok {
				return nil, false
			}
			chain, rest := nested(f)
			a, ok := rest.(*cin.Assign)
			if !ok || s.products[a] != len(chain) {
				return nil, false
			}
			nests[a] = t
			return a, true
		})
		err := fn(s)
		s.body = cin.Map(s.body, func(t cin.Stmt) cin.Stmt {
			if nest := nests[t]; nest != nil {
				return nest
			}
			return t
		})
		return err
	}
}

// Order is an instruction that the command By gives to lowering, such as running a loop in
// parallel.
type Order struct {
	Order choice.Order
	By    *Command
}

// order records an instruction of the current command. It refuses an instruction that cannot be
// followed.
func (s *state) order(o choice.Order) error {
	if err := choice.Check(s.facts(), s.given(), o); err != nil {
		return s.blame(err)
	}
	s.orders = append(s.orders, Order{o, s.cmd})
	return nil
}

// given returns the instructions of the commands up to the current one.
func (s *state) given() []choice.Order {
	list := make([]choice.Order, len(s.orders))
	for k, x := range s.orders {
		list[k] = x.Order
	}
	return list
}

// facts returns what package choice must know about the statement.
func (s *state) facts() *analysis.Problem {
	return s.problem.Strategy(s.stmt(), s.problem.Shared)
}

func (s *state) stmt() cin.Stmt {
	insert := s.problem.GPU
	for _, o := range s.orders {
		if o.Order.Choice == choice.Assemble {
			insert = o.Order.Inserts()
		}
	}
	appended := !s.problem.Shared && !s.problem.Formats[cin.Target(s.body).Name].AllDense()
	return &cin.SuchThat{Body: s.body, Relations: s.g, Insert: insert && appended}
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

// variable returns argument k, which must be a variable that has a loop.
func (s *state) variable(k int) (string, error) {
	v := s.cmd.Args[k].Text
	return v, s.hasLoop(s.cmd.Args[k])
}

// hasLoop returns nil if the statement has a loop over the variable that arg names. Otherwise it
// returns an error that points to arg.
func (s *state) hasLoop(arg Arg) error {
	if err := choice.HasLoop(-1, arg.Text, s.body, s.g); err != nil {
		return arg.errorf(Refused, "%s: %v", s.cmd.Name, err)
	}
	return nil
}

// inUse reports whether a tensor, a temporary or a variable has the given name.
func (s *state) inUse(name string) bool {
	if _, ok := s.problem.Formats[name]; ok || s.g.Derived(name) {
		return true
	}
	used := slices.Contains(cin.LoopVars(s.body), name)
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
func (s *state) factor(k int) (int64, error) {
	n, err := choice.Number(k, s.cmd.Args[k].Text, 1)
	return n, s.blame(err)
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
	s.body = cin.MapLoops(s.body, v, fn)
}

// mayReplace returns an error if the loop over v cannot be replaced. This is the case if the loop
// is unrolled. It is also the case if a precompute command gave v a new name in a producer, or made
// v as such a name. v is argument k of the current command.
func (s *state) mayReplace(k int, v string) error {
	if err := s.ofWorkspace(k, v); err != nil {
		return err
	}
	return s.refuseUnrolled(k, v)
}

// ofWorkspace returns an error if variable v cannot be replaced because of an earlier precompute
// command. v is argument k of the current command. There are two cases: the precompute command gave
// v a new name in the producer, or v is such a new name.
func (s *state) ofWorkspace(k int, v string) error {
	if u := s.g.ConsumerVar(v); u != v {
		return s.refuse(k,
			"%s is the name of %s in the loops that fill a workspace; commands that replace "+
				"%s must come before precompute",
			v, u, u)
	}
	for _, u := range cin.LoopVars(s.body) {
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
	for _, f := range cin.Loops(s.body, v) {
		if f.Unroll != 0 {
			return s.refuse(k,
				"the loop over %s is unrolled; unroll must come after the commands that "+
					"replace the variable", v)
		}
	}
	return nil
}

// blame adds the name and the place of the current command to an error that the strategy returned.
// It returns nil if err is nil.
func (s *state) blame(err error) error {
	var f *choice.Fault
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &f):
		return s.refuse(-1, "%v", err)
	case f.Syntax:
		return s.cmd.Args[f.Arg].errorf(BadCommand, "%s: %v", s.cmd.Name, err)
	}
	return s.refuse(f.Arg, "%v", err)
}
