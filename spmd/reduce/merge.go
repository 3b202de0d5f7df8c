package reduce

import "slices"

// mergeSource is one source's segment while it is being merged.
type mergeSource struct {
	crd   *ints
	p, hi int64
	c     int64 // the coordinate at p
	src   int32
}

// head returns the current position.
func (r *mergeSource) head() head { return head{r.src, r.p} }

// next advances to the next coordinate, and reports whether there is one.
func (r *mergeSource) next() bool {
	if r.p++; r.p >= r.hi {
		return false
	}
	r.c = r.crd.at(r.p)
	return true
}

// fewEntries is the largest number of entries that are sorted by insertion. The sort key of an
// entry is one word. The upper bits are the entry's coordinate, and the lower orderBits bits are
// the entry's index. The coordinate must be less than maxSorted.
const (
	fewEntries = 96
	orderBits  = 8
	maxSorted  = 1 << (63 - orderBits)
)

// denseRatio limits the size of the range of coordinates whose entries are sorted by counting: the
// range has at most denseRatio coordinates for each entry.
const denseRatio = 4

// merge calls u.visit, in ascending order, for each coordinate of level l that some source has.
// heads holds the positions of the sources in the level above; only coordinates below these
// positions count.
func (u *union) merge(l int, heads []head) {
	s := &u.scratch[l]
	s.runs = s.runs[:0]
	n := int64(0)
	for _, h := range heads {
		crd, lo, hi := u.segment(l, h)
		if lo < hi {
			s.runs = append(s.runs, mergeSource{crd: crd, p: lo, hi: hi, c: crd.at(lo), src: h.src})
			n += hi - lo
		}
	}
	r := u.box[u.shape.Layout.Format.Order[l]]
	switch {
	case len(s.runs) == 0:
	case len(s.runs) == 1:
		u.alone(l, s)
	case n <= fewEntries && r[1] <= maxSorted:
		u.sorted(l, s)
	case len(s.runs) > 2 && n < 1<<31 && (r[1]-r[0])/denseRatio <= n:
		u.countingSort(l, s, n)
	default:
		u.heap(l, s)
	}
}

// alone visits the coordinates of level l if a single source has any, so that nothing has to be
// merged.
func (u *union) alone(l int, s *scratch) {
	x := &s.runs[0]
	for more := true; more && u.err == nil; more = x.next() {
		s.heads = append(s.heads[:0], x.head())
		u.visit(l, x.c, s.heads)
	}
}

// sorted handles a few entries of all sources. It sorts the entries by coordinate, and entries with
// equal coordinates by source. It then visits each distinct coordinate once.
func (u *union) sorted(l int, s *scratch) {
	keys, all := s.keys[:0], s.all[:0]
	for k := range s.runs {
		x := &s.runs[k]
		for more := true; more; more = x.next() {
			key := uint64(x.c)<<orderBits | uint64(len(all))
			all = append(all, x.head())
			i := len(keys)
			keys = append(keys, key)
			for ; i > 0 && keys[i-1] > key; i-- {
				keys[i] = keys[i-1]
			}
			keys[i] = key
		}
	}
	s.keys, s.all = keys, all
	// A level below has its own scratch memory. This level is entered again only after it has
	// returned.
	for i := 0; i < len(keys) && u.err == nil; {
		c := keys[i] >> orderBits
		s.heads = s.heads[:0]
		for ; i < len(keys) && keys[i]>>orderBits == c; i++ {
			s.heads = append(s.heads, all[keys[i]&(1<<orderBits-1)])
		}
		u.visit(l, int64(c), s.heads)
	}
}

// countingSort sorts the n entries of all sources. For this, it counts the entries of each
// coordinate in the box. It then visits each distinct coordinate once.
func (u *union) countingSort(l int, s *scratch, n int64) {
	r := u.box[u.shape.Layout.Format.Order[l]]
	size := r[1] - r[0] + 1
	count := slices.Grow(s.count[:0], int(size))[:size]
	clear(count)
	s.count = count
	for k := range s.runs {
		x := &s.runs[k]
		for p := x.p; p < x.hi; p++ {
			count[x.crd.at(p)-r[0]+1]++
		}
	}
	for k := int64(1); k < size; k++ {
		count[k] += count[k-1]
	}
	all := slices.Grow(s.all[:0], int(n))[:n]
	s.all = all
	for k := range s.runs {
		x := &s.runs[k]
		for ; x.p < x.hi; x.p++ {
			c := x.crd.at(x.p) - r[0]
			all[count[c]] = x.head()
			count[c]++
		}
	}
	// count[c] is now the end of the entries with coordinate c.
	from := int32(0)
	for k := int64(0); k < size-1 && u.err == nil; k++ {
		if to := count[k]; to > from {
			u.visit(l, r[0]+k, all[from:to])
			from = to
		}
	}
}

// heap merges the sources' segments of level l with a heap, and visits each distinct coordinate
// once. It handles the cases for which merge has no faster method.
func (u *union) heap(l int, s *scratch) {
	h := s.runs
	less := func(a, b *mergeSource) bool { return a.c < b.c || a.c == b.c && a.src < b.src }
	down := func(i int) {
		for {
			k := 2*i + 1
			if k >= len(h) {
				return
			}
			if k+1 < len(h) && less(&h[k+1], &h[k]) {
				k++
			}
			if !less(&h[k], &h[i]) {
				return
			}
			h[i], h[k] = h[k], h[i]
			i = k
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(i)
	}
	for len(h) > 0 && u.err == nil {
		c := h[0].c
		s.heads = s.heads[:0]
		for len(h) > 0 && h[0].c == c {
			s.heads = append(s.heads, h[0].head())
			if !h[0].next() {
				h[0] = h[len(h)-1]
				h = h[:len(h)-1]
			}
			down(0)
		}
		u.visit(l, c, s.heads)
	}
}
