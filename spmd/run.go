package spmd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/kernels/target"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/launch"
	"distaff/spmd/output"
	"distaff/spmd/prepared"
	"distaff/spmd/run"
)

// Report is what a job tells when it is done.
type Report = run.Report

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
	err := local.RunWith(ctx, j.Ranks, local.Options{Unlocked: j.Target == Interpreter},
		func(c comm.Comm) error {
			rep, err := j.RunOn(c, c.Size(), c.Size())
			if c.Rank() == 0 {
				report = rep
			}
			return err
		})
	return report, err
}

// RunOn runs the job as one rank of c; onNode of its ranks are on this machine,
// inProcess of them in this process. Every rank calls it with the same job. The report is rank 0's;
// other ranks get nil. An error of any rank is every rank's.
func (j *Job) RunOn(c comm.Comm, onNode, inProcess int) (report *Report, err error) {
	start := time.Now()
	if c.Rank() != 0 {
		j = j.quiet()
	}
	p, err := j.faults(c.Size())
	if err != nil {
		return nil, err
	}
	r, err := j.at(p, c, onNode, inProcess, input.Refused)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Run(start)
}

// at is the job at one rank before anything is opened.
func (j *Job) at(p *input.Statement, c comm.Comm, onNode, inProcess int,
	missing input.Missing) (*run.Job, error) {
	blocks, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	for _, q := range notation.SummedQuotients(p.Stmt) {
		j.note(q.String())
	}
	runs := int64(1)
	if j.Repeat+j.Warmup > 1 || j.compileOnly { // they are timed, or it is not known what they are of
		runs = 0
	}
	prep := prepared.Options{MemoryLimit: j.MemoryLimit, FixedPattern: j.FixedPattern,
		Places: j.placed == nil, Several: max(j.Repeat, 1)+j.Warmup > 1, Alone: true, Network: j.Network,
		Order: j.IntermediateOrder, Runs: runs, Verify: j.verifies(), Trace: j.Trace}
	if j.inProgram { // as program.Statement has it
		prep.Runs, prep.Places, prep.Several, prep.Locked, prep.Over, prep.Replicas = j.runs, false, true,
			true, !j.Check, true
	}
	s := &run.Spec{Statement: p, Settings: j.settings(false), Blocks: blocks,
		Input: input.Options{Inputs: p.Inputs, Sizes: p.UserSizes,
			SizesFrom:    func(string, int) string { return "-d" },
			FixedPattern: j.FixedPattern, Missing: missing, Seed: j.Seed, TrustInput: j.TrustInput,
			Checksums: j.Checksums},
		Prepared: prep,
		Warmup:   j.Warmup, Repeat: j.Repeat, Check: j.Check, Keep: j.Keep, Outputs: j.Outputs,
		StatsFile: j.StatsFile, Write: j.Write,
		LeavesOnly: j.compileOnly, Made: j.made,
		Stats: Stats{Version: Version(), Argv: append([]string{}, j.Argv...), Statement: j.Statement,
			Schedule: j.scheduleText(), Target: cmp.Or(j.Target, target.CPU)}}
	return run.New(c, s, onNode, inProcess), nil
}

// verifies reports whether the compiler's passes and the C of leaves are verified.
func (o *Options) verifies() bool { return o.Verify || o.Detail != nil }

// settings are what the options say of the environment; locked tells whether leaves run on the
// caller's thread.
func (o *Options) settings(locked bool) env.Settings {
	return env.Settings{Threads: o.Threads, MemoryLimit: o.MemoryLimit, Tmp: o.Tmp, Target: o.Target,
		Compiled: o.compiled, Local: o.local, CPU: o.CPU, Untuned: o.Tune == tuneOff,
		Compiler: o.compiler, Locked: locked, UserCode: o.userCode(),
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
	g := input.Given{Statement: j.Statement, Formats: j.Formats, Types: j.Types, Sizes: j.Sizes,
		Inputs:  j.Inputs,
		Machine: machine, Placements: placed, Schedule: j.Schedule, MemoryOf: j.memoryOf}
	p, err := g.Parse(complete)
	if err != nil {
		return nil, err
	}
	if err := output.Check(j.Outputs, p); err != nil {
		return nil, err
	}
	return p, outfile.Apart(j.Files()...)
}

// Files are the files that the job reads and writes.
func (j *Job) Files() []outfile.Use {
	var list []outfile.Use
	for _, name := range slices.Sorted(maps.Keys(j.Inputs)) {
		if file := j.Inputs[name].File; file != "" {
			list = append(list, convert.Reads("-i="+name+":"+file, file))
		}
	}
	if commands, err := schedule.Parse(j.Schedule); err == nil {
		list = append(list, j.userCode().Uses(commands)...)
	}
	return append(list, output.Uses(j.Outputs, j.StatsFile)...)
}

// mostEmbedded is how many ranks one process may hold: each takes threads of the
// operating system. mostPlanned is how many a plan counts for.
const mostEmbedded, mostPlanned = 1024, 1 << 20

// faults is what is wrong with the job on so many ranks before any file is opened.
func (j *Job) faults(ranks int) (*input.Statement, error) {
	if j.Ranks > mostEmbedded {
		return nil, fault.Commandf(
			"--ranks=%d: one process holds %d ranks at most; mpirun and srun start more, and plan counts for them", j.Ranks, mostEmbedded)
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
		return nil, fault.Commandf(
			"a result to compute into is for a job of one rank without --split: blocks of several ranks are assembled anew")
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
