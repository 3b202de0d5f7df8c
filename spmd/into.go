package spmd

import (
	"bytes"
	"context"
	"slices"

	"distaff/codegen/format"
	"distaff/io/coo"
	"distaff/io/tcs"
)

// intoEngine computes values into a result that has its level arrays (Job.Into).
type intoEngine struct {
	*compiledEngine
	given *tcs.Tensor // the caller's
	// made is what the leaf writes: given itself, or, where given is in a format that
	// results are repacked to, its entries as the leaf can write them. padded says that
	// these have memory of their own for the values: given's are not in the same places.
	made   *tcs.Tensor
	padded bool
}

// compileInto readies the engine of a job with Into.
func (r *run) compileInto() (engine, error) {
	if err := r.fitsInto(); err != nil {
		return nil, err
	}
	e := &intoEngine{compiledEngine: r.newEngine(), given: r.job.Into, made: r.job.Into}
	s := e.s
	if _, err := s.compile(); err != nil {
		return nil, err
	}
	if err := e.operands(); err != nil {
		return nil, err
	}
	u := s.unit.Result
	if !u.Format.AllDense() && !e.likeOperand() {
		if u.Repack {
			var err error
			if e.made, err = coo.Repack(e.given, u.Format.Letters(), u.Format.Order, coo.KeepAll, r.config()); err != nil {
				return nil, err
			}
			r.closers = append(r.closers, e.made.Close)
			if e.padded = e.made.Vals.Len != e.given.Vals.Len || slices.Contains(e.s.format.Levels, format.SingletonPadded); !e.padded {
				e.made.Vals = e.given.Vals
			}
		}
		widths := u
		widths.PosWidth, widths.CrdWidth = nil, nil
		for _, lev := range e.made.Levels {
			widths.PosWidth, widths.CrdWidth = append(widths.PosWidth, lev.Pos.Width), append(widths.CrdWidth, lev.Crd.Width)
		}
		s.values, s.widths = true, &widths
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	return e, nil
}

// fitsInto refuses a tensor that is no result of this job.
func (r *run) fitsInto() error {
	name, t := r.p.result, r.job.Into
	if len(r.job.Schedule) > 0 {
		return commandErrorf("a result to compute into: the job has a schedule; values alone are computed without one")
	}
	if t.File() != "" {
		return commandErrorf("a result to compute into: %s is the file %s, which is not to be changed", name, t.File())
	}
	if want := r.types[name]; dataType(t.Type) != want || !t.Whole() || !slices.Equal(t.Dims, r.sizes.Dims[name]) || !formatOf(t).Equal(r.formats[name]) {
		return commandErrorf("a result to compute into: got %s, %s, %v, want %s, %s, %v, whole", sizesString(t.Dims), formatName(formatOf(t)), dataType(t.Type),
			sizesString(r.sizes.Dims[name]), formatName(r.formats[name]), want)
	}
	for operand, o := range r.tensors {
		if overlap(t.Vals, o.Vals) {
			return commandErrorf("a result to compute into: its values are those of the operand %s", operand)
		}
	}
	return nil
}

func overlap(a, b tcs.Array) bool {
	from, other := uintptr(a.Ptr), uintptr(b.Ptr)
	return a.Len > 0 && b.Len > 0 && from < other+uintptr(b.Len)*uintptr(b.Width) && other < from+uintptr(a.Len)*uintptr(a.Width)
}

// likeOperand tells whether the leaf that shares an operand's level arrays writes
// what is given: it has the same ones.
func (e *intoEngine) likeOperand() bool {
	u := e.s.unit.Result
	if u.Shares < 0 || u.Repack {
		return false
	}
	from := e.args[u.Shares-1]
	for l, k := range u.Format.Levels[:len(u.Format.Levels)-u.Format.TrailingDense()] {
		a, b := &e.given.Levels[l], &from.Levels[l]
		if k != format.Dense && (!sameArray(a.Pos, b.Pos) || !sameArray(a.Crd, b.Crd)) {
			return false
		}
	}
	return true
}

func sameArray(a, b tcs.Array) bool {
	if a.Width != b.Width || a.Len != b.Len || a.First != b.First {
		return false
	}
	return a.Len == 0 || a.Ptr == b.Ptr || bytes.Equal(a.Bytes(), b.Bytes())
}

func (e *intoEngine) run(ctx context.Context) (*tcs.Tensor, error) {
	if err := e.s.run(ctx, e.made, e.args, nil); err != nil {
		return nil, err
	}
	if e.padded {
		t, err := coo.Repack(e.made, e.s.format.Letters(), e.s.format.Order, coo.KeepAll, e.s.r.config())
		if err != nil {
			return nil, err
		}
		defer t.Close()
		if t.Vals.Len != e.given.Vals.Len {
			panic("BUG: spmd: a result that was repacked twice has other entries")
		}
		copy(e.given.Vals.Bytes(), t.Vals.Bytes())
	}
	return e.given.Alias(), nil
}
