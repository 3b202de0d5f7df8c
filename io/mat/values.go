package mat

import (
	"io"
	"slices"

	"distaff/io/arrays"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// values opens the values of the variable, with the type that its class says. shape is the shape of
// the array.
func (m *matrix) values(shape []int64) (*arrays.Elements, error) {
	want, ok := classes[m.v.class]
	if !ok { // a sparse matrix
		want = classes[classDouble]
	}
	if m.v.logical {
		want = arrays.Elem{Kind: 'b', Size: 1}
	}
	re, err := m.elements(m.parts["pr"], shape)
	if err != nil {
		return nil, err
	}
	stored := re.Header.Elem
	if !m.v.complex && (stored.Kind == want.Kind && stored.Size == want.Size ||
		m.v.logical && stored.Size == 1) {
		re.Header.Elem.Kind = want.Kind
		return re, nil
	}
	if m.v.logical { // stored as numbers
		want = arrays.Elem{Kind: 'i', Size: 4}
	}
	r := &reader{parts: []*arrays.Elements{re}, typ: want.Type()}
	h := re.Header
	h.Elem = arrays.ElemOf(r.typ)
	if m.v.complex {
		im, err := m.elements(m.parts["pi"], shape)
		if err != nil {
			re.Close()
			return nil, err
		}
		r.parts = append(r.parts, im)
		if r.typ != tensor.Float32 {
			r.typ = tensor.Float64
		}
		h.Elem = arrays.Elem{Kind: 'c', Size: 2 * int(r.typ.Size())}
	}
	return arrays.NewElements(h, r), nil
}

// reader converts the elements of one or two arrays to a type. The elements of two arrays, which
// are real and imaginary parts, alternate.
type reader struct {
	parts []*arrays.Elements
	typ   tensor.Type
	bytes []byte // of the elements that were converted and not read yet
}

// piece is the number of elements that a reader converts at a time.
const piece = 4096

func (r *reader) Read(p []byte) (int, error) {
	if len(r.bytes) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.bytes)
	r.bytes = r.bytes[n:]
	return n, nil
}

// fill converts the next elements. It returns io.EOF after the last.
func (r *reader) fill() error {
	size := int(r.typ.Size())
	var columns [][]byte
	count := 0
	for _, e := range r.parts {
		from := e.Header.Elem.Type()
		raw := arrays.Aligned(piece * int(from.Size()))
		n, err := e.Values(raw, piece)
		if err != nil {
			return err
		}
		to := arrays.Aligned(piece * size)
		if _, err := tcs.ConvertValues(to, r.typ, raw, from, n); err != nil {
			return err
		}
		columns = append(columns, to[:n*size])
		count = n
	}
	if count == 0 {
		return io.EOF
	}
	r.bytes = columns[0]
	if len(columns) > 1 {
		r.bytes = make([]byte, 0, 2*count*size)
		for re, im := range zip(columns[0], columns[1], size) {
			r.bytes = append(append(r.bytes, re...), im...)
		}
	}
	return nil
}

// zip yields the elements of a and b in pairs. size is the size of an element in bytes.
func zip(a, b []byte, size int) func(yield func(a, b []byte) bool) {
	return func(yield func(a, b []byte) bool) {
		for x := range slices.Chunk(a, size) {
			if !yield(x, b[:size]) {
				return
			}
			b = b[size:]
		}
	}
}

func (r *reader) Close() error {
	for _, e := range r.parts {
		e.Close()
	}
	return nil
}
