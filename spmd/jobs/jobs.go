// Package jobs runs job files (codegen/jobfile) as programs, at every rank.
//
// # Files
//
//	jobs.go        Run: the items of a file, in order
//	machines.go    machines, and what is distributed over them
//	sizes.go       what names stand for: inputs, and sizes, from files
//	statements.go  the statements of a file apart, to be planned and compiled
//	plan.go        what a file would do and send, without running it
//	tally.go       how often items do what, and what that sends
//	stats.go       statistics
//	outputs.go     what is written, and where
//	running.go     which statement runs
//	check.go       runs of statements against the reference evaluator
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
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/input"
	"distaff/spmd/prepared"
	"distaff/spmd/program"
	"distaff/spmd/stats"
)

// Options are how a file is run.
type Options struct {
	Repeat int  // times that the whole of it runs, from its inputs; 0 is 1
	Warmup int  // further runs before those, untimed, which print nothing
	Check  bool // each statement's first and last run against the reference evaluator
	// Inputs are what -i and -g give tensors, in the place of what the file says.
	Inputs  map[string]input.Input
	Stats   string   // the file of the statistics; "" for none
	Argv    []string // for them, and Version
	Version string
	Target  string
	// Say is told each line that is printed, at rank 0, and Note what a user should know.
	Say, Note func(line string)
	// At is told at rank 0 where in the file what runs stands, "" for nowhere.
	At func(where string)
	// Running is told now and then what runs, once the job has run for RunningAfter. It may be nil.
	Running      func(what string)
	RunningAfter time.Duration
	// Outputs are the files that -o names, in the place of what the file says.
	Outputs map[string]string
	// Leaves, if not nil, returns the units of the leaves that a run of a statement over so many ranks
	// is expected to call. It is called on another thread.
	Leaves func(ctx context.Context, s Statement, ranks int) ([]*codegen.Unit, error)
}

// Taken is what one statement of a file took.
type Taken struct {
	Statement string  `json:"statement"`
	Line      int     `json:"line"`
	Runs      int64   `json:"runs"`
	Seconds   float64 `json:"seconds"` // of all runs
	First     float64 `json:"first"`   // of the first, with what prepares it
	Schedule  string  `json:"schedule"`
	Compiler  string  `json:"compiler"`
	// Comm is what it sends and receives, with what brings its operands to where it wants them,
	// in the last run of the whole file. At rank 0, where there are statistics.
	Comm stats.Comm `json:"comm"`
}

// Report is what a run tells.
type Report struct {
	Statements []Taken   // in the order of the file
	Passes     []float64 // seconds of each repeat of the whole file
	Lines      []string  // what checks found
}

// Ended is the error with which a job ends at every rank alike, and writes no output: a
// difference that a check found, or a repeat whose condition was to hold.
type Ended struct{ Msg string }

func (e *Ended) Error() string { return e.Msg }

// ExitCode is 4.
func (e *Ended) ExitCode() int { return 4 }

// execution is a file on its way at one rank.
type execution struct {
	names *names
	p     *program.Program
	o     Options
	found known // what rank 0 has told of the inputs

	ready map[*jobfile.Statement]*program.Statement
	took  map[*jobfile.Statement]*Taken
	runs  map[*jobfile.Statement]int64 // how often each runs at most; nil where runs are timed
	// of statements and place, in the last run of the whole file
	traffic map[jobfile.Item]comm.Counters
	report  *Report
	checks  *checks
	start   time.Time
	compute []float64        // seconds of each run of the whole file, without loading and compiling
	largest prepared.Balance // of the statements that ran, that with the largest operand
	storing time.Time        // when outputs began to be written
	warming bool             // the run is one of Warmup
	running running
}

// Run runs a file that was bound and checked, and writes its outputs at the end, all
// together. Collective.
func Run(p *program.Program, f *jobfile.File, o Options) (*Report, error) {
	r := &execution{names: newNames(f, o.Inputs), p: p, o: o,
		ready: map[*jobfile.Statement]*program.Statement{}, took: map[*jobfile.Statement]*Taken{},
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
	stop, err := r.ahead()
	if err != nil {
		return nil, err
	}
	defer stop()
	watched := r.watch()
	err = r.passes()
	watched()
	var ended *Ended
	if err != nil && !errors.As(err, &ended) {
		return nil, err
	}
	if werr := r.write(err == nil); werr != nil {
		return nil, werr
	}
	return r.report, err
}

// ahead has rank 0 compile the leaves of all statements side by side, while the first ones load
// their inputs and run: see env.Env.Ahead. What is wrong of a statement is told as it is prepared.
func (r *execution) ahead() (stop func(), err error) {
	if r.o.Leaves == nil || r.p.Rank() != 0 {
		return func() {}, nil
	}
	statements, err := r.names.statements(r.found, r.p.Ranks())
	if err != nil {
		return func() {}, nil
	}
	ranks := r.p.Ranks()
	return r.p.Ahead(func(ctx context.Context) iter.Seq[*codegen.Unit] {
		return func(yield func(*codegen.Unit) bool) {
			begun := map[string]bool{}
			for _, s := range statements {
				if r.runs == nil {
					s.Runs = 0
				}
				if key := s.alike(); key != "" {
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

// passes runs the file as often as is asked for.
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
		if err := r.items(r.names.f.Items); err != nil {
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

// list makes the table of what statements take.
func (r *execution) list() {
	for s := range r.names.f.Statements() {
		line, _ := r.names.f.Position(s.Span().Pos)
		r.report.Statements = append(r.report.Statements,
			Taken{Statement: s.Text, Line: line, Schedule: scheduleText(s)})
	}
	n := 0
	for s := range r.names.f.Statements() {
		r.took[s] = &r.report.Statements[n]
		n++
	}
}

// declare gives the program the tensors that the file declares.
func (r *execution) declare() error {
	for _, name := range r.p.Names() {
		r.p.Drop(name)
	}
	for _, t := range r.names.f.Tensors {
		if !t.Declared {
			continue
		}
		how, err := r.names.storage(t)
		if err != nil {
			return err
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

// settle brings a tensor to where its declaration places it, if that says so. One rank has all of
// it anyway.
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
	return r.p.LieIn(name, t.Placement.Placement.Memory())
}

// place brings a tensor to where a placement says.
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

// counted counts the traffic of an item while do runs.
func (r *execution) counted(it jobfile.Item, do func() error) error {
	before := r.p.Traffic()
	err := do()
	r.traffic[it] = r.traffic[it].Add(r.p.Traffic().Sub(before))
	return err
}

func (r *execution) items(items []jobfile.Item) error {
	for _, it := range items {
		if err := r.item(it); err != nil {
			return err
		}
	}
	return nil
}

func (r *execution) item(it jobfile.Item) error {
	if t, ok := it.(*jobfile.Repeat); ok {
		return r.repeat(t)
	}
	return r.within(it, func() error {
		switch it := it.(type) {
		case *jobfile.Statement:
			return r.statement(it)
		case *jobfile.Print:
			return r.print(it)
		case *jobfile.Place:
			if err := r.counted(it, func() error { return r.place(it.Name, it.Placement.Placement) }); err !=
				nil {
				return err
			}
			return r.p.LieIn(it.Name, it.Placement.Placement.Memory())
		}
		return nil
	})
}

// within has errors of what do does, at any rank, say that they are of an item.
func (r *execution) within(it jobfile.Item, do func() error) error {
	r.p.Locate(func(err error) error { return r.names.at(it, err) })
	defer r.p.Locate(nil)
	if r.o.At != nil && r.p.Rank() == 0 {
		r.o.At(r.names.where(it))
		defer r.o.At("")
	}
	return r.names.at(it, do())
}

// located is an error that says where in the file it arose.
type located struct{ error }

func (e located) Unwrap() error { return e.error }

// at gives an error of an item its place in the file, where it has none.
func (r *names) at(it jobfile.Item, err error) error {
	var has located
	var ended *Ended
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
	line, col := r.f.Position(it.Span().Pos)
	return located{fmt.Errorf("%s:%d:%d: %w", tensor.Printable(r.f.Name), line, col, err)}
}

// statement prepares a statement, the first time, and runs it.
func (r *execution) statement(s *jobfile.Statement) error {
	start := time.Now()
	r.running.statement(s)
	defer r.running.statement(nil)
	k, err := r.prepared(s)
	if err != nil {
		return err
	}
	took := r.took[s]
	if r.o.Stats != "" && took.Runs == 0 {
		b, err := k.Balance()
		if err != nil {
			return err
		}
		if b.Over(r.largest) {
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

// prepared is a statement that can run.
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

// scheduleText returns the schedule of a statement, as flags say it.
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

// repeat runs a body.
func (r *execution) repeat(t *jobfile.Repeat) error {
	r.running.enter(t)
	defer r.running.leave()
	for n := range t.N {
		r.running.pass(n)
		if err := r.items(t.Body); err != nil {
			return err
		}
		if t.Until == nil {
			continue
		}
		met, err := t.Until.Eval(r.scalar)
		if err != nil {
			return err
		}
		if met {
			r.note(fmt.Sprintf("%s: %s holds after %s", r.names.where(t), t.Until, passes(n+1)))
			return nil
		}
	}
	if t.Until == nil {
		return nil
	}
	msg := fmt.Sprintf("%s: %s does not hold after %s", r.names.where(t), t.Until, passes(t.N))
	if t.Fail {
		return &Ended{msg}
	}
	r.note(msg)
	return nil
}

// passes is a number of passes.
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

// scalar is the value of a scalar, the same at every rank.
func (r *execution) scalar(name string) (jobfile.Scalar, error) {
	v, err := r.p.Value(name)
	s := jobfile.Scalar{Type: v.Type}
	s.Value.I, s.Value.C = v.I, v.C
	return s, err
}

// print prints a tensor.
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
