package spmd

import (
	"context"
	"time"

	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/notation"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/plan"
)

// Report is what a job tells when it is done.
type Report struct {
	Stats Stats
	// Lines are what a user is told on standard output: a scalar result, or the
	// summary of a result that no file was asked for; and what Check found.
	Lines []string
	// Result is the left side's tensor, where Job.Keep asks for it. The caller
	// closes it.
	Result *tcs.Tensor
	// Allocated is the most bytes that each rank has counted against its memory limit.
	Allocated []int64
}

// Run runs the job. Where Check finds a difference, the error is a *Difference
// and the report is there as well; with any other error there is none. Nothing
// is written then, except that outputs to pipes and devices may have begun.
//
// In a process that mpirun or srun started as one of several ranks, the job
// runs on all of them. The report is then rank 0's, and nil at other ranks.
func (j *Job) Run(ctx context.Context) (*Report, error) {
	if l, ok, err := launcher(); err != nil {
		return nil, err
	} else if ok {
		return j.runLaunched(ctx, l)
	}
	if j.Ranks > 1 {
		return j.runEmbedded(ctx)
	}
	c, end := local.Alone(ctx)
	defer end()
	return j.RunOn(c, 1, 1)
}

// runEmbedded runs the job on ranks of this process.
func (j *Job) runEmbedded(ctx context.Context) (*Report, error) {
	if _, err := j.faults(j.Ranks); err != nil { // said once, before any rank starts
		return nil, err
	}
	var report *Report
	err := local.Run(ctx, j.Ranks, func(c comm.Comm) error {
		rep, err := j.RunOn(c, c.Size(), c.Size())
		if c.Rank() == 0 {
			report = rep
		}
		return err
	})
	return report, err
}

// run is a job on its way at one rank.
type run struct {
	*env
	job   *Job
	p     *parsed
	start time.Time

	missing missing // what becomes of operands without an input
	sources map[string]*source
	sizes   *notation.Sizes
	types   map[string]dtype.Type // of every tensor
	compute dtype.Type            // that the statement computes in
	formats map[string]format.Format

	prepared *prepared
	blocks   map[plan.Block]*tcs.Tensor // of the result that live here
	wholes   map[string]*tcs.Tensor     // operands at this rank, whole: see whole

	files      []*outfile.File // of Job.Outputs; none at ranks other than 0
	traffic    comm.Counters   // of the last repeat
	kept       *tcs.Tensor     // the result, whole at rank 0, where it is asked for
	difference *Difference

	closers []func() error
	report  *Report
	ending  ending
}

// phase is a part of a job's way.
type phase struct {
	takes *float64 // to which the seconds are added that it takes; nil for none
	do    func() error
}

// phases are a job's way, at every rank. Each is collective.
func (r *run) phases() []phase {
	t := &r.report.Stats.Phases
	return []phase{
		{&t.Load, r.open},         // what each input says of itself
		{&t.Load, r.infer},        // every size, type and format
		{&t.Load, r.plan},         // which rank holds which blocks, and runs which steps
		{&t.Load, r.load},         // the blocks of operands, at their ranks
		{nil, r.checksums},        // of the input files
		{&t.Compile, r.compile},   // the leaves
		{nil, r.computeRepeats},   // the result's blocks, as often as is asked for
		{&t.Store, r.check},       // against the reference
		{&t.Store, r.store},       // outputs, without their names
		{&t.Store, r.summarize},   // the result that no file was asked for, in a line
		{nil, r.gatherStatistics}, // of all ranks, at rank 0
		{nil, r.commit},           // outputs and statistics get their names, together
	}
}

// compiled and computed are how many phases there are up to the leaves, and to the result.
const compiled, computed = 6, 7

// RunOn runs the job as one rank of c; onNode of its ranks are on this machine,
// inProcess of them in this process. Every rank calls it with the same job. The report is rank 0's;
// other ranks get nil. An error of any rank is every rank's.
func (j *Job) RunOn(c comm.Comm, onNode, inProcess int) (report *Report, err error) {
	start := time.Now()
	if c.Rank() != 0 {
		j = j.quiet()
	}
	r, err := j.begin(c, onNode, inProcess)
	if err != nil {
		return nil, err
	}
	defer r.close()
	defer r.blameInput(&err)
	r.start = start
	if err := r.createOutputs(); err != nil {
		return nil, err
	}
	r.report.Stats.Phases.Load = seconds(start)
	phases := r.phases()
	if j.compileOnly {
		phases = phases[:compiled]
	}
	if err := r.through(phases); err != nil || !r.root() || j.compileOnly {
		return nil, err
	}
	r.report.Result, r.kept = r.kept, nil
	if r.difference != nil {
		return r.report, r.difference
	}
	return r.report, nil
}

// begin reads the job without opening any file.
func (j *Job) begin(c comm.Comm, onNode, inProcess int) (*run, error) {
	p, err := j.faults(c.Size())
	if err != nil {
		return nil, err
	}
	return j.newRun(p, c, onNode, inProcess), nil
}

// newRun is a job at one rank before anything is opened.
func (j *Job) newRun(p *parsed, c comm.Comm, onNode, inProcess int) *run {
	return &run{
		env: j.newEnv(c, onNode, inProcess), job: j, p: p, report: &Report{},
		sources: map[string]*source{}, formats: map[string]format.Format{}, wholes: map[string]*tcs.Tensor{},
	}
}

// close gives back all but the result that the report has.
func (r *run) close() {
	r.closeBlocks()
	if r.kept != nil {
		r.kept.Close()
	}
	for _, f := range r.files {
		f.Abort() // nothing, where it has its name
	}
	for k := len(r.closers) - 1; k >= 0; k-- {
		r.closers[k]() // what was read only; an error here changes no result
	}
	r.env.close()
	r.ending.over()
}

func (r *run) closeBlocks() {
	for _, b := range r.blocks {
		b.Close()
	}
	r.blocks = nil
}

// closing has close close t.
func (r *run) closing(t *tcs.Tensor) { r.closers = append(r.closers, t.Close) }

// through takes the job through phases.
func (r *run) through(phases []phase) error {
	for _, p := range phases {
		at := time.Now()
		if err := p.do(); err != nil {
			return err
		}
		if p.takes != nil {
			*p.takes += seconds(at)
		}
	}
	return nil
}

// mostEmbedded is how many ranks one process may hold: each takes threads of the
// operating system. mostPlanned is how many a plan counts for.
const mostEmbedded, mostPlanned = 1024, 1 << 20

// faults is what is wrong with the job on so many ranks before any file is opened.
func (j *Job) faults(ranks int) (*parsed, error) {
	if j.Ranks > mostEmbedded {
		return nil, commandErrorf("--ranks=%d: one process holds %d ranks at most; mpirun and srun start more, and plan counts for them", j.Ranks, mostEmbedded)
	}
	p, err := j.parse(true)
	if err != nil {
		return nil, err
	}
	spec, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	if j.FixedPattern != nil && (ranks > 1 || !spec.Empty()) {
		return nil, commandErrorf("a result to compute into is for a job of one rank without --split: blocks of several ranks are assembled anew")
	}
	return p, j.refuse()
}

// quiet is the job without what only rank 0 says.
func (j *Job) quiet() *Job {
	q := *j
	q.Note, q.Detail, q.Progress = nil, nil, nil
	return &q
}

// computeRepeats runs the statement warmup and repeat times, and keeps the last
// result's blocks. A repeat takes as long as its slowest rank.
func (r *run) computeRepeats() error {
	defer r.watchInputs()()
	c := r.comm.Uncounted()
	for n := range r.Warmup + max(r.Repeat, 1) {
		r.closeBlocks() // one result at a time: memory is planned for one
		if err := c.Barrier(); err != nil {
			return err
		}
		before := r.comm.Counters()
		at := time.Now()
		var err error
		if r.blocks, err = r.prepared.exec.Compute(); err != nil {
			return err
		}
		took := []float64{seconds(at)}
		r.traffic = r.comm.Counters().Sub(before)
		if err := c.Allreduce(comm.Of(took), comm.Max); err != nil {
			return err
		}
		if n >= r.Warmup {
			r.report.Stats.Phases.Compute = append(r.report.Stats.Phases.Compute, took[0])
		}
	}
	r.arena.Reuse(false) // what stores the result wants the memory
	return r.unchanged()
}
