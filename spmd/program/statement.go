package program

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
)

// How determines how one statement is scheduled. The zero value selects the default schedule.
type How struct {
	Schedule []string         // scheduling commands
	Blocks   *place.BlockSpec // nil selects the default
	// Machine is the machine that commands distribute the statement over. If it is nil, all ranks
	// form a line.
	Machine *place.Machine
	// Placements place the operands of the statement before the run, and the result after it.
	Placements map[string]place.Placement
	// Network selects how products of several tensors are contracted: "auto" (also ""), "direct",
	// "pairwise" or a tree such as "((A*B)*C)*D". IntermediateOrder is the largest number of index
	// variables of an intermediate; 0 allows any number.
	Network           string
	IntermediateOrder int
	// On names the target of the statement: "cpu", "gpu", or "" for the target of the program. With
	// "gpu", Prepare returns an error if the machine has no GPU or the GPU refuses the statement.
	On string
	// Runs is the largest number of runs of the statement, or 0 if it is unknown. A statement with
	// little work in all its runs is compiled with less optimization. It computes the same bits.
	Runs int64
}

// check returns an error if the contraction options of h are invalid.
func (h *How) check() error {
	if h.IntermediateOrder < 0 {
		return fault.Commandf("got the intermediate order %d, want 0 (no limit) or more",
			h.IntermediateOrder)
	}
	if err := env.CheckOn(h.On); err != nil {
		return err
	}
	return network.CheckWay(h.Network)
}

// Statement is a statement of a program, at one rank.
type Statement struct {
	p    *Program
	text string
	how  How

	parsed *input.Statement
	reader *input.Reader
	// nil before the statement is prepared and when it no longer fits
	k         *prepared.Statement
	unwatch   func()
	reads     []read
	job       *Job // the job that the statement belongs to; nil if it reads tensors of the program
	loads     bool // the statement only loads its tensors, and is not compiled
	mayNotFit bool // sparse operands were exchanged since the leaves were last checked

	// The state of the result:
	sized []bool  // by mode: the mode keeps its old size, because nothing else determines it
	sizes []int64 // given sizes
	adds  bool    // += adds to a value
	// the tensor that the last run wrote, if the next run may write it again without a check
	wrote *programTensor
}

// read is a tensor that a statement reads.
type read struct {
	operand string // name in the statement
	name    string // name of the tensor; it differs if the operand is the result's old value
	version int64  // version of the values in the statement's blocks
	held    *input.Held
	shown   bool // the statement's blocks are the blocks of held
	gone    bool // the statement has released the blocks
}

// Prepare parses, plans and compiles a statement on tensors that have values, and brings the blocks
// of its operands to the ranks that own them in its plan. The program closes the statement. Every
// rank must call it.
func (p *Program) Prepare(text string, how How) (*Statement, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	if err := how.check(); err != nil {
		return nil, err
	}
	if err := p.env.Has(how.On); err != nil {
		return nil, p.failed(err)
	}
	s := &Statement{p: p, text: text, how: how}
	if err := s.prepare(); err != nil {
		s.close()
		return nil, err
	}
	p.statements[s] = true
	return s, nil
}

// Do runs a statement. The first call for a text prepares the statement, and later calls use it
// again. Every rank must call it.
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

// Text returns the text of the statement.
func (s *Statement) Text() string { return s.text }

// Result returns the name of the tensor that the statement writes.
func (s *Statement) Result() string { return s.parsed.Result }

// Compiler returns the name of the compiler of the leaves, or "" before the statement is prepared.
func (s *Statement) Compiler() string {
	if s.k == nil {
		return ""
	}
	return s.k.Code.Compiler()
}

// Target returns the name of the target that the statement runs on, and the reason. The reason is
// "" if this is the target of the program. Before the statement is prepared, both are "".
func (s *Statement) Target() (name, why string) {
	if s.k == nil {
		return "", ""
	}
	t := s.k.Planned.Target
	return t.Name, t.Why
}

// close releases all resources of the statement. It can be prepared again.
func (s *Statement) close() {
	s.mayNotFit = false
	s.stopWatch()
	if s.k != nil {
		s.k.Close()
		s.k = nil
	}
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
}

// stopWatch ends the watch over the statement's input files.
func (s *Statement) stopWatch() {
	if s.unwatch != nil {
		s.unwatch()
		s.unwatch = nil
	}
}

// release releases the blocks that the statement uses of the tensor with that name.
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

// prepare parses, plans, loads and compiles the statement, so that it can run. If a size of the
// result is unknown, prepare takes it from the result's old value.
func (s *Statement) prepare() error {
	s.close()
	err := s.tryPrepare(false)
	if isUnsized(err) && s.parsed != nil {
		// Take the sizes that nothing else determines from the old result.
		s.close()
		err = s.tryPrepare(true)
	}
	if err != nil {
		s.close() // a partly prepared statement must not run
	}
	return err
}

// lhsOnly reports, for each mode of the result, whether its variable occurs only on the left side.
func (s *Statement) lhsOnly() []bool {
	n := s.parsed.Norm
	list := make([]bool, len(n.LHS.Vars))
	for m, v := range n.LHS.Vars {
		list[m] = !slices.ContainsFunc(n.Accesses(),
			func(a *notation.Access) bool { return slices.Contains(a.Vars, v) })
	}
	return list
}

// isUnsized reports whether err says that a size is unknown. All ranks get the same answer.
func isUnsized(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Code == diag.SizeUnknown
}

// tryPrepare prepares the statement. sized says that unknown sizes of the result are taken from its
// old value.
func (s *Statement) tryPrepare(sized bool) error {
	p := s.p
	at := time.Now()
	if s.job == nil {
		if err := s.parse(sized); err != nil {
			return err
		}
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := s.planHere(); err != nil {
		return err
	}
	if err := s.k.Operands.Load(); err != nil {
		return p.failed(err)
	}
	since(at, &p.spent.Load)
	if err := s.reader.Checksums(); err != nil {
		return p.failed(err)
	}
	at = time.Now()
	if !s.loads {
		if err := s.k.Compile(); err != nil {
			return p.failed(err)
		}
	}
	at = since(at, &p.spent.Compile)
	if s.job == nil {
		if err := s.adopt(); err != nil {
			return p.failed(err)
		}
		since(at, &p.spent.Load)
	}
	s.unwatch = s.reader.Watch()
	return nil
}

// parse parses the statement over tensors of the program. If sized is set, modes of the result
// whose variables occur only on the left side keep their old sizes.
func (s *Statement) parse(sized bool) error {
	p := s.p
	if s.sized = nil; sized {
		s.sized = s.lhsOnly()
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
	return nil
}

// open opens the inputs and determines the sizes, types and formats of all tensors. Every rank
// must call it.
func (s *Statement) open() error {
	if err := s.reader.Open(); err != nil {
		return s.p.failed(err)
	}
	if err := s.reader.Infer(); err != nil { // the same at every rank, unless it depends on files
		if s.p.allLoaded(s.parsed) || s.sized == nil && isUnsized(err) {
			return err
		}
		return s.p.failed(err)
	}
	return nil
}

// plan decides, for the given number of ranks, which rank has which blocks and runs which steps. It
// uses the default schedule if blocks is nil or empty.
func (s *Statement) plan(ranks int, blocks *place.BlockSpec) error {
	problem, err := plan.New(
		s.reader.Plan(ranks, cmp.Or(blocks, &place.BlockSpec{}), s.p.o.MemoryLimit))
	if err != nil {
		return err
	}
	var o prepared.Options
	if s.job != nil {
		o = s.job.spec.Prepared
	} else {
		o = s.p.o.Prepared(s.how)
	}
	s.k = prepared.New(s.reader, s.parsed, o, problem)
	return nil
}

// planHere plans the statement for the ranks of the program. It returns an error if the statement
// certainly needs more memory than the limit, or more memory on the device than the device has.
// These errors are the same at every rank. Every rank must call it.
func (s *Statement) planHere() error {
	ranks := s.p.Ranks()
	if s.job != nil {
		s.job.noteMachine(ranks)
	}
	if err := s.plan(ranks, s.how.Blocks); err != nil {
		return err
	}
	if s.job != nil {
		defer s.job.noteDense()
		s.job.noteIdle(s.how.Blocks)
	}
	if err := s.fits(); err != nil || s.loads {
		return err
	}
	return s.fitsDevice()
}

// fitsDevice returns an error if the statement runs on a GPU and certainly needs more memory than
// the GPU has. It returns nil if the statement runs on the CPU instead, because the GPU refuses the
// statement or because the user left the choice of the target to Distaff. Every rank must call it.
func (s *Statement) fitsDevice() error {
	k := s.k.Planned
	err := forecast.FitsDevice(k)
	if err == nil || comm.ExitCode(err) != diag.ExitMemory || k.Target.Strict {
		return err
	}
	if k.Target.Auto {
		k.ToCPU("its tensors need more memory than a GPU has")
		return nil
	}
	if refused := s.k.Code.Try(); refused == nil && k.Target.Kind == codegen.CPU {
		return nil
	}
	return err
}

// fits refuses the statement if the memory that its plan certainly needs exceeds the limit. Every
// rank must call it.
func (s *Statement) fits() error {
	noResult := s.loads || s.job != nil && s.job.spec.Prepared.FixedPattern != nil
	return forecast.NewLeast(s.k.Planned, noResult).Fits()
}

// Prepared returns the options of one prepared statement of a program. o are the options of the
// program, and how describes the schedule of the statement.
func (o Options) Prepared(how How) prepared.Options {
	return prepared.Options{MemoryLimit: o.MemoryLimit, Several: true, Locked: true, Over: !o.Fresh,
		Replicas: true, Leaves: true, Verify: o.Verify,
		On: how.On, Network: how.Network, Order: how.IntermediateOrder, Runs: how.Runs}
}

// allLoaded reports whether the program has loaded every operand of a statement that is a tensor of
// the program. If all are loaded, every rank has the same information about the operands, and all
// ranks find the same errors.
func (p *Program) allLoaded(parsed *input.Statement) bool {
	for name := range parsed.Inputs {
		if t := p.tensors[name]; t != nil && t.held == nil {
			return false
		}
	}
	return true
}

// adopt records the tensors that the statement reads. If the statement has loaded a tensor from an
// input, the loaded blocks become the program's value of this tensor. Every rank must call it.
func (s *Statement) adopt() error {
	p := s.p
	s.reads = nil
	seen := map[string]bool{}
	for _, o := range s.k.Planned.Problem.Operands {
		if seen[o.Tensor] {
			continue
		}
		seen[o.Tensor] = true
		if s.parsed.Inputs[o.Tensor].Made() { // it belongs to the statement
			continue
		}
		r := read{operand: o.Tensor, name: o.Tensor}
		if r.operand == s.parsed.Old {
			r.name = s.parsed.Result
		}
		t := p.tensors[r.name]
		if placed, ok := s.how.Placements[r.name]; ok {
			t.lieIn(placed.Memory())
		}
		if t.held == nil {
			b, err := s.k.Operands.AllEntries(o.Tensor)
			if err != nil {
				return err
			}
			h := &input.Held{Blocks: b, AsIs: true}
			if err := p.count(h); err != nil {
				return err
			}
			if len(b.Owners) == 1 {
				h.Replica = s.k.Operands.Replica(o.Tensor)
			}
			h.File = s.k.Planned.Reader.Lasting(o.Tensor)
			t.hold(h)
		}
		r.version, r.held = t.version, t.held
		r.shown = s.k.Operands.HaveBlocksOf(o.Tensor, t.held)
		s.reads = append(s.reads, r)
	}
	return nil
}

// refresh lets the statement read the current values of its tensors. If the prepared statement
// cannot read them, for example because a tensor has another format now, refresh returns the reason
// as the result `again`. The statement must then be prepared again. Otherwise `again` is "". Every
// rank must call refresh.
func (s *Statement) refresh() (again string, err error) {
	p := s.p
	if again := s.resultChange(); again != "" {
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
				s.k.ValuesChanged()
			}
			r.version = t.version
			continue
		}
		if t.held == nil {
			return r.name + " is now another tensor", nil
		}
		if t.held != r.held && !sameStorage(t.held, s.reader.Sizes.Dims[r.operand],
			s.reader.Types[r.operand], s.reader.Formats[r.operand]) {
			return r.name + " now has another format, type or size", nil
		}
		s.mayNotFit = s.mayNotFit || !t.held.Blocks.Layout.Format.AllDense()
		if !s.k.Operands.HaveBlocksOf(r.operand, t.held) { // blocks of the tensor are sent
			if err := t.fetch(); err != nil {
				return "", p.failed(err)
			}
		}
		if err := s.k.Exchange(r.operand, t.held); err != nil {
			return "", p.failed(err)
		}
		*r = read{operand: r.operand, name: r.name, version: t.version, held: t.held,
			shown: s.k.Operands.HaveBlocksOf(r.operand, t.held)}
	}
	if !s.mayNotFit { // of this run, or of an earlier run that failed at a later operand
		return "", nil
	}
	fits, err := s.k.Fits()
	if err != nil {
		return "", p.failed(err)
	}
	if !fits {
		return "an operand now has level arrays of another width, or many more entries", nil
	}
	s.mayNotFit = false
	return "", nil
}

// resultChange returns the reason why the prepared statement does not fit its result tensor any
// more, for example because the tensor now has another format. It returns "" if the statement still
// fits.
func (s *Statement) resultChange() string {
	name := s.parsed.Result
	t := s.p.tensors[name]
	if t != nil && t == s.wrote && s.sized == nil && t.isAddedTo() { // it is stored as before
		return ""
	}
	if t == nil {
		t = &programTensor{env: s.p.env, name: name}
	}
	f := tensor.DenseOf(s.parsed.Orders[name])
	if now := t.format(); now != "" {
		f, _ = notation.ParseFormat(now)
	}
	typ, given := s.reader.Types[name].String(), s.parsed.Types[name] != tensor.None
	switch now := t.typ(); {
	case !f.Equal(s.reader.Formats[name]), now != "" && now != typ, now == "" && given:
		return name + " needs another format or type now"
	case !slices.Equal(s.sizes, t.sizes(s.sized)):
		return name + " has other sizes now"
	case s.parsed.Stmt.KeepsOld() && t.isAddedTo() != s.adds:
		return name + " now has a value to add to, or no longer has one"
	}
	return ""
}

// Run computes the statement once, from the current values of its tensors. Every rank must call it.
//
// Run may fail before it computes, for example because an operand has no value. All tensors then
// keep their values. If it fails while it computes, for example in a division of integers by zero,
// the result has no value until it is assigned again. A program of one rank continues after an
// error. A program of several ranks ends, unless the error was found at every rank before anything
// was done.
func (s *Statement) Run() error {
	if err := s.Ready(); err != nil {
		return err
	}
	if err := s.compute(); err != nil {
		return err
	}
	if s.adds || !s.parsed.Stmt.KeepsOld() {
		s.wrote = s.p.tensors[s.parsed.Result]
	}
	return nil
}

// Ready prepares the statement if this is necessary, and otherwise refreshes it with the current
// values of its tensors. Every rank must call it.
func (s *Statement) Ready() error {
	p := s.p
	if err := p.usable(); err != nil {
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

// Balance counts the stored entries of the statement's largest operand at each rank, as the next
// run will read it. Every rank must call it.
func (s *Statement) Balance() (prepared.Balance, error) {
	if err := s.Ready(); err != nil {
		return prepared.Balance{}, err
	}
	b, err := s.k.Operands.Balance()
	if err != nil {
		err = s.p.failed(err)
	}
	return b, err
}

// Close removes the statement from the program.
func (s *Statement) Close() {
	s.close()
	delete(s.p.statements, s)
	if s.p.done[s.text] == s {
		delete(s.p.done, s.text)
	}
}
