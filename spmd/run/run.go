// Package run executes a job of one statement on one rank.
//
// A Job goes through phases: it reads the headers of its inputs, infers sizes and formats, plans
// which rank owns which blocks, loads the operands, compiles the leaves, computes, and stores the
// result. Every rank runs the same phases in the same order.
//
// # Files
//
//	run.go     Spec, Report and Job: what a job is given, what it returns, and its life
//	phases.go  the phases of a job, in order
//	report.go  the statistics in the report
//	notes.go   notes about choices that the user may not have intended
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

// Spec describes a job.
type Spec struct {
	Statement *input.Statement
	Settings  env.Settings
	Input     input.Options
	Prepared  prepared.Options
	Blocks    *place.BlockSpec // the block schedule; an empty one means the default schedule
	Warmup    int              // untimed runs of the compute phase before the timed ones
	Repeat    int              // number of timed runs; 0 means 1
	Check     bool             // compare the result with the reference evaluator
	Keep      bool             // gather the result on rank 0 for Report.Result
	Outputs   []output.Output
	StatsFile string // file of the statistics; "" writes no statistics
	Write     string // how output files are written; see store.Mode
	// LeavesOnly ends the job after the leaves are compiled. Rank 0 then stores their units in
	// *Made, unless Made is nil.
	LeavesOnly bool
	Made       *[]*codegen.Unit
	// Stats holds the parts of the statistics that the command knows: version, arguments,
	// statement, schedule and target.
	Stats stats.Stats
}

// Report is the outcome of a job.
type Report struct {
	Stats stats.Stats
	// Lines are printed on standard output. They hold a scalar result, or the summary of a result
	// that no output file stores, and the verdict of the check.
	Lines []string
	// Result is the tensor on the left side if Spec.Keep is set, and nil otherwise. The caller
	// closes it.
	Result *tcs.Tensor
	// Allocated is each rank's peak number of bytes that counted against its memory limit.
	Allocated []int64
}

// Job is the state of a job on one rank.
type Job struct {
	Reader    *input.Reader
	Statement *input.Statement
	Prepared  *prepared.Statement // nil until the job is planned

	spec    *Spec
	blocks  map[plan.Block]*tcs.Tensor // blocks of the result that this rank owns
	traffic comm.Counters              // messages of the last repeat
	start   time.Time

	files      *output.Files
	kept       *tcs.Tensor // the whole result, on rank 0 if Spec.Keep is set; otherwise nil
	difference *check.Difference

	report *Report
}

// New returns a job for one rank of c. It opens no files. onNode is the number of ranks of c on
// this machine, and inProcess the number of ranks in this process. The caller closes the job.
func New(c comm.Comm, s *Spec, onNode, inProcess int) *Job {
	e := env.New(c, s.Settings, onNode, inProcess)
	return &Job{Reader: input.NewReader(e, s.Statement, s.Input), Statement: s.Statement, spec: s,
		report: &Report{Stats: s.Stats}}
}

// Run runs all phases of the job, which began at time start. Every rank must call it. Rank 0
// returns the report, and other ranks return nil. If the check finds a difference, rank 0 returns
// both the report and a *check.Difference as the error.
func (r *Job) Run(start time.Time) (report *Report, err error) {
	defer r.Reader.Blame(&err)
	if err := r.Reader.Env.Ready(); err != nil {
		return nil, err
	}
	r.start = start
	if r.files, err = output.Create(r.Reader.Env, r.spec.Outputs, r.spec.StatsFile); err != nil {
		return nil, err
	}
	defer r.files.Abort() // does nothing after the files got their names
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
			*r.spec.Made = r.Prepared.LeafUnits()
		}
		return nil, nil
	}
	r.report.Result, r.kept = r.kept, nil
	if r.difference != nil {
		return r.report, r.difference
	}
	return r.report, nil
}

// Plan plans the job for the given number of ranks and block schedule. It reads the headers of the
// inputs, but no entries, and computes nothing.
func (r *Job) Plan(ranks int, blocks *place.BlockSpec) error {
	return r.through([]phase{{nil, r.Reader.Open}, {nil, r.Reader.Infer},
		{nil, func() error { return r.planFor(ranks, blocks) }}})
}

// Load loads the operands if the least memory that the job needs is within the limit. The job must
// be planned for the actual number of ranks.
func (r *Job) Load() error {
	return r.through([]phase{{nil, r.fits}, {nil, r.load}})
}

// Compute runs the phases of a new job up to the result, which it leaves in blocks. Every rank must
// call it.
func (r *Job) Compute() error { return r.through(r.phases()[:computed]) }

// Close releases everything that the job holds. It keeps the result that the report owns.
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

// seconds returns the seconds since start.
func seconds(start time.Time) float64 { return time.Since(start).Seconds() }
