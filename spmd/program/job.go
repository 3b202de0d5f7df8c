package program

import (
	"time"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/kernels/target"
	"distaff/kernels/tune"
	"distaff/spmd/check"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/input"
	"distaff/spmd/output"
	"distaff/spmd/prepared"
	"distaff/spmd/stats"
	"distaff/spmd/tuned"
)

// Spec describes a job of one statement.
type Spec struct {
	Statement *input.Statement
	Settings  env.Settings
	Input     input.Options
	Prepared  prepared.Options
	Blocks    *place.BlockSpec // the block schedule; an empty one means the default schedule
	Warmup    int              // untimed runs of the statement before the timed ones
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
	// Stats holds the parts of the statistics that the command knows: version, arguments, statement
	// and schedule.
	Stats stats.Stats
}

// Report is the outcome of a job.
type Report struct {
	Stats stats.Stats
	// Lines are printed on standard output. They hold the verdict of the check, and a scalar result
	// or the summary of a result that no output file stores.
	Lines []string
	// Result is the tensor on the left side if Spec.Keep is set, and nil otherwise. The caller
	// closes it.
	Result *tcs.Tensor
	// Allocated is each rank's peak number of bytes that counted against its memory limit.
	Allocated []int64
}

// Job is a program of one statement, which reads inputs of its own instead of tensors of the
// program.
type Job struct {
	Reader *input.Reader

	p       *Program
	s       *Statement
	spec    *Spec
	traffic comm.Counters // messages of the last run
	kept    *tcs.Tensor   // the whole result, on rank 0 if Spec.Keep is set; otherwise nil
	report  *Report
}

// NewJob returns a job for one rank of c. It opens no inputs. onNode is the number of ranks of c
// on this machine, and inProcess the number of ranks in this process. The caller closes the job.
func NewJob(c comm.Comm, spec *Spec, onNode, inProcess int) *Job {
	p := New(env.New(c, spec.Settings, onNode, inProcess), Options{Seed: spec.Input.Seed,
		MemoryLimit: spec.Settings.MemoryLimit, Write: spec.Write})
	j := &Job{p: p, spec: spec, report: &Report{Stats: spec.Stats},
		Reader: input.NewReader(p.env, spec.Statement, spec.Input)}
	j.s = &Statement{p: p, text: spec.Statement.Stmt.String(), how: How{Blocks: spec.Blocks},
		job: j, parsed: spec.Statement, reader: j.Reader}
	p.single = true
	p.statements[j.s] = true
	return j
}

// Close releases everything that the job holds. It keeps the result that the report owns.
func (j *Job) Close() {
	if j.kept != nil {
		j.kept.Close()
	}
	j.p.Close()
	j.p.env.Close()
}

// Prepared returns the job's statement, or nil before Plan or Compute has planned it.
func (j *Job) Prepared() *prepared.Statement { return j.s.k }

// Plan plans the job for the given number of ranks and block schedule. It reads the headers of the
// inputs, and may read entries, for example if a size is unknown without them. It does not run the
// statement.
func (j *Job) Plan(ranks int, blocks *place.BlockSpec) error {
	if err := j.p.env.Settle(); err != nil {
		return err
	}
	if err := j.s.open(); err != nil {
		return err
	}
	return j.s.plan(ranks, blocks)
}

// Load loads the operands. It returns an error if the job certainly needs more memory than the
// limit allows. The job must be planned for the actual number of ranks.
func (j *Job) Load() error {
	if err := j.s.fits(); err != nil {
		return err
	}
	return j.s.k.Operands.Load()
}

// Compute prepares the statement and runs it Warmup + Repeat times. The program keeps the result of
// the last run. Every rank must call it.
func (j *Job) Compute() error {
	if err := j.s.tryPrepare(false); err != nil {
		return err
	}
	return j.repeat()
}

// Run runs all phases of the job, which began at time start. Every rank must call it. Rank 0
// returns the report, or nil if Spec.LeavesOnly is set. Other ranks return nil. If the check finds
// a difference, rank 0 returns both the report and a *check.Difference as the error.
func (j *Job) Run(start time.Time) (report *Report, err error) {
	defer j.Reader.BlameChangedInput(&err)
	e := j.p.env
	if err := e.Ready(); err != nil {
		return nil, err
	}
	files, err := output.Create(e, j.spec.Outputs, j.spec.StatsFile)
	if err != nil {
		return nil, err
	}
	defer files.Abort() // does nothing after the files got their names
	since(start, &j.p.spent.Load)
	if j.spec.LeavesOnly {
		err := j.s.tryPrepare(false)
		if err == nil && e.Root() && j.spec.Made != nil {
			*j.spec.Made = j.s.k.Code.GroupUnits()
		}
		return nil, err
	}
	if err := j.Compute(); err != nil {
		return nil, err
	}
	difference, err := j.deliver(files, start)
	if err != nil || !e.Root() {
		return nil, err
	}
	j.report.Result, j.kept = j.kept, nil
	if difference != nil {
		return j.report, difference
	}
	return j.report, nil
}

// repeat runs the statement Warmup + Repeat times. The slowest rank determines the time of a run.
func (j *Job) repeat() error {
	e, name := j.p.env, j.s.Result()
	runs := j.spec.Warmup + max(j.spec.Repeat, 1)
	at, stop := e.WatchRuns(name, runs)
	defer stop()
	c := e.Comm.Uncounted()
	for n := range runs {
		if t := j.p.tensors[name]; t != nil {
			t.unhold() // the memory is planned for one result at a time
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		before, begun := e.Comm.Counters(), time.Now()
		if err := j.s.compute(); err != nil {
			return err
		}
		took := []float64{time.Since(begun).Seconds()}
		at.Done()
		j.traffic = e.Comm.Counters().Sub(before).Add(j.s.k.Operands.Moved)
		if err := c.Allreduce(comm.Of(took), comm.Max); err != nil {
			return err
		}
		if n >= j.spec.Warmup {
			j.report.Stats.Phases.Compute = append(j.report.Stats.Phases.Compute, took[0])
		}
	}
	e.Arena.Reuse(false) // storing the result needs the memory
	j.s.stopWatch()
	return j.Reader.Unchanged()
}

// deliver checks the result, and writes the outputs and the statistics. If the check finds a
// difference, it returns the difference at rank 0 and writes no outputs. start is the time at which
// the job began. Every rank must call it.
func (j *Job) deliver(files *output.Files, start time.Time) (*check.Difference, error) {
	begun, written := time.Now(), files.Writes(j.s.Result())
	difference, err := j.check()
	if err != nil {
		return nil, err
	}
	differs := difference != nil
	if err := comm.BcastValue(j.p.env.Comm, &differs, 0); err != nil {
		return nil, err
	}
	if differs {
		files.Discard()
	}
	return difference, j.p.finish(files, j.s.k.Operands.Whole, func() ([]byte, error) {
		if !written {
			line, err := j.p.Summary(j.s.Result())
			if err != nil {
				return nil, err
			}
			j.report.Lines = append(j.report.Lines, line)
		}
		j.report.Stats.Phases.Store = time.Since(begun).Seconds()
		return j.statistics(start)
	})
}

// check gathers the whole result on rank 0 if Spec.Keep or Spec.Check is set. If Spec.Check is set,
// it compares the result with the reference evaluator. Every rank must call it.
func (j *Job) check() (d *check.Difference, err error) {
	if !j.spec.Check && !j.spec.Keep {
		return nil, nil
	}
	whole, err := j.Whole()
	if err != nil || whole == nil {
		return nil, err
	}
	if j.spec.Keep {
		whole.Trust() // leaves computed it, so it needs no validation
		j.kept = whole
	} else {
		defer whole.Close()
	}
	if !j.spec.Check {
		return nil, nil
	}
	said, d, err := j.Compare(whole)
	if said != "" {
		j.report.Lines = append(j.report.Lines, said)
	}
	return d, err
}

// Whole returns the whole result of the last run at rank 0, and nil at other ranks. The caller
// closes it. Every rank must call it.
func (j *Job) Whole() (*tcs.Tensor, error) { return j.p.Tensor(j.s.Result()) }

// Compare compares a whole result with the reference evaluator. said is the line to print, or ""
// if there is a difference; difference is nil if there is none.
func (j *Job) Compare(whole *tcs.Tensor) (said string, difference *check.Difference, err error) {
	n := &Snapshot{operands: map[string]*tcs.Tensor{}, result: whole}
	for _, name := range j.s.parsed.Names {
		if j.Reader.Sources[name] == nil || j.s.parsed.Inputs[name].Made() {
			continue
		}
		if n.operands[name], err = j.s.k.Operands.Whole(name); err != nil {
			return "", nil, err
		}
	}
	return j.s.Compare(n)
}

// statistics collects the statistics of all ranks and returns their text at rank 0. start is the
// time at which the job began. Every rank must call it.
func (j *Job) statistics(start time.Time) ([]byte, error) {
	k, st := j.s.k, &j.report.Stats
	balance, err := k.Operands.Balance()
	if err != nil {
		return nil, err
	}
	work, spent := k.Work, j.p.Spent()
	ranks, err := j.p.StatisticsWith(stats.Rank{Work: work.Model, Estimated: work.Estimated,
		Threads: j.p.Threads(), Nonzeros: balance.Here, Load: spent.Load.Seconds(),
		Compile: spent.Compile.Seconds(), Spent: k.Spent}, j.traffic)
	if err != nil || !j.p.env.Root() {
		return nil, err
	}
	st.Target, st.TargetReason = j.s.Target()
	st.Ranks, st.Threads, st.Compiler = len(ranks), j.p.Threads(), k.Code.Compiler()
	st.Inputs = map[string]stats.Input{}
	for name, s := range j.Reader.Sources {
		if s.In.File != "" && s.Scalar == nil {
			if name == j.s.parsed.Old {
				name = j.s.Result()
			}
			st.Inputs[name] = stats.Input{File: s.In.File, Checksum: s.Checksum}
		}
	}
	st.AddRanks(ranks)
	for _, x := range ranks {
		j.report.Allocated = append(j.report.Allocated, x.Allocated)
	}
	j.addWork(ranks)
	if !k.Planned.Problem.Whole {
		j.p.env.Detail(stats.Spent(ranks))
	}
	st.Phases.Total = time.Since(start).Seconds()
	return st.JSON(), nil
}

// addWork adds the work of the leaves to the statistics. If leaves run on CPUs and there is
// a machine model, it also adds their speed as a fraction of the speed that the model predicts. It
// does nothing unless statistics or details were requested.
func (j *Job) addWork(ranks []stats.Rank) {
	if j.spec.StatsFile == "" && j.spec.Settings.Detail == nil {
		return
	}
	var m *tune.Model
	if name, _ := j.s.Target(); name == target.CPU {
		var err error
		if m, err = tuned.MachineModel(); err != nil {
			j.p.env.Detail("the cached machine model cannot be used: " + err.Error())
		}
	}
	j.report.Stats.Work = stats.WorkOf(ranks, m)
	j.p.env.Detail(j.report.Stats.Work.String())
}
