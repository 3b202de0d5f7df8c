package tcsfile

import (
	"distaff/io/tcs"
	"distaff/io/tensor"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	defaultChunk = 1 << 20
	maxChunk     = 16 << 20

	// maxWindow is the largest window in bytes that a frame may declare; the zstd command line has
	// the same bound. The window needs no memory here: a frame is decompressed directly into its
	// chunk, and all earlier data that the frame refers to is in that chunk.
	maxWindow = 128 << 20
)

// chunks returns the number of chunks that n bytes are divided into.
func chunks(n, chunk int64) int64 {
	if chunk <= 0 {
		return 0
	}
	return (n + chunk - 1) / chunk
}

// frames is a compressed section: one frame for each chunk.
type frames struct {
	chunks [][]byte
	stored int64 // bytes in the file: the table of lengths and the frames
	held   int64 // bytes that the limit counts
}

func (f *frames) release(l *tcs.Limit) {
	if f != nil {
		l.Release(f.held)
	}
}

// compress returns the frames that hold the elements of a, converted to the given width in bytes.
// The memory of the frames counts against limit.
func compress(a tcs.Array, width uint8, chunk int64, limit *tcs.Limit) (*frames, error) {
	n := chunks(a.Len*int64(width), chunk)
	step := chunk / int64(width) // elements of a chunk
	f := &frames{chunks: make([][]byte, n), stored: 8 * n}
	var mu sync.Mutex
	err := tcs.Parallel(a.Len, step, func() func(int64, int64) error {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic("BUG: tcsfile: zstd encoder: " + err.Error())
		}
		var scratch []byte
		var buf []int64
		return func(from, to int64) error {
			part := a.Sub(from, to)
			if part.Width != width && buf == nil {
				buf = make([]int64, step)
			}
			scratch = enc.EncodeAll(withWidth(part, width, buf).Bytes(), scratch[:0])
			if err := limit.Reserve(int64(len(scratch)), "the compressed array"); err != nil {
				return err
			}
			f.chunks[from/step] = append([]byte(nil), scratch...)
			mu.Lock()
			f.stored += int64(len(scratch))
			f.held += int64(len(scratch))
			mu.Unlock()
			return nil
		}
	})
	if err != nil {
		f.release(limit)
		return nil, err
	}
	return f, nil
}

// newDecoder returns a decoder that decodes one frame at a time, with a window of at most
// maxWindow bytes. Its output is limited to the capacity of the buffer that it is given.
func newDecoder() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("BUG: tcsfile: zstd decoder: " + err.Error())
	}
	return dec
}

// frame decompresses a frame into dst. The frame must have exactly len(dst) bytes.
func frame(dec *zstd.Decoder, stored, dst []byte) error {
	out, err := dec.DecodeAll(stored, dst[:0:len(dst)])
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("its zstd window is larger than %s; compress it with a smaller window",
			tensor.Bytes(maxWindow))
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("it has more than the expected %s when decompressed",
			tensor.Count(len(dst), "byte"))
	case err != nil:
		return err
	case len(out) != len(dst):
		return fmt.Errorf("it has %s, want %d", tensor.Count(len(out), "byte"), len(dst))
	case &out[0] != &dst[0]:
		copy(dst, out)
	}
	return nil
}

// frameOffsets returns n+1 offsets into the stored bytes of a section: the start of each of the n
// frames, and the end of the last frame. It reads the lengths of the frames from the table at the
// start of the section, and checks that the frames fill the section exactly.
func frameOffsets(stored []byte, n int64) ([]int64, error) {
	at := make([]int64, n+1)
	at[0] = 8 * n
	for i := range n {
		k := binary.LittleEndian.Uint64(stored[8*i:])
		if k > uint64(int64(len(stored))-at[i]) {
			return nil, fmt.Errorf("chunk %d has %s, and therefore ends after its section", i,
				tensor.Count(k, "byte"))
		}
		at[i+1] = at[i] + int64(k)
	}
	if at[n] != int64(len(stored)) {
		return nil, fmt.Errorf("%s after the last chunk",
			tensor.Count(int64(len(stored))-at[n], "byte"))
	}
	return at, nil
}

// inflate decompresses a section of size bytes. It calls put with each chunk and the chunk's
// offset, from several goroutines at the same time.
func (h *fileHeader) inflate(size int64, stored []byte, put func(at int64, b []byte) error) error {
	at, err := frameOffsets(stored, chunks(size, h.chunk))
	if err != nil {
		return err
	}
	return tcs.Parallel(size, h.chunk, func() func(int64, int64) error {
		dec := newDecoder()
		scratch := make([]byte, min(h.chunk, size))
		return func(from, to int64) error {
			i, b := from/h.chunk, scratch[:to-from]
			if err := frame(dec, stored[at[i]:at[i+1]], b); err != nil {
				return fmt.Errorf("chunk %d: %v", i, err)
			}
			return put(from, b)
		}
	})
}
