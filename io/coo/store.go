package coo

import (
	"math/bits"
	"slices"
	"unsafe"

	"distaff/io/tcs"
)

// store holds packed entries in memory, in chunks. Each entry is a record of words: first the words
// of its key, then its value. The value occupies one word, or two if it is a complex128.
type store struct {
	pack     *packer
	valWords int
	valSize  int
	limit    *tcs.Limit
	largest  int   // maximum number of records in a chunk that add makes
	slab     *slab // memory that small chunks are cut from; may be nil

	chunks []chunk
	n      int64

	sorted, dups bool // all records so far are in order; some keys are equal
	last         []uint64
	vary         []uint64 // by word, the bits that are not equal in all keys
	first        []uint64
}

func newStore(pack *packer, valSize int, limit *tcs.Limit) *store {
	s := &store{pack: pack, valSize: valSize, valWords: (valSize + 7) / 8, limit: limit, sorted: true}
	// With a low limit, chunks stay small so that there is room to sort them.
	s.largest = int(min(max(limit.Free()/32/int64(8*s.stride()), chunkUnit), maxChunk))
	s.largest &^= chunkUnit - 1
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

func (s *store) free() {
	for _, c := range s.chunks {
		if c.mem != nil {
			c.mem.Release()
		}
	}
	s.chunks = nil
}

// uncount subtracts the memory of the chunks from the memory that the limit counts, without
// releasing it. It returns the number of bytes. A caller uses it while the entries are copied to a
// tensor, which is then counted instead.
func (s *store) uncount() int64 {
	n := int64(0)
	for _, c := range s.chunks {
		n += c.mem.Uncount()
	}
	return n
}

// drop releases the chunks and empties the store.
func (s *store) drop() {
	s.free()
	s.reset()
}

// grow adds an empty chunk with room for the given number of records. If the store has a slab, grow
// cuts a small chunk from the slab. Such a chunk has less room if less memory is left in the slab.
func (s *store) grow(records int) error {
	if b := s.slab; b != nil && records < chunkUnit {
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

// next returns the number of records that the next chunk should have room for. While a store that
// has a slab is small, this is the store's number of records, but at least minChunk. Otherwise it
// is about an eighth of the store's records, but at least chunkUnit and at most s.largest. The room
// is small because each lane has a store, and the unused room of all lanes adds up.
func (s *store) next() int {
	if s.slab != nil && s.n < chunkUnit {
		return max(int(s.n), minChunk)
	}
	return min(max(int(min(s.n, 8*maxChunk))/8, chunkUnit), s.largest) &^ (chunkUnit - 1)
}

// add packs entries [from, to) of the columns (one for each level) and values. It returns the
// number of entries that it added. If memory is full, this is less than to-from, and add returns an
// error.
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
		if s.stride() == 2 && s.valSize >= 4 {
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

// encodePairs does the work of encode and track for records of one key word and one value word. It
// uses a buffer of keys that stays in the cache. It packs at most one batch, and returns the number
// of entries.
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
		same-- // the first key was compared with itself
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

// encode packs the n entries [start, start+n) of cols and vals into records, and stores these in
// recs.
func (s *store) encode(recs []uint64, cols [][]int64, vals []byte, start, n int) {
	st, w := s.stride(), s.pack.words
	for l := range cols {
		col := cols[l][start : start+n]
		word, shift := s.pack.word[l], s.pack.shift[l]
		if l > 0 && s.pack.word[l-1] == word {
			for i, x := range col {
				recs[i*st+word] |= uint64(x) << shift
			}
			continue
		}
		for i, x := range col { // first level of its word
			recs[i*st+word] = uint64(x) << shift
		}
	}
	if len(cols) == 0 {
		for i := range n {
			recs[i*st] = 0
		}
	}
	switch s.valSize {
	case 1:
		for i, x := range vals[start : start+n] {
			recs[i*st+w] = uint64(x)
		}
	case 2:
		v := unsafe.Slice((*uint16)(unsafe.Pointer(&vals[2*start])), n)
		for i, x := range v {
			recs[i*st+w] = uint64(x)
		}
	case 4:
		v := unsafe.Slice((*uint32)(unsafe.Pointer(&vals[4*start])), n)
		for i, x := range v {
			recs[i*st+w] = uint64(x)
		}
	case 8:
		v := unsafe.Slice((*uint64)(unsafe.Pointer(&vals[8*start])), n)
		for i, x := range v {
			recs[i*st+w] = x
		}
	case 16:
		v := unsafe.Slice((*[2]uint64)(unsafe.Pointer(&vals[16*start])), n)
		for i, x := range v {
			recs[i*st+w], recs[i*st+w+1] = x[0], x[1]
		}
	}
}

// track updates the facts about the order of the records, after n records were added in recs.
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
	if p.isSame(s.pack) {
		s.pack = p
		return nil
	}
	t := newStore(p, s.valSize, s.limit)
	rec := make([]uint64, t.stride())
	for _, c := range s.chunks {
		if err := t.grow((len(c.recs)/s.stride() + chunkUnit) &^ (chunkUnit - 1)); err != nil {
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

// join moves the records of o, which must have the same packing, to the end of s.
func (s *store) join(o *store) {
	if o.n == 0 {
		o.free()
		return
	}
	if s.n == 0 {
		chunks := s.chunks
		s.chunks, s.sorted, s.dups = o.chunks, o.sorted, o.dups
		copy(s.first, o.first)
		copy(s.last, o.last)
		copy(s.vary, o.vary)
		for _, c := range chunks {
			c.mem.Release()
		}
	} else {
		switch cmp := slices.Compare(o.first, s.last); {
		case cmp < 0:
			s.sorted = false
		case cmp == 0:
			s.dups = true
		}
		s.sorted, s.dups = s.sorted && o.sorted, s.dups || o.dups
		for w := range s.vary {
			s.vary[w] |= o.vary[w] | (o.first[w] ^ s.first[w])
		}
		copy(s.last, o.last)
		s.chunks = append(s.chunks, o.chunks...)
	}
	s.n += o.n
	o.chunks = nil
	o.reset()
}

// keyBits returns the number of low bits of a key that must be compared. The keys of all records
// agree in the higher bits.
func (s *store) keyBits() int {
	for w, v := range s.vary {
		if v != 0 {
			return (s.pack.words-1-w)*64 + bits.Len64(v)
		}
	}
	return 0
}

// at unpacks the coordinates of record i by level.
func (s *store) at(i int64, coords []int64) {
	r := s.reader(i, i+1)
	rec := s.chunks[r.k].recs[r.off*int64(s.stride()):]
	for l := range coords {
		coords[l] = s.pack.get(rec, l)
	}
}

// sum adds the values of neighbouring records with equal keys, in place and in order. If the spec
// refuses duplicates, it returns an error instead.
func (s *store) sum(spec *Spec) error {
	st, w := s.stride(), s.pack.words
	wc, wo := 0, 0 // place of the next record: chunk and offset in it
	var last []uint64
	n := int64(0)
	for k := range s.chunks {
		recs := s.chunks[k].recs
		for at := 0; at < len(recs); at += st {
			r := recs[at : at+st]
			if last != nil && slices.Equal(last[:w], r[:w]) {
				if spec.Duplicates == Refuse {
					at := make([]int64, len(s.pack.word))
					for l, m := range spec.Format.Order {
						at[m] = s.pack.get(r, l)
					}
					return spec.repeatErr(at)
				}
				a, b := unsafe.Pointer(&last[w]), unsafe.Pointer(&r[w])
				spec.Type.Store(a, spec.Type.Add(spec.Type.Load(a), spec.Type.Load(b)))
				continue
			}
			if wo == len(s.chunks[wc].recs) {
				wc, wo = wc+1, 0
			}
			last = s.chunks[wc].recs[wo : wo+st]
			copy(last, r)
			wo += st
			n++
		}
	}
	if n > 0 {
		s.chunks[wc].recs = s.chunks[wc].recs[:wo]
		for _, c := range s.chunks[wc+1:] {
			c.mem.Release()
		}
		s.chunks = s.chunks[:wc+1]
	}
	s.n, s.dups = n, false
	return nil
}
