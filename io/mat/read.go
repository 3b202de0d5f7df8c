package mat

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/text"
)

// Open reads a variable of the file at path as a stream of entries. path is FILE:NAME, or FILE if
// the file has a single variable of numbers, or a structure Problem with a field A, as in the
// SuiteSparse Matrix Collection. The stream owns the file.
func Open(path string, opt coo.Options) (coo.Stream, error) { return text.Open(path, opt, newStream) }

func newStream(src *text.Source, opt coo.Options) (coo.Stream, error) {
	if err := checkHeader(src); err != nil {
		return nil, err
	}
	at, size, err := src.ReaderAt()
	if err != nil {
		return nil, err
	}
	f := &file{src: src, at: at, size: size}
	if err := f.scan(); err != nil {
		return nil, arrays.Fault(src.Name, err)
	}
	v, err := f.find(src.Member)
	if err != nil {
		return nil, err
	}
	m := &matrix{file: f, v: v, parts: map[string]tag{}}
	if err := m.locate(); err != nil {
		return nil, arrays.Fault(m.What(""), err)
	}
	if v.class == classSparse {
		return arrays.NewSparse(m, arrays.CSC, v.dims, opt)
	}
	return arrays.NewDense(m, "data", opt)
}

// checkHeader returns an error if a pipe or a compressed file does not start with a header.
func checkHeader(src *text.Source) error {
	head, err := src.Start(headerSize)
	if err != nil || head == nil {
		return err
	}
	if _, err = readHeader(head); err != nil {
		return arrays.Fault(src.Name, err)
	}
	return nil
}

// find returns the variable called name. If name is "", it returns the variable that Open selects.
func (f *file) find(name string) (*variable, error) {
	var names []string
	var top []*variable // variables that are not fields
	for _, v := range f.vars {
		if v.name == name || name == "" && v.name == "Problem.A" {
			return v, nil
		}
		names = append(names, v.name)
		if !strings.Contains(v.name, ".") {
			top = append(top, v)
		}
	}
	switch {
	case name == "" && len(top) == 1:
		return top[0], nil
	case name == "" && len(f.vars) == 1:
		return f.vars[0], nil
	}
	return nil, text.NoMember(f.src.Name, name, names)
}

// matrix is a variable as a set of arrays.
type matrix struct {
	*file
	v     *variable
	parts map[string]tag // the places of the arrays, by the names in the format: ir, jc, pr, pi
	last  int64          // the offset of the last array
	count int64          // the number of entries of a sparse matrix
}

// locate finds the arrays of the variable.
func (m *matrix) locate() error {
	c, err := m.content(m.v)
	if err != nil {
		return err
	}
	if err := c.skipTo(m.v.arrays); err != nil {
		return err
	}
	names := []string{"pr"}
	if m.v.class == classSparse {
		names = []string{"ir", "jc", "pr"}
		if len(m.v.dims) != 2 {
			return fmt.Errorf("got a sparse matrix of %d dimensions, want 2", len(m.v.dims))
		}
	}
	if m.v.complex {
		names = append(names, "pi")
	}
	for _, name := range names {
		t, err := c.tag()
		if err == io.EOF {
			err = errEarly
		}
		if err != nil {
			return err
		}
		if _, ok := numbers[t.typ]; !ok || t.at+t.bytes > m.v.end {
			return fmt.Errorf("got an element of type %d with %d bytes as %s", t.typ, t.bytes, name)
		}
		m.parts[name], m.last = t, t.at
		if err := c.skipTo(min(t.next, m.v.end)); err != nil {
			return err
		}
	}
	if m.v.class == classSparse {
		return m.countEntries()
	}
	return nil
}

// countEntries sets count to the last element of jc. The other arrays may have room for more
// entries.
func (m *matrix) countEntries() error {
	jc := m.parts["jc"]
	size := int64(numbers[jc.typ].Size)
	if want := m.v.dims[1] + 1; jc.bytes != want*size {
		return fmt.Errorf("got %d bytes as jc, want %d: %d numbers of %d bytes", jc.bytes, want*size,
			want, size)
	}
	last := jc
	last.at, last.bytes = jc.at+jc.bytes-size, size
	e, err := m.elements(last, []int64{1})
	if err != nil {
		return err
	}
	defer e.Close()
	var n [1]int64
	if _, err := e.Ints(n[:]); err != nil {
		return err
	}
	m.count = n[0]
	// MATLAB writes the values of a logical sparse matrix as bytes, but calls them doubles.
	if pr := m.parts["pr"]; m.v.logical && pr.bytes >= m.count &&
		pr.bytes < m.count*int64(numbers[pr.typ].Size) {
		pr.typ = typeUint8
		m.parts["pr"] = pr
	}
	for _, name := range []string{"ir", "pr", "pi"} {
		t, ok := m.parts[name]
		if room := t.bytes / int64(max(numbers[t.typ].Size, 1)); ok && (m.count < 0 || m.count > room) {
			return fmt.Errorf("got %d numbers in %s, but jc ends with %d", room, name, m.count)
		}
	}
	return nil
}

// elements opens the first elements of an array. shape is their shape.
func (m *matrix) elements(t tag, shape []int64) (*arrays.Elements, error) {
	h := arrays.Header{Elem: numbers[t.typ], Fortran: true, Shape: slices.Clone(shape)}
	h.Elem.Big = m.big
	if err := h.Measure(); err != nil {
		return nil, err
	}
	n := h.Count * int64(h.Elem.Size)
	if n > t.bytes {
		return nil, fmt.Errorf("got %d bytes of values, want %d for the sizes %v", t.bytes, n, shape)
	}
	c, err := m.content(m.v)
	if err != nil {
		return nil, err
	}
	if err := c.skipTo(t.at); err != nil {
		return nil, err
	}
	r := io.LimitReader(c.r, n)
	if m.v.packed && t.at == m.last {
		r = io.MultiReader(r, &rest{c.r})
	}
	return arrays.NewElements(h, io.NopCloser(r)), nil
}

// rest reads r to its end, and returns only the error at the end, which tells if the checksum of
// compressed data is wrong.
type rest struct{ r io.Reader }

func (r *rest) Read(p []byte) (int, error) {
	if _, err := io.Copy(io.Discard, r.r); err != nil {
		return 0, fmt.Errorf("zlib: %w", err)
	}
	return 0, io.EOF
}

// Source returns the file.
func (m *matrix) Source() *text.Source { return m.src }

// What returns the name of an array for messages.
func (m *matrix) What(name string) string {
	what := m.src.Name + ": " + text.Clean(m.v.name)
	if m.v.class == classSparse && name != "" && name != "data" {
		what += ": " + arrayNames[name]
	}
	return what
}

// arrayNames maps the names of package arrays to the names in the format.
var arrayNames = map[string]string{"indptr": "jc", "indices": "ir", "data": "pr"}

// Open opens an array of the variable.
func (m *matrix) Open(name string) (*arrays.Elements, error) {
	shape := m.v.dims
	switch {
	case name == "indptr":
		shape = []int64{m.v.dims[1] + 1}
	case m.v.class == classSparse:
		shape = []int64{m.count}
	}
	var e *arrays.Elements
	var err error
	if name == "data" {
		e, err = m.values(shape)
	} else {
		e, err = m.elements(m.parts[arrayNames[name]], shape)
	}
	if err != nil {
		return nil, arrays.Fault(m.What(name), err)
	}
	return e, nil
}
