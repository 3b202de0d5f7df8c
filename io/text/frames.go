package text

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// frames is a reader of a zstd file (RFC 8878). It yields the bytes of all frames, one frame after
// another. It skips zero bytes after a frame, as the type members does for gzip files.
type frames struct {
	in      *bufio.Reader
	left    int64 // bytes to pass on before in is looked at
	inside  bool  // a block follows
	sum     int64 // bytes of the checksum that ends the frame
	started bool  // a frame was found
}

// newFrames returns a reader of the zstd file r. piece is the size of its input buffer in bytes.
func newFrames(r io.Reader, piece int) *frames {
	return &frames{in: bufio.NewReaderSize(r, piece)}
}

func (f *frames) Read(p []byte) (int, error) {
	for f.left == 0 {
		next := f.frame
		if f.inside {
			next = f.block
		}
		if err := next(); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, err
}

// frame finds the next frame of the file, and lets Read return the frame's header next. A frame of
// a kind that decoders skip has no blocks, so frame lets Read return the whole frame. frame returns
// io.EOF after the last frame.
func (f *frames) frame() error {
	for f.started {
		c, err := f.in.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			f.in.UnreadByte() // cannot fail after ReadByte
			break
		}
	}
	const magic, skipped, most = 0xfd2fb528, 0x184d2a50, 8
	head, err := f.in.Peek(most)
	if len(head) == 0 || err != nil && err != io.EOF {
		return err
	}
	var word [4]byte
	copy(word[:], head)
	f.left = math.MaxInt64 // the decoder says what is wrong
	switch m := binary.LittleEndian.Uint32(word[:]); {
	case m == magic && len(head) > 4:
		about := head[4]
		single := int64(about >> 5 & 1)
		f.sum = int64(about >> 2 & 1 * 4)
		f.left = 6 - single + [...]int64{0, 1, 2, 4}[about&3] + [...]int64{single, 2, 4, 8}[about>>6]
		f.inside = true
	case m&^0xf == skipped && len(head) == most:
		f.left = most + int64(binary.LittleEndian.Uint32(head[4:]))
	case m != magic && m&^0xf != skipped && f.started:
		return fmt.Errorf("got %s after the compressed data, want the end of the file",
			Quote(head[:min(2, len(head))]))
	}
	f.started = true
	return nil
}

// block finds the end of the next block of a frame, and lets Read return this block next. If it is
// the last block, Read also returns the checksum of the frame.
func (f *frames) block() error {
	const size = 3
	head, err := f.in.Peek(size)
	if err != nil && err != io.EOF {
		return err
	}
	if len(head) < size {
		f.left, f.inside = math.MaxInt64, false // the decoder says what is wrong
		return nil
	}
	about := int64(head[0]) | int64(head[1])<<8 | int64(head[2])<<16
	f.left = size + about>>3
	if about>>1&3 == 1 { // one byte that is repeated
		f.left = size + 1
	}
	if about&1 != 0 {
		f.left, f.inside = f.left+f.sum, false
	}
	return nil
}
