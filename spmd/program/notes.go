package program

import (
	"slices"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/spmd/output"
)

// Notes prints notes about a planned job whose choices the user may not have intended.
func (j *Job) Notes(ranks int, blocks *place.BlockSpec) {
	j.noteMachine(ranks)
	j.noteIdle(blocks)
	j.noteDense()
}

// noteIdle prints a note if the block schedule leaves ranks idle and another map of blocks to ranks
// would use them.
func (j *Job) noteIdle(blocks *place.BlockSpec) {
	if s := j.s.k.Planned.Problem.IdleNote(blocks); s != "" && j.p.env.Root() {
		j.p.env.Note(s)
	}
}

// noteMachine prints a note if some ranks have no point on the machine over which the statement or
// its tensors are distributed.
func (j *Job) noteMachine(ranks int) {
	p := j.s.parsed
	if p.Machine == nil || !j.p.env.Root() {
		return
	}
	used := len(p.Placements) > 0
	if list, err := schedule.Parse(p.Schedule); err == nil {
		used = used || slices.ContainsFunc(list, (*schedule.Command).Distributes)
	}
	if !used {
		return
	}
	if s := p.Machine.IdleNote(ranks); s != "" {
		j.p.env.Note(s)
	}
}

// noteDense prints a note if the result is dense by default and a sparse format would be far
// smaller. It prints nothing if there are outputs, and all of them write the result to files that
// list all coordinates anyway.
func (j *Job) noteDense() {
	filled := func(o output.Output) bool {
		f, err := convert.FormatOf(o.File)
		return err == nil && f.Filled && o.Tensor == j.s.Result()
	}
	outputs := j.spec.Outputs
	if !j.p.env.Root() ||
		len(outputs) > 0 && !slices.ContainsFunc(outputs,
			func(o output.Output) bool { return !filled(o) }) {
		return
	}
	if s := j.Reader.DenseResult(); s != "" {
		j.p.env.Note(s)
	}
}
