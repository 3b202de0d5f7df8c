// Package run takes a job of one statement through its phases, at one rank.
//
// # Files
//
//	run.go     a job at a rank, from what is said of it to its report
//	phases.go  its phases, in order
//	report.go  what it tells when it is done
//	notes.go   what a user may not have meant
package run

import (
	"time"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/check"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/input"
	"distaff/spmd/output"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
	"distaff/spmd/stats"
)

// Spec is what is said of a job.
type Spec struct {
	Statement *input.Statement
	Settings  env.Settings
	Input     input.Options
	Prepared  prepared.Options
	Blocks    *place.BlockSpec // the block schedule; empty for the default one
	Warmup    int              // runs of the compute phase before those that are timed
	Repeat    int              // timed ones; 0 is 1
	Check     bool             // compare the result with the reference evaluator
	Keep      bool             // bring the result to rank 0, for Report.Result
	Outputs   []output.Output
	StatsFile string // "" for none
	Write     string // how outputs are written, see store
	// LeavesOnly ends the job when its leaves are there. Made is told their units; it may be nil.
	LeavesOnly bool
	Made       *[]*codegen.Unit
	// Stats has what statistics repeat of the command: version, arguments, statement, schedule,
	// target.
	Stats stats.Stats
}

// Report is what a job tells when it is done.
type Report struct {
	Stats stats.Stats
	// Lines are what a user is told on standard output: a scalar result, or the
	// summary of a result that no file was asked for; and what Check found.
	Lines []string
	// Result is the left side's tensor, where Job.Keep asks for it. The caller
	// closes it.
	Result *tcs.Tensor
	// Allocated is the most bytes that each rank has counted against its memory limit.
	Allocated []int64
}

// Job is a job on its way at one rank.
type Job struct {
	Reader    *input.Reader
	Statement *input.Statement
	Prepared  *prepared.Statement // nil before the job is planned

	spec    *Spec
	blocks  map[plan.Block]*tcs.Tensor // of the result that live here
	traffic comm.Counters              // of the last repeat
	start   time.Time

	files      *output.Files
	kept       *tcs.Tensor // the result, whole at rank 0, where it is asked for
	difference *check.Difference

	report *Report
}

// New is a job at one rank of c before anything is opened; onNode of its ranks are on this machine,
// inProcess of them in this process. The caller closes it.
func New(c comm.Comm, s *Spec, onNode, inProcess int) *Job {
	e := env.New(c, s.Settings, onNode, inProcess)
	return &Job{Reader: input.NewReader(e, s.Statement, s.Input), Statement: s.Statement, spec: s,
		report: &Report{Stats: s.Stats}}
}

// Run takes the job through its phases; it began at start. Collective. The report is rank 0's, and
// nil at other ranks. Where the check finds a difference, the error is a *check.Difference and the
// report is there as well.
func (r *Job) Run(start time.Time) (report *Report, err error) {
	defer r.Reader.Blame(&err)
	if err := r.Reader.Env.Ready(); err != nil {
		return nil, err
	}
	r.start = start
	if r.files, err = output.Create(r.Reader.Env, r.spec.Outputs, r.spec.StatsFile); err != nil {
		return nil, err
	}
	defer r.files.Abort() // nothing, where they have their names
	r.report.Stats.Phases.Load = seconds(start)
	phases := r.phases()
	if r.spec.LeavesOnly {
		phases = phases[:compiled]
	}
	if err := r.through(phases); err != nil || !r.Reader.Env.Root() {
		return nil, err
	}
	if r.spec.LeavesOnly {
		if r.spec.Made != nil {
			*r.spec.Made = r.Prepared.Made()
		}
		return nil, nil
	}
	r.report.Result, r.kept = r.kept, nil
	if r.difference != nil {
		return r.report, r.difference
	}
	return r.report, nil
}

// Plan plans the job for a number of ranks, and runs nothing: it reads what inputs say of
// themselves.
func (r *Job) Plan(ranks int, blocks *place.BlockSpec) error {
	return r.through([]phase{{nil, r.Reader.Open}, {nil, r.Reader.Infer},
		{nil, func() error { return r.planFor(ranks, blocks) }}})
}

// Load loads the operands of a job that was planned for the ranks there are, if what it takes at
// least fits.
func (r *Job) Load() error {
	return r.through([]phase{{nil, r.fits}, {nil, r.load}})
}

// Compute takes a job of which nothing was opened as far as its result. Collective.
func (r *Job) Compute() error { return r.through(r.phases()[:computed]) }

// Close gives back all but the result that the report has.
func (r *Job) Close() {
	r.closeBlocks()
	if r.kept != nil {
		r.kept.Close()
	}
	if r.Prepared != nil {
		r.Prepared.Close()
	}
	r.Reader.Env.Close()
	r.Reader.Close()
}

func (r *Job) closeBlocks() {
	for _, t := range r.blocks {
		r.Reader.Env.Drop(t)
	}
	tcs.CloseAll(r.blocks)
	r.blocks = nil
}

// seconds is the time since start.
func seconds(start time.Time) float64 { return time.Since(start).Seconds() }
