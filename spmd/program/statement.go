package program

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/bridge"
	"distaff/spmd/fault"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
)

// How is how one statement is scheduled. The zero value is the default schedule.
type How struct {
	Schedule []string         // scheduling commands
	Blocks   *place.BlockSpec // nil for the default
	// Machine is that over which commands distribute the statement; nil for one dimension with all
	// ranks.
	Machine *place.Machine
	// Placements say where the statement is to find its tensors, and to leave its result.
	Placements map[string]place.Placement
	// Network says how products of several tensors are contracted: "auto" (also ""), "direct",
	// "pairwise" or a tree such as "((A*B)*C)*D"; IntermediateOrder is the most index variables that
	// an intermediate has, 0 for any number.
	Network           string
	IntermediateOrder int
	// Runs is how often the statement will run at most; 0 where nobody knows. One that does little in
	// all of its runs is compiled with less optimization, and gives the same bits.
	Runs int64
}

// check refuses what no statement can be contracted by.
func (h *How) check() error {
	if h.IntermediateOrder < 0 {
		return fault.Commandf("got the intermediate order %d, want 1 or more, or 0 for any",
			h.IntermediateOrder)
	}
	return network.CheckWay(h.Network)
}

// Statement is a statement of a program, at one rank.
type Statement struct {
	p    *Program
	text string
	how  How

	parsed    *input.Statement
	reader    *input.Reader
	k         *prepared.Statement // nil until it is prepared, and after it no longer fits
	unwatch   func()
	reads     []read
	loads     bool // it only brings its tensors, and is not compiled
	mayNotFit bool // sparse operands were exchanged since the leaves were last found to fit

	// What is said of the result:
	sized []bool  // the modes that have the sizes which they had, since nothing else tells them
	sizes []int64 // that are given
	adds  bool    // += adds to a value
	wrote *tensor // what it wrote, with all that was said of it then, and added to its value, if +=
}

// read is a tensor that a statement reads.
type read struct {
	operand string // its name in the statement
	name    string // the tensor's: another one, where the operand is the result's old value
	version int64  // of the values in the statement's blocks
	held    *input.Held
	shown   bool // the statement's blocks are held's own
	gone    bool // the statement has let go of them
}

// Prepare parses, plans and compiles a statement over tensors that have a value, and brings
// them to where the plan wants them. Collective. The program closes it.
func (p *Program) Prepare(text string, how How) (*Statement, error) {
	if err := p.may(); err != nil {
		return nil, err
	}
	if err := how.check(); err != nil {
		return nil, err
	}
	s := &Statement{p: p, text: text, how: how}
	if err := s.prepare(); err != nil {
		s.close()
		return nil, err
	}
	p.statements[s] = true
	return s, nil
}

// Do prepares a statement, unless the program did so before, and runs it. Collective.
func (p *Program) Do(text string) error {
	s := p.done[text]
	if s == nil {
		var err error
		if s, err = p.Prepare(text, How{}); err != nil {
			return err
		}
		p.done[text] = s
	}
	return s.Run()
}

// Text is the statement.
func (s *Statement) Text() string { return s.text }

// Result is the name of the tensor that it writes.
func (s *Statement) Result() string { return s.parsed.Result }

// Compiler is what made its leaves; "" before it is prepared.
func (s *Statement) Compiler() string {
	if s.k == nil {
		return ""
	}
	return s.k.Compiler()
}

// close gives back all that it holds.
func (s *Statement) close() {
	s.mayNotFit = false
	if s.unwatch != nil {
		s.unwatch()
		s.unwatch = nil
	}
	if s.k != nil {
		s.k.Close()
		s.k = nil
	}
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
}

// release lets go of a tensor that another takes the place of.
func (s *Statement) release(name string) {
	if s.k == nil {
		return
	}
	for n := range s.reads {
		if r := &s.reads[n]; r.name == name && !r.gone {
			s.k.Release(r.operand)
			r.gone, r.held = true, nil
		}
	}
}

// prepare brings the statement to where it can run.
func (s *Statement) prepare() error {
	s.close()
	err := s.try(false)
	if unsized(err) && s.parsed != nil {
		// What the result was before tells the sizes that nothing else does.
		s.close()
		err = s.try(true)
	}
	if err != nil {
		s.close() // what is half prepared must not run
	}
	return err
}

// alone tells of each mode of the result whether its variable stands nowhere else.
func (s *Statement) alone() []bool {
	n := s.parsed.Norm
	list := make([]bool, len(n.LHS.Vars))
	for m, v := range n.LHS.Vars {
		list[m] = !slices.ContainsFunc(n.Accesses(),
			func(a *notation.Access) bool { return slices.Contains(a.Vars, v) })
	}
	return list
}

// unsized tells whether nothing gives a size that is needed: every rank says the same.
func unsized(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Code == diag.SizeUnknown
}

// try prepares the statement; sized says that the result has the sizes that it had.
func (s *Statement) try(sized bool) error {
	p := s.p
	at := time.Now()
	if s.sized = nil; sized {
		s.sized = s.alone()
	}
	given, err := s.given()
	if err != nil {
		return err
	}
	if s.parsed, err = given.Parse(true); err != nil {
		return err
	}
	s.reader = input.NewReader(p.env, s.parsed,
		input.Options{Inputs: s.parsed.Inputs, Sizes: s.parsed.UserSizes, SizesFrom: p.sizesFrom,
			Seed: p.o.Seed, TrustInput: p.o.TrustInput})
	r := s.reader
	if err := r.Open(); err != nil {
		return p.failed(err)
	}
	if err := r.Infer(); err != nil { // at every rank alike, but for what files say
		if p.known(s.parsed) || s.sized == nil && unsized(err) {
			return err
		}
		return p.failed(err)
	}
	problem, err := plan.New(
		r.Plan(p.env.Comm.Size(), cmp.Or(s.how.Blocks, &place.BlockSpec{}), p.o.MemoryLimit))
	if err != nil {
		return err
	}
	s.k = prepared.New(r, s.parsed,
		prepared.Options{MemoryLimit: p.o.MemoryLimit, Several: true, Locked: true, Over: !p.o.Fresh,
			Replicas: true, Leaves: true, Verify: p.o.Verify,
			Network: s.how.Network, Order: s.how.IntermediateOrder, Runs: s.how.Runs}, problem)
	if err := forecast.NewLeast(s.k, s.loads).Fits(); err != nil {
		return err // at every rank alike, before anything is done
	}
	if !s.loads {
		if err := forecast.FitsDevice(s.k); err != nil {
			return err
		}
	}
	if err := s.k.Load(); err != nil {
		return p.failed(err)
	}
	at = since(at, &p.spent.Load)
	if !s.loads {
		if err := s.k.Compile(); err != nil {
			return p.failed(err)
		}
	}
	at = since(at, &p.spent.Compile)
	if err := s.adopt(); err != nil {
		return p.failed(err)
	}
	since(at, &p.spent.Load)
	s.unwatch = r.Watch()
	return nil
}

// known tells whether the program holds all that a statement reads, so that every
// rank knows the same of it.
func (p *Program) known(parsed *input.Statement) bool {
	for name := range parsed.Inputs {
		if t := p.tensors[name]; t != nil && t.held == nil {
			return false
		}
	}
	return true
}

// given is the statement with what the program knows of its tensors.
func (s *Statement) given() (*input.Given, error) {
	p := s.p
	stmt, err := notation.Parse(s.text)
	if err != nil {
		return nil, err
	}
	g := &input.Given{Statement: s.text, Formats: map[string]string{}, Types: map[string]string{},
		Sizes: map[string][]int64{}, Inputs: map[string]input.Input{}, Partial: true,
		Machine: s.how.Machine, Placements: s.how.Placements, Schedule: s.how.Schedule,
		MemoryOf: p.memoryOf}
	result := stmt.LHS.Name
	old := false // the right side reads the result's old value
	for _, x := range reading(stmt) {
		old = old || x == result
		if x == result {
			continue
		}
		t, err := p.tensor(x)
		if err != nil {
			return nil, err
		}
		if g.Inputs[x], err = t.input(); err != nil {
			return nil, err
		}
		say(g, t)
	}
	t := p.tensors[result]
	s.sizes, s.adds, s.wrote = nil, false, nil
	if t == nil {
		if old {
			_, err := p.tensor(result)
			return nil, err
		}
		return g, nil
	}
	s.adds = stmt.Accumulate && t.added()
	if old || s.adds {
		if t, err = p.tensor(result); err != nil {
			return nil, err
		}
		if g.Inputs[result], err = t.input(); err != nil {
			return nil, err
		}
	}
	say(g, t)
	if s.sizes = t.sizes(s.sized); len(s.sizes) > 0 {
		g.Sizes[result] = s.sizes
	}
	return g, nil
}

// say adds what is known of a tensor's storage.
func say(g *input.Given, t *tensor) {
	if f := t.format(); f != "" {
		g.Formats[t.name] = f
	}
	if typ := t.typ(); typ != "" {
		g.Types[t.name] = typ
	}
	if len(t.how.Sizes) > 0 {
		g.Sizes[t.name] = t.how.Sizes
	}
}

// sizesFrom returns what gave the size of a tensor's mode, or "" if that is not known.
func (p *Program) sizesFrom(tensor string, mode int) string {
	if t := p.tensors[tensor]; t != nil && mode < len(t.how.SizesFrom) {
		return t.how.SizesFrom[mode]
	}
	return ""
}

// reading lists the tensors on the right side, each once.
func reading(stmt *notation.Stmt) []string {
	var list []string
	seen := map[string]bool{}
	notation.Walk(stmt.RHS, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok && !seen[a.Name] {
			seen[a.Name] = true
			list = append(list, a.Name)
		}
		return true
	})
	return list
}

// adopt takes what loading has made as the program's: tensors that came from elsewhere,
// and those that were moved, lie where this statement wants them. Collective.
func (s *Statement) adopt() error {
	p := s.p
	s.reads = nil
	seen := map[string]bool{}
	for _, o := range s.k.Problem.Operands {
		if seen[o.Tensor] {
			continue
		}
		seen[o.Tensor] = true
		r := read{operand: o.Tensor, name: o.Tensor}
		if r.operand == s.parsed.Old {
			r.name = s.parsed.Result
		}
		t := p.tensors[r.name]
		if placed, ok := s.how.Placements[r.name]; ok {
			t.lieIn(placed.Memory())
		}
		if t.held == nil {
			b, err := s.k.AllOf(o.Tensor)
			if err != nil {
				return err
			}
			h, err := p.counted(b, true)
			if err != nil {
				return err
			}
			if len(b.Owners) == 1 {
				h.Replica = s.k.ReplicaOf(o.Tensor)
			}
			h.File = s.k.Reader.Lasting(o.Tensor)
			t.hold(h)
		}
		r.version, r.held, r.shown = t.version, t.held, s.shows(o.Tensor, t.held)
		s.reads = append(s.reads, r)
	}
	return nil
}

// shows tells whether this rank's blocks of an operand, through all of its accesses, are
// those that the program holds: the same at every rank.
func (s *Statement) shows(operand string, h *input.Held) bool {
	if !h.AsIs {
		return false
	}
	for i, o := range s.k.Problem.Operands {
		if o.Tensor == operand && !s.k.Shows(i, h) {
			return false
		}
	}
	return true
}

// refresh gives the statement the values that tensors have by now. again says that one
// no longer fits, so that the statement is to be prepared again, and why. Collective.
func (s *Statement) refresh() (again string, err error) {
	p := s.p
	if again := s.rewritten(); again != "" {
		return again, nil
	}
	for n := range s.reads {
		r := &s.reads[n]
		t, err := p.tensor(r.name)
		if err != nil {
			return "", err
		}
		if !r.gone && t.held == r.held && (t.version == r.version || r.shown) {
			if t.version != r.version {
				s.k.Rewritten()
			}
			r.version = t.version
			continue
		}
		if t.held == nil {
			return r.name + " is another tensor", nil
		}
		if t.held != r.held && !sameStorage(t.held, s.reader.Sizes.Dims[r.operand],
			bridge.TCS(s.reader.Types[r.operand]), s.reader.Formats[r.operand]) {
			return r.name + " is stored otherwise, or has other sizes", nil
		}
		s.mayNotFit = s.mayNotFit || !tcs.AllDense(t.held.Blocks.Kinds)
		if !s.shows(r.operand, t.held) { // blocks of it travel
			if err := t.fetch(); err != nil {
				return "", p.failed(err)
			}
		}
		if err := s.k.Exchange(r.operand, t.held); err != nil {
			return "", p.failed(err)
		}
		*r = read{operand: r.operand, name: r.name, version: t.version, held: t.held,
			shown: s.shows(r.operand, t.held)}
	}
	if !s.mayNotFit { // operands of this run, or of one before that failed at a later operand
		return "", nil
	}
	fits, err := s.k.Fits()
	if err != nil {
		return "", p.failed(err)
	}
	if !fits {
		return "an operand has level arrays of another width, or many more entries", nil
	}
	s.mayNotFit = false
	return "", nil
}

// rewritten tells why the statement, prepared anew, would write its result otherwise, or add to
// another value; "" where it would not.
func (s *Statement) rewritten() string {
	name := s.parsed.Result
	t := s.p.tensors[name]
	if t != nil && t == s.wrote && s.sized == nil && t.added() { // so it is stored as it was
		return ""
	}
	if t == nil {
		t = &tensor{env: s.p.env, name: name}
	}
	f := format.DenseOf(s.parsed.Orders[name])
	if now := t.format(); now != "" {
		f, _ = format.Parse(now)
	}
	typ, given := s.reader.Types[name].String(), s.parsed.Types[name] != dtype.None
	switch now := t.typ(); {
	case !f.Equal(s.reader.Formats[name]), now != "" && now != typ, now == "" && given:
		return name + " is to be stored otherwise"
	case !slices.Equal(s.sizes, t.sizes(s.sized)):
		return name + " has other sizes"
	case s.parsed.Stmt.Accumulate && t.added() != s.adds:
		return name + " has a value to add to, or has none any more"
	}
	return ""
}

// Run computes the statement once, from what its tensors are by now. Collective.
//
// After an error that is found before it computes, such as an operand without a value, all tensors
// have the values that they had. After one of what it computes, such as a division of integers by
// zero, the result has no value until something gives it one. The program of one rank goes on; that
// of several ranks has ended, unless the error was found at every rank before anything was done.
func (s *Statement) Run() error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.compute(); err != nil {
		return err
	}
	if s.adds || !s.parsed.Stmt.Accumulate {
		s.wrote = s.p.tensors[s.parsed.Result]
	}
	return nil
}

// ready has the statement fit what its tensors are by now. Collective.
func (s *Statement) ready() error {
	p := s.p
	if err := p.may(); err != nil {
		return err
	}
	if !p.statements[s] {
		return fault.Commandf("%s: the statement is closed", s.text)
	}
	if s.k == nil {
		return s.prepare()
	}
	again, err := s.refresh()
	if err != nil || again == "" {
		return err
	}
	p.env.Detail(s.text + " is compiled again: " + again)
	return s.prepare()
}

// Balance counts the stored entries of the statement's largest operand, as its next run finds it.
// Collective.
func (s *Statement) Balance() (prepared.Balance, error) {
	if err := s.ready(); err != nil {
		return prepared.Balance{}, err
	}
	b, err := s.k.Balance()
	if err != nil {
		err = s.p.failed(err)
	}
	return b, err
}

// Close forgets the statement.
func (s *Statement) Close() {
	s.close()
	delete(s.p.statements, s)
	if s.p.done[s.text] == s {
		delete(s.p.done, s.text)
	}
}
