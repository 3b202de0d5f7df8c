package coo

import (
	"io"

	"distaff/io/tensor"
)

// Ordered is a sorted stream: its entries come in the order of its modes, outermost mode first. All
// sizes are known, and values at equal coordinates are summed, kept or refused, as the spec says.
// The function Write of a file format reads entries from an Ordered.
type Ordered struct {
	in    Stream
	s     *sorted
	r     reader
	level Batch
	nnz   int64

	bounds bool // the sizes are lower bounds, because the stream has only coordinates
}

// WriteOptions are the options of a job for writing one file.
type WriteOptions struct {
	// list every coordinate, if the format can; set if every level of the tensor is dense
	Dense bool
	// store mode 1 of a matrix outermost; for formats that allow both orders (.npz)
	ColumnMajor bool
	Threads     int // number of threads that format a text file; 0 selects GOMAXPROCS
}

// Listed returns the mode order in which a file lists the entries of a tensor with n modes. Mode 0
// comes first. If byColumns is true and the tensor is a matrix, mode 1 comes first.
func Listed(n int, byColumns bool) []int {
	modes := tensor.Identity(n)
	if byColumns && n == 2 {
		modes[0], modes[1] = 1, 0
	}
	return modes
}

// Sort sorts a stream into the mode order of spec.Format, or with mode 0 first if that has no
// Order. Values at equal coordinates are then summed, kept or refused, as the spec says. Closing
// the Ordered closes the stream.
func Sort(in Stream, spec Spec, cfg Config) (*Ordered, error) {
	if len(spec.Format.Levels) == 0 {
		dims, _ := in.Dims()
		for range dims {
			spec.Format.Levels = append(spec.Format.Levels, tensor.Compressed)
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

// NNZ returns the number of entries.
func (o *Ordered) NNZ() int64 { return o.nnz }

// Modes returns the order of the entries, outermost mode first.
func (o *Ordered) Modes() []int { return o.s.spec.Format.Order }

// Dims returns the sizes, which are exact.
func (o *Ordered) Dims() ([]int64, bool) { return o.s.spec.Dims, true }

func (o *Ordered) Type() tensor.Type { return o.s.spec.Type }

func (o *Ordered) Next(b *Batch) error {
	n, err := o.r.next(&o.level)
	if err != nil {
		return err
	}
	if n == 0 {
		return io.EOF
	}
	if len(b.Coords) != len(o.s.spec.Format.Order) {
		b.Coords = make([][]int64, len(o.s.spec.Format.Order))
	}
	for l, m := range o.s.spec.Format.Order {
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

// Free releases the memory and files of the sort. The stream that was sorted stays open.
func (o *Ordered) Free() {
	if o.r != nil {
		o.r.close()
	}
	o.s.free()
}

// Close calls Free and closes the stream that was sorted.
func (o *Ordered) Close() error {
	o.Free()
	return o.in.Close()
}
