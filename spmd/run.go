package spmd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/launch"
	"distaff/spmd/output"
	"distaff/spmd/prepared"
	"distaff/spmd/program"
)

// Report is the report of a finished job.
type Report = program.Report

// Run runs the job. If Check finds a difference, the error is a *Difference and the report is
// returned as well. With any other error the report is nil. If there is an error, no tensor is
// written, except that writing to pipes and devices may have begun.
//
// In a process that mpirun or srun started as one of several ranks, the job runs on all these
// ranks. The report is then rank 0's, and nil at other ranks.
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

// runEmbedded runs the job on several ranks of this process.
func (j *Job) runEmbedded(ctx context.Context) (*Report, error) {
	if _, err := j.parseAndCheck(j.Ranks); err != nil { // reported once, before any rank starts
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
	var differs *Difference
	if err != nil && !errors.As(err, &differs) { // another rank failed after rank 0's work
		return nil, discard(report, err)
	}
	return report, err
}

// discard closes the result in the report of a job that failed, and returns err, the failure. The
// report may be nil, and may have no result.
func discard(report *Report, err error) error {
	if report != nil && report.Result != nil {
		return errors.Join(err, report.Result.Close())
	}
	return err
}

// RunOn runs the job as one rank of c. onNode is the number of c's ranks on this machine, and
// inProcess the number of c's ranks in this process. Every rank must call it with the same job. The
// report is rank 0's, and nil at other ranks. A *Difference is returned at rank 0 only.
func (j *Job) RunOn(c comm.Comm, onNode, inProcess int) (report *Report, err error) {
	start := time.Now()
	if c.Rank() != 0 {
		j = j.quiet()
	}
	p, err := j.parseAndCheck(c.Size())
	if err != nil {
		return nil, err
	}
	r, err := j.rankJob(p, c, onNode, inProcess, input.Refused)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Run(start)
}

// rankJob returns the program.Job of one rank for the parsed statement p. It opens no inputs.
// onNode is the number of ranks of c on this machine, and inProcess the number of ranks in this
// process.
func (j *Job) rankJob(p *input.Statement, c comm.Comm, onNode, inProcess int,
	missing input.Missing) (*program.Job, error) {
	blocks, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	for _, q := range notation.SummedQuotients(p.Stmt) {
		j.note(q.String())
	}
	runs := int64(1)
	// several timed runs, or leaves for an unknown number of runs
	if j.Repeat+j.Warmup > 1 || j.compileOnly {
		runs = 0
	}
	prep := prepared.Options{MemoryLimit: j.MemoryLimit, FixedPattern: j.FixedPattern,
		Places: j.filePlacements == nil, Several: max(j.Repeat, 1)+j.Warmup > 1, Alone: true,
		Leaves: true, On: j.on, Network: j.Network, Order: j.IntermediateOrder, Runs: runs,
		Verify: j.verifies(), Trace: j.Trace}
	if j.inProgram {
		prep = j.programOptions().Prepared(
			How{Network: j.Network, IntermediateOrder: j.IntermediateOrder, On: j.on, Runs: j.runs})
	}
	s := &program.Spec{Statement: p, Settings: j.settings(false), Blocks: blocks,
		Input: input.Options{Inputs: p.Inputs, Sizes: p.UserSizes,
			SizesFrom:    func(string, int) string { return "-d" },
			FixedPattern: j.FixedPattern, Missing: missing, Seed: j.Seed, TrustInput: j.TrustInput,
			Checksums: j.Checksums},
		Prepared: prep,
		Warmup:   j.Warmup, Repeat: j.Repeat, Check: j.Check, Keep: j.Keep, Outputs: j.Outputs,
		StatsFile: j.StatsFile, Write: j.Write,
		LeavesOnly: j.compileOnly, Made: j.leafUnits,
		Stats: Stats{Version: Version(), Argv: append([]string{}, j.Argv...), Statement: j.Statement,
			Schedule: j.scheduleText()}}
	return program.NewJob(c, s, onNode, inProcess), nil
}

// verifies reports whether the passes of the compiler and the C code of leaves are verified. They
// are verified if Verify is set, or if Detail is not nil.
func (o *Options) verifies() bool { return o.Verify || o.Detail != nil }

// settings returns the part of the options that concerns the environment. locked means that the
// caller's goroutine is locked to its thread, so that leaves can run on it.
func (o *Options) settings(locked bool) env.Settings {
	return env.Settings{Threads: o.Threads, MemoryLimit: o.MemoryLimit, Tmp: o.Tmp, Target: o.Target,
		Compiled: o.compileTarget, GPU: o.needsGPU, Local: o.local, CPU: o.CPU,
		Untuned:  o.Tune == tuneOff,
		Compiler: o.compiler, Locked: locked, UserCode: o.userCode(),
		Note: o.Note, Detail: o.Detail, Progress: o.Progress, Working: o.Working}
}

// parse reads the statement, and the formats, types, sizes, inputs, placements and outputs of its
// tensors. If complete is true, every operand must have an input.
func (j *Job) parse(complete bool) (*input.Statement, error) {
	if err := j.checkOneDistribution(); err != nil {
		return nil, err
	}
	machine, err := j.machine()
	if err != nil {
		return nil, err
	}
	filePlacements, err := j.placements()
	if err != nil {
		return nil, err
	}
	g := input.Given{Statement: j.Statement, Formats: j.Formats, Types: j.Types, Sizes: j.Sizes,
		Inputs:  j.Inputs,
		Machine: machine, Placements: filePlacements, Schedule: j.Schedule, MemoryOf: j.memoryOf}
	p, err := g.Parse(complete)
	if err != nil {
		return nil, err
	}
	if err := output.Check(j.Outputs, p); err != nil {
		return nil, err
	}
	return p, outfile.Apart(j.Files()...)
}

// Files returns the files that the job reads and writes.
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

// maxEmbeddedRanks is the largest number of ranks in one process. There is a limit because each
// rank occupies threads of the operating system. maxPlannedRanks is the largest number of ranks for
// which a job can be planned.
const maxEmbeddedRanks, maxPlannedRanks = 1024, 1 << 20

// parseAndCheck parses the job and returns what is wrong with it on this number of ranks, before
// any input is opened.
func (j *Job) parseAndCheck(ranks int) (*input.Statement, error) {
	if j.Ranks > maxEmbeddedRanks {
		return nil, fault.Commandf(
			"--ranks=%d: want at most %d ranks in one process; for more, use mpirun or srun "+
				"(or distaff plan to predict them)", j.Ranks, maxEmbeddedRanks)
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
			"a result to compute into needs a job of one rank without --split, because " +
				"several blocks would be assembled into new arrays")
	}
	if err := j.refuse(); err != nil {
		return nil, err
	}
	list, err := schedule.Parse(j.Schedule)
	if err != nil {
		return nil, err
	}
	return p, j.checkUserCode(list)
}

// quiet returns a copy of the job without messages.
func (j *Job) quiet() *Job {
	q := *j
	q.silence()
	return &q
}

// silence removes the functions that receive messages, for ranks other than 0.
func (o *Options) silence() {
	o.Note, o.Detail, o.Trace, o.Progress, o.Working = nil, nil, nil, nil, nil
}
