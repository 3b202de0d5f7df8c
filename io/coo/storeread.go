package coo

import (
	"math/bits"
	"unsafe"
)

// cut divides the records into the given number of consecutive parts of about equal size, and
// returns their boundaries.
func (s *store) cut(parts int) []int64 {
	cut := make([]int64, parts+1)
	for i := range cut {
		cut[i] = int64(float64(s.n) / float64(parts) * float64(i))
	}
	cut[parts] = s.n
	return cut
}

// count makes the first pass over the records, and returns the counts of each part. If there are
// many records, each thread counts one part; otherwise there is only one part.
func (s *store) count(spec *Spec, threads int) ([]PartCount, error) {
	if s.n < 1<<16 {
		threads = 1
	}
	cut, parts := s.cut(threads), make([]PartCount, threads)
	parallel(threads,
		func(i int) { parts[i] = s.countPart(len(spec.Format.Levels), cut[i], cut[i+1]) })
	return parts, nil
}

// countPart makes the first pass over records [from, to), which are in order.
func (s *store) countPart(levels int, from, to int64) PartCount {
	p := NewPartCounter(levels)
	if s.pack.words > 1 || from == to || levels == 0 {
		p.addAll(s.reader(from, to)) // a store's reader returns no errors
	} else {
		p.p.First, p.p.N = make([]int64, levels), to-from
		s.at(from, p.p.First)
		s.at(to-1, p.c.prev)
		s.countKeys(&p.c, from, to)
	}
	part := p.Part()
	if !part.Sorted {
		panic("BUG: coo: sorted entries are not in order")
	}
	return part
}

// countKeys counts keys of one word. The highest different bit of two neighbouring keys determines
// the level of their first difference.
func (s *store) countKeys(c *counter, from, to int64) {
	levels := len(s.pack.word)
	var level [65]uint8 // by the length of the difference in bits
	level[0] = uint8(levels)
	for n := 1; n <= 64; n++ {
		l := levels - 1
		for l > 0 && uint(n) > s.pack.shift[l]+s.pack.bits[l] {
			l--
		}
		level[n] = uint8(l)
	}
	var hist [65]int64
	var last uint64
	first := true
	st := s.stride()
	r := s.reader(from, to)
	for left := to - from; left > 0; r.k, r.off = r.k+1, 0 {
		recs := s.chunks[r.k].recs[int(r.off)*st:]
		n := min(int64(len(recs)/st), left)
		for i := range int(n) {
			x := recs[i*st]
			hist[bits.Len64(x^last)]++
			last = x
		}
		left -= n
		if first && n > 0 { // the first key was compared with nothing
			hist[bits.Len64(recs[0])]--
			c.hist[0]++
			first = false
		}
	}
	for n, h := range hist {
		c.hist[level[n]] += h
	}
}

// read returns a reader of a part of the records. If last is true, the reader releases each chunk
// that it read completely when it goes on to the next chunk.
func (s *store) read(_ *Spec, part, parts int, last bool) (reader, error) {
	cut := s.cut(parts)
	r := s.reader(cut[part], cut[part+1])
	r.release = last
	return r, nil
}

// storeReader reads records [at, end) of a store in order.
type storeReader struct {
	s       *store
	k       int   // index of the chunk
	off     int64 // index of the record in the chunk
	at, end int64
	release bool // release chunks that were read from their first to their last record
	whole   bool // chunk k was read from its first record on
}

func (s *store) reader(from, to int64) *storeReader {
	r := &storeReader{s: s, at: from, end: to}
	for r.k < len(s.chunks) {
		n := int64(len(s.chunks[r.k].recs) / s.stride())
		if from < n {
			break
		}
		from -= n
		r.k++
	}
	r.off = from
	r.whole = from == 0
	return r
}

func (r *storeReader) close() {}

func (r *storeReader) next(b *Batch) (int, error) {
	for r.at < r.end {
		recs := r.s.chunks[r.k].recs[r.off*int64(r.s.stride()):]
		n := int(min(int64(len(recs)/r.s.stride()), BatchSize, r.end-r.at))
		if n == 0 {
			if r.release && r.whole {
				r.s.chunks[r.k].mem.Release()
				r.s.chunks[r.k] = chunk{}
			}
			r.k, r.off, r.whole = r.k+1, 0, true
			continue
		}
		b.Resize(len(r.s.pack.word), n, r.s.valSize)
		r.s.decode(recs, n, b.Coords, b.Vals)
		r.at += int64(n)
		r.off += int64(n)
		return n, nil
	}
	return 0, nil
}

// decode unpacks n records into values and columns of coordinates, one column for each level.
func (s *store) decode(recs []uint64, n int, cols [][]int64, vals []byte) {
	decode(s.pack, s.valSize, recs, n, cols, vals)
}

func decode(p *packer, valSize int, recs []uint64, n int, cols [][]int64, vals []byte) {
	st := p.words + (valSize+7)/8
	w := p.words
	for l := range cols {
		word, shift, mask := p.word[l], p.shift[l], uint64(1)<<p.bits[l]-1
		col := cols[l][:n]
		for i := range col {
			col[i] = int64(recs[i*st+word] >> shift & mask)
		}
	}
	if n == 0 {
		return
	}
	switch valSize {
	case 1:
		for i := range vals[:n] {
			vals[i] = byte(recs[i*st+w])
		}
	case 2:
		v := unsafe.Slice((*uint16)(unsafe.Pointer(&vals[0])), n)
		for i := range v {
			v[i] = uint16(recs[i*st+w])
		}
	case 4:
		v := unsafe.Slice((*uint32)(unsafe.Pointer(&vals[0])), n)
		for i := range v {
			v[i] = uint32(recs[i*st+w])
		}
	case 8:
		v := unsafe.Slice((*uint64)(unsafe.Pointer(&vals[0])), n)
		for i := range v {
			v[i] = recs[i*st+w]
		}
	case 16:
		v := unsafe.Slice((*[2]uint64)(unsafe.Pointer(&vals[0])), n)
		for i := range v {
			v[i] = [2]uint64{recs[i*st+w], recs[i*st+w+1]}
		}
	}
}
