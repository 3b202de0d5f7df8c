package output

import (
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/env"
	"distaff/spmd/store"
	"distaff/spmd/summary"
	"distaff/spmd/transfer"
)

// Result is the result of a statement, distributed over the ranks.
type Result struct {
	Env    *env.Env
	Name   string
	Blocks *store.Blocks
	Like   transfer.Like // describes the blocks for sending
	// Whole says that there is only one rank, and that its only block is the whole tensor in the
	// tensor's own format.
	Whole bool
}

// Gather returns the whole result at rank 0, in its own format, and nil at other ranks. The caller
// must close it. Every rank must call it.
func (r *Result) Gather() (*tcs.Tensor, error) {
	b := r.Blocks
	b.Unsign(r.Env.Threads)
	if r.Whole {
		return b.Own[0].Alias(), nil
	}
	if b.Layout.Format.AllDense() {
		return r.gatherDense()
	}
	var whole *tcs.Tensor
	err := store.Gather(r.Env.Comm, b, b.Layout.Format.Order, coo.KeepAll, r.Env.Config(),
		func(s coo.Stream) (err error) {
			spec := coo.Spec{Format: b.Layout.Format, Dims: b.Layout.Dims, Type: b.Layout.Type, Name: r.Name}
			whole, err = coo.Assemble(s, spec, r.Env.Config())
			return err
		})
	return whole, err
}

// Summary returns a line that describes the result, at rank 0. Its return value at other ranks
// has no meaning. Every rank must call it.
func (r *Result) Summary() (string, error) {
	b := r.Blocks
	// a scalar is shown with its value, and padding is visible only in the whole tensor
	if r.Whole || len(b.Layout.Dims) == 0 || b.Layout.Format.HasPadding() {
		whole, err := r.Gather()
		if err != nil || whole == nil {
			return "", err
		}
		defer whole.Close()
		return summary.Of(r.Name, whole), nil
	}
	mine := summary.Sum{Type: b.Layout.Type}
	entries, err := store.Summary(r.Env.Comm, b, r.Env.Config(), mine.Add)
	if err != nil {
		return "", err
	}
	total, err := mine.Gather(r.Env.Comm.Uncounted())
	return summary.Line(r.Name, b.Layout.Dims, b.Layout.Format.String(), b.Layout.Type, entries,
			total),
		err
}
