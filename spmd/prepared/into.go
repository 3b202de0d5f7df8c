package prepared

import (
	"bytes"
	"slices"

	"distaff/codegen"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
)

// into is a result of an earlier job whose pattern stays and whose values are computed anew
// (Job.FixedPattern).
type into struct {
	given *tcs.Tensor // the caller's tensor
	// made is the tensor that the leaf writes: given itself, or a conversion of it if leaves cannot
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

// readyInto checks the tensor given by the caller, and prepares a leaf that writes its values. To
// learn how the statement would store a result of its own, it first compiles the statement without
// the tensor.
func (k *Statement) readyInto() error {
	if err := k.fitsInto(); err != nil {
		return err
	}
	if _, err := k.compileGroups(); err != nil {
		return err
	}
	e := &into{given: k.o.FixedPattern, wide: k.o.FixedPattern}
	if k.needsNarrowing() {
		var err error
		if e.wide, err = k.withValues(e.given, k.Reader.ResultType); err != nil {
			return err
		}
		k.closing(e.wide)
	}
	e.made = e.wide
	s := k.leaves[0]
	k.into = e
	if err := k.bind(); err != nil {
		return err
	}
	u := s.unit.Result
	if u.Format.AllDense() || e.likeOperand(s, k.bound.call.args) {
		return nil
	}
	if u.Repack {
		var err error
		if e.made, err = coo.Repack(e.wide, u.Format, coo.KeepAll,
			k.Reader.Env.Config()); err != nil {
			return err
		}
		k.closing(e.made)
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
	return nil
}

// fitsInto returns an error if the given tensor cannot be the result of this job.
func (k *Statement) fitsInto() error {
	name, t := k.p.Result, k.o.FixedPattern
	if k.Reader.Env.Code() == codegen.CUDA {
		return fault.Commandf(
			"a result to compute into: got --target=cuda, which allocates its own results; " +
				"want --target=cpu")
	}
	if _, given := k.Problem.LeafSchedule(); given {
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
	if want := k.Reader.Types[name]; t.Header.Type != want || !t.Header.Whole() ||
		!slices.Equal(t.Header.Dims, k.Reader.Sizes.Dims[name]) ||
		!t.Format().Equal(k.Reader.Formats[name]) {
		return fault.Commandf(
			"a result to compute into: got %s, %s, %v, want %s, %s, %v, and all blocks of it",
			fault.Sizes(t.Header.Dims), fault.Format(t.Format()), t.Header.Type,
			fault.Sizes(k.Reader.Sizes.Dims[name]), fault.Format(k.Reader.Formats[name]), want)
	}
	for i, o := range k.Problem.Operands {
		if overlap(t.Vals, k.exec.Own[i][0].Vals) {
			return fault.Commandf(
				"a result to compute into: it shares its values with the operand %s; want "+
					"values of its own",
				o.Tensor)
		}
	}
	return nil
}

// overlap reports whether two arrays share memory.
func overlap(a, b tcs.Array) bool {
	from, other := uintptr(a.Ptr), uintptr(b.Ptr)
	return a.Len > 0 && b.Len > 0 && from < other+uintptr(b.Len)*uintptr(b.Width) &&
		other < from+uintptr(a.Len)*uintptr(a.Width)
}

// likeOperand reports whether the level arrays of the tensor e.given equal the level arrays of an
// operand: the operand that shares its arrays with the leaf's result. It returns false if the
// result shares no arrays. bound holds the leaf's arguments.
func (e *into) likeOperand(s *leaf, bound []*tcs.Tensor) bool {
	u := s.unit.Result
	if u.Shares < 0 || u.Repack {
		return false
	}
	from := bound[u.Shares-1]
	for l, k := range u.Format.Levels[:len(u.Format.Levels)-u.Format.TrailingDense()] {
		a, b := &e.given.Levels[l], &from.Levels[l]
		if k != tensor.Dense && (!sameArray(a.Pos, b.Pos) || !sameArray(a.Crd, b.Crd)) {
			return false
		}
	}
	return true
}

// sameArray reports whether two arrays have equal elements.
func sameArray(a, b tcs.Array) bool {
	if a.Width != b.Width || a.Len != b.Len || a.First != b.First {
		return false
	}
	return a.Len == 0 || a.Ptr == b.Ptr || bytes.Equal(a.Bytes(), b.Bytes())
}

// finish stores the values that the leaf has written in the caller's tensor, converted if
// necessary. It returns a tensor that shares the memory of the caller's tensor.
func (e *into) finish(k *Statement) (*tcs.Tensor, error) {
	if e.padded {
		t, err := coo.Repack(e.made, k.leaves[0].format, coo.KeepAll, k.Reader.Env.Config())
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
		if err := k.narrowValues(e.given, e.wide); err != nil {
			return nil, err
		}
	}
	return e.given.Alias(), nil
}
