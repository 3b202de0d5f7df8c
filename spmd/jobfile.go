package spmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"distaff/codegen"
	"distaff/codegen/jobfile"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/outfile"
	"distaff/io/tensor"
	"distaff/kernels/target"
	"distaff/spmd/env"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/jobs"
)

// A FileJob is a job file together with the options and files of one run. Run runs it.
type FileJob struct {
	File *jobfile.File // parsed, bound and checked
	// Inputs and Outputs replace the inputs and outputs that the file gives, by tensor.
	Inputs  map[string]Input
	Outputs map[string]string
	// Say is called at rank 0 with each line that the job prints, immediately.
	Say func(line string)
	// Running, if not nil, is called from time to time once the job has run for longer than
	// RunningAfter. what names the statement that runs, the pass of its repeats, the time so far,
	// and how much of its loop the leaf has done. It is called from another goroutine of rank 0.
	Running      func(what string)
	RunningAfter time.Duration
	// Ended, if not nil, is called at every rank when the last statement has run, before the outputs
	// are written. It may read tensors of the program.
	Ended func(p *Program) error

	Options
}

// FileReport is the report of a job file's run.
type FileReport = jobs.Report

// Run runs the job file as a program: see Start. Run returns both a report and an error with exit
// code 4 in two cases: if Check finds a difference, or if the condition of a repeat with "or fail"
// still does not hold after the last pass. If an MPI launcher started the process, only rank 0 gets
// a report, and the other ranks get nil.
func (j *FileJob) Run(ctx context.Context) (*FileReport, error) {
	if err := jobs.Inputs(j.File, j.Inputs); err != nil {
		return nil, err
	}
	if err := j.checkCode(j.inFolder().checkUserCode); err != nil {
		return nil, err
	}
	if err := j.checkMemories(); err != nil {
		return nil, err
	}
	if err := outfile.Apart(j.Files()...); err != nil {
		return nil, err
	}
	placedNotes, at := j.placedNotes()
	o := jobs.Options{At: at, Running: j.Running, RunningAfter: j.RunningAfter, Repeat: j.Repeat,
		Warmup: j.Warmup, Check: j.Check, Inputs: j.Inputs, Outputs: j.Outputs, Say: j.Say,
		Note: j.Note, Stats: j.StatsFile, Argv: j.Argv, Version: Version(), Ended: j.Ended}
	o.Leaves = j.leaves
	var report *FileReport
	var ended error // the same at every rank
	options := j.inFolder()
	options.Note = placedNotes
	err := options.start(ctx, j.description(), func(p *Program) error {
		rep, err := jobs.Run(p, j.File, o)
		var e *jobs.NoOutputError
		agreed := errors.As(err, &e)
		switch {
		case p.Rank() == 0:
			if report = rep; agreed {
				ended = err
			}
		case agreed && j.Ranks <= 1: // each rank is a process of its own
			ended = &OtherRank{Err: err}
		}
		if agreed {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, ended
}

// SizesOf returns the sizes of the tensor in a file, or nil if its header does not have them. order
// is the number of its modes, or 0 if it is unknown. exact is false if the sizes are lower bounds.
func SizesOf(file string, order int) (dims []int64, exact bool, err error) {
	if jobfile.IsNumber(file) {
		return []int64{}, true, nil
	}
	return jobs.SizesOf(File(file), order, false)
}

// placedNotes returns two functions. The function note passes a note to j.Note. It writes the
// current place in the job file before the note. The function at sets the current place, and at("")
// clears it. If j.Note is nil, note is nil.
func (j *FileJob) placedNotes() (note, at func(string)) {
	var place atomic.Pointer[string]
	at = func(where string) { place.Store(&where) }
	if j.Note == nil {
		return nil, at
	}
	return func(line string) {
		if where := place.Load(); where != nil && *where != "" {
			line = *where + ": " + line
		}
		j.Note(line)
	}, at
}

// Files returns the files that the job reads and writes, including the job file itself.
func (j *FileJob) Files() []outfile.Use {
	list := jobs.Files(j.File, j.Inputs, j.Outputs, j.StatsFile)
	j.checkCode(func(commands []*schedule.Command) error {
		list = append(list, j.inFolder().userCode().Uses(commands)...)
		return nil
	})
	return list
}

// leaves returns the units of the leaves that a run of statement s is expected to call.
func (j *FileJob) leaves(ctx context.Context, s jobs.Statement, ranks int) ([]*codegen.Unit,
	error) {
	k := j.job(s).quiet()
	k.Ranks, k.inProgram, k.runs, k.memoryOf = ranks, true, s.Runs, j.memoryOf
	blocks, err := k.blockSpec()
	if err != nil {
		return nil, err
	}
	return k.leaves(ctx, blocks)
}

// checkMemories refuses placements in a memory that the job's ranks do not have.
func (j *FileJob) checkMemories() error {
	for p := range j.File.Placements() {
		if err := p.Placement.CheckMemory(j.mayHaveGPU()); err != nil {
			return err
		}
	}
	return nil
}

// mayHaveGPU reports whether some statement of the job may run on a GPU.
func (j *FileJob) mayHaveGPU() bool {
	return j.Target == target.Auto || target.Code(j.Target) == codegen.CUDA || j.needsGPU() != ""
}

// needsGPU returns the place of the first statement for which the file demands a GPU, with the
// clause. It returns "" if the file demands none.
func (j *FileJob) needsGPU() string {
	for s := range j.File.Statements() {
		if s.On == env.OnGPU {
			file, line, col := j.File.Place(s.Span().Pos)
			return fmt.Sprintf("%s:%d:%d: on %s", tensor.Printable(file), line, col, s.On)
		}
	}
	return ""
}

// memoryOf returns the kind of memory, of the host or of a device, that the file declares for a
// tensor.
func (j *FileJob) memoryOf(name string) place.Memory {
	if t := j.File.Tensor(name); t != nil && t.Placement != nil {
		return t.Placement.Placement.Memory()
	}
	return place.AnyMemory
}

// inFolder returns a copy of the options with the job file's folder as the folder of C files,
// and with needsGPU set from the file.
func (j *FileJob) inFolder() *Options {
	o := j.Options
	o.folder, o.needsGPU = filepath.Dir(j.File.Name), j.needsGPU()
	return &o
}

// checkCode calls check with each command of each statement's schedule.
func (j *FileJob) checkCode(check func([]*schedule.Command) error) error {
	for s := range j.File.Statements() {
		for _, c := range s.Schedule {
			list, err := schedule.Parse([]string{c.Text})
			if err == nil {
				err = check(list)
			}
			if err != nil {
				return s.Locate(err)
			}
		}
	}
	return nil
}

// PlannedFile describes what a job file would do on its ranks. PlannedItem describes what one item
// of the file would do: a statement, or a place command, which moves a tensor.
type (
	PlannedFile = jobs.Planned
	PlannedItem = jobs.PlannedItem
)

// Plan plans the file for Options.Ranks ranks without running it. Each of its statements is planned
// as Job.Plan plans a job.
func (j *FileJob) Plan(ctx context.Context, detail int) (*PlannedFile, error) {
	if err := j.checkMemories(); err != nil {
		return nil, err
	}
	for _, s := range jobs.Notes(j.File, j.Inputs) {
		j.note(s)
	}
	return jobs.Plan(j.File, j.Inputs, max(j.Ranks, 1), j.MemoryLimit,
		func(g *input.Given, how How, use func(*forecast.Forecast, *Planned) error) error {
			k := &Job{Statement: g.Statement, Formats: g.Formats, Types: g.Types, Sizes: g.Sizes,
				Inputs: g.Inputs, Options: *j.inFolder()}
			k.Schedule, k.Check = how.Schedule, false
			k.fileMachine, k.filePlacements = how.Machine, how.Placements
			k.memoryOf = j.memoryOf
			k.Network, k.IntermediateOrder, k.on = how.Network, how.IntermediateOrder, how.On
			return k.forecast(ctx, cmp.Or(how.Blocks, &place.BlockSpec{}), detail, use)
		})
}

// StatementJob is a statement of a job file as a separate job.
type StatementJob struct {
	*Job
	Line int // the statement's line in the file
	// Locate adds the place in the file to an error of the job.
	Locate func(error) error
}

// Jobs returns the statements of the file as separate jobs. Their tensors are the inputs of the
// file and the results of earlier statements, with the sizes, types and formats that these tensors
// will have. Nothing is run. The command compile uses it.
func (j *FileJob) Jobs() ([]StatementJob, error) {
	statements, err := jobs.Statements(j.File, j.Inputs, max(j.Ranks, 1))
	if err != nil {
		return nil, err
	}
	var out []StatementJob
	for _, s := range statements {
		out = append(out, j.job(s))
	}
	return out, nil
}

// job returns a statement of the file as a separate job.
func (j *FileJob) job(x jobs.Statement) StatementJob {
	s, g := x.Statement, x.Given
	k := &Job{Statement: g.Statement, Formats: g.Formats, Types: g.Types, Sizes: g.Sizes,
		Inputs: g.Inputs, Options: *j.inFolder()}
	k.Schedule, k.fileMachine, k.filePlacements = g.Schedule, g.Machine, g.Placements
	k.Splits, k.BlockOrder, k.Extend, k.Map = s.Split, s.Order, s.Extend, s.Map
	k.Network, k.IntermediateOrder, k.on = s.Network, s.IntermediateOrder, s.On
	file, line, _ := j.File.Place(s.Span().Pos)
	if j.Note != nil {
		where := fmt.Sprintf("%s:%d: ", tensor.Printable(file), line)
		k.Note = func(note string) { j.Note(where + note) }
	}
	return StatementJob{k, line, s.Locate}
}
