package prepared

import (
	"bytes"
	"slices"

	"distaff/codegen"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
	"distaff/spmd/plan"
)

// pattern is a result of an earlier job whose pattern stays and whose values are computed anew
// (Job.FixedPattern).
type pattern struct {
	p     *Planned
	given *tcs.Tensor // the caller's tensor
	// made is the tensor that the leaf writes: wide itself, or a conversion of it if leaves cannot
	// write given's format. padded says that made has its own memory for values, because they are
	// in other places than in given.
	made   *tcs.Tensor
	padded bool
	// wide is given, unless the statement computes in a wider type than given's. Then wide has the
	// same level arrays and wider values, which are converted to given's type in the end.
	wide   *tcs.Tensor
	values bool            // whether the leaf writes values into an existing pattern
	widths *codegen.Result // widths of made's arrays
}

// newPattern returns the pattern of the tensor given by the caller (Options.FixedPattern). It also
// decides how a leaf writes the values of this tensor. s is the leaf that the statement has without
// the pattern, and args holds the arguments of s. From s and args, newPattern learns how the
// statement would store a result of its own. The caller closes the pattern.
func newPattern(s *leaf, args []*tcs.Tensor) (e *pattern, err error) {
	p, u := s.p, s.unit.Result
	e = &pattern{p: p, given: p.Options.FixedPattern}
	e.wide, e.made = e.given, e.given
	if p.needsNarrowing() {
		if e.wide, err = p.withValues(e.given, p.Reader.ResultType); err != nil {
			return nil, err
		}
		e.made = e.wide
	}
	if u.Format.AllDense() || e.likeOperand(s, args) {
		return e, nil
	}
	if u.Repack {
		e.made, err = coo.Repack(e.wide, u.Format, coo.KeepAll, p.Reader.Env.Config())
		if err != nil {
			e.made = e.wide
			e.close()
			return nil, err
		}
		if e.padded = e.made.Vals.Len != e.wide.Vals.Len ||
			slices.Contains(s.format.Levels, tensor.SingletonPadded); !e.padded {
			e.made.Vals = e.wide.Vals
		}
	}
	u.PosWidth, u.CrdWidth = nil, nil
	for _, lev := range e.made.Levels {
		u.PosWidth, u.CrdWidth = append(u.PosWidth, lev.Pos.Width), append(u.CrdWidth, lev.Crd.Width)
	}
	e.values, e.widths = true, &u
	return e, nil
}

// checkPattern returns an error if the tensor given by the caller (Options.FixedPattern) cannot be
// the result of this job. own holds the blocks of each operand.
func (p *Planned) checkPattern(own []map[plan.Block]*tcs.Tensor) error {
	name, t := p.Parsed.Result, p.Options.FixedPattern
	if p.Target.Kind == codegen.CUDA {
		return fault.Commandf(
			"a result to compute into: got --target=cuda, which allocates its own results; " +
				"want --target=cpu")
	}
	if _, given := p.Problem.LeafSchedule(); given {
		return fault.Commandf(
			"a result to compute into: got a schedule, want none: only the default schedule " +
				"computes values alone")
	}
	if t.File() != "" {
		return fault.Commandf(
			"a result to compute into: %s is the file %s, which must not be changed; want a "+
				"tensor in memory",
			name, t.File())
	}
	if want := p.Reader.Types[name]; t.Header.Type != want || !t.Header.Whole() ||
		!slices.Equal(t.Header.Dims, p.Reader.Sizes.Dims[name]) ||
		!t.Format().Equal(p.Reader.Formats[name]) {
		return fault.Commandf(
			"a result to compute into: got %s, %s, %v, want %s, %s, %v, and all blocks of it",
			fault.Sizes(t.Header.Dims), fault.Format(t.Format()), t.Header.Type,
			fault.Sizes(p.Reader.Sizes.Dims[name]), fault.Format(p.Reader.Formats[name]), want)
	}
	for i, o := range p.Problem.Operands {
		if overlap(t.Vals, own[i][0].Vals) {
			return fault.Commandf(
				"a result to compute into: it shares its values with the operand %s; want "+
					"values of its own",
				o.Tensor)
		}
	}
	return nil
}

// likeOperand reports whether the result of leaf s shares the level arrays of an operand, and the
// tensor e.given has equal level arrays. It returns false if the result is repacked. args holds the
// leaf's arguments.
func (e *pattern) likeOperand(s *leaf, args []*tcs.Tensor) bool {
	u := s.unit.Result
	if u.Shares < 0 || u.Repack {
		return false
	}
	from := args[u.Shares-1]
	for l, k := range u.Format.Levels[:len(u.Format.Levels)-u.Format.TrailingDense()] {
		a, b := &e.given.Levels[l], &from.Levels[l]
		if k != tensor.Dense && (!sameArray(a.Pos, b.Pos) || !sameArray(a.Crd, b.Crd)) {
			return false
		}
	}
	return true
}

// sameArray reports whether two arrays have equal elements of equal width.
func sameArray(a, b tcs.Array) bool {
	if a.Width != b.Width || a.Len != b.Len || a.First != b.First {
		return false
	}
	return a.Len == 0 || a.Ptr == b.Ptr || bytes.Equal(a.Bytes(), b.Bytes())
}

// finish stores the values that the leaf has written in the caller's tensor, converted if
// necessary. It returns a tensor that shares the memory of the caller's tensor.
func (e *pattern) finish() (*tcs.Tensor, error) {
	if e.padded {
		f := e.p.Reader.Formats[e.p.Parsed.Result]
		t, err := coo.Repack(e.made, f, coo.KeepAll, e.p.Reader.Env.Config())
		if err != nil {
			return nil, err
		}
		defer t.Close()
		if t.Vals.Len != e.wide.Vals.Len {
			panic("BUG: prepared: a result that was repacked twice has other entries")
		}
		copy(e.wide.Vals.Bytes(), t.Vals.Bytes())
	}
	if e.wide != e.given {
		if err := e.p.narrowValues(e.given, e.wide); err != nil {
			return nil, err
		}
	}
	return e.given.Alias(), nil
}

// close releases the tensors that the pattern made. e may be nil.
func (e *pattern) close() {
	if e == nil {
		return
	}
	if e.made != e.wide {
		e.made.Close()
	}
	if e.wide != e.given {
		e.wide.Close()
	}
}
