package tcs

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// lazy is the arrays of a compressed file that are decompressed by chunks, as
// they are looked at: an address range for all, of which only the chunks that
// were asked for take memory.
type lazy struct {
	t     *Tensor // the whole
	offs  []int64 // a section, where its array starts in mem
	mem   *Memory
	limit *Limit

	mu   sync.Mutex
	held int64 // counted against limit
	dec  *zstd.Decoder
	at   [][]int64 // a section, where its frames start in what is stored; nil before it was looked at
	sums [][]int64 // a section, 1<<32 + the checksum of each chunk that is there, 0 of others
	err  error     // the first
}

// LoadLazily prepares a compressed file's arrays to be decompressed in parts:
// View, CheckPart, PosAt and Load decompress the chunks that they look at,
// counted against limit. For other tensors it does nothing.
func (t *Tensor) LoadLazily(limit *Limit) error {
	if !t.Compressed() || t.loaded() {
		return nil
	}
	offs, total, err := t.plainOffsets()
	if err != nil {
		return err
	}
	total = max(total, 1)
	ptr, err := unix.MmapPtr(-1, 0, nil, uintptr(total), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return &MemoryError{What: "decompressing " + Printable(t.File()), Want: total, Max: MachineMemory(), Machine: true}
	}
	dec := newDecoder()
	z := &lazy{t: t, offs: offs, limit: limit, dec: dec}
	z.mem = Foreign(ptr, total, func() error {
		limit.Release(z.held)
		dec.Close()
		return unix.MunmapPtr(ptr, uintptr(total))
	})
	for i, sec := range t.file.header.sections {
		z.sums = append(z.sums, make([]int64, chunks(sec.Bytes(), t.file.header.chunk)))
		*t.array(sec.Level, sec.Array) = z.mem.Array(offs[i], sec.Len, sec.Width)
	}
	z.at = make([][]int64, len(z.sums))
	t.held = append(t.held, z.mem)
	t.lazy = z
	return nil
}

// frames are where the frames of section i start; like inflateTo it does not
// trust their table.
func (z *lazy) frames(i int) ([]int64, error) {
	if z.at[i] != nil {
		return z.at[i], nil
	}
	sec, n := &z.t.file.header.sections[i], int64(len(z.sums[i]))
	at := make([]int64, n+1)
	at[0] = 8 * n
	table := z.t.file.mapped.Slice()[sec.Offset : sec.Offset+8*n]
	for k := range n {
		size := binary.LittleEndian.Uint64(table[8*k:])
		if size > uint64(sec.stored-at[k]) {
			return nil, z.t.dataErr("section %d is corrupt: chunk %d has %s, past the section's end", i, k, Count(size, "byte"))
		}
		at[k+1] = at[k] + int64(size)
	}
	if at[n] != sec.stored {
		return nil, z.t.dataErr("section %d is corrupt: %s after the last chunk", i, Count(sec.stored-at[n], "byte"))
	}
	z.at[i] = at
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
	want := min(h.chunk, sec.Bytes()-k*h.chunk)
	if err := z.limit.Reserve(want, "decompressing "+Printable(z.t.File())); err != nil {
		return err
	}
	z.held += want
	dst := z.mem.Slice()[z.offs[i]+k*h.chunk:][:want]
	stored := z.t.file.mapped.Slice()[sec.Offset+at[k] : sec.Offset+at[k+1]]
	if err := frame(z.dec, stored, dst); err != nil {
		return z.t.dataErr("section %d is corrupt: chunk %d: %v", i, k, err)
	}
	z.sums[i][k] = 1<<32 | int64(crc32.ChecksumIEEE(dst))
	return nil
}

// want decompresses what is not there yet of elements [lo, hi) of section i.
func (z *lazy) want(i int, lo, hi int64) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	h := &z.t.file.header
	sec := &h.sections[i]
	if lo, hi = max(lo, 0), min(hi, sec.Len); lo >= hi || z.err != nil {
		return z.err
	}
	w := int64(sec.Width)
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
		if err := z.want(i, 0, sec.Len); err != nil {
			return err
		}
	}
	return z.t.CheckChunkSums(z.t.ChunkSums())
}

// need makes elements [lo, hi) of a level's array (counted in the whole tensor)
// readable in a tensor that is decompressed as it is looked at.
func (t *Tensor) need(level int, part ArrayKind, lo, hi int64) error {
	if t.lazy == nil {
		return nil
	}
	for i, sec := range t.file.header.sections {
		if sec.Array == part && (sec.Level == level || part == ValsArray) {
			return t.lazy.want(i, lo, hi)
		}
	}
	panic("BUG: tcs: an array that is no section")
}

// needShown makes all that the arrays show readable.
func (t *Tensor) needShown() error {
	if t.lazy == nil {
		return nil
	}
	for i, sec := range t.file.header.sections {
		a := t.array(sec.Level, sec.Array)
		if err := t.lazy.want(i, a.First, a.First+a.Len); err != nil {
			return err
		}
	}
	return nil
}

// search is Array.search in a level's array.
func (t *Tensor) search(level int, part ArrayKind, lo, hi, key int64) int64 {
	a := t.array(level, part)
	if t.lazy == nil {
		return a.search(lo, hi, key)
	}
	for lo < hi {
		mid := int64(uint64(lo+hi) >> 1)
		if t.need(level, part, a.First+mid, a.First+mid+1) != nil {
			return lo // View reports it
		}
		if a.Int(mid) < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// PosAt is element i, counted from its first, of level l's pos. Of a file that
// is decompressed as it is looked at it may be 0 for one that can't be read:
// View will say so.
func (t *Tensor) PosAt(l int, i int64) int64 {
	a := &t.Levels[l].Pos
	if t.need(l, PosArray, a.First+i, a.First+i+1) != nil {
		return 0
	}
	return a.Int(i)
}

// ChunkSums are, for every chunk of a compressed file that LoadLazily prepared, section by
// section, 1<<32 and its checksum, or 0 where it was not looked at.
func (t *Tensor) ChunkSums() []int64 {
	t.lazy.mu.Lock()
	defer t.lazy.mu.Unlock()
	var all []int64
	for _, s := range t.lazy.sums {
		all = append(all, s...)
	}
	return all
}

// SumChunk is the k-th of ChunkSums for a chunk that was not looked at.
func (t *Tensor) SumChunk(k int64) (int64, error) {
	for i, s := range t.lazy.sums {
		if n := int64(len(s)); k >= n {
			k -= n
			continue
		}
		sec := &t.file.header.sections[i]
		per := t.file.header.chunk / int64(sec.Width)
		if err := t.lazy.want(i, k*per, k*per+1); err != nil {
			return 0, err
		}
		return s[k], nil
	}
	panic("BUG: tcs: a chunk past the last")
}

// CheckChunkSums compares the sections' checksums, from those of all chunks.
func (t *Tensor) CheckChunkSums(sums []int64) error {
	h := &t.file.header
	for i, sec := range h.sections {
		sum := uint32(0)
		n := chunks(sec.Bytes(), h.chunk)
		for k := range n {
			sum = CombineCRC(sum, uint32(sums[k]), min(h.chunk, sec.Bytes()-k*h.chunk))
		}
		sums = sums[n:]
		if sum != sec.crc {
			return t.sumErr(i, sum)
		}
	}
	return t.checkGaps()
}
