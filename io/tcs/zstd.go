package tcs

import (
	"distaff/io/tensor"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const (
	defaultChunk = 1 << 20
	maxChunk     = 16 << 20

	// maxWindow is the largest window that a frame may declare; the zstd command line has the
	// same bound. The window uses no memory here, because a frame is decompressed directly into
	// its chunk, which contains all matches.
	maxWindow = 128 << 20
)

// chunks returns the number of chunks of n bytes.
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

func (f *frames) release(l *Limit) {
	if f != nil {
		l.Release(f.held)
	}
}

// compress returns the frames of the elements of a, converted to the given width. The frames
// are counted by limit.
func compress(a Array, width uint8, chunk int64, limit *Limit) (*frames, error) {
	n := chunks(a.Len*int64(width), chunk)
	step := chunk / int64(width) // elements of a chunk
	f := &frames{chunks: make([][]byte, n), stored: 8 * n}
	var mu sync.Mutex
	err := parallel(n, func() func(int64) error {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic("BUG: tcs: zstd encoder: " + err.Error())
		}
		var scratch []byte
		var buf []int64
		return func(i int64) error {
			part := a.Sub(i*step, min((i+1)*step, a.Len))
			if part.Width != width && buf == nil {
				buf = make([]int64, step)
			}
			scratch = enc.EncodeAll(part.withWidth(width, buf).Bytes(), scratch[:0])
			if err := limit.Reserve(int64(len(scratch)), "the compressed array"); err != nil {
				return err
			}
			f.chunks[i] = append([]byte(nil), scratch...)
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

// parallel calls f(i) for each i from 0 to n-1, in several goroutines, and returns the first
// error. Each goroutine gets its own f from worker.
func parallel(n int64, worker func() func(int64) error) error {
	threads := int(min(n, int64(runtime.GOMAXPROCS(0))))
	var mu sync.Mutex
	var wg sync.WaitGroup
	var next int64
	var first error
	for range threads {
		wg.Go(func() {
			f := worker()
			for {
				mu.Lock()
				i := next
				next++
				stop := first != nil
				mu.Unlock()
				if stop || i >= n {
					return
				}
				if err := faultless(func() error { return f(i) }); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}

// Load allocates memory for the arrays of a compressed file, counted by limit, and decompresses
// them. It compares the checksums of the decompressed arrays. For other tensors it does
// nothing. It must not be called concurrently.
func (t *Tensor) Load(limit *Limit) error {
	if t.lazy != nil {
		return t.lazy.all()
	}
	if !t.Compressed() || t.loaded() {
		return nil
	}
	return t.guarded(func() error { return t.decompress(limit) })
}

// Decompressed returns an upper bound, in bytes, of the memory that Load and LoadLazily
// allocate. It returns 0 if the file is not compressed.
func (t *Tensor) Decompressed() int64 {
	if !t.Compressed() {
		return 0
	}
	_, total, err := t.plainOffsets()
	if err != nil { // Load returns the error
		return 0
	}
	return total
}

func (t *Tensor) loaded() bool {
	if t.Vals.Ptr == nil {
		return false
	}
	for _, l := range t.Levels {
		if l.Form() != tensor.Full && l.Crd.Ptr == nil {
			return false
		}
	}
	return true
}

func (t *Tensor) decompress(limit *Limit) error {
	h := &t.file.header
	offs, total, err := t.plainOffsets()
	if err != nil {
		return err
	}
	if limit.Max() <= 0 && total > limit.Free() {
		return &MemoryError{What: "decompressing " + tensor.Printable(t.File()), Want: total,
			Max: limit.Free(), Machine: true}
	}
	m, err := Alloc(limit, total, "decompressing "+tensor.Printable(t.File()))
	if err != nil {
		return err
	}
	for i, sec := range h.sections {
		a := m.Array(offs[i], sec.section.Len, sec.section.Width)
		if err := h.inflate(a.Bytes(),
			t.file.mapped.Slice()[sec.section.Offset:sec.section.Offset+sec.stored]); err != nil {
			m.Release()
			return t.dataErr("section %d is corrupt: %v", i, err)
		}
	}
	return t.adopt(m, offs)
}

// newDecoder returns a decoder that decodes one frame at a time, with a window of at most
// maxWindow bytes. Its output is limited to the capacity of the buffer that it is given.
func newDecoder() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("BUG: tcs: zstd decoder: " + err.Error())
	}
	return dec
}

// frame decompresses a frame into dst. The frame must have exactly len(dst) bytes.
func frame(dec *zstd.Decoder, stored, dst []byte) error {
	out, err := dec.DecodeAll(stored, dst[:0:len(dst)])
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("its window, or what it refers back to, is larger than %s",
			tensor.Bytes(maxWindow))
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("it has more than %s", tensor.Count(len(dst), "byte"))
	case err != nil:
		return err
	case len(out) != len(dst):
		return fmt.Errorf("it has %s, want %d", tensor.Count(len(out), "byte"), len(dst))
	case &out[0] != &dst[0]:
		copy(dst, out)
	}
	return nil
}

// inflate decompresses a section into dst. The section must have exactly len(dst) bytes.
func (h *fileHeader) inflate(dst, stored []byte) error {
	return h.inflateTo(int64(len(dst)), stored, func(at int64, b []byte) error {
		copy(dst[at:], b)
		return nil
	})
}

// inflateTo decompresses a section of size bytes. It calls put with each chunk and the chunk's
// offset, from several goroutines at the same time. It checks the table of lengths in stored.
func (h *fileHeader) inflateTo(size int64, stored []byte,
	put func(at int64, b []byte) error) error {
	n := chunks(size, h.chunk)
	at := make([]int64, n+1)
	at[0] = 8 * n
	for i := range n {
		k := binary.LittleEndian.Uint64(stored[8*i:])
		if k > uint64(int64(len(stored))-at[i]) {
			return fmt.Errorf("chunk %d has %s, past the section's end", i, tensor.Count(k, "byte"))
		}
		at[i+1] = at[i] + int64(k)
	}
	if at[n] != int64(len(stored)) {
		return fmt.Errorf("%s after the last chunk", tensor.Count(int64(len(stored))-at[n], "byte"))
	}
	return parallel(n, func() func(int64) error {
		dec := newDecoder()
		scratch := make([]byte, min(h.chunk, size))
		return func(i int64) error {
			b := scratch[:min(h.chunk, size-i*h.chunk)]
			if err := frame(dec, stored[at[i]:at[i+1]], b); err != nil {
				return fmt.Errorf("chunk %d: %v", i, err)
			}
			return put(i*h.chunk, b)
		}
	})
}

// LoadFile is Load with a file instead of memory: it writes the decompressed arrays to f and
// maps f. It takes over f, which should already be unlinked. It is for conversions that exceed
// the memory.
func (t *Tensor) LoadFile(f *os.File) error {
	if !t.Compressed() || t.loaded() {
		return f.Close()
	}
	err := t.guarded(func() error { return t.decompressTo(f) })
	if err != nil {
		f.Close()
	}
	return err
}

func (t *Tensor) decompressTo(f *os.File) error {
	h := &t.file.header
	offs, total, err := t.plainOffsets()
	if err != nil {
		return err
	}
	for i, sec := range h.sections {
		var failed error
		var once sync.Once
		err := h.inflateTo(sec.section.Bytes(),
			t.file.mapped.Slice()[sec.section.Offset:sec.section.Offset+sec.stored],
			func(at int64, b []byte) error {
				_, err := f.WriteAt(b, offs[i]+at)
				if err != nil {
					once.Do(func() { failed = err })
				}
				return err
			})
		if failed != nil {
			return &Error{Exit: exitRun, File: t.File(),
				Msg: "can't decompress into a temporary file (--tmp)", Err: failed}
		}
		if err != nil {
			return t.dataErr("section %d is corrupt: %v", i, err)
		}
	}
	if err := f.Truncate(max(total, 1)); err != nil {
		return openErr(t.File(), err)
	}
	ptr, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(max(total, 1)), unix.PROT_READ,
		unix.MAP_SHARED)
	if err != nil {
		return openErr(t.File(), err)
	}
	m := Foreign(ptr, total, func() error {
		err := unix.MunmapPtr(ptr, uintptr(max(total, 1)))
		f.Close()
		return err
	})
	return t.adopt(m, offs)
}

// plainOffsets returns the offsets of the decompressed arrays of the file, stored one after
// another, and their total size in bytes.
func (t *Tensor) plainOffsets() (offs []int64, total int64, err error) {
	for _, sec := range t.file.header.sections {
		off := alignUp(total)
		offs = append(offs, off)
		if total = off + sec.section.Bytes(); total < 0 || off < 0 {
			return nil, 0, t.dataErr("its arrays take more than 2^63 bytes")
		}
	}
	return offs, total, nil
}

// adopt compares the arrays' checksums and makes m the memory of the arrays. It takes over the
// reference to m. offs are the offsets from plainOffsets.
func (t *Tensor) adopt(m *Memory, offs []int64) error {
	h := &t.file.header
	for i, sec := range h.sections {
		if sum := crc32.ChecksumIEEE(m.Array(offs[i], sec.section.Len, sec.section.Width).Bytes()); sum !=
			sec.crc {
			m.Release()
			return t.sumErr(i, sum)
		}
	}
	for i, sec := range h.sections {
		*t.array(sec.section.Level, sec.section.Array) = m.Array(offs[i], sec.section.Len,
			sec.section.Width)
	}
	t.held = append(t.held, m)
	return nil
}

// checkSums compares the checksums in the file with its arrays. It does nothing for a
// compressed file, because Load compares the checksums of that.
func (t *Tensor) checkSums() error {
	h := &t.file.header
	if h.compress != compressNone {
		return nil
	}
	return t.guarded(func() error {
		for i, sec := range h.sections {
			b := t.file.mapped.Array(sec.section.Offset, sec.section.Len, sec.section.Width).Bytes()
			if sum := crc32.ChecksumIEEE(b); sum != sec.crc {
				return t.sumErr(i, sum)
			}
		}
		return nil
	})
}

// sumErr returns the error of section i, whose computed checksum is sum.
func (t *Tensor) sumErr(i int, sum uint32) error {
	sec := &t.file.header.sections[i]
	if sec.section.Array == ValsArray {
		return t.dataErr("section %d (the values) is corrupt: checksum %08x, want %08x", i, sum,
			sec.crc)
	}
	return t.dataErr("section %d (%v of level %d) is corrupt: checksum %08x, want %08x", i,
		sec.section.Array, sec.section.Level, sum, sec.crc)
}

// checkGaps checks that the bytes between the header and the sections are zero.
func (t *Tensor) checkGaps() error {
	h := &t.file.header
	return t.guarded(func() error {
		end := h.length
		for i, sec := range h.sections {
			for k, c := range t.file.mapped.Slice()[end:sec.section.Offset] {
				if c != 0 {
					return t.dataErr("byte %d, before section %d, is %#x, want 0", end+int64(k), i,
						c)
				}
			}
			end = sec.section.Offset + sec.stored
		}
		return nil
	})
}
