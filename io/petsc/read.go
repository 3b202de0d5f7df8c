package petsc

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"distaff/io/arrays"
	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// The first number of an object.
const (
	matrixID = 1211216
	vectorID = 1211214
	// indexSetID is the number of an index set (IS), which is read as a vector of integers.
	indexSetID = 1211218
)

// file is an open file.
type file struct {
	src  *text.Source
	at   io.ReaderAt
	size int64
	word int // the size of an integer in bytes: 4 or 8
}

// object is a matrix or a vector in a file.
type object struct {
	file
	number   int // in the file, from 1
	isMatrix bool
	dims     []int64
	entries  int64       // -1 for a dense matrix
	lengths  int64       // the offset of the row lengths of a matrix
	values   int64       // the offset of the values
	scalar   arrays.Elem // the type of the values of matrices and vectors
	elem     arrays.Elem // the type of the object's values
	end      int64
}

// Open reads an object of the file at path as a stream of entries. path is FILE for the first
// object, or FILE:N for object N. The stream owns the file.
func Open(path string, opt coo.Options) (coo.Stream, error) { return text.Open(path, opt, newStream) }

func newStream(src *text.Source, opt coo.Options) (coo.Stream, error) {
	want := 1
	if src.Member != "" {
		var err error
		if want, err = strconv.Atoi(src.Member); err != nil || want < 1 {
			return nil, text.Commandf(src.Name, 0, 0,
				"got %s, want the number of an object in the file, from 1",
				text.Quote([]byte(src.Member)))
		}
	}
	f := file{src: src}
	if err := f.readWord(); err != nil {
		return nil, arrays.Fault(src.Name, err)
	}
	var err error
	if f.at, f.size, err = src.ReaderAt(); err != nil {
		return nil, err
	}
	o, err := f.find(want)
	if err != nil {
		return nil, arrays.Fault(src.Name, err)
	}
	if o.isMatrix && o.entries >= 0 {
		return arrays.NewSparse(o, arrays.CSR, o.dims, opt)
	}
	return arrays.NewDense(o, "data", opt)
}

// readWord finds the size of integers from the first number of the file. It does not read further,
// so that a pipe with other contents is not stored.
func (f *file) readWord() error {
	r, err := f.src.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	b := make([]byte, 8)
	n, err := io.ReadFull(r, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	isID := func(v uint64) bool { return v == matrixID || v == vectorID || v == indexSetID }
	switch {
	case n >= 4 && isID(uint64(binary.BigEndian.Uint32(b))):
		f.word = 4
	case n == 8 && isID(binary.BigEndian.Uint64(b)):
		f.word = 8
	default:
		return fmt.Errorf("got %s at the start, want a matrix (%d) or a vector (%d) of PETSc",
			text.Quote(b[:n]), matrixID, vectorID)
	}
	return nil
}

// ints reads n integers at an offset.
func (f *file) ints(off int64, n int) ([]int64, error) {
	b := make([]byte, n*f.word)
	if _, err := f.at.ReadAt(b, off); err == io.EOF {
		return nil, fmt.Errorf("the data end too early")
	} else if err != nil {
		return nil, err
	}
	v := make([]int64, n)
	for k := range v {
		if f.word == 4 {
			v[k] = int64(int32(binary.BigEndian.Uint32(b[4*k:])))
		} else {
			v[k] = int64(binary.BigEndian.Uint64(b[8*k:]))
		}
	}
	return v, nil
}

// scalars are the types that values can have.
var scalars = []arrays.Elem{{Kind: 'f', Size: 8, Big: true}, {Kind: 'c', Size: 16, Big: true},
	{Kind: 'f', Size: 4, Big: true}}

// maxObjects is the largest number of objects that are looked at to find the type of values.
const maxObjects = 1 << 16

// find returns the object with a number. Values have the type for which the objects fill the file.
// If there are several such types, they have the type for which the file has the most objects,
// because too large values would hide the heads of objects.
func (f *file) find(number int) (*object, error) {
	var found chain
	var first error
	for _, scalar := range scalars {
		c, err := f.chain(number, scalar)
		switch {
		case err != nil && first == nil:
			first = err
		case err == nil && c.values == 0: // all types are the same
			return c.wanted, nil
		case err == nil && c.objects == found.objects:
			return nil, fmt.Errorf("values may have %d or %d bytes: the objects fill the file in "+
				"both cases", found.wanted.scalar.Size, scalar.Size)
		case err == nil && c.objects > found.objects:
			found = c
		}
	}
	if found.wanted == nil {
		return nil, first
	}
	return found.wanted, nil
}

// chain is the objects of a file.
type chain struct {
	wanted  *object
	objects int
	values  int64 // the number of the values of all objects
}

// chain reads the heads of all objects, whose values have type scalar. The wanted object is the one
// with the given number. If the objects do not fill the file, chain returns an error.
func (f *file) chain(number int, scalar arrays.Elem) (c chain, err error) {
	off := int64(0)
	for ; off < f.size && c.objects < max(maxObjects, number); c.objects++ {
		next := &object{file: *f, number: c.objects + 1, scalar: scalar}
		count, err := next.read(off)
		if err != nil {
			return c, arrays.Fault(next.What(""), err)
		}
		if c.values += count; next.number == number {
			c.wanted = next
		}
		off = next.end
	}
	if c.wanted == nil {
		return c, text.Commandf(f.src.Name, 0, 0, "the file has %s, want object %d",
			text.Plural(int64(c.objects), "object", "objects"), number)
	}
	return c, nil
}

// read reads the head of the object at an offset. count is the number of the object's values of
// type scalar.
func (o *object) read(off int64) (count int64, err error) {
	head, err := o.ints(off, 2)
	if err != nil {
		return 0, err
	}
	word := int64(o.word)
	o.elem, o.dims, o.values = o.scalar, head[1:], off+2*word
	switch head[0] {
	case vectorID:
		count = head[1]
	case indexSetID:
		o.elem = arrays.Elem{Kind: 'i', Size: o.word, Big: true}
	case matrixID:
		if head, err = o.ints(off, 4); err != nil {
			return 0, err
		}
		o.isMatrix, o.dims, o.entries = true, head[1:3], head[3]
		o.lengths = off + 4*word
	default:
		return 0, fmt.Errorf("got %d as the first number, want %d of a matrix or %d of a vector",
			head[0], matrixID, vectorID)
	}
	for _, d := range o.dims {
		if err := tensor.CheckSize(d); err != nil {
			return 0, err
		}
	}
	stored := head[1] // of a vector
	switch {
	case o.isMatrix && o.entries == -1:
		h := arrays.Header{Elem: o.elem, Shape: o.dims}
		if err := h.Measure(); err != nil {
			return 0, err
		}
		count, o.values = h.Count, o.lengths
		stored = count
	case o.isMatrix && o.entries < -1:
		return 0, fmt.Errorf("got %d entries", o.entries)
	case o.isMatrix:
		count, stored = o.entries, o.entries
		if left := o.size / word; o.dims[0] > left || count > left {
			return 0, fmt.Errorf("got %d rows and %d entries, but the file has only %s", o.dims[0],
				count, tensor.Count(o.size, "byte"))
		}
		o.values = o.lengths + (o.dims[0]+count)*word
	}
	size := int64(o.elem.Size)
	if left := max(o.size-o.values, 0); stored > left/size {
		return 0, fmt.Errorf("got %s, want %s of %d bytes", tensor.Count(left, "byte"),
			text.Plural(stored, "value", "values"), size)
	}
	o.end = o.values + stored*size
	return count, nil
}

// Source returns the file.
func (o *object) Source() *text.Source { return o.src }

// What returns the name of an array for messages.
func (o *object) What(name string) string {
	what := o.src.Name
	if o.number > 1 {
		what += fmt.Sprintf(": object %d", o.number)
	}
	switch name {
	case "indptr":
		what += ": row lengths"
	case "indices":
		what += ": columns"
	}
	return what
}

// Open opens an array of the object.
func (o *object) Open(name string) (*arrays.Elements, error) {
	h := arrays.Header{Elem: o.elem, Shape: o.dims}
	off := o.values
	switch {
	case name == "indptr":
		n := o.dims[0] * int64(o.word)
		h.Elem, h.Shape = arrays.ElemOf(tensor.Int64), []int64{o.dims[0] + 1}
		h.Count = o.dims[0] + 1
		return arrays.NewElements(h, &pointers{section: io.NewSectionReader(o.at, o.lengths, n),
			word: o.word}), nil
	case name == "indices":
		off = o.lengths + o.dims[0]*int64(o.word)
		h.Elem, h.Shape = arrays.Elem{Kind: 'i', Size: o.word, Big: true}, []int64{o.entries}
	case o.isMatrix && o.entries >= 0:
		h.Shape = []int64{o.entries}
	}
	if err := h.Measure(); err != nil {
		return nil, arrays.Fault(o.What(name), err)
	}
	n := h.Count * int64(h.Elem.Size)
	return arrays.NewElements(h, io.NopCloser(io.NewSectionReader(o.at, off, n))), nil
}

// pointers reads row lengths and returns row pointers, as 64-bit integers of this machine: 0, and
// then for each row the sum of the lengths up to the row.
type pointers struct {
	section *io.SectionReader
	word    int
	started bool
	sum     int64
	bytes   []byte // of pointers that were not read yet
}

func (p *pointers) Read(dst []byte) (int, error) {
	if len(p.bytes) == 0 {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, p.bytes)
	p.bytes = p.bytes[n:]
	return n, nil
}

// fill computes the next pointers. It returns io.EOF after the last.
func (p *pointers) fill() error {
	if !p.started {
		p.started = true
		p.bytes = binary.NativeEndian.AppendUint64(nil, 0)
		return nil
	}
	raw := make([]byte, 4096*p.word)
	n, err := io.ReadFull(p.section, raw)
	if err == io.ErrUnexpectedEOF && n%p.word == 0 {
		err = nil
	}
	if err != nil {
		return err
	}
	for raw = raw[:n]; len(raw) > 0; raw = raw[p.word:] {
		length := int64(int32(binary.BigEndian.Uint32(raw)))
		if p.word == 8 {
			length = int64(binary.BigEndian.Uint64(raw))
		}
		if length < 0 || length > math.MaxInt64-p.sum {
			return fmt.Errorf("got a row of %d entries", length)
		}
		p.sum += length
		p.bytes = binary.NativeEndian.AppendUint64(p.bytes, uint64(p.sum))
	}
	return nil
}

// Close does nothing, because the Source owns the file.
func (p *pointers) Close() error { return nil }
