package store

import (
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// output is a tensor that all ranks write to a file.
type output struct {
	t      *Blocks
	format *convert.Format
	wo     coo.WriteOptions
	cfg    coo.Config
	dense  bool // the values are an array in the order of the result
}

func (o *output) tcs() bool { return o.format.Name == "tcs" }

// writer is a method of writing a file. applies returns the function that writes the output, or nil
// at every rank if the method cannot write this output. Every rank must call applies, and then the
// function that applies returned.
type writer struct {
	name    string
	applies func(s *sharedFile, o *output) (write func() error, err error)
}

// writers lists all methods of writing a file. They are tried in this order, and the first method
// that applies to an output is used. Some method always applies.
var writers = []writer{
	{"dense", denseFile},
	{"array", denseArray},
	{"listed", listedFile},
	{"concat", concatFile},
	{"rows", rowsFile},
	{"merged", mergedFile},
}

// choose selects the method of writing an output. It returns the name of the method and the
// function that writes the output. Every rank must call it.
func choose(s *sharedFile, o *output) (method string, write func() error, err error) {
	if o.dense = o.t.isDense(); o.dense {
		if o.dense, err = agree(s.c, o.t.hasTensorFormat()); err != nil {
			return "", nil, err
		}
	}
	for _, w := range writers {
		if write, err = w.applies(s, o); write != nil || err != nil {
			return w.name, write, err
		}
	}
	panic("BUG: store: no way to write a file " + o.format.Name)
}

// store writes the file. Every rank must call it.
func (s *sharedFile) store(o *output) error {
	_, write, err := choose(s, o)
	if err != nil {
		return err
	}
	return write()
}

// denseFile returns the function that writes the values of a dense .tcs file.
func denseFile(s *sharedFile, o *output) (func() error, error) {
	if !o.dense || !o.tcs() {
		return nil, nil
	}
	return func() error {
		lay, err := tcsfile.NewFile(o.t.shape(make([]int64, len(o.t.Layout.Format.Levels))))
		if err != nil {
			return err
		}
		if err := s.resize(lay.Size()); err != nil {
			return err
		}
		spans, err := writeDense(s, o.t, o.t.Layout.Format.Order, lay.Sections()[0].Offset, o.cfg.Limit)
		if err != nil {
			return err
		}
		return s.finish(lay, spans)
	}, nil
}

// denseArray returns the function that writes a dense tensor to an array file in a format other
// than .tcs. Such a file has a head, followed by all values.
func denseArray(s *sharedFile, o *output) (func() error, error) {
	if !o.dense || !o.format.Filled {
		return nil, nil
	}
	return func() error {
		head, err := o.format.Head(o.t.Layout.Type, o.t.Layout.Dims, 0, o.wo)
		if err != nil {
			return err
		}
		_, total := o.format.Strides(o.t.Layout.Dims, o.wo)
		if err := s.resize(int64(len(head)) + total*int64(o.t.Layout.Type.Size())); err != nil {
			return err
		}
		spans, err := writeDense(s, o.t, tensor.Identity(len(o.t.Layout.Dims)), int64(len(head)),
			o.cfg.Limit)
		if err != nil {
			return err
		}
		return s.finishArray(head, total, spans)
	}, nil
}

// listedFile returns the function that writes the list of a tensor's entries to a file in a format
// other than .tcs. It returns nil for a .tcs file. It is tried after denseArray.
func listedFile(s *sharedFile, o *output) (func() error, error) {
	if o.tcs() {
		return nil, nil
	}
	return func() error { return writeListed(s, o.t, o.format, o.wo, o.cfg) }, nil
}

// concatFile returns the function that writes a .tcs file whose arrays are the concatenated arrays
// of the blocks.
func concatFile(s *sharedFile, o *output) (func() error, error) {
	x, err := newConcat(s.c, o.t)
	if err != nil || x == nil {
		return nil, err
	}
	return func() error {
		if err := s.resize(x.lay.Size()); err != nil {
			return err
		}
		var spans []coo.FileRange
		if err := s.write(func() (err error) { spans, err = x.write(s); return err }); err != nil {
			return err
		}
		return s.finish(x.lay, spans)
	}, nil
}

// rowsFile returns the function that writes a .tcs file row by row. The entries of a row may be
// spread over several blocks.
func rowsFile(s *sharedFile, o *output) (func() error, error) {
	x, err := newRows(s.c, o.t, o.cfg.Limit)
	if err != nil || x == nil {
		return nil, err
	}
	return func() error { return x.write(s) }, nil
}

// mergedFile returns the function that writes any .tcs file from its merged entries.
func mergedFile(s *sharedFile, o *output) (func() error, error) {
	return func() error { return writeMerged(s, o.t, o.cfg) }, nil
}
