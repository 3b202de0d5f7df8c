package mat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"distaff/io/arrays"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Classes of variables.
const (
	classStruct = 2
	classSparse = 5
	classDouble = 6
	classSingle = 7
	classUint8  = 9
)

// classes maps the classes of numbers to the types of their values.
var classes = map[byte]arrays.Elem{
	classDouble: {Kind: 'f', Size: 8}, classSingle: {Kind: 'f', Size: 4},
	8: {Kind: 'i', Size: 1}, 9: {Kind: 'u', Size: 1}, 10: {Kind: 'i', Size: 2},
	11: {Kind: 'u', Size: 2}, 12: {Kind: 'i', Size: 4}, 13: {Kind: 'u', Size: 4},
	14: {Kind: 'i', Size: 8}, 15: {Kind: 'u', Size: 8},
}

// variable is a variable of a file, or a field of a structure.
type variable struct {
	name    string
	class   byte
	complex bool
	logical bool
	dims    []int64

	packed     bool
	from, size int64 // the place in the file of the matrix or the compressed matrix
	at         int64 // the offset of the matrix in its content: 0, or more for a field
	arrays     int64 // the offset of the first array in the content
	end        int64 // the offset after the matrix
}

// numeric reports whether v can be read as a tensor.
func (v *variable) numeric() bool {
	_, ok := classes[v.class]
	return ok || v.class == classSparse
}

const (
	headerSize = 128
	// maxVariables, maxName and maxDepth limit the variables of a file, the bytes of the names of a
	// structure's fields, and structures in structures.
	maxVariables = 1 << 16
	maxName      = 1 << 16
	maxDepth     = 8
)

// file is an open file.
type file struct {
	src  *text.Source
	at   io.ReaderAt
	size int64
	// order is the file's byte order, and big says that it is big-endian.
	order binary.ByteOrder
	big   bool
	vars  []*variable
}

// readHeader returns whether the bytes of a header are big-endian, or an error.
func readHeader(head []byte) (big bool, err error) {
	if len(head) == headerSize {
		switch end := string(head[126:]); {
		case end == "IM" && head[125] == 1:
			return false, nil
		case end == "MI" && head[124] == 1:
			return true, nil
		}
	}
	return false, fmt.Errorf("got %s at the end of the header of %d bytes, want a MATLAB file of "+
		"version 5, as save -v7 writes it", text.Quote(head[min(len(head), 124):]), headerSize)
}

// scan finds the variables of the file.
func (f *file) scan() error {
	head := make([]byte, headerSize)
	n, err := f.at.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if f.big, err = readHeader(head[:n]); err != nil {
		return err
	}
	f.order = binary.LittleEndian
	if f.big {
		f.order = binary.BigEndian
	}
	c := &content{r: io.NewSectionReader(f.at, 0, f.size), order: f.order}
	if err := c.skipTo(headerSize); err != nil {
		return err
	}
	for {
		t, err := c.tag()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if t.at+t.bytes > f.size {
			return fmt.Errorf("got a variable of %d bytes at offset %d, but the file has only %d bytes",
				t.bytes, t.at, f.size)
		}
		if t.typ == typeMatrix || t.typ == typeCompressed {
			v := &variable{packed: t.typ == typeCompressed, from: t.at, size: t.bytes}
			if !v.packed {
				v.from, v.size = c.off-8, t.bytes+8 // with the tag
			}
			if err := f.scanVariable(v); err != nil {
				return fmt.Errorf("variable %d: %w", len(f.vars)+1, err)
			}
		}
		if err := c.skipTo(min(t.next, f.size)); err != nil {
			return err
		}
	}
}

// content returns the content of a variable: its matrix, decompressed.
func (f *file) content(v *variable) (*content, error) {
	r := io.Reader(io.NewSectionReader(f.at, v.from, v.size))
	if v.packed {
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("zlib: %w", err)
		}
		r = z
	}
	return &content{r: r, order: f.order}, nil
}

// scanVariable reads the head of a variable. If it is a structure, scanVariable also reads the
// heads of its fields.
func (f *file) scanVariable(v *variable) error {
	c, err := f.content(v)
	if err != nil {
		return err
	}
	return f.scanMatrix(c, v, 0)
}

// scanMatrix reads the head of the matrix at c, which v describes, and adds v to f.vars. v.name is
// the prefix of its name, which ends in a point, or "". If the matrix has no name, the prefix is
// the name followed by a point.
func (f *file) scanMatrix(c *content, v *variable, depth int) error {
	v.at = c.off
	t, err := c.tag()
	if err == io.EOF {
		err = errEarly
	}
	if err != nil {
		return err
	}
	if t.typ != typeMatrix {
		return fmt.Errorf("got an element of type %d, want a matrix (%d)", t.typ, typeMatrix)
	}
	v.end = t.at + t.bytes
	if t.bytes == 0 { // MATLAB's []
		return nil
	}
	flags, err := c.data("array flags", 8, typeUint32)
	if err != nil {
		return err
	}
	if len(flags) != 8 {
		return fmt.Errorf("got array flags of %d bytes, want 8", len(flags))
	}
	word := f.order.Uint32(flags)
	v.class, v.complex, v.logical = byte(word), word&0x800 != 0, word&0x200 != 0
	if len(f.vars) >= maxVariables {
		return fmt.Errorf("got more than %d variables", maxVariables)
	}
	if !v.numeric() && v.class != classStruct {
		return nil
	}
	dims, err := c.data("sizes", 4*tcs.MaxOrder, typeInt32, typeUint32)
	if err != nil {
		return err
	}
	for k := 0; k+4 <= len(dims); k += 4 {
		d := int64(int32(f.order.Uint32(dims[k:])))
		if err := tensor.CheckSize(d); err != nil {
			return err
		}
		v.dims = append(v.dims, d)
	}
	name, err := c.data("a name", maxName, typeInt8, typeUint8, typeUTF8)
	if err != nil {
		return err
	}
	v.name += string(bytes.TrimRight(name, "\x00"))
	v.arrays = c.off
	if v.class == classStruct {
		return f.scanFields(c, v, depth)
	}
	f.vars = append(f.vars, v)
	return nil
}

// scanFields reads the heads of the fields of a structure. It ignores arrays of several structures.
func (f *file) scanFields(c *content, v *variable, depth int) error {
	for _, d := range v.dims {
		if d != 1 {
			return nil
		}
	}
	if depth == maxDepth {
		return nil
	}
	width, err := c.data("the length of field names", 4, typeInt32)
	if err != nil {
		return err
	}
	names, err := c.data("field names", maxName, typeInt8)
	if err != nil {
		return err
	}
	if len(width) < 4 {
		return fmt.Errorf("got %d bytes as the length of field names, want 4", len(width))
	}
	n := int(f.order.Uint32(width))
	if n < 1 || n > maxName || len(names)%n != 0 {
		return fmt.Errorf("got field names of %d bytes with %d bytes each", len(names), n)
	}
	for ; len(names) > 0; names = names[n:] {
		field, _, _ := bytes.Cut(names[:n], []byte{0})
		w := &variable{name: v.name + "." + string(field), packed: v.packed, from: v.from,
			size: v.size}
		if err := f.scanMatrix(c, w, depth+1); err != nil {
			return err
		}
		if w.end > v.end {
			return fmt.Errorf("got a field that ends after its structure")
		}
		if err := c.skipTo((w.end + 7) &^ 7); err != nil {
			return err
		}
	}
	return nil
}
