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
	"distaff/io/tcs"
	"distaff/kernels/target"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/jobs"
)

// A FileJob is a job file with what is said of it beside: see RunFile.
type FileJob struct {
	File *jobfile.File // bound and checked
	// Inputs and Outputs are by tensor, in the place of what the file says.
	Inputs  map[string]Input
	Outputs map[string]string
	// Say is told each line that the job prints, as soon as it does, at rank 0.
	Say func(line string)
	// Running is told now and then which statement runs, in which pass of its repeats, and for how
	// long the job has run, once that is longer than RunningAfter. It is called from another goroutine
	// of rank 0. It may be nil.
	Running      func(what string)
	RunningAfter time.Duration

	Options
}

// FileReport is what a job file's run tells.
type FileReport = jobs.Report

// Run runs the file, as the program that it is: see Start. Where it ends with a difference that
// Check found, or with a repeat whose condition was to hold, the error has exit code 4, and there
// is a report. In a process of a launcher the report is rank 0's, and nil at other ranks.
func (j *FileJob) Run(ctx context.Context) (*FileReport, error) {
	if err := jobs.Inputs(j.File, j.Inputs); err != nil {
		return nil, err
	}
	if err := j.checkCode(j.inFolder().allowed); err != nil {
		return nil, err
	}
	if err := j.memories(); err != nil {
		return nil, err
	}
	if err := outfile.Apart(j.Files()...); err != nil {
		return nil, err
	}
	located, at := j.located()
	o := jobs.Options{At: at, Running: j.Running, RunningAfter: j.RunningAfter, Repeat: j.Repeat,
		Warmup: j.Warmup, Check: j.Check, Inputs: j.Inputs, Outputs: j.Outputs, Say: j.Say, Note: j.Note,
		Stats: j.StatsFile, Argv: j.Argv, Version: Version(), Target: cmp.Or(j.Target, target.CPU)}
	o.Leaves = j.leaves
	var report *FileReport
	var ended error // at every rank alike
	options := j.inFolder()
	options.Note = located
	err := options.start(ctx, j.told(), func(p *Program) error {
		rep, err := jobs.Run(p, j.File, o)
		var e *jobs.Ended
		agreed := errors.As(err, &e)
		switch {
		case p.Rank() == 0:
			if report = rep; agreed {
				ended = err
			}
		case agreed && j.Ranks <= 1: // a process of its own
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

// located has the notes of what a job file runs say where in the file that is: note is told them,
// and at the places, "" for none. A nil note is for a job without notes.
func (j *FileJob) located() (note, at func(string)) {
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

// Files are the files that the job reads and writes, the job file itself among them.
func (j *FileJob) Files() []outfile.Use {
	list := jobs.Files(j.File, j.Inputs, j.Outputs, j.StatsFile)
	j.checkCode(func(commands []*schedule.Command) error {
		list = append(list, j.inFolder().userCode().Uses(commands)...)
		return nil
	})
	return list
}

// leaves returns the units of the leaves that a statement of the file is expected to call.
func (j *FileJob) leaves(ctx context.Context, s jobs.Statement, ranks int) ([]*codegen.Unit,
	error) {
	k := j.job(s).Job
	k.Note, k.Detail, k.Trace, k.Progress, k.Working = nil, nil, nil, nil, nil
	k.Ranks, k.inProgram, k.runs, k.memoryOf = ranks, true, s.Runs, j.memoryOf
	blocks, err := k.blockSpec()
	if err != nil {
		return nil, err
	}
	return k.leaves(ctx, blocks)
}

// memories refuses placements in a memory that ranks do not have.
func (j *FileJob) memories() error {
	for p := range j.File.Placements() {
		if err := p.Placement.Lies(j.Target == target.CUDA); err != nil {
			return err
		}
	}
	return nil
}

// memoryOf is the memory that the file declares a tensor to lie in.
func (j *FileJob) memoryOf(name string) place.Memory {
	if t := j.File.Tensor(name); t != nil && t.Placement != nil {
		return t.Placement.Placement.Memory()
	}
	return place.AnyMemory
}

// inFolder are the options, for a file whose paths are relative to its folder.
func (j *FileJob) inFolder() *Options {
	o := j.Options
	o.folder = filepath.Dir(j.File.Name)
	return &o
}

// checkCode has the schedule of each statement checked.
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

// PlannedFile is what a job file would do on its ranks, without running it, and PlannedItem what
// one of its statements would.
type (
	PlannedFile = jobs.Planned
	PlannedItem = jobs.PlannedItem
)

// Plan plans the file for Options.Ranks ranks, as Job.Plan does each of its statements.
func (j *FileJob) Plan(ctx context.Context, detail int) (*PlannedFile, error) {
	if err := j.memories(); err != nil {
		return nil, err
	}
	for _, s := range jobs.TypeNotes(j.File) {
		j.note(s)
	}
	return jobs.Plan(j.File, j.Inputs, max(j.Ranks, 1), j.MemoryLimit,
		func(g *input.Given, how How, use func(*forecast.Forecast, *Planned) error) error {
			k := &Job{Statement: g.Statement, Formats: g.Formats, Types: g.Types, Sizes: g.Sizes,
				Inputs: g.Inputs, Options: *j.inFolder()}
			k.Schedule, k.over, k.placed, k.Check = how.Schedule, how.Machine, how.Placements, false
			k.memoryOf = j.memoryOf
			k.Network, k.IntermediateOrder = how.Network, how.IntermediateOrder
			return k.forecast(ctx, cmp.Or(how.Blocks, &place.BlockSpec{}), detail, use)
		})
}

// StatementJob is a statement of a job file as a job of its own.
type StatementJob struct {
	*Job
	Line int // of the statement in the file
	// Locate gives an error of the job its place in the file.
	Locate func(error) error
}

// Jobs are the statements of the file, each as the job that it would be where it stands: tensors
// that the file's inputs give, and those that statements before it write, with the sizes, types
// and formats that they will have. Nothing is run. It is what plan and compile go by.
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

// job returns a statement of the file as a job of its own.
func (j *FileJob) job(x jobs.Statement) StatementJob {
	s, g := x.Statement, x.Given
	k := &Job{Statement: g.Statement, Formats: g.Formats, Types: g.Types, Sizes: g.Sizes,
		Inputs: g.Inputs, Options: *j.inFolder()}
	k.Schedule, k.over, k.placed = g.Schedule, g.Machine, g.Placements
	k.Splits, k.BlockOrder, k.Extend, k.Map = s.Split, s.Order, s.Extend, s.Map
	k.Network, k.IntermediateOrder = s.Network, s.IntermediateOrder
	line, _ := j.File.Position(s.Span().Pos)
	if j.Note != nil {
		where := fmt.Sprintf("%s:%d: ", tcs.Printable(j.File.Name), line)
		k.Note = func(note string) { j.Note(where + note) }
	}
	return StatementJob{k, line, s.Locate}
}
