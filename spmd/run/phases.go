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

// phase is one step of a job.
type phase struct {
	takes *float64 // counter of the phase's seconds; may be nil
	do    func() error
}

// phases lists the phases of a job in order. All of them are collective: every rank must run each
// one.
func (r *Job) phases() []phase {
	t := &r.report.Stats.Phases
	return []phase{
		{&t.Load, r.Reader.Open},  // headers of the inputs
		{&t.Load, r.Reader.Infer}, // sizes, types and formats of all tensors
		// which rank owns which blocks and runs which steps; refuses a job that cannot fit
		{&t.Load, r.plan},
		{&t.Load, r.load},         // the operands' blocks
		{nil, r.Reader.Checksums}, // of the input files
		{&t.Compile, r.compile},   // the leaves
		{nil, r.compute},          // the result's blocks, Warmup + Repeat times
		{&t.Store, r.fetch},       // the result's values, from GPU to host memory
		{&t.Store, r.check},       // the result against the reference
		{&t.Store, r.store},       // output files, under temporary names
		{&t.Store, r.summarize},   // one line about a result without an output file
		{nil, r.gatherStatistics}, // from all ranks, on rank 0
		{nil, r.commit},           // outputs and statistics get their final names together
	}
}

// compiled and computed are the numbers of phases up to the leaves and up to the result.
const compiled, computed = 6, 8

// through runs the given phases and adds up their times. It stops at the first error.
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

// plan plans the job for the ranks of the communicator and checks that it fits into memory.
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

// fits refuses the job if the memory that its plan certainly needs exceeds the limit.
func (r *Job) fits() error {
	return forecast.NewLeast(r.Prepared, r.spec.Input.FixedPattern != nil).Fits()
}

// planFor decides, for the given number of ranks, which rank owns which blocks and runs which
// steps. It uses the default schedule if blocks is empty.
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

// compute runs the statement Warmup + Repeat times and keeps the blocks of the last result. The
// slowest rank determines the time of a repeat.
func (r *Job) compute() error {
	defer r.Reader.Watch()()
	runs := r.spec.Warmup + max(r.spec.Repeat, 1)
	at, stop := r.Reader.Env.WatchRuns(r.Statement.Result, runs)
	defer stop()
	c := r.Reader.Env.Comm.Uncounted()
	for n := range runs {
		r.closeBlocks() // the memory is planned for one result at a time
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
	r.Reader.Env.Arena.Reuse(false) // storing the result needs the memory
	return r.Reader.Unchanged()
}

// fetch copies the result from the GPU to the rank's host memory.
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

// Result returns the distributed result.
func (r *Job) Result() *output.Result {
	k := r.Prepared
	return &output.Result{Env: r.Reader.Env, Name: r.Statement.Result,
		Blocks: k.ResultBlocks(r.blocks), Like: k.ResultLike(), Whole: k.Problem.Whole}
}

// check gathers the whole result on rank 0 if Spec.Keep or Spec.Check is set. If Spec.Check is set
// it compares the result with the reference evaluator. A difference is not an error yet: Run
// returns it. Every rank must call it.
func (r *Job) check() error {
	if !r.spec.Check && !r.spec.Keep {
		return nil
	}
	whole, err := r.Result().Gather()
	if err != nil || whole == nil {
		return err
	}
	if r.spec.Keep {
		whole.Trust() // leaves computed it, so it needs no validation
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

// Compare compares the whole result with the reference evaluator. said is the line to print about
// the comparison; difference is nil if there is none.
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

// store writes and flushes every output under a temporary name; commit renames them. It writes
// nothing if the check found a difference. Every rank must call it.
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
	// Blocks of the result may share level arrays with a mapped file. The outputs are valid only if
	// every rank finds its input files unchanged.
	if err := r.Reader.Unchanged(); err != nil {
		return err
	}
	if err := r.Reader.Env.Comm.Uncounted().Barrier(); err != nil || differs {
		return err
	}
	return r.files.Flush()
}

// summarize adds a line about the result to the report if no output file stores it. Every rank must
// call it.
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

// gatherStatistics collects the statistics of all ranks on rank 0. Every rank must call it.
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
			PeakRSS: env.PeakRSS(), Nonzeros: balance.Here,
			Load: st.Phases.Load, Compile: st.Phases.Compile,
			Spent: r.Prepared.Spent(), Allocated: r.Reader.Env.Limit.Peak()})
	if err == nil && r.Reader.Env.Root() {
		r.fillStats(ranks)
	}
	return err
}

// commit gives all files of the job their final names together, including the statistics.
func (r *Job) commit() error {
	return r.files.Commit(r.difference == nil, r.report.Stats.JSON())
}
