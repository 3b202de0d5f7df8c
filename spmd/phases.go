package spmd

import (
	"sync/atomic"
	"time"

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
func (r *rankJob) phases() []phase {
	t := &r.report.Stats.Phases
	return []phase{
		{&t.Load, r.Open},         // what each input says of itself
		{&t.Load, r.Infer},        // every size, type and format
		{&t.Load, r.plan},         // which rank holds which blocks, and runs which steps; what they take at least fits
		{&t.Load, r.load},         // the blocks of operands, at their ranks
		{nil, r.Checksums},        // of the input files
		{&t.Compile, r.compile},   // the leaves
		{nil, r.compute},          // the result's blocks, as often as is asked for
		{&t.Store, r.check},       // against the reference
		{&t.Store, r.store},       // outputs, without their names
		{&t.Store, r.summarize},   // the result that no file was asked for, in a line
		{nil, r.gatherStatistics}, // of all ranks, at rank 0
		{nil, r.commit},           // outputs and statistics get their names, together
	}
}

// compiled and computed are how many phases there are up to the leaves, and to the result.
const compiled, computed = 6, 7

// through takes the job through phases.
func (r *rankJob) through(phases []phase) error {
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
func (r *rankJob) plan() error {
	spec, err := r.job.blockSpec()
	if err != nil {
		return err
	}
	r.noteMachine(r.Comm.Size())
	if err := r.planFor(r.Comm.Size(), spec); err != nil {
		return err
	}
	defer r.noteDense()
	r.noteIdle(spec)
	return r.fits()
}

// fits refuses a job that takes more memory than there is, by what its plan tells of that.
func (r *rankJob) fits() error {
	return forecast.NewLeast(r.prepared, r.job.FixedPattern != nil).Fits()
}

// planFor settles which rank holds which blocks of each tensor and runs which steps, for
// a number of ranks: by the block schedule, or the default one where that is empty.
func (r *rankJob) planFor(ranks int, blocks *place.BlockSpec) error {
	problem, err := plan.New(r.Reader.Plan(ranks, blocks, r.job.MemoryLimit))
	if err != nil {
		return err
	}
	j := r.job
	r.prepared = prepared.New(r.Reader, r.p, prepared.Options{MemoryLimit: j.MemoryLimit, FixedPattern: j.FixedPattern,
		Places: j.placed == nil, Several: max(j.Repeat, 1)+j.Warmup > 1, Alone: true, Network: j.Network, Order: j.IntermediateOrder, Verify: j.Detail != nil, Trace: j.Trace}, problem)
	return nil
}

func (r *rankJob) load() error    { return r.prepared.Load() }
func (r *rankJob) compile() error { return r.prepared.Compile() }

// compute runs the statement warmup and repeat times, and keeps the last
// result's blocks. A repeat takes as long as its slowest rank.
func (r *rankJob) compute() error {
	defer r.Watch()()
	runs := r.job.Warmup + max(r.job.Repeat, 1)
	at := &runsDone{total: int64(runs)}
	defer r.WatchWork("compute", at)()
	c := r.Comm.Uncounted()
	for n := range runs {
		r.closeBlocks() // one result at a time: memory is planned for one
		if err := c.Barrier(); err != nil {
			return err
		}
		before := r.Comm.Counters()
		begun := time.Now()
		var err error
		if r.blocks, err = r.prepared.Compute(); err != nil {
			return err
		}
		took := []float64{seconds(begun)}
		at.done.Add(1)
		r.traffic = r.Comm.Counters().Sub(before).Add(r.prepared.Moved())
		if err := c.Allreduce(comm.Of(took), comm.Max); err != nil {
			return err
		}
		if n >= r.job.Warmup {
			r.report.Stats.Phases.Compute = append(r.report.Stats.Phases.Compute, took[0])
		}
	}
	r.Arena.Reuse(false) // what stores the result wants the memory
	return r.Unchanged()
}

// runsDone is how many runs of a compute phase are done.
type runsDone struct {
	done  atomic.Int64
	total int64
}

// Progress is coo.Progressed's.
func (r *runsDone) Progress() (done, total int64) { return r.done.Load(), r.total }

// result is the result over its ranks.
func (r *rankJob) result() *output.Result {
	k := r.prepared
	return &output.Result{Env: r.Env, Name: r.p.Result, Blocks: k.ResultBlocks(r.blocks), Like: k.ResultLike(), Whole: k.Problem.Whole}
}

// check brings the result to rank 0, where the job asks for the whole of it, and compares
// it with the reference evaluator; a difference is no error yet. Collective.
func (r *rankJob) check() error {
	if !r.job.Check && !r.job.Keep {
		return nil
	}
	whole, err := r.result().Gather()
	if err != nil || whole == nil {
		return err
	}
	if r.job.Keep {
		whole.Trust() // leaves made it
		r.kept = whole
	} else {
		defer whole.Close()
	}
	if r.job.Check {
		r.difference, err = r.compare(whole)
	}
	return err
}

// compare compares the whole result with the reference evaluator.
func (r *rankJob) compare(whole *tcs.Tensor) (*Difference, error) {
	p := check.Problem{Env: r.Env, Norm: r.p.Norm, Sizes: r.Sizes, Compute: r.ComputeType, Types: r.Types, Tensors: map[string]*tcs.Tensor{}, Seed: r.job.Seed}
	for _, name := range r.p.Names {
		if r.Sources[name] == nil {
			continue
		}
		t, err := r.prepared.WholeOperand(name)
		if err != nil {
			return nil, err
		}
		p.Tensors[name] = t
	}
	said, difference, err := p.Compare(whole)
	if said != "" {
		r.report.Lines = append(r.report.Lines, said)
	}
	return difference, err
}

// store writes every output, and brings it to disk; none where the check has found a
// difference. commit names them. Collective.
func (r *rankJob) store() error {
	differs := r.difference != nil
	if err := comm.BcastValue(r.Comm, &differs, 0); err != nil {
		return err
	}
	if !differs {
		if err := r.files.Store(r.result(), r.job.Write, r.prepared.WholeOperand); err != nil {
			return err
		}
	}
	// Blocks of the result may share level arrays with a mapped file: what was
	// written counts once every rank has found its files as they were.
	if err := r.Unchanged(); err != nil {
		return err
	}
	if err := r.Comm.Uncounted().Barrier(); err != nil || differs {
		return err
	}
	return r.files.Flush()
}

// summarize adds the line about the result that no file was asked for. Collective.
func (r *rankJob) summarize() error {
	if r.files.Writes(r.p.Result) {
		return nil
	}
	line, err := r.result().Summary()
	if err == nil && r.Root() {
		r.report.Lines = append(r.report.Lines, line)
	}
	return err
}

// gatherStatistics brings all ranks' statistics to rank 0. Collective.
func (r *rankJob) gatherStatistics() error {
	st, d := &r.report.Stats, r.traffic
	balance, err := r.prepared.Balance()
	if err != nil {
		return err
	}
	work := r.prepared.Work()
	ranks, err := stats.Gather(r.Comm.Uncounted(), stats.Rank{Work: work.Work, Estimated: work.Estimated, Threads: r.Threads, Sent: d.BytesSent, Received: d.BytesReceived, Messages: d.MessagesSent,
		PeakRSS: env.PeakRSS(), Nonzeros: balance.Here, Load: st.Phases.Load, Compile: st.Phases.Compile, Spent: r.prepared.Spent(), Allocated: r.Limit.Peak()})
	if err == nil && r.Root() {
		r.fillStats(ranks)
	}
	return err
}

// commit names all files of the job, the statistics' too, together.
func (r *rankJob) commit() error {
	return r.files.Commit(r.difference == nil, r.report.Stats.JSON())
}
