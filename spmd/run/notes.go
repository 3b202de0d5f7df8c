package run

import (
	"slices"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/spmd/output"
)

// Notes tells the user of a job that was planned what he may not have meant.
func (r *Job) Notes(ranks int, blocks *place.BlockSpec) {
	r.noteMachine(ranks)
	r.noteIdle(blocks)
	r.noteDense()
}

// noteIdle tells of ranks to which a block schedule gives no work where another map would.
func (r *Job) noteIdle(blocks *place.BlockSpec) {
	if s := r.Prepared.Problem.IdleNote(blocks); s != "" && r.Reader.Env.Root() {
		r.Reader.Env.Note(s)
	}
}

// noteMachine tells of ranks that have no point of the machine over which the statement is
// distributed or its tensors lie.
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

// noteDense tells of a result that is stored dense by default and would be far smaller sparse,
// unless all that is asked for are files that list every coordinate.
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
