// Package jobs runs job files (codegen/jobfile), and plans them without running them.
//
// Run executes a file at every rank: it takes the items in order, once for each repeat of the whole
// file, and writes all outputs at the end. Plan follows the same items without data. It computes
// where each item leaves its tensors and what the ranks send, and counts a repeat's passes without
// following each pass. Statements returns each statement with the known facts about its tensors, so
// that the statement can be planned and compiled like a job of its own.
//
// # Files
//
//	jobs.go        Run: the items of a file, in order
//	linalg.go      functions of whole matrices
//	machines.go    machines, and the targets of placements
//	sizes.go       inputs, and values of the names of sizes
//	statements.go  single statements of a file, for planning and compiling
//	plan.go        Plan: what a file would do and send
//	planblocks.go  the plan of repeats and conditions
//	planplace.go   the plan of a place item
//	tally.go       counts of a plan: runs of items, transfers and routes
//	stats.go       statistics of a run
//	outputs.go     output files
//	running.go     the statement that is running, for a progress display
//	check.go       comparison of runs with the reference evaluator
package jobs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/codegen/place"
	"distaff/spmd/comm"
	"distaff/spmd/input"
	"distaff/spmd/prepared"
	"distaff/spmd/program"
	"distaff/spmd/stats"
)

// Options select how Run runs a file.
type Options struct {
	Repeat int  // how many times the whole file runs, from its inputs; 0 means once
	Warmup int  // further runs before the repeats; they are not timed and print nothing
	Check  bool // compare each statement's first and last run with the reference evaluator
	// Inputs holds the inputs that flags give tensors. They replace the inputs in the file.
	Inputs  map[string]input.Input
	Stats   string   // file for the statistics; "" means that none are written
	Argv    []string // the command line, for the statistics
	Version string   // the program's version, for the statistics
	// Say receives each printed line at rank 0. Note receives each remark to the user at rank 0.
	// Both may be nil.
	Say, Note func(line string)
	// At is called at rank 0 with the position in the file, FILE:LINE, when an item other than a
	// repeat begins, and with "" when it ends. It may be nil.
	At func(where string)
	// Running is called at rank 0 at regular intervals with a line about what is running, once the
	// job has run for RunningAfter. It may be nil.
	Running      func(what string)
	RunningAfter time.Duration
	// Outputs maps tensors to the files that flags name for them. A file named here replaces the
	// file that the job file names for the tensor.
	Outputs map[string]string
	// Ended, if not nil, is called at every rank after the last item, before outputs are written.
	Ended func(p *program.Program) error
	// Leaves, if not nil, returns the units of the leaves that a run of a statement on the given
	// number of ranks is expected to call. It is called on another thread.
	Leaves func(ctx context.Context, s Statement, ranks int) ([]*codegen.Unit, error)
}

// Taken holds the time and traffic of one statement of a file, or of one function of whole
// matrices. Such a function has no schedule, compiler and target.
type Taken struct {
	Statement string  `json:"statement"`
	File      string  `json:"file,omitempty"` // an included file, or "" for the job file
	Line      int     `json:"line"`
	Runs      int64   `json:"runs"`
	Seconds   float64 `json:"seconds"` // sum over all runs
	First     float64 `json:"first"`   // the first run, with its preparation unless a warmup did it
	Schedule  string  `json:"schedule"`
	Compiler  string  `json:"compiler"`
	// Target names the target of the statement. TargetReason says why it was chosen. It is "" if
	// Target is the target of the job.
	Target       string `json:"target"`
	TargetReason string `json:"target_reason,omitempty"`
	// Comm is the traffic of the statement in the last run of the whole file. It includes the
	// traffic that moves the operands to the ranks that need them. It is set at rank 0 only, and
	// only if statistics are written.
	Comm stats.Comm `json:"comm"`
}

// Report is the result of Run.
type Report struct {
	Statements []Taken   // in the order of the file
	Passes     []float64 // seconds of each repeat of the whole file
	Lines      []string  // the results of checks, at rank 0
}

// NoOutputError is the error of a job that ends without writing outputs. Either a check found a
// difference, or a repeat with "or fail" made its last pass and its condition still did not hold.
// Every rank gets the same error.
type NoOutputError struct{ Msg string }

func (e *NoOutputError) Error() string { return e.Msg }

// ExitCode is 4.
func (e *NoOutputError) ExitCode() int { return 4 }

// execution is the state of Run at one rank.
type execution struct {
	names *names
	p     *program.Program
	o     Options
	found known // facts about the inputs, found by rank 0

	ready map[*jobfile.Statement]*program.Statement // prepared statements
	took  map[jobfile.Item]*Taken                   // statements and functions of whole matrices
	// runs holds the largest number of runs of each statement. It is nil if runs are timed, that
	// is, if Repeat exceeds 1 or Warmup exceeds 0.
	runs map[*jobfile.Statement]int64
	// traffic maps statements and places to their traffic in the last run of the whole file.
	traffic map[jobfile.Item]comm.Counters
	report  *Report
	checks  *checks
	start   time.Time
	compute []float64        // seconds of each run of the whole file, without loading and compiling
	largest prepared.Balance // the balance of the statement with the largest operand so far
	storing time.Time        // when the writing of outputs began
	warming bool             // this run of the file is one of Options.Warmup
	running running
}

// Run runs a file that was bound and checked. It writes all outputs together at the end. Every rank
// must call it.
func Run(p *program.Program, f *jobfile.File, o Options) (*Report, error) {
	r := &execution{names: newNames(f, o.Inputs), p: p, o: o,
		ready: map[*jobfile.Statement]*program.Statement{}, took: map[jobfile.Item]*Taken{},
		report: &Report{Passes: []float64{}}, start: time.Now()}
	if o.Check {
		r.checks = &checks{r: r, last: map[*jobfile.Statement]*lastRun{}}
	}
	if err := r.bind(); err != nil {
		return nil, err
	}
	if err := r.machines(); err != nil {
		return nil, err
	}
	if err := r.writable(); err != nil {
		return nil, err
	}
	r.list()
	if o.Repeat <= 1 && o.Warmup == 0 {
		r.runs = timesOf(f.Items)
	}
	stop, err := r.compileAhead()
	if err != nil {
		return nil, err
	}
	defer stop()
	watched := r.watch()
	err = r.passes()
	watched()
	var ended *NoOutputError
	if err != nil && !errors.As(err, &ended) {
		return nil, err
	}
	if o.Ended != nil {
		if eerr := o.Ended(p); eerr != nil {
			return nil, eerr
		}
	}
	if werr := r.write(err == nil); werr != nil {
		return nil, werr
	}
	return r.report, err
}

// compileAhead makes rank 0 compile the leaves of all statements in parallel while the first
// statements load their inputs and run (see env.Env.CompileAhead). It skips a statement if its
// leaves cannot be found. It does nothing if the tensors of the statements have an error. The
// errors are reported later, when the statements are prepared. The caller must call stop.
func (r *execution) compileAhead() (stop func(), err error) {
	if r.o.Leaves == nil || r.p.Rank() != 0 {
		return func() {}, nil
	}
	statements, err := r.names.statements(r.found, r.p.Ranks())
	if err != nil {
		return func() {}, nil
	}
	ranks := r.p.Ranks()
	return r.p.CompileAhead(func(ctx context.Context) iter.Seq[*codegen.Unit] {
		return func(yield func(*codegen.Unit) bool) {
			begun := map[string]bool{}
			for _, s := range statements {
				if r.runs == nil {
					s.Runs = 0
				}
				if key := s.renamed(); key != "" {
					if begun[key] {
						continue
					}
					begun[key] = true
				}
				units, err := r.o.Leaves(ctx, s, ranks)
				if err != nil {
					continue
				}
				for _, u := range units {
					if !yield(u) {
						return
					}
				}
			}
		}
	})
}

// passes runs the whole file Warmup times and then Repeat times, and finishes the checks.
func (r *execution) passes() error {
	for n := range r.o.Warmup + max(r.o.Repeat, 1) {
		if r.warming = n < r.o.Warmup; n == r.o.Warmup {
			for _, took := range r.took {
				took.Runs, took.Seconds, took.First = 0, 0, 0
			}
		}
		at, before := time.Now(), r.p.Spent()
		r.traffic = map[jobfile.Item]comm.Counters{}
		if err := r.declare(); err != nil {
			return err
		}
		if _, err := r.items(r.names.f.Items); err != nil {
			return err
		}
		if r.warming {
			continue
		}
		took, spent := time.Since(at), r.p.Spent()
		r.report.Passes = append(r.report.Passes, took.Seconds())
		r.compute = append(r.compute,
			(took - (spent.Load - before.Load) - (spent.Compile - before.Compile)).Seconds())
	}
	if r.checks != nil {
		return r.checks.finish()
	}
	return nil
}

// list fills the report's table of statements, in the order of the file.
func (r *execution) list() {
	var items []jobfile.Item
	for it := range jobfile.All(r.names.f.Items) {
		took := Taken{}
		took.File, took.Line = r.names.fileLine(it)
		switch it := it.(type) {
		case *jobfile.Statement:
			took.Statement, took.Schedule = it.Text, scheduleText(it)
		case *jobfile.Linalg:
			took.Statement = it.String()
		default:
			continue
		}
		items, r.report.Statements = append(items, it), append(r.report.Statements, took)
	}
	for n, it := range items {
		r.took[it] = &r.report.Statements[n]
	}
}

// declare resets the program to its initial tensors: it drops all tensors of the program, and
// declares the tensors of the file. It also declares each temporary tensor for which the flag -f
// gives a format. If conditions decide which statement writes a temporary first, declare gives
// temporaries the types and sizes that they have in the order of the text.
func (r *execution) declare() error {
	for _, name := range r.p.Names() {
		r.p.Drop(name)
	}
	branches := r.names.f.Branches()
	for _, t := range r.names.f.Tensors {
		if !t.Declared && t.Format == "" && !branches {
			continue
		}
		how, err := r.names.storage(t)
		if err != nil {
			return err
		}
		if !t.Declared && branches {
			how.Type = r.found.Temporaries[t.Name].String()
			if dims := r.found.Dims[t.Name]; len(dims) == t.Order {
				how.Sizes = append([]int64{}, dims...)
			}
		}
		if in, ok := r.names.input(t); ok {
			if err := r.p.Set(t.Name, in, how); err != nil {
				return err
			}
			if err := r.within(t, func() error { return r.settle(t.Name) }); err != nil {
				return err
			}
		} else if err := r.p.Declare(t.Name, how); err != nil {
			return err
		}
	}
	return nil
}

// settle moves a tensor to the placement of its declaration, if it has one, and into the memory
// that the placement names. A single rank already has the whole tensor, so that only the memory
// matters.
func (r *execution) settle(name string) error {
	t := r.names.f.Tensor(name)
	if t == nil || t.Placement == nil {
		return nil
	}
	if r.p.Ranks() > 1 {
		if err := r.place(name, t.Placement.Placement); err != nil {
			return err
		}
	}
	return r.p.SetMemory(name, t.Placement.Placement.Memory())
}

// place moves a tensor to a placement.
func (r *execution) place(name string, p place.Placement) error {
	mode, on, err := r.names.target(p, r.p.Ranks())
	switch {
	case err != nil:
		return err
	case on != nil:
		return r.p.PlaceOn(name, on, p)
	}
	return r.p.Place(name, mode)
}

// counted calls do and adds this rank's traffic during the call to the traffic of an item.
func (r *execution) counted(it jobfile.Item, do func() error) error {
	before := r.p.Traffic()
	err := do()
	r.traffic[it] = r.traffic[it].Add(r.p.Traffic().Sub(before))
	return err
}

// items runs items in order. left is the break or the continue that ended them early, or nil.
func (r *execution) items(items []jobfile.Item) (left *jobfile.Leave, err error) {
	for _, it := range items {
		if left, err = r.item(it); err != nil || left != nil {
			return left, err
		}
	}
	return nil, nil
}

func (r *execution) item(it jobfile.Item) (left *jobfile.Leave, err error) {
	switch t := it.(type) {
	case *jobfile.Repeat:
		return nil, r.repeat(t)
	case *jobfile.Call:
		return r.items(t.Body)
	case *jobfile.If:
		met, err := t.Cond.Eval(r.p.Value)
		switch {
		case err != nil:
			return nil, r.names.at(t, err)
		case met:
			return r.items(t.Then)
		}
		return r.items(t.Else)
	case *jobfile.Leave:
		met, err := t.Cond.Eval(r.p.Value)
		if err != nil || !met {
			return nil, r.names.at(t, err)
		}
		return t, nil
	}
	return nil, r.within(it, func() error {
		switch it := it.(type) {
		case *jobfile.Statement:
			return r.statement(it)
		case *jobfile.Linalg:
			return r.linalg(it)
		case *jobfile.Print:
			return r.print(it)
		case *jobfile.Place:
			if err := r.counted(it, func() error { return r.place(it.Name, it.Placement.Placement) }); err !=
				nil {
				return err
			}
			return r.p.SetMemory(it.Name, it.Placement.Placement.Memory())
		}
		return nil
	})
}

// within calls do and adds the position of an item to every error that it causes, at any rank. It
// also calls Options.At.
func (r *execution) within(it jobfile.Item, do func() error) error {
	r.p.Locate(func(err error) error { return r.names.at(it, err) })
	defer r.p.Locate(nil)
	if r.o.At != nil && r.p.Rank() == 0 {
		r.o.At(r.names.where(it))
		defer r.o.At("")
	}
	return r.names.at(it, do())
}

// located is an error whose message begins with a position in the job file.
type located struct{ error }

func (e located) Unwrap() error { return e.error }

// at adds the position of an item to an error. It returns the error unchanged if the error has a
// position already, or if it is a *NoOutputError.
func (r *names) at(it jobfile.Item, err error) error {
	var has located
	var ended *NoOutputError
	if err == nil || errors.As(err, &has) || errors.As(err, &ended) {
		return err
	}
	var d *diag.Error
	if errors.As(err, &d) {
		if s, ok := it.(*jobfile.Statement); ok {
			return located{s.Locate(err)}
		}
		if d.File != "" {
			return located{err}
		}
	}
	return r.ofFile(it.Span(), err)
}

// statement runs a statement. At its first run it prepares the statement.
func (r *execution) statement(s *jobfile.Statement) error {
	start := time.Now()
	r.running.statement(s)
	defer r.running.statement(nil)
	k, err := r.prepared(s)
	if err != nil {
		return err
	}
	if err := r.counted(s, k.Ready); err != nil {
		return err
	}
	took := r.took[s]
	if r.o.Stats != "" && took.Runs == 0 {
		b, err := k.Balance()
		if err != nil {
			return err
		}
		if b.LargerThan(r.largest) {
			r.largest = b
		}
	}
	var before *program.Snapshot
	if r.checks != nil {
		if before, err = k.Before(); err != nil {
			return err
		}
	}
	err = r.counted(s, func() error {
		if err := k.Run(); err != nil {
			return err
		}
		return r.settle(k.Result())
	})
	if err != nil {
		return err
	}
	took.Compiler = k.Compiler()
	took.Target, took.TargetReason = k.Target()
	seconds := time.Since(start).Seconds()
	if took.Runs++; took.Runs == 1 {
		took.First = seconds
	}
	took.Seconds += seconds
	if before != nil {
		return r.checks.after(s, k, before)
	}
	return nil
}

// prepared returns a statement that is ready to run. It prepares the statement at the first call.
func (r *execution) prepared(s *jobfile.Statement) (k *program.Statement, err error) {
	if k = r.ready[s]; k != nil {
		return k, nil
	}
	how, err := r.names.how(s, r.p.Ranks())
	if err != nil {
		return nil, err
	}
	how.Runs = r.runs[s]
	err = r.counted(s, func() error {
		k, err = r.p.Prepare(s.Text, how)
		return err
	})
	if err == nil {
		r.ready[s] = k
	}
	return k, err
}

// scheduleText returns the schedule of a statement in the form of command-line flags.
func scheduleText(s *jobfile.Statement) string {
	var commands []string
	for _, c := range s.Schedule {
		commands = append(commands, c.Text)
	}
	return stats.Schedule(stats.Flag{Name: "-s", Values: commands},
		stats.Flag{Name: "--split", Values: s.Split},
		stats.Flag{Name: "--order", Values: []string{s.Order}},
		stats.Flag{Name: "--extend", Values: s.Extend},
		stats.Flag{Name: "--map", Values: []string{s.Map}},
		stats.Flag{Name: "--network", Values: []string{s.Network}},
		stats.NumberFlag("--intermediate-order", s.IntermediateOrder))
}

// repeat runs the body of a repeat until its condition holds or a break ends it, and at most t.N
// times.
func (r *execution) repeat(t *jobfile.Repeat) error {
	r.running.enter(t)
	defer r.running.leave()
	for n := range t.N {
		r.running.pass(n)
		left, err := r.items(t.Body)
		if err != nil {
			return err
		}
		if left != nil && !left.Next {
			r.note(fmt.Sprintf("%s: %s is true in pass %d", r.names.where(left), left.Cond, n+1))
			return nil
		}
		if t.Until == nil {
			continue
		}
		met, err := t.Until.Eval(r.p.Value)
		if err != nil {
			return err
		}
		if met {
			r.note(fmt.Sprintf("%s: %s is true after %s", r.names.where(t), t.Until, passes(n+1)))
			return nil
		}
	}
	if t.Until == nil {
		return nil
	}
	msg := fmt.Sprintf("%s: %s is still false after %s", r.names.where(t), t.Until, passes(t.N))
	sep := "; "
	for _, name := range t.Until.Scalars() {
		value, err := r.p.Value(name)
		if err != nil {
			return err
		}
		msg += sep + name + " is " + value.Text()
		sep = ", "
	}
	if t.Fail {
		return &NoOutputError{msg}
	}
	r.note(msg)
	return nil
}

// passes formats a number of passes.
func passes(n int64) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

func (r *execution) note(line string) {
	if r.o.Note != nil && r.p.Rank() == 0 && !r.warming {
		r.o.Note(line)
	}
}

// print passes a line about a tensor to Options.Say.
func (r *execution) print(it *jobfile.Print) error {
	line, err := r.p.Summary(it.Name)
	if err != nil {
		return err
	}
	if r.p.Rank() == 0 && r.o.Say != nil && !r.warming {
		r.o.Say(line)
	}
	return nil
}
