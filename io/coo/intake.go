package coo

import (
	"io"
)

// Intake reads a stream for an assembly that is spread over several places: its
// entries by level, with values in the spec's type, checked against the spec's
// sizes as Assemble checks them.
type Intake struct{ c collector }

// NewIntake reads in, whose sizes are spec.Dims; spec.Box is not looked at.
func NewIntake(in Stream, spec Spec) (*Intake, error) {
	spec, err := spec.normal(in)
	if err != nil {
		return nil, err
	}
	if spec.Dims == nil {
		panic("BUG: coo: intake of a tensor without sizes")
	}
	levels := len(spec.Kinds)
	i := &Intake{collector{sorted: &sorted{spec: spec, in: in, dims: spec.Dims}}}
	i.c.cols, i.c.limits = make([][]int64, levels), make([][2]int64, levels)
	i.c.sorted.min, i.c.sorted.max = make([]int64, levels), make([]int64, levels)
	for l, m := range spec.Modes {
		i.c.limits[l], i.c.sorted.max[l] = [2]int64{0, spec.Dims[m]}, -1
	}
	i.c.sorted.spec.Box = nil
	return i, nil
}

// Next yields the next n entries, at least one: a column of coordinates a level
// and the values, valid until the next call; io.EOF after the last.
func (i *Intake) Next() (cols [][]int64, vals []byte, n int, err error) {
	for {
		if err := i.c.sorted.in.Next(&i.c.b); err != nil {
			return nil, nil, 0, err
		}
		if i.c.b.N > 0 {
			break
		}
	}
	if vals, err = i.c.convert(&i.c.b); err == nil {
		err = i.c.spans()
	}
	return i.c.cols, vals, i.c.b.N, err
}

// Rewind goes back to the first entry.
func (i *Intake) Rewind() error { return i.c.sorted.in.Rewind() }

// Skim reads what is left, for its mistakes.
func (i *Intake) Skim() error {
	for {
		if _, _, _, err := i.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// InOrder tells whether the stream's entries come in the storage order of levels
// that store those modes, as far as the stream knows.
func InOrder(in Stream, modes []int) bool {
	o, ok := in.(orderedStream)
	return ok && o.sortLevels(modes) == 0
}
