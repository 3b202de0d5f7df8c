package tcs

import (
	"distaff/io/tensor"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// lazy holds the arrays of a compressed file that are decompressed in chunks, when they are
// read. All arrays share one range of addresses. Only the chunks that were read occupy memory.
type lazy struct { // the whole tensor
	t     *Tensor // the whole
	offs  []int64 // for each section, the offset of its array in mem
	mem   *Memory
	limit *Limit

	mu        sync.Mutex
	counted   int64 // bytes that limit counts
	dec       *zstd.Decoder
	frameOffs [][]int64 // for each section, the offsets of its frames; nil until it is read
	sums      [][]int64 // for each section and chunk, 1<<32 + its checksum; 0 if not decompressed
	err       error     // the first error
}

// LoadLazily prepares the arrays of a compressed file for decompression on demand: View,
// CheckPart, PosAt and Load decompress the chunks that they read. Decompressed chunks are
// counted by limit. For other tensors LoadLazily does nothing.
func (t *Tensor) LoadLazily(limit *Limit) error {
	if !t.Compressed() || t.loaded() {
		return nil
	}
	offs, total, err := t.plainOffsets()
	if err != nil {
		return err
	}
	total = max(total, 1)
	ptr, err := unix.MmapPtr(-1, 0, nil, uintptr(total), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return &MemoryError{What: "decompressing " + tensor.Printable(t.File()), Want: total,
			Max: MachineMemory(), Machine: true}
	}
	dec := newDecoder()
	z := &lazy{t: t, offs: offs, limit: limit, dec: dec}
	z.mem = Foreign(ptr, total, func() error {
		limit.Release(z.counted)
		dec.Close()
		return unix.MunmapPtr(ptr, uintptr(total))
	})
	for i, sec := range t.file.header.sections {
		z.sums = append(z.sums, make([]int64, chunks(sec.section.Bytes(), t.file.header.chunk)))
		*t.array(sec.section.Level, sec.section.Array) = z.mem.Array(offs[i], sec.section.Len,
			sec.section.Width)
	}
	z.frameOffs = make([][]int64, len(z.sums))
	t.held = append(t.held, z.mem)
	t.lazy = z
	return nil
}

// frames returns the offsets of the frames of section i, relative to the section. Like
// inflateTo, it checks the file's table of lengths.
func (z *lazy) frames(i int) ([]int64, error) {
	if z.frameOffs[i] != nil {
		return z.frameOffs[i], nil
	}
	sec, n := &z.t.file.header.sections[i], int64(len(z.sums[i]))
	at := make([]int64, n+1)
	at[0] = 8 * n
	table := z.t.file.mapped.Slice()[sec.section.Offset : sec.section.Offset+8*n]
	for k := range n {
		size := binary.LittleEndian.Uint64(table[8*k:])
		if size > uint64(sec.stored-at[k]) {
			return nil, z.t.dataErr("section %d is corrupt: chunk %d has %s, past the section's "+
				"end", i, k, tensor.Count(size, "byte"))
		}
		at[k+1] = at[k] + int64(size)
	}
	if at[n] != sec.stored {
		return nil, z.t.dataErr("section %d is corrupt: %s after the last chunk", i,
			tensor.Count(sec.stored-at[n], "byte"))
	}
	z.frameOffs[i] = at
	return at, nil
}

// chunk decompresses chunk k of section i.
func (z *lazy) chunk(i int, k int64) error {
	h := &z.t.file.header
	sec := &h.sections[i]
	at, err := z.frames(i)
	if err != nil {
		return err
	}
	want := min(h.chunk, sec.section.Bytes()-k*h.chunk)
	if err := z.limit.Reserve(want, "decompressing "+tensor.Printable(z.t.File())); err != nil {
		return err
	}
	z.counted += want
	dst := z.mem.Slice()[z.offs[i]+k*h.chunk:][:want]
	stored := z.t.file.mapped.Slice()[sec.section.Offset+at[k] : sec.section.Offset+at[k+1]]
	if err := frame(z.dec, stored, dst); err != nil {
		return z.t.dataErr("section %d is corrupt: chunk %d: %v", i, k, err)
	}
	z.sums[i][k] = 1<<32 | int64(crc32.ChecksumIEEE(dst))
	return nil
}

// want decompresses the chunks of elements [lo, hi) of section i that were not decompressed
// before.
func (z *lazy) want(i int, lo, hi int64) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	h := &z.t.file.header
	sec := &h.sections[i]
	if lo, hi = max(lo, 0), min(hi, sec.section.Len); lo >= hi || z.err != nil {
		return z.err
	}
	w := int64(sec.section.Width)
	from, to := lo*w/h.chunk, (hi*w-1)/h.chunk
	z.err = z.t.guarded(func() error {
		for k := from; k <= to; k++ {
			if z.sums[i][k] == 0 {
				if err := z.chunk(i, k); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return z.err
}

// all decompresses everything, and compares the sections' checksums.
func (z *lazy) all() error {
	for i, sec := range z.t.file.header.sections {
		if err := z.want(i, 0, sec.section.Len); err != nil {
			return err
		}
	}
	return z.t.CheckChunkSums(z.t.ChunkSums())
}

// need decompresses elements [lo, hi) of a level's array, if the tensor is decompressed on
// demand. lo and hi are positions in the whole tensor.
func (t *Tensor) need(level int, part ArrayKind, lo, hi int64) error {
	if t.lazy == nil {
		return nil
	}
	for i, sec := range t.file.header.sections {
		if sec.section.Array == part && (sec.section.Level == level || part == ValsArray) {
			return t.lazy.want(i, lo, hi)
		}
	}
	panic("BUG: tcs: an array that is no section")
}

// needShown decompresses all elements that the arrays show, if the tensor is decompressed on
// demand.
func (t *Tensor) needShown() error {
	if t.lazy == nil {
		return nil
	}
	for i, sec := range t.file.header.sections {
		a := t.array(sec.section.Level, sec.section.Array)
		if err := t.lazy.want(i, a.First, a.First+a.Len); err != nil {
			return err
		}
	}
	return nil
}

// search is Array.search in a level's array. It decompresses the elements that it reads.
func (t *Tensor) search(level int, part ArrayKind, lo, hi, key int64) int64 {
	a := t.array(level, part)
	if t.lazy == nil {
		return a.search(lo, hi, key)
	}
	for lo < hi {
		mid := int64(uint64(lo+hi) >> 1)
		if t.need(level, part, a.First+mid, a.First+mid+1) != nil {
			return lo // View returns the error
		}
		if a.Int(mid) < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// PosAt returns element i of level l's pos array, counted from the array's first. If the tensor
// is decompressed on demand and the element can't be read, PosAt returns 0; the next View
// returns the error.
func (t *Tensor) PosAt(l int, i int64) int64 {
	a := &t.Levels[l].Pos
	if t.need(l, PosArray, a.First+i, a.First+i+1) != nil {
		return 0
	}
	return a.Int(i)
}

// ChunkSums returns an element for every chunk of a compressed file that LoadLazily prepared,
// section by section: 1<<32 plus the chunk's checksum, or 0 if the chunk was not decompressed.
func (t *Tensor) ChunkSums() []int64 {
	t.lazy.mu.Lock()
	defer t.lazy.mu.Unlock()
	var all []int64
	for _, s := range t.lazy.sums {
		all = append(all, s...)
	}
	return all
}

// SumChunk decompresses the k-th chunk of the file, if needed, and returns its element of
// ChunkSums.
func (t *Tensor) SumChunk(k int64) (int64, error) {
	for i, s := range t.lazy.sums {
		if n := int64(len(s)); k >= n {
			k -= n
			continue
		}
		sec := &t.file.header.sections[i]
		per := t.file.header.chunk / int64(sec.section.Width)
		if err := t.lazy.want(i, k*per, k*per+1); err != nil {
			return 0, err
		}
		return s[k], nil
	}
	panic("BUG: tcs: a chunk past the last")
}

// CheckChunkSums compares the sections' checksums in the file with the checksums of all chunks,
// in the form of ChunkSums.
func (t *Tensor) CheckChunkSums(sums []int64) error {
	h := &t.file.header
	for i, sec := range h.sections {
		sum := uint32(0)
		n := chunks(sec.section.Bytes(), h.chunk)
		for k := range n {
			sum = CombineCRC(sum, uint32(sums[k]), min(h.chunk, sec.section.Bytes()-k*h.chunk))
		}
		sums = sums[n:]
		if sum != sec.crc {
			return t.sumErr(i, sum)
		}
	}
	return t.checkGaps()
}
