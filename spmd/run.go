package spmd

import (
	"context"
	"time"

	"distaff/codegen/schedule"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/launch"
	"distaff/spmd/output"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
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
	if l, ok, err := launch.Launched(); err != nil {
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

// rankJob is a job on its way at one rank.
type rankJob struct {
	*input.Reader
	job   *Job
	p     *input.Statement
	start time.Time

	prepared *prepared.Statement
	blocks   map[plan.Block]*tcs.Tensor // of the result that live here
	traffic  comm.Counters              // of the last repeat

	files      *output.Files
	kept       *tcs.Tensor // the result, whole at rank 0, where it is asked for
	difference *Difference

	report *Report
}

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
	defer r.Blame(&err)
	if err := r.Ready(); err != nil {
		return nil, err
	}
	r.start = start
	if r.files, err = output.Create(r.Env, j.Outputs, j.StatsFile); err != nil {
		return nil, err
	}
	defer r.files.Abort() // nothing, where they have their names
	r.report.Stats.Phases.Load = seconds(start)
	phases := r.phases()
	if j.compileOnly {
		phases = phases[:compiled]
	}
	if err := r.through(phases); err != nil || !r.Root() {
		return nil, err
	}
	if j.compileOnly {
		if j.made != nil {
			*j.made = r.prepared.Made()
		}
		return nil, nil
	}
	r.report.Result, r.kept = r.kept, nil
	if r.difference != nil {
		return r.report, r.difference
	}
	return r.report, nil
}

// begin reads the job without opening any file.
func (j *Job) begin(c comm.Comm, onNode, inProcess int) (*rankJob, error) {
	p, err := j.faults(c.Size())
	if err != nil {
		return nil, err
	}
	return j.newRun(p, c, onNode, inProcess, input.Refused), nil
}

// newRun is a job at one rank before anything is opened.
func (j *Job) newRun(p *input.Statement, c comm.Comm, onNode, inProcess int, missing input.Missing) *rankJob {
	j.noteQuotients(p.Stmt)
	e := env.New(c, j.settings(false), onNode, inProcess)
	in := input.NewReader(e, p, input.Options{Inputs: p.Inputs, Sizes: p.UserSizes, FixedPattern: j.FixedPattern, Missing: missing, Seed: j.Seed, TrustInput: j.TrustInput, Checksums: j.Checksums})
	return &rankJob{Reader: in, job: j, p: p, report: &Report{}}
}

// settings are what the options say of the environment; locked tells whether leaves run on the
// caller's thread.
func (o *Options) settings(locked bool) env.Settings {
	return env.Settings{Threads: o.Threads, MemoryLimit: o.MemoryLimit, Tmp: o.Tmp, Target: o.Target, Compiled: o.compiled, Local: o.local, CPU: o.CPU, Untuned: o.Tune == tuneOff, Compiler: o.compiler, Locked: locked, UserCode: o.userCode(),
		Note: o.Note, Detail: o.Detail, Progress: o.Progress, Working: o.Working}
}

// parse reads the statement and all that names its tensors. complete says that
// every operand must have an input.
func (j *Job) parse(complete bool) (*input.Statement, error) {
	if err := j.apart(); err != nil {
		return nil, err
	}
	machine, err := j.machine()
	if err != nil {
		return nil, err
	}
	placed, err := j.placements()
	if err != nil {
		return nil, err
	}
	g := input.Given{Statement: j.Statement, Formats: j.Formats, Types: j.Types, Sizes: j.Sizes, Inputs: j.Inputs,
		Machine: machine, Placements: placed, Schedule: j.Schedule}
	p, err := g.Parse(complete)
	if err != nil {
		return nil, err
	}
	return p, output.Check(j.Outputs, p)
}

// close gives back all but the result that the report has.
func (r *rankJob) close() {
	r.closeBlocks()
	if r.kept != nil {
		r.kept.Close()
	}
	if r.prepared != nil {
		r.prepared.Close()
	}
	r.Env.Close()
	r.Reader.Close()
}

func (r *rankJob) closeBlocks() {
	tcs.CloseAll(r.blocks)
	r.blocks = nil
}

// mostEmbedded is how many ranks one process may hold: each takes threads of the
// operating system. mostPlanned is how many a plan counts for.
const mostEmbedded, mostPlanned = 1024, 1 << 20

// faults is what is wrong with the job on so many ranks before any file is opened.
func (j *Job) faults(ranks int) (*input.Statement, error) {
	if j.Ranks > mostEmbedded {
		return nil, fault.Commandf("--ranks=%d: one process holds %d ranks at most; mpirun and srun start more, and plan counts for them", j.Ranks, mostEmbedded)
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
		return nil, fault.Commandf("a result to compute into is for a job of one rank without --split: blocks of several ranks are assembled anew")
	}
	if err := j.refuse(); err != nil {
		return nil, err
	}
	list, err := schedule.Parse(j.Schedule)
	if err != nil {
		return nil, err
	}
	return p, j.allowed(list)
}

// quiet is the job without what only rank 0 says.
func (j *Job) quiet() *Job {
	q := *j
	q.Note, q.Detail, q.Progress, q.Working = nil, nil, nil, nil
	return &q
}
