package run

import (
	"slices"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/spmd/output"
)

// Notes prints notes about a planned job whose choices the user may not have intended.
func (r *Job) Notes(ranks int, blocks *place.BlockSpec) {
	r.noteMachine(ranks)
	r.noteIdle(blocks)
	r.noteDense()
}

// noteIdle prints a note if the block schedule leaves ranks idle that another map would use.
func (r *Job) noteIdle(blocks *place.BlockSpec) {
	if s := r.Prepared.Problem.IdleNote(blocks); s != "" && r.Reader.Env.Root() {
		r.Reader.Env.Note(s)
	}
}

// noteMachine prints a note if some ranks have no point on the machine over which the statement or
// its tensors are distributed.
func (r *Job) noteMachine(ranks int) {
	p := r.Statement
	if p.Machine == nil || !r.Reader.Env.Root() {
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
		r.Reader.Env.Note(s)
	}
}

// noteDense prints a note if the result is stored dense by default although a sparse format would
// be far smaller. It prints none if every output is a file of the result that lists all
// coordinates.
func (r *Job) noteDense() {
	filled := func(o output.Output) bool {
		f, err := convert.FormatOf(o.File)
		return err == nil && f.Filled && o.Tensor == r.Statement.Result
	}
	outputs := r.spec.Outputs
	if !r.Reader.Env.Root() ||
		len(outputs) > 0 && !slices.ContainsFunc(outputs,
			func(o output.Output) bool { return !filled(o) }) {
		return
	}
	if s := r.Reader.DenseResult(); s != "" {
		r.Reader.Env.Note(s)
	}
}
