package tcs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	defaultChunk = 1 << 20
	maxChunk     = 16 << 20
)

// chunks is how many chunks n bytes make.
func chunks(n, chunk int64) int64 {
	if chunk <= 0 {
		return 0
	}
	return (n + chunk - 1) / chunk
}

// frames is a compressed section: a frame a chunk.
type frames struct {
	chunks [][]byte
	stored int64 // bytes in the file: the table of lengths and the frames
	held   int64
}

func (f *frames) release(l *Limit) {
	if f != nil {
		l.Release(f.held)
	}
}

// compress makes the frames of b. They are counted against limit.
func compress(b []byte, chunk int64, limit *Limit) (*frames, error) {
	n := chunks(int64(len(b)), chunk)
	f := &frames{chunks: make([][]byte, n), stored: 8 * n}
	var mu sync.Mutex
	err := parallel(n, func() func(int64) error {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic("BUG: tcs: zstd encoder: " + err.Error())
		}
		var scratch []byte
		return func(i int64) error {
			scratch = enc.EncodeAll(b[i*chunk:min((i+1)*chunk, int64(len(b)))], scratch[:0])
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

// parallel calls the functions that worker makes, one a thread, with 0 to n-1.
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

// Load gives a compressed file's arrays memory, counted against limit, and
// decompresses into it; for other tensors it does nothing. Checksums of what
// was decompressed are checked. It is not to be called by two at once.
func (t *Tensor) Load(limit *Limit) error {
	if !t.Compressed() || t.loaded() {
		return nil
	}
	return t.guarded(func() error { return t.decompress(limit) })
}

func (t *Tensor) loaded() bool {
	if t.Vals.Ptr == nil {
		return false
	}
	for _, l := range t.Levels {
		if l.Kind != 'd' && l.Crd.Ptr == nil {
			return false
		}
	}
	return true
}

func (t *Tensor) decompress(limit *Limit) error {
	h := &t.file.header
	var total int64
	offs := make([]int64, len(h.sections))
	for i, sec := range h.sections {
		offs[i] = alignUp(total)
		if total = offs[i] + sec.Bytes(); total < 0 {
			return t.dataErr("its arrays take more than 2^63 bytes")
		}
	}
	if limit.Max() <= 0 && total > limit.Free() {
		return &MemoryError{What: "decompressing " + Printable(t.File()), Want: total, Max: limit.Free()}
	}
	m, err := Alloc(limit, total, "decompressing "+Printable(t.File()))
	if err != nil {
		return err
	}
	for i, sec := range h.sections {
		a := m.Array(offs[i], sec.Len, sec.Width)
		if err := h.inflate(a.Bytes(), t.file.mapped.Slice()[sec.Offset:sec.Offset+sec.stored]); err != nil {
			m.Release()
			return t.dataErr("section %d is corrupt: %v", i, err)
		}
		if sum := crc32.ChecksumIEEE(a.Bytes()); sum != sec.crc {
			m.Release()
			return t.dataErr("section %d is corrupt: checksum %08x, want %08x", i, sum, sec.crc)
		}
		*t.array(sec.Level, sec.Part) = a
	}
	t.held = append(t.held, m)
	return nil
}

// inflate decompresses a section's stored bytes into dst, which it must fill.
func (h *fileHeader) inflate(dst, stored []byte) error {
	n := chunks(int64(len(dst)), h.chunk)
	at := make([]int64, n+1)
	at[0] = 8 * n
	for i := range n {
		k := binary.LittleEndian.Uint64(stored[8*i:])
		if k > uint64(int64(len(stored))-at[i]) {
			return fmt.Errorf("chunk %d has %d bytes, past the section's end", i, k)
		}
		at[i+1] = at[i] + int64(k)
	}
	if at[n] != int64(len(stored)) {
		return fmt.Errorf("%d bytes after the last chunk", int64(len(stored))-at[n])
	}
	return parallel(n, func() func(int64) error {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(h.chunk)))
		if err != nil {
			panic("BUG: tcs: zstd decoder: " + err.Error())
		}
		var scratch []byte
		return func(i int64) error {
			want := dst[i*h.chunk : min((i+1)*h.chunk, int64(len(dst)))]
			scratch, err = dec.DecodeAll(stored[at[i]:at[i+1]], scratch[:0])
			if err != nil {
				return fmt.Errorf("chunk %d: %v", i, err)
			}
			if len(scratch) != len(want) {
				return fmt.Errorf("chunk %d has %d bytes, want %d", i, len(scratch), len(want))
			}
			copy(want, scratch)
			return nil
		}
	})
}

// Verify compares the checksums in the file with its arrays.
func (t *Tensor) Verify() error {
	if t.file == nil {
		return nil
	}
	h := &t.file.header
	if h.compress != compressNone {
		// Decompression is the comparison; it needs the memory of one section only.
		for i, sec := range h.sections {
			m, err := Alloc(nil, sec.Bytes(), "verifying")
			if err != nil {
				return err
			}
			b := m.Array(0, sec.Len, sec.Width).Bytes()
			err = h.inflate(b, t.file.mapped.Slice()[sec.Offset:sec.Offset+sec.stored])
			sum := crc32.ChecksumIEEE(b)
			m.Release()
			if err != nil {
				return t.dataErr("section %d is corrupt: %v", i, err)
			}
			if sum != sec.crc {
				return t.dataErr("section %d is corrupt: checksum %08x, want %08x", i, sum, sec.crc)
			}
		}
		return t.Changed()
	}
	return t.guarded(func() error {
		for i, sec := range h.sections {
			b := t.file.mapped.Array(sec.Offset, sec.Len, sec.Width).Bytes()
			if sum := crc32.ChecksumIEEE(b); sum != sec.crc {
				return t.dataErr("section %d (%v of level %d) is corrupt: checksum %08x, want %08x", i, sec.Part, sec.Level, sum, sec.crc)
			}
		}
		return nil
	})
}
