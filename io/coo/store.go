package coo

import (
	"math/bits"
	"slices"
	"unsafe"

	"distaff/io/tcs"
)

// store holds packed entries in memory: records of stride words, the key and
// then the value's bits (one word; two for complex128), in chunks.
type store struct {
	pack     *packer
	valWords int
	valSize  int
	limit    *tcs.Limit
	largest  int   // records of a chunk, at most
	slab     *slab // that the chunks of few records are cut from; nil: there are none

	chunks []chunk
	n      int64

	sorted, dups bool // of what was added so far: in order; some equal
	last         []uint64
	vary         []uint64 // a word, the bits in which keys differ
	first        []uint64
}

type chunk struct {
	mem  *tcs.Memory
	recs []uint64 // the used part
}

// A chunk has room for a multiple of firstChunk records, or of a slab for a few: as many as its
// store has, and leastChunk at least.
const (
	leastChunk = 4
	firstChunk = 1 << 10
	lastChunk  = 1 << 18
	// A slab has room for as many records as were cut from those before, or an eighth of them where
	// that is more than firstChunk.
	firstSlab = 1 << 8
)

// slab is memory of which the first chunks of several stores are cut, that have few records each.
type slab struct {
	mem  *tcs.Memory
	rest []uint64
	cut  int // records, of this and those before
}

// grow gives memory up that was not cut, for so many records or more.
func (b *slab) grow(s *store, records int) error {
	b.free()
	n := max(min(max(b.cut, firstSlab), firstChunk), b.cut/8, records)
	m, err := tcs.Alloc(s.limit, int64(n*s.stride()*8), "sorting entries")
	if err != nil {
		return err
	}
	b.mem, b.rest = m, unsafe.Slice((*uint64)(m.Ptr), n*s.stride())
	return nil
}

func (b *slab) free() {
	if b.mem != nil {
		b.mem.Release() // chunks hold it
	}
	b.mem, b.rest = nil, nil
}

func newStore(pack *packer, valSize int, limit *tcs.Limit) *store {
	s := &store{pack: pack, valSize: valSize, valWords: (valSize + 7) / 8, limit: limit, sorted: true}
	// Under a low limit chunks stay small, so that there is room to sort them.
	s.largest = int(min(max(limit.Free()/32/int64(8*s.stride()), firstChunk), lastChunk)) &^ (firstChunk - 1)
	s.reset()
	return s
}

func (s *store) reset() {
	w := s.pack.words
	s.last, s.vary, s.first = make([]uint64, w), make([]uint64, w), make([]uint64, w)
	s.sorted, s.dups, s.n = true, false, 0
}

func (s *store) stride() int  { return s.pack.words + s.valWords }
func (s *store) bytes() int64 { return s.n * int64(s.stride()) * 8 }

// free gives the chunks' memory back.
func (s *store) free() {
	for _, c := range s.chunks {
		if c.mem != nil {
			c.mem.Release()
		}
	}
	s.chunks = nil
}

// uncount gives back to the limit what the chunks count for, which stay.
func (s *store) uncount() int64 {
	n := int64(0)
	for _, c := range s.chunks {
		n += c.mem.Uncount()
	}
	return n
}

// drop empties the store.
func (s *store) drop() {
	s.free()
	s.reset()
}

// grow adds an empty chunk, of a slab where it is small: with fewer records where that has no more.
func (s *store) grow(records int) error {
	if b := s.slab; b != nil && records < firstChunk {
		if len(b.rest) == 0 {
			if err := b.grow(s, records); err != nil {
				return err
			}
		}
		n := min(records*s.stride(), len(b.rest))
		b.mem.Retain()
		s.chunks = append(s.chunks, chunk{b.mem, b.rest[:0:n]})
		b.rest, b.cut = b.rest[n:], b.cut+n/s.stride()
		return nil
	}
	m, err := tcs.Alloc(s.limit, int64(records*s.stride()*8), "sorting entries")
	if err != nil {
		return err
	}
	s.chunks = append(s.chunks, chunk{m, unsafe.Slice((*uint64)(m.Ptr), records*s.stride())[:0]})
	return nil
}

// next is how many records the next chunk is to have: an eighth of what there is, so that little is
// left over where many lanes are collected.
func (s *store) next() int {
	if s.slab != nil && s.n < firstChunk {
		return max(int(s.n), leastChunk)
	}
	return min(max(int(min(s.n, 8*lastChunk))/8, firstChunk), s.largest) &^ (firstChunk - 1)
}

// add packs entries [from, to) of the columns (one a level) and values. What a
// full memory refuses is not added: the count of those added tells.
func (s *store) add(cols [][]int64, vals []byte, from, to int) (int, error) {
	added := 0
	for from < to {
		k := len(s.chunks) - 1
		if k < 0 || len(s.chunks[k].recs) == cap(s.chunks[k].recs) {
			if err := s.grow(s.next()); err != nil {
				return added, err
			}
			k++
		}
		c := &s.chunks[k]
		n := min(to-from, (cap(c.recs)-len(c.recs))/s.stride())
		old := len(c.recs)
		c.recs = c.recs[:old+n*s.stride()]
		if s.stride() == 2 {
			n = s.encodePairs(c, old, cols, vals, from, n)
		} else {
			s.encode(c.recs[old:], cols, vals, from, n)
			s.track(c.recs[old:], n)
		}
		from, added = from+n, added+n
		s.n += int64(n)
	}
	return added, nil
}

// encodePairs is encode and track for one word of key and one of value, through
// a buffer of keys that stays in the cache; it does at most a batch, and returns
// how many.
func (s *store) encodePairs(c *chunk, old int, cols [][]int64, vals []byte, from, n int) int {
	var buf [BatchSize]uint64
	n = min(n, BatchSize)
	keys := buf[:n]
	for l := range cols {
		shift := s.pack.shift[l]
		if l == 0 {
			for i, x := range cols[l][from : from+n] {
				keys[i] = uint64(x) << shift
			}
			continue
		}
		for i, x := range cols[l][from : from+n] {
			keys[i] |= uint64(x) << shift
		}
	}
	if s.n == 0 {
		s.first[0], s.last[0] = keys[0], keys[0]
	}
	last, first, vary := s.last[0], s.first[0], s.vary[0]
	drops, same := 0, 0
	for _, x := range keys {
		if x < last {
			drops++
		}
		if x == last {
			same++
		}
		vary |= x ^ first
		last = x
	}
	if s.n == 0 {
		same-- // the first was compared with itself
	}
	s.last[0], s.vary[0] = last, vary
	s.sorted, s.dups = s.sorted && drops == 0, s.dups || same > 0
	c.recs = c.recs[:old+2*n]
	recs := unsafe.Slice((*[2]uint64)(unsafe.Pointer(&c.recs[old])), n)
	if s.valSize == 4 {
		v := unsafe.Slice((*uint32)(unsafe.Pointer(&vals[4*from])), n)
		for i, x := range keys {
			recs[i] = [2]uint64{x, uint64(v[i])}
		}
		return n
	}
	v := unsafe.Slice((*uint64)(unsafe.Pointer(&vals[8*from])), n)
	for i, x := range keys {
		recs[i] = [2]uint64{x, v[i]}
	}
	return n
}

// encode writes n entries from entry from on into recs.
func (s *store) encode(recs []uint64, cols [][]int64, vals []byte, from, n int) {
	st, w := s.stride(), s.pack.words
	for l := range cols {
		col := cols[l][from : from+n]
		word, shift := s.pack.word[l], s.pack.shift[l]
		if l > 0 && s.pack.word[l-1] == word {
			for i, x := range col {
				recs[i*st+word] |= uint64(x) << shift
			}
			continue
		}
		for i, x := range col { // the first of its word
			recs[i*st+word] = uint64(x) << shift
		}
	}
	if len(cols) == 0 {
		for i := range n {
			recs[i*st] = 0
		}
	}
	switch s.valSize {
	case 4:
		v := unsafe.Slice((*uint32)(unsafe.Pointer(&vals[4*from])), n)
		for i, x := range v {
			recs[i*st+w] = uint64(x)
		}
	case 8:
		v := unsafe.Slice((*uint64)(unsafe.Pointer(&vals[8*from])), n)
		for i, x := range v {
			recs[i*st+w] = x
		}
	case 16:
		v := unsafe.Slice((*[2]uint64)(unsafe.Pointer(&vals[16*from])), n)
		for i, x := range v {
			recs[i*st+w], recs[i*st+w+1] = x[0], x[1]
		}
	}
}

// track notes whether the n records just added are in order.
func (s *store) track(recs []uint64, n int) {
	st := s.stride()
	i := 0
	if s.n == 0 && n > 0 {
		copy(s.first, recs[:s.pack.words])
		copy(s.last, recs[:s.pack.words])
		i = 1
	}
	if s.pack.words == 1 {
		last, first, vary := s.last[0], s.first[0], s.vary[0]
		sorted, dups := s.sorted, s.dups
		for ; i < n; i++ {
			x := recs[i*st]
			sorted = sorted && x >= last
			dups = dups || x == last
			vary |= x ^ first
			last = x
		}
		s.last[0], s.vary[0], s.sorted, s.dups = last, vary, sorted, dups
		return
	}
	for ; i < n; i++ {
		x := recs[i*st : i*st+s.pack.words]
		switch c := slices.Compare(x, s.last); {
		case c < 0:
			s.sorted = false
		case c == 0:
			s.dups = true
		}
		for w := range x {
			s.vary[w] |= x[w] ^ s.first[w]
		}
		copy(s.last, x)
	}
}

// repack changes the packing of all records.
func (s *store) repack(p *packer) error {
	if p.same(s.pack) {
		s.pack = p
		return nil
	}
	t := newStore(p, s.valSize, s.limit)
	rec := make([]uint64, t.stride())
	for _, c := range s.chunks {
		if err := t.grow((len(c.recs)/s.stride() + firstChunk) &^ (firstChunk - 1)); err != nil {
			t.free()
			return err
		}
		d := &t.chunks[len(t.chunks)-1]
		for at := 0; at < len(c.recs); at += s.stride() {
			p.convert(rec, c.recs[at:at+s.stride()], s.pack)
			d.recs = append(d.recs, rec...)
			t.track(d.recs[len(d.recs)-len(rec):], 1)
			t.n++
		}
	}
	s.free()
	*s = *t
	return nil
}

// keyBits is the span [0, hi) of bits in which keys differ.
func (s *store) keyBits() int {
	for w, v := range s.vary {
		if v != 0 {
			return (s.pack.words-1-w)*64 + bits.Len64(v)
		}
	}
	return 0
}

// sort sorts the records by bits from lo of the key up (the bits below are in
// order already, among records that agree above). What it takes beside them is Collection.Sorting.
func (s *store) sort(lo, threads int) error {
	if s.sorted {
		return nil
	}
	var err error
	switch s.stride() {
	case 2:
		err = sortAs[[2]uint64](s, lo, threads)
	case 3:
		err = sortAs[[3]uint64](s, lo, threads)
	case 4:
		err = sortAs[[4]uint64](s, lo, threads)
	case 5:
		err = sortAs[[5]uint64](s, lo, threads)
	case 6:
		err = sortAs[[6]uint64](s, lo, threads)
	default:
		err = s.sortAny()
	}
	if err == nil {
		s.sorted = true
		s.findDups(threads)
	}
	return err
}

// mostStride is the stride of the largest record.
const mostStride = 6

func sortAs[R record](s *store, lo, threads int) error {
	if s.n >= inPlaceFrom {
		if done, err := sortInPlace[R](s, lo, threads); done || err != nil {
			return err
		}
	}
	out, err := tcs.Alloc(s.limit, s.bytes(), "sorting entries")
	if err != nil {
		return err
	}
	one := chunk{out, unsafe.Slice((*uint64)(out.Ptr), s.n*int64(s.stride()))}
	n := 0
	for _, c := range s.chunks {
		n += copy(one.recs[n:], c.recs)
	}
	s.free()
	s.chunks = []chunk{one} // even where there is no memory to sort in, the records are all here
	m, err := tcs.Alloc(s.limit, s.bytes(), "sorting entries")
	if err != nil {
		return err
	}
	defer m.Release()
	sortRecords(unsafe.Slice((*R)(out.Ptr), s.n), unsafe.Slice((*R)(m.Ptr), s.n), s.pack.words, lo,
		s.keyBits(), false)
	return nil
}

// sortAny sorts records of any stride by comparison.
func (s *store) sortAny() error {
	st, w := s.stride(), s.pack.words
	ref := make([][]uint64, 0, s.n)
	for _, c := range s.chunks {
		for at := 0; at < len(c.recs); at += st {
			ref = append(ref, c.recs[at:at+st])
		}
	}
	slices.SortStableFunc(ref, func(a, b []uint64) int { return slices.Compare(a[:w], b[:w]) })
	old := s.chunks
	s.chunks = nil
	if err := s.grow(max(len(ref), 1)); err != nil {
		s.chunks = old
		return err
	}
	c := &s.chunks[0]
	for _, r := range ref {
		c.recs = append(c.recs, r...)
	}
	for _, c := range old {
		c.mem.Release()
	}
	return nil
}

// findDups notes whether neighbours are equal.
func (s *store) findDups(threads int) {
	st, w := s.stride(), s.pack.words
	found := make([]bool, threads)
	each(threads, func(t int) {
		from, to := s.n*int64(t)/int64(threads), s.n*int64(t+1)/int64(threads)
		if from == to {
			return
		}
		r := s.reader(max(from-1, 0), to)
		var last []uint64
		for left := to - max(from-1, 0); left > 0; r.k, r.off = r.k+1, 0 {
			recs := s.chunks[r.k].recs[int(r.off)*st:]
			n := min(int64(len(recs)/st), left)
			for i := range int(n) {
				x := recs[i*st : i*st+w]
				if last != nil && last[w-1] == x[w-1] && slices.Equal(last, x) {
					found[t] = true
					return
				}
				last = x
			}
			left -= n
		}
	})
	s.dups = slices.Contains(found, true)
}

// decode unpacks n records into columns, one a level, and values.
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

// sortHere sorts the one chunk of a store in place, in no more memory than a
// reference a record, by comparison.
func (s *store) sortHere() error {
	st, w := s.stride(), s.pack.words
	recs := s.chunks[0].recs
	n := len(recs) / st
	perm := make([]int32, n)
	for i := range perm {
		perm[i] = int32(i)
	}
	slices.SortFunc(perm, func(a, b int32) int {
		i, j := int(a)*st, int(b)*st
		if c := slices.Compare(recs[i:i+w], recs[j:j+w]); c != 0 {
			return c
		}
		return int(a - b)
	})
	// Records move along the permutation's cycles; -1 marks those in place.
	hold := make([]uint64, st)
	for i := range perm {
		if perm[i] < 0 {
			continue
		}
		copy(hold, recs[i*st:(i+1)*st])
		at := i
		for {
			from := int(perm[at])
			perm[at] = -1
			if from == i {
				copy(recs[at*st:(at+1)*st], hold)
				break
			}
			copy(recs[at*st:(at+1)*st], recs[from*st:(from+1)*st])
			at = from
		}
	}
	s.sorted = true
	return nil
}
