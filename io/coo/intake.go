package coo

import (
	"io"

	"distaff/io/tcs"
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
	i.c.min, i.c.max = make([]int64, levels), make([]int64, levels)
	for l, m := range spec.Modes {
		i.c.limits[l], i.c.max[l] = [2]int64{0, spec.Dims[m]}, -1
	}
	i.c.spec.Box = nil
	return i, nil
}

// Next yields the next n entries, at least one: a column of coordinates a level
// and the values, valid until the next call; io.EOF after the last.
func (i *Intake) Next() (cols [][]int64, vals []byte, n int, err error) {
	for {
		if err := i.c.in.Next(&i.c.b); err != nil {
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
func (i *Intake) Rewind() error { return i.c.in.Rewind() }

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

// Spread adds entries to a dense block at once, in whatever order they come. It
// is for streams that have no coordinate twice.
type Spread struct {
	t    *tcs.Tensor
	set  bool
	size int
	at   []int64
}

// NewSpread makes the block that spec.Box says. With set, values replace the
// zeros; else they are added to them, which makes -0 a 0, as Assemble does.
func NewSpread(spec Spec, cfg Config, set bool) (*Spread, error) {
	t, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: spec.Dims, Box: spec.Box, Splits: spec.Splits, Type: spec.Type},
		Kinds: spec.Kinds, Modes: spec.Modes, Wide: spec.Wide}, cfg.Limit, spec.Name)
	if err != nil {
		return nil, err
	}
	return &Spread{t: t, set: set, size: spec.Type.Size()}, nil
}

// Add places n entries of the block's box: columns by level.
func (s *Spread) Add(cols [][]int64, vals []byte, n int) error {
	if n == 0 {
		return nil
	}
	s.at = append(s.at[:0], make([]int64, n)...)
	for l, col := range cols {
		lev := &s.t.Levels[l]
		for i, x := range col[:n] {
			if x -= lev.Offset; uint64(x) >= uint64(lev.Size) {
				panic("BUG: coo: an entry outside its block")
			}
			s.at[i] = s.at[i]*lev.Size + x
		}
	}
	if !s.set {
		addAll(s.t, s.at, vals[:n*s.size])
		return nil
	}
	to := s.t.Vals.Bytes()
	for i, p := range s.at {
		copy(to[p*int64(s.size):][:s.size], vals[i*s.size:])
	}
	return nil
}

// Finish is the block, which the caller closes.
func (s *Spread) Finish() (*tcs.Tensor, error) {
	s.t.Trust()
	return s.t, nil
}

// Close gives the memory of a block up that was not finished.
func (s *Spread) Close() { s.t.Close() }
