package text

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// errDictionary is the error for a block of an xz file whose dictionary is larger than the limit.
var errDictionary = errors.New("the dictionary of a block is too large")

// xzBlocks is a reader of an xz file. It passes all bytes on, except that it returns errDictionary
// before a block whose decoder would need a dictionary of more than most bytes, and
// io.ErrUnexpectedEOF if the file ends inside a stream. (The decoder takes some such ends for the
// end of the file.) It does not look for other mistakes, because the decoder does.
type xzBlocks struct {
	in   *bufio.Reader
	most int64
	left int64        // bytes to pass on before next is called
	next func() error // looks at the bytes that follow, and sets left and next
	sum  int64        // the size of the checksum after each block
	size int64        // bytes of the current block or index
	ints int64        // variable-length integers of the index that are left
}

// newXZBlocks returns a reader of r with an input buffer of the given size in bytes.
func newXZBlocks(r io.Reader, buffer int, most int64) *xzBlocks {
	x := &xzBlocks{in: bufio.NewReaderSize(r, max(buffer, 1<<11)), most: most}
	x.next = x.stream
	return x
}

func (x *xzBlocks) Read(p []byte) (int, error) {
	for x.left == 0 {
		if err := x.next(); err != nil {
			return 0, err
		}
	}
	n, err := x.in.Read(p[:min(int64(len(p)), x.left)])
	x.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// pass lets Read return n bytes and then call next.
func (x *xzBlocks) pass(n int64, next func() error) {
	x.size += n
	x.left, x.next = n, next
}

// passAll lets Read return all other bytes. The decoder says what is wrong with the bytes.
func (x *xzBlocks) passAll() { x.pass(math.MaxInt64, nil) }

// peek returns the next n bytes. If there are fewer, ok is false, and Read returns them.
func (x *xzBlocks) peek(n int) (b []byte, ok bool) {
	b, err := x.in.Peek(n)
	if err != nil {
		x.passAll()
		return nil, false
	}
	return b, true
}

// stream looks at the header of a stream, or at four bytes of padding before the header. At the end
// of the file it returns io.EOF.
func (x *xzBlocks) stream() error {
	const header, padding = 12, 4
	if _, err := x.in.Peek(1); err != nil {
		return err
	}
	if b, err := x.in.Peek(padding); err == nil && binary.LittleEndian.Uint32(b) == 0 {
		x.pass(padding, x.stream)
		return nil
	}
	b, ok := x.peek(header)
	if !ok {
		return nil
	}
	if kind := b[7] & 15; kind > 0 {
		x.sum = 4 << ((kind - 1) / 3)
	} else {
		x.sum = 0
	}
	x.pass(header, x.block)
	return nil
}

// block looks at the header of a block, or at the start of the index.
func (x *xzBlocks) block() error {
	b, ok := x.peek(1)
	if !ok {
		return nil
	}
	x.size = 0
	if b[0] == 0 {
		x.pass(1, func() error {
			return x.varint(func(n int64) func() error { x.ints = 2 * n; return x.records })
		})
		return nil
	}
	n := 4 * (int(b[0]) + 1)
	if b, ok = x.peek(n); !ok {
		return nil
	}
	if dictionary(b) > x.most {
		return errDictionary
	}
	x.pass(int64(n), func() error { x.size = 0; return x.chunk() })
	return nil
}

// dictionary returns the size in bytes of the dictionary that a block needs. header is the header
// of the block. If the header has no filter LZMA2, dictionary returns 0.
func dictionary(header []byte) int64 {
	const lzma2 = 0x21
	about, b := header[1], header[2:]
	read := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[max(n, 0):]
		return v
	}
	for bit := byte(0x40); bit > 0; bit <<= 1 { // the sizes of the block
		if about&bit != 0 {
			read()
		}
	}
	for range about&3 + 1 {
		id, size := read(), read()
		if size > uint64(len(b)) {
			return 0
		}
		if id == lzma2 && size == 1 {
			bits := b[0] & 63
			return min(int64(2|bits&1)<<(bits/2+11), math.MaxUint32)
		}
		b = b[size:]
	}
	return 0
}

// chunk looks at the header of a chunk of LZMA2.
func (x *xzBlocks) chunk() error {
	b, ok := x.peek(1)
	if !ok {
		return nil
	}
	control, size := b[0], 3
	switch {
	case control == 0: // the end of the block
		x.size++
		x.pass(1+-x.size&3+x.sum, x.block)
		return nil
	case control >= 0xc0:
		size = 6
	case control >= 0x80:
		size = 5
	}
	if b, ok = x.peek(size); !ok {
		return nil
	}
	n := int64(binary.BigEndian.Uint16(b[1:])) + 1
	if control >= 0x80 {
		n = int64(binary.BigEndian.Uint16(b[3:])) + 1
	}
	x.pass(int64(size)+n, x.chunk)
	return nil
}

// varint reads a variable-length integer of the index. then gets its value and returns what
// follows.
func (x *xzBlocks) varint(then func(int64) func() error) error {
	b, _ := x.in.Peek(binary.MaxVarintLen64)
	v, n := binary.Uvarint(b)
	if n <= 0 || v > math.MaxInt64/4 {
		x.passAll()
		return nil
	}
	x.pass(int64(n), then(int64(v)))
	return nil
}

// records reads the integers of the index, and then lets Read return the rest of the stream.
func (x *xzBlocks) records() error {
	if x.ints > 0 {
		x.ints--
		return x.varint(func(int64) func() error { return x.records })
	}
	const sum, footer = 4, 12
	x.pass(-x.size&3+sum+footer, x.stream)
	return nil
}
