package mat

import (
	"encoding/binary"
	"fmt"
	"io"

	"distaff/io/arrays"
)

// Types of elements.
const (
	typeInt8       = 1
	typeUint8      = 2
	typeInt16      = 3
	typeUint16     = 4
	typeInt32      = 5
	typeUint32     = 6
	typeSingle     = 7
	typeDouble     = 9
	typeInt64      = 12
	typeUint64     = 13
	typeMatrix     = 14
	typeCompressed = 15
	typeUTF8       = 16
)

// numbers maps the types of elements that are numbers to the types of their elements.
var numbers = map[uint32]arrays.Elem{
	typeInt8: {Kind: 'i', Size: 1}, typeUint8: {Kind: 'u', Size: 1},
	typeInt16: {Kind: 'i', Size: 2}, typeUint16: {Kind: 'u', Size: 2},
	typeInt32: {Kind: 'i', Size: 4}, typeUint32: {Kind: 'u', Size: 4},
	typeInt64: {Kind: 'i', Size: 8}, typeUint64: {Kind: 'u', Size: 8},
	typeSingle: {Kind: 'f', Size: 4}, typeDouble: {Kind: 'f', Size: 8},
}

// tag is the type of an element and the place of its data.
type tag struct {
	typ   uint32
	at    int64 // the offset of the data
	bytes int64
	next  int64 // the offset of the next element
}

// content is the bytes of a file or of a decompressed variable, read from the start to the end.
type content struct {
	r     io.Reader
	order binary.ByteOrder
	off   int64 // the offset of the next byte
}

// errEarly is the error for a file that ends too early.
var errEarly = fmt.Errorf("the data end too early")

// read returns the next n bytes.
func (c *content) read(n int) ([]byte, error) {
	b := make([]byte, n)
	k, err := io.ReadFull(c.r, b)
	c.off += int64(k)
	if err == io.ErrUnexpectedEOF || err == io.EOF && n > 0 {
		err = errEarly
	}
	return b, err
}

// skipTo advances to an offset, which must not be before the next byte.
func (c *content) skipTo(off int64) error {
	n := off - c.off
	if n < 0 {
		return fmt.Errorf("got an element of fewer bytes than its elements")
	}
	if s, ok := c.r.(io.Seeker); ok && n > 0 {
		if _, err := s.Seek(n, io.SeekCurrent); err != nil {
			return err
		}
		c.off = off
		return nil
	}
	k, err := io.CopyN(io.Discard, c.r, n)
	c.off += k
	if err == io.EOF {
		err = errEarly
	}
	return err
}

// tag reads the next tag. At the end of the content it returns io.EOF. If the data have at most
// four bytes, they may be stored in the tag.
func (c *content) tag() (tag, error) {
	first := c.off
	b := make([]byte, 4)
	n, err := io.ReadFull(c.r, b)
	c.off += int64(n)
	if err == io.ErrUnexpectedEOF {
		err = errEarly
	}
	if err != nil {
		return tag{}, err
	}
	word := c.order.Uint32(b)
	if small := word >> 16; small > 0 {
		if small > 4 {
			return tag{}, fmt.Errorf("got an element of %d bytes in a tag, want at most 4", small)
		}
		return tag{typ: word & 0xffff, at: first + 4, bytes: int64(small), next: first + 8}, nil
	}
	if b, err = c.read(4); err != nil {
		return tag{}, err
	}
	t := tag{typ: word, at: first + 8, bytes: int64(c.order.Uint32(b))}
	t.next = t.at + (t.bytes+7)&^7
	if t.typ == typeCompressed { // not padded
		t.next = t.at + t.bytes
	}
	return t, nil
}

// data reads an element of at most most bytes, of which the type must be one of types, and advances
// to the next element. what names the element in errors.
func (c *content) data(what string, most int64, types ...uint32) ([]byte, error) {
	t, err := c.tag()
	if err == io.EOF {
		err = errEarly
	}
	if err != nil {
		return nil, err
	}
	ok := false
	for _, want := range types {
		ok = ok || t.typ == want
	}
	if !ok || t.bytes > most {
		return nil, fmt.Errorf("got an element of type %d with %d bytes as %s", t.typ, t.bytes, what)
	}
	b, err := c.read(int(t.bytes))
	if err != nil {
		return nil, err
	}
	return b, c.skipTo(t.next)
}
