package coo

import (
	"io"

	"distaff/io/tcs"
)

// Ordered is a stream in the order of its modes (outermost first, as sorted by
// Sort), with all sizes known and repeated coordinates summed or kept. It is
// what writers of files take.
type Ordered struct {
	in    Stream
	s     *sorted
	r     reader
	level Batch
	nnz   int64

	bounds bool // the sizes are lower bounds: the stream has only coordinates
}

// WriteOptions are what a job says of one output file.
type WriteOptions struct {
	// list every coordinate, where the format has that: every level of the tensor is dense
	Dense       bool
	ColumnMajor bool // order 2: mode 1 is stored outermost; for formats that store either way (.npz)
	Threads     int  // formatters of a text file; 0 for GOMAXPROCS
}

// Listed is the order of modes in which a file lists entries: mode 0 first, or, of a matrix by
// columns, mode 1.
func Listed(order int, byColumns bool) []int {
	modes := tcs.Identity(order)
	if byColumns && order == 2 {
		modes[0], modes[1] = 1, 0
	}
	return modes
}

// Sort brings a stream into the order of spec.Modes (nil: mode 0 first). Of the
// spec's Kinds nothing is needed: with none, repeated coordinates are summed (or
// refused). Closing the Ordered closes the stream.
func Sort(in Stream, spec Spec, cfg Config) (*Ordered, error) {
	if spec.Kinds == "" {
		dims, _ := in.Dims()
		for range dims {
			spec.Kinds += "s"
		}
	}
	spec, err := spec.normal(in)
	if err != nil {
		return nil, err
	}
	_, exact := in.Dims()
	bounds := !exact && spec.Dims == nil
	s, err := collect(in, spec, cfg)
	if err != nil {
		return nil, err
	}
	o := &Ordered{in: in, s: s, bounds: bounds}
	if o.nnz, err = s.count(); err == nil {
		err = o.Rewind()
	}
	if err != nil {
		s.free()
		return nil, err
	}
	return o, nil
}

// count returns the number of entries, after repeats are summed.
func (s *sorted) count() (n int64, err error) {
	if mem, ok := s.entries.(*store); ok {
		return mem.n, nil
	}
	parts, err := s.entries.count(&s.spec, 1)
	for _, p := range parts {
		n += p.N
	}
	return n, err
}

// NNZ is the number of entries.
func (o *Ordered) NNZ() int64 { return o.nnz }

// Modes is the order that entries come in, outermost mode first.
func (o *Ordered) Modes() []int { return o.s.spec.Modes }

// Dims are the sizes; they are exact.
func (o *Ordered) Dims() ([]int64, bool) { return o.s.spec.Dims, true }

func (o *Ordered) Type() tcs.Type { return o.s.spec.Type }

func (o *Ordered) Next(b *Batch) error {
	n, err := o.r.next(&o.level)
	if err != nil {
		return err
	}
	if n == 0 {
		return io.EOF
	}
	if len(b.Coords) != len(o.s.spec.Modes) {
		b.Coords = make([][]int64, len(o.s.spec.Modes))
	}
	for l, m := range o.s.spec.Modes {
		b.Coords[m] = o.level.Coords[l][:n]
	}
	b.Vals, b.N = o.level.Vals, n
	return nil
}

func (o *Ordered) Rewind() error {
	if o.r != nil {
		o.r.close()
	}
	var err error
	o.r, err = o.s.entries.read(&o.s.spec, 0, 1, false)
	return err
}

// Free gives back what the sort took; the stream that was sorted stays open.
func (o *Ordered) Free() {
	if o.r != nil {
		o.r.close()
	}
	o.s.free()
}

// Close is Free, and closes the stream that was sorted.
func (o *Ordered) Close() error {
	o.Free()
	return o.in.Close()
}
