package spmd

import (
	"context"
	"os"
	"time"

	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd/comm"
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

// run is a job on its way.
type run struct {
	job *Job
	ctx context.Context
	p   *parsed

	limit    *tcs.Limit
	limitWhy string
	threads  int

	sources map[string]*source
	sizes   *notation.Sizes
	types   map[string]dtype.Type // of every tensor
	compute dtype.Type            // that the statement computes in
	formats map[string]format.Format
	tensors map[string]*tcs.Tensor
	old     *tcs.Tensor // what += adds to; nil for none
	engine  engine
	cc      *cc.Builder     // nil until a leaf is compiled
	ranks   comm.Comm       // of a job of several ranks, else nil
	arena   *kernels.Arena  // where leaves get memory
	runner  *kernels.Runner // the thread that they run on; nil for the caller's

	closers []func() error
	report  *Report
}

// Run runs the job. Where Check finds a difference, the error is a *Difference
// and the report is there as well; with any other error there is none. Nothing
// is written then, except that outputs to pipes and devices may have begun.
//
// In a process that mpirun or srun started as one of several ranks, the job
// runs on all of them. The report is then rank 0's, and nil at other ranks.
func (j *Job) Run(ctx context.Context) (report *Report, err error) {
	if l, ok, err := launcher(); err != nil {
		return nil, err
	} else if ok {
		return j.runLaunched(ctx, l)
	}
	if spec, err := j.blockSpec(); err != nil {
		return nil, err
	} else if j.Ranks > 1 || !spec.Empty() {
		return j.runEmbedded(ctx)
	}
	start := time.Now()
	r, err := j.prepare(ctx, 1, 1)
	if err != nil {
		return nil, err
	}
	defer r.close()
	defer r.blameInput(&err)
	outputs, err := r.createOutputs()
	if err != nil {
		return nil, err
	}
	defer outputs.abort()
	st := &r.report.Stats

	if err := r.loadPhase(); err != nil {
		return nil, err
	}
	st.Phases.Load = seconds(start)
	if err := r.checksums(); err != nil {
		return nil, err
	}
	at := time.Now()
	if err := r.compile(); err != nil {
		return nil, err
	}
	st.Phases.Compile = seconds(at)
	result, err := r.computePhase()
	if err != nil {
		return nil, err
	}
	if err := r.unchanged(); err != nil {
		return nil, err
	}
	at = time.Now()
	difference, err := r.check(result)
	if err != nil {
		return nil, err
	}
	if difference == nil {
		if err := outputs.store(r); err != nil {
			return nil, err
		}
	}
	st.Phases.Store = seconds(at)
	r.summarize(result)
	r.fillStats()
	st.Phases.Total = seconds(start)
	if err := outputs.commit(r, difference == nil); err != nil {
		result.Close()
		return nil, err
	}
	if j.Keep {
		r.report.Result = result
	} else {
		r.closers = append(r.closers, result.Close)
	}
	if difference != nil {
		return r.report, difference
	}
	return r.report, nil
}

// prepare reads the job without opening any file. It runs on ranksOnNode ranks
// of this machine, ranksInProcess of them in this process.
func (j *Job) prepare(ctx context.Context, ranksOnNode, ranksInProcess int) (*run, error) {
	p, err := j.parse(true)
	if err != nil {
		return nil, err
	}
	return j.newRun(ctx, p, ranksOnNode, ranksInProcess)
}

// newRun is prepare for a job that was parsed.
func (j *Job) newRun(ctx context.Context, p *parsed, ranksOnNode, ranksInProcess int) (*run, error) {
	if err := j.refuse(); err != nil {
		return nil, err
	}
	r := &run{
		job: j, ctx: ctx, p: p, threads: j.Threads,
		sources: map[string]*source{}, formats: map[string]format.Format{}, tensors: map[string]*tcs.Tensor{},
		report: &Report{},
	}
	if r.threads == 0 {
		why := ""
		r.threads, why = kernels.DefaultThreads(ranksOnNode, ranksInProcess)
		j.detail(plural(int64(r.threads), "thread") + " (" + why + ")")
	}
	max, why := j.MemoryLimit, "--memory-limit"
	if max == 0 {
		max, why = defaultMemory(ranksOnNode)
		why = "90% of " + why
	}
	r.limit, r.limitWhy = tcs.NewLimit(max), why
	r.arena = kernels.NewArena(r.limit)
	r.arena.Reuse(true)
	if r.threads > 1 {
		r.runner = kernels.NewRunner()
	}
	return r, nil
}

func (r *run) close() {
	for k := len(r.closers) - 1; k >= 0; k-- {
		r.closers[k]() // what was read only; an error here changes no result
	}
	if r.engine != nil {
		r.engine.close()
	}
	r.arena.Reuse(false)
	if r.runner != nil {
		r.runner.Close()
	}
}

// loadPhase takes the job from its flags to tensors.
func (r *run) loadPhase() error {
	if err := r.open(); err != nil {
		return err
	}
	if err := r.inferSizes(); err != nil {
		return err
	}
	if err := r.inferTypes(); err != nil {
		return err
	}
	if err := r.chooseFormats(); err != nil {
		return err
	}
	if err := r.planFull(); err != nil {
		return err
	}
	return r.load()
}

func (r *run) inferTypes() error {
	operands := r.operandTypes()
	compute, result, err := notation.InferTypes(r.p.stmt, operands, r.p.types[r.p.result])
	if err != nil {
		return err
	}
	r.compute, r.types = compute, operands
	r.types[r.p.result] = result
	return nil
}

// compile readies the engine.
func (r *run) compile() (err error) {
	if r.job.Into != nil {
		r.engine, err = r.compileInto()
		return err
	}
	r.engine, err = r.compileWhole()
	return err
}

// computePhase runs the statement warmup and repeat times, and keeps the last
// result.
func (r *run) computePhase() (*tcs.Tensor, error) {
	defer r.watchInputs()()
	repeat := max(r.job.Repeat, 1)
	var result *tcs.Tensor
	for k := range r.job.Warmup + repeat {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if result != nil {
			// One result at a time: memory is planned for one.
			if err := result.Close(); err != nil {
				return nil, err
			}
		}
		at := time.Now()
		var err error
		if result, err = r.engine.run(r.ctx); err != nil {
			return nil, err
		}
		if k >= r.job.Warmup {
			r.report.Stats.Phases.Compute = append(r.report.Stats.Phases.Compute, seconds(at))
		}
	}
	r.tensors[r.p.result] = result
	return result, nil
}

// summarize adds the line about the result that no file was asked for.
func (r *run) summarize(result *tcs.Tensor) {
	for _, o := range r.job.Outputs {
		if o.Tensor == r.p.result {
			return
		}
	}
	line := summary(r.p.result, result)
	if result.Order() == 0 {
		line = r.p.result + " = " + FormatValue(result.Value(0))
	}
	r.report.Lines = append(r.report.Lines, line)
}

// fillStats adds what is known at the end.
func (r *run) fillStats() {
	st := &r.report.Stats
	st.Version, st.Argv, st.Statement = Version(), r.job.Argv, r.job.Statement
	if st.Argv == nil {
		st.Argv = []string{}
	}
	st.Schedule = r.job.scheduleText()
	st.Ranks, st.Threads, st.Target = 1, r.threads, "cpu"
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	st.Hosts = []string{host}
	if r.engine != nil {
		st.Compiler = r.engine.compiler()
	}
	st.Inputs = map[string]InputStats{}
	for name, s := range r.sources {
		if s.in.File != "" && s.scalar == nil {
			st.Inputs[name] = InputStats{File: s.in.File, Checksum: s.checksum}
		}
	}
	st.Comm = Comm{[]int64{0}, []int64{0}, []int64{0}}
	st.Balance.Nonzeros = []int64{r.largestOperand()}
	st.PeakRSS = []int64{peakRSS()}
	r.report.Allocated = []int64{r.limit.Peak()}
}

// largestOperand is the number of stored entries of the operand that has most.
func (r *run) largestOperand() int64 {
	most := int64(0)
	for _, name := range r.p.names[1:] {
		if t := r.tensors[name]; t != nil {
			most = max(most, entries(t))
		}
	}
	return most
}
