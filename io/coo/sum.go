package coo

import (
	"slices"
	"unsafe"

	"distaff/io/tcs"
)

// sum adds the values of equal neighbours, in order, in place; or refuses them.
func (s *store) sum(spec *Spec) error {
	st, w := s.stride(), s.pack.words
	wc, wo := 0, 0 // where the next record goes
	var last []uint64
	n := int64(0)
	for k := range s.chunks {
		recs := s.chunks[k].recs
		for at := 0; at < len(recs); at += st {
			r := recs[at : at+st]
			if last != nil && slices.Equal(last[:w], r[:w]) {
				if spec.Duplicates == Refuse {
					at := make([]int64, len(s.pack.word))
					for l, m := range spec.Modes {
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

// summer adds the values of equal neighbours of a reader. The last entry of a
// batch waits for the next.
type summer struct {
	from   reader
	spec   *Spec
	byMode func([]int64) []int64

	in       Batch
	at       int // entries of in that are used up
	held     bool
	crd      []int64
	val      []byte
	capacity int // entries of what next gives, until it is extended
}

func (s *summer) close() { s.from.close() }

func (s *summer) next(b *Batch) (int, error) {
	typ := s.spec.Type
	size := typ.Size()
	levels := len(s.spec.Kinds)
	if s.crd == nil {
		s.crd, s.val, s.capacity = make([]int64, levels), make([]byte, size), firstBatch
	}
	b.Resize(levels, s.capacity, size)
	n := 0
	put := func() {
		if n == b.N {
			b.Extend(levels, size)
			s.capacity = b.N
		}
		for l := range s.crd {
			b.Coords[l][n] = s.crd[l]
		}
		copy(b.Vals[n*size:], s.val)
		n++
	}
	for n < BatchSize {
		if s.at == s.in.N {
			k, err := s.from.next(&s.in)
			if err != nil {
				return 0, err
			}
			s.at = 0
			if s.in.N = k; k == 0 {
				if s.held {
					put()
					s.held = false
				}
				break
			}
		}
		same := s.held
		for l := 0; same && l < levels; l++ {
			same = s.in.Coords[l][s.at] == s.crd[l]
		}
		v := s.in.Vals[s.at*size : (s.at+1)*size]
		if same {
			if s.spec.Duplicates == Refuse {
				return 0, s.spec.repeatErr(s.byMode(s.crd))
			}
			addTo(typ, s.val, v)
			s.at++
			continue
		}
		if s.held {
			put()
		}
		for l := range s.crd {
			s.crd[l] = s.in.Coords[l][s.at]
		}
		copy(s.val, v)
		s.held = true
		s.at++
	}
	for l := range b.Coords {
		b.Coords[l] = b.Coords[l][:n]
	}
	b.Vals, b.N = b.Vals[:n*size], n
	return n, nil
}

// addTo adds the value at src to that at dst.
func addTo(t tcs.Type, dst, src []byte) {
	d, s := unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0])
	t.Store(d, t.Add(t.Load(d), t.Load(s)))
}
