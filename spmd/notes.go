package spmd

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/convert"
)

// noteQuotients tells of quotients that are summed where a quotient by a sum may be meant.
func (o *Options) noteQuotients(s *notation.Stmt) {
	for _, q := range notation.SummedQuotients(s) {
		o.note(q.String())
	}
}

// noteIdle tells of ranks to which a block schedule gives no work where another map would.
func (r *rankJob) noteIdle(spec *place.BlockSpec) {
	if s := r.prepared.Problem.IdleNote(spec); s != "" && r.Root() {
		r.job.note(s)
	}
}

// noteMachine tells of ranks that have no point of the machine.
func (r *rankJob) noteMachine(ranks int) {
	if s := machineNote(r.p, ranks); s != "" && r.Root() {
		r.job.note(s)
	}
}

// noteDense tells of a result that is stored dense by default and would be far smaller sparse,
// unless all that is asked for are files that list every coordinate.
func (r *rankJob) noteDense() {
	filled := func(o Output) bool {
		f, err := convert.FormatOf(o.File)
		return err == nil && f.Filled && o.Tensor == r.p.Result
	}
	outputs := r.job.Outputs
	if !r.Root() || len(outputs) > 0 && !slices.ContainsFunc(outputs, func(o Output) bool { return !filled(o) }) {
		return
	}
	if s := r.DenseResult(); s != "" {
		r.job.note(s)
	}
}
