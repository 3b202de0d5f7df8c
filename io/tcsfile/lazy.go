package tcsfile

import (
	"distaff/io/tcs"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// lazy holds the arrays of a compressed file, whose chunks are decompressed when they are first
// read. It is the tcs.Demand of the whole tensor. All arrays share one range of addresses. Only
// chunks that were read occupy memory.
type lazy struct {
	src   *source
	offs  []int64 // for each section, the offset of its array in mem
	mem   *tcs.Memory
	limit *tcs.Limit

	mu        sync.Mutex
	counted   int64 // bytes that limit counts
	dec       *zstd.Decoder
	frameOffs [][]int64 // for each section, the offsets of its frames; nil until it is read
	sums      [][]int64 // for each section and chunk, 1<<32 + its checksum; 0 if not decompressed
	err       error     // the first error
}

// lazyOf returns the lazy arrays of a tensor that LoadLazily prepared, or nil.
func lazyOf(t *tcs.Tensor) *lazy {
	_, d := t.Source()
	z, _ := d.(*lazy)
	return z
}

// LoadLazily prepares the arrays of a compressed file for decompression on demand: View,
// CheckPart, PosAt and Load decompress the chunks that they read. Decompressed chunks are
// counted by limit. For other tensors LoadLazily does nothing.
func LoadLazily(t *tcs.Tensor, limit *tcs.Limit) error {
	if !t.Compressed() || loaded(t) {
		return nil
	}
	src := of(t)
	offs, total, err := src.plainOffsets()
	if err != nil {
		return err
	}
	total = max(total, 1)
	ptr, err := unix.MmapPtr(-1, 0, nil, uintptr(total), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return &tcs.MemoryError{What: src.decompressing(), Want: total, Max: tcs.MachineMemory(),
			Machine: true}
	}
	dec := newDecoder()
	z := &lazy{src: src, offs: offs, limit: limit, dec: dec}
	z.mem = tcs.Foreign(ptr, total, func() error {
		limit.Release(z.counted)
		dec.Close()
		return unix.MunmapPtr(ptr, uintptr(total))
	})
	for _, sec := range src.header.sections {
		z.sums = append(z.sums, make([]int64, chunks(sec.section.Bytes(), src.header.chunk)))
	}
	z.frameOffs = make([][]int64, len(z.sums))
	src.setArrays(t, z.mem, offs)
	t.SetSource(src, z)
	return nil
}

// chunk decompresses chunk k of section i.
func (z *lazy) chunk(i int, k int64) error {
	h := &z.src.header
	sec := &h.sections[i]
	stored := z.src.stored(sec)
	if z.frameOffs[i] == nil {
		at, err := frameOffsets(stored, int64(len(z.sums[i])))
		if err != nil {
			return z.src.dataErr("section %d is corrupt: %v", i, err)
		}
		z.frameOffs[i] = at
	}
	at := z.frameOffs[i]
	want := min(h.chunk, sec.section.Bytes()-k*h.chunk)
	if err := z.limit.Reserve(want, z.src.decompressing()); err != nil {
		return err
	}
	z.counted += want
	dst := z.mem.Slice()[z.offs[i]+k*h.chunk:][:want]
	if err := frame(z.dec, stored[at[k]:at[k+1]], dst); err != nil {
		return z.src.dataErr("section %d is corrupt: chunk %d: %v", i, k, err)
	}
	z.sums[i][k] = 1<<32 | int64(crc32.ChecksumIEEE(dst))
	return nil
}

// want decompresses the chunks of elements [lo, hi) of section i that were not decompressed
// before.
func (z *lazy) want(i int, lo, hi int64) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	h := &z.src.header
	sec := &h.sections[i]
	if lo, hi = max(lo, 0), min(hi, sec.section.Len); lo >= hi || z.err != nil {
		return z.err
	}
	w := int64(sec.section.Width)
	from, to := lo*w/h.chunk, (hi*w-1)/h.chunk
	z.err = z.src.Guard(func() error {
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

// all decompresses the chunks of all sections that are not decompressed yet, and then calls
// checkChunkSums.
func (z *lazy) all() error {
	for i, sec := range z.src.header.sections {
		if err := z.want(i, 0, sec.section.Len); err != nil {
			return err
		}
	}
	return z.src.checkChunkSums(z.chunkSums())
}

// Need decompresses elements [lo, hi) of an array. See tcs.Demand.
func (z *lazy) Need(level int, array tcs.ArrayKind, lo, hi int64) error {
	for i, sec := range z.src.header.sections {
		if sec.section.Array == array &&
			(sec.section.Level == level || array == tcs.ValsArray) {
			return z.want(i, lo, hi)
		}
	}
	panic("BUG: tcsfile: an array that is no section")
}

// Err returns the first error.
func (z *lazy) Err() error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.err
}

// ChunkSums returns one number for every chunk of a compressed file that LoadLazily prepared,
// section by section. The number is 1<<32 plus the chunk's checksum, or 0 if the chunk was not
// decompressed.
func ChunkSums(t *tcs.Tensor) []int64 { return lazyOf(t).chunkSums() }

func (z *lazy) chunkSums() []int64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Concat(z.sums...)
}

// SumChunk decompresses the k-th chunk of a file that LoadLazily prepared, unless it is already
// decompressed. It returns the number that ChunkSums returns for this chunk.
func SumChunk(t *tcs.Tensor, k int64) (int64, error) {
	z := lazyOf(t)
	for i, s := range z.sums {
		if n := int64(len(s)); k >= n {
			k -= n
			continue
		}
		h := &z.src.header
		per := h.chunk / int64(h.sections[i].section.Width)
		if err := z.want(i, k*per, k*per+1); err != nil {
			return 0, err
		}
		return s[k], nil
	}
	panic("BUG: tcsfile: a chunk past the last")
}

// CheckChunkSums combines the checksums of all chunks into the checksums of the sections, and
// compares these with the checksums in t's file. It returns an error if they differ, or if a byte
// between sections is not zero. sums has the checksums as ChunkSums returns them.
func CheckChunkSums(t *tcs.Tensor, sums []int64) error { return of(t).checkChunkSums(sums) }

func (src *source) checkChunkSums(sums []int64) error {
	h := &src.header
	for i, sec := range h.sections {
		sum := uint32(0)
		n := chunks(sec.section.Bytes(), h.chunk)
		for k := range n {
			sum = CombineCRC(sum, uint32(sums[k]), min(h.chunk, sec.section.Bytes()-k*h.chunk))
		}
		sums = sums[n:]
		if sum != sec.crc {
			return src.sumErr(i, sum)
		}
	}
	return src.checkGaps()
}
