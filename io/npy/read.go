package npy

import (
	"io"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Open opens the .npy file at path and returns a stream of its entries in the order of the file.
// See arrays.NewDense. The stream owns the file.
func Open(path string, opt coo.Options) (coo.Stream, error) { return text.Open(path, opt, New) }

// New returns a stream of the entries of src. The stream owns src.
func New(src *text.Source, opt coo.Options) (coo.Stream, error) {
	r, err := src.Reader()
	if err != nil {
		return nil, err
	}
	h, err := readHeader(r)
	r.Close()
	if err != nil {
		return nil, arrays.Fault(src.Name, err)
	}
	want := h.size + h.Count*int64(h.Elem.Size)
	s, err := arrays.NewDense(plainFile{src}, "", opt)
	if _, size := src.Plain(); err == nil && size > 0 && size != want {
		return nil, text.Dataf(src.Name, 0, 0,
			"got a file of %s, want %d: a header of %d, and %s of %d each (shape %v)",
			tensor.Count(size, "byte"), want, h.size, tensor.Count(h.Count, "element"), h.Elem.Size,
			h.Shape)
	}
	return s, err
}

// plainFile is an .npy file: an arrays.File with a single array.
type plainFile struct{ src *text.Source }

func (f plainFile) Source() *text.Source    { return f.src }
func (f plainFile) What(name string) string { return f.src.Name }

// Open opens the array.
func (f plainFile) Open(name string) (*arrays.Elements, error) {
	r, err := f.src.Reader()
	if err != nil {
		return nil, err
	}
	e, err := openElements(r)
	if err != nil {
		return nil, arrays.Fault(f.src.Name, err)
	}
	return e, nil
}

// openElements reads the header of r. It owns r from then on, and closes it if it fails.
func openElements(r io.ReadCloser) (*arrays.Elements, error) {
	h, err := readHeader(r)
	if err != nil {
		r.Close()
		return nil, err
	}
	return arrays.NewElements(h.Header, r), nil
}
