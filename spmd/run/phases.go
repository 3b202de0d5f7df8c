package run

import (
	"errors"
	"time"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/check"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/forecast"
	"distaff/spmd/output"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
	"distaff/spmd/stats"
)

// phase is a part of a job's way.
type phase struct {
	takes *float64 // to which the seconds are added that it takes; nil for none
	do    func() error
}

// phases are a job's way, at every rank. Each is collective.
func (r *Job) phases() []phase {
	t := &r.report.Stats.Phases
	return []phase{
		{&t.Load, r.Reader.Open},  // what each input says of itself
		{&t.Load, r.Reader.Infer}, // every size, type and format
		// which rank holds which blocks, and runs which steps; what they take at least fits
		{&t.Load, r.plan},
		{&t.Load, r.load},         // the blocks of operands, at their ranks
		{nil, r.Reader.Checksums}, // of the input files
		{&t.Compile, r.compile},   // the leaves
		{nil, r.compute},          // the result's blocks, as often as is asked for
		{&t.Store, r.fetch},       // its values, from where leaves have left them
		{&t.Store, r.check},       // against the reference
		{&t.Store, r.store},       // outputs, without their names
		{&t.Store, r.summarize},   // the result that no file was asked for, in a line
		{nil, r.gatherStatistics}, // of all ranks, at rank 0
		{nil, r.commit},           // outputs and statistics get their names, together
	}
}

// compiled and computed are how many phases there are up to the leaves, and to the result.
const compiled, computed = 6, 8

// through takes the job through phases.
func (r *Job) through(phases []phase) error {
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

// plan plans the job for the ranks there are.
func (r *Job) plan() error {
	r.noteMachine(r.Reader.Env.Comm.Size())
	if err := r.planFor(r.Reader.Env.Comm.Size(), r.spec.Blocks); err != nil {
		return err
	}
	defer r.noteDense()
	r.noteIdle(r.spec.Blocks)
	if err := r.fits(); err != nil {
		return err
	}
	return forecast.FitsDevice(r.Prepared)
}

// fits refuses a job that takes more memory than there is, by what its plan tells of that.
func (r *Job) fits() error {
	return forecast.NewLeast(r.Prepared, r.spec.Input.FixedPattern != nil).Fits()
}

// planFor settles which rank holds which blocks of each tensor and runs which steps, for
// a number of ranks: by the block schedule, or the default one where that is empty.
func (r *Job) planFor(ranks int, blocks *place.BlockSpec) error {
	problem, err := plan.New(r.Reader.Plan(ranks, blocks, r.spec.Settings.MemoryLimit))
	if err != nil {
		return err
	}
	o := r.spec.Prepared
	o.Leaves = true
	r.Prepared = prepared.New(r.Reader, r.Statement, o, problem)
	return nil
}

func (r *Job) load() error    { return r.Prepared.Load() }
func (r *Job) compile() error { return r.Prepared.Compile() }

// compute runs the statement warmup and repeat times, and keeps the last
// result's blocks. A repeat takes as long as its slowest rank.
func (r *Job) compute() error {
	defer r.Reader.Watch()()
	runs := r.spec.Warmup + max(r.spec.Repeat, 1)
	at, stop := r.Reader.Env.WatchRuns(r.Statement.Result, runs)
	defer stop()
	c := r.Reader.Env.Comm.Uncounted()
	for n := range runs {
		r.closeBlocks() // one result at a time: memory is planned for one
		if err := c.Barrier(); err != nil {
			return err
		}
		before := r.Reader.Env.Comm.Counters()
		begun := time.Now()
		var err error
		if r.blocks, err = r.Prepared.Compute(); err != nil {
			return err
		}
		took := []float64{seconds(begun)}
		at.Done()
		r.traffic = r.Reader.Env.Comm.Counters().Sub(before).Add(r.Prepared.Moved())
		if err := c.Allreduce(comm.Of(took), comm.Max); err != nil {
			return err
		}
		if n >= r.spec.Warmup {
			r.report.Stats.Phases.Compute = append(r.report.Stats.Phases.Compute, took[0])
		}
	}
	r.Reader.Env.Arena.Reuse(false) // what stores the result wants the memory
	return r.Reader.Unchanged()
}

// fetch has this rank's memory hold the result.
func (r *Job) fetch() error {
	if r.Reader.Env.Code() != codegen.CUDA {
		return nil
	}
	var err error
	for _, t := range r.blocks {
		err = errors.Join(err, r.Reader.Env.Fetch(t))
	}
	return comm.Agree(r.Reader.Env.Comm, err)
}

// Result is the result over its ranks.
func (r *Job) Result() *output.Result {
	k := r.Prepared
	return &output.Result{Env: r.Reader.Env, Name: r.Statement.Result,
		Blocks: k.ResultBlocks(r.blocks), Like: k.ResultLike(), Whole: k.Problem.Whole}
}

// check brings the result to rank 0, where the job asks for the whole of it, and compares
// it with the reference evaluator; a difference is no error yet. Collective.
func (r *Job) check() error {
	if !r.spec.Check && !r.spec.Keep {
		return nil
	}
	whole, err := r.Result().Gather()
	if err != nil || whole == nil {
		return err
	}
	if r.spec.Keep {
		whole.Trust() // leaves made it
		r.kept = whole
	} else {
		defer whole.Close()
	}
	if r.spec.Check {
		var said string
		if said, r.difference, err = r.Compare(whole); said != "" {
			r.report.Lines = append(r.report.Lines, said)
		}
	}
	return err
}

// Compare compares the whole result with the reference evaluator. It says what the user is told of
// that.
func (r *Job) Compare(whole *tcs.Tensor) (said string, difference *check.Difference, err error) {
	p := check.Problem{Env: r.Reader.Env, Norm: r.Statement.Norm, Sizes: r.Reader.Sizes,
		Compute: r.Reader.ComputeType, Types: r.Reader.Types, Tensors: map[string]*tcs.Tensor{},
		Seed: r.spec.Input.Seed}
	for _, name := range r.Statement.Names {
		if r.Reader.Sources[name] == nil {
			continue
		}
		t, err := r.Prepared.WholeOperand(name)
		if err != nil {
			return "", nil, err
		}
		p.Tensors[name] = t
	}
	return p.Compare(whole)
}

// store writes every output, and brings it to disk; none where the check has found a
// difference. commit names them. Collective.
func (r *Job) store() error {
	differs := r.difference != nil
	if err := comm.BcastValue(r.Reader.Env.Comm, &differs, 0); err != nil {
		return err
	}
	if !differs {
		if err := r.files.Store(r.Result(), r.spec.Write, r.Prepared.WholeOperand); err != nil {
			return err
		}
	}
	// Blocks of the result may share level arrays with a mapped file: what was
	// written counts once every rank has found its files as they were.
	if err := r.Reader.Unchanged(); err != nil {
		return err
	}
	if err := r.Reader.Env.Comm.Uncounted().Barrier(); err != nil || differs {
		return err
	}
	return r.files.Flush()
}

// summarize adds the line about the result that no file was asked for. Collective.
func (r *Job) summarize() error {
	if r.files.Writes(r.Statement.Result) {
		return nil
	}
	line, err := r.Result().Summary()
	if err == nil && r.Reader.Env.Root() {
		r.report.Lines = append(r.report.Lines, line)
	}
	return err
}

// gatherStatistics brings all ranks' statistics to rank 0. Collective.
func (r *Job) gatherStatistics() error {
	st, d := &r.report.Stats, r.traffic
	balance, err := r.Prepared.Balance()
	if err != nil {
		return err
	}
	work := r.Prepared.Work()
	ranks, err := stats.Gather(r.Reader.Env.Comm.Uncounted(),
		stats.Rank{Work: work.Model, Estimated: work.Estimated, Threads: r.Reader.Env.Threads,
			Sent: d.BytesSent, Received: d.BytesReceived, Messages: d.MessagesSent,
			PeakRSS: env.PeakRSS(), Nonzeros: balance.Here, Load: st.Phases.Load, Compile: st.Phases.Compile,
			Spent: r.Prepared.Spent(), Allocated: r.Reader.Env.Limit.Peak()})
	if err == nil && r.Reader.Env.Root() {
		r.fillStats(ranks)
	}
	return err
}

// commit names all files of the job, the statistics' too, together.
func (r *Job) commit() error {
	return r.files.Commit(r.difference == nil, r.report.Stats.JSON())
}
