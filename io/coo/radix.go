package coo

import (
	"slices"
	"sync"
	"unsafe"

	"distaff/io/tcs"
)

// sort sorts the records by the bits of their keys from bit lo up. Records that agree in these bits
// must already be in the order of the bits below lo. SortCost.SortBytes estimates the extra memory
// of the sort.
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

// maxStride is the largest number of words of a record that the radix sort supports.
const maxStride = 6

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
	s.chunks = []chunk{one} // if the sort runs out of memory, all records are still here
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

// findDups sets s.dups if any neighbouring keys are equal.
func (s *store) findDups(threads int) {
	st, w := s.stride(), s.pack.words
	found := make([]bool, threads)
	parallel(threads, func(t int) {
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

// sortHere sorts the only chunk of a store in place, by comparison. For that it allocates one index
// per record.
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
	// Records move along the cycles of the permutation. -1 marks records that are in place.
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

// record is the packed key followed by the bits of the value, in 2 to 6 words.
type record interface {
	[2]uint64 | [3]uint64 | [4]uint64 | [5]uint64 | [6]uint64
}

// Limits of the sorts of records. All sorts are stable. They sort by bits [lo, hi) of the key,
// where bit 0 is the lowest bit of the last word. Sorts by comparison compare whole keys, which
// gives the same order here. Records that exceed the cache are first distributed by their highest
// bits. Each part is then sorted by one digit after another, starting with the lowest.
const (
	smallSort = 40      // largest number of records that are sorted by insertion
	cacheSort = 1 << 13 // largest number of records that are sorted by the lowest digit first
	digitBits = 8
)

// digit is a field of consecutive bits in one word of a key.
type digit struct {
	word  int
	shift uint
	mask  uint64
}

// digitBelow returns the digit that ends just below bit hi, and the number of its lowest bit. The
// digit has at most width bits, is in one word, and does not extend below bit lo.
func digitBelow(words, lo, hi, width int) (digit, int) {
	top := hi - 1
	word := words - 1 - top/64
	from := max(hi-width, lo, top/64*64)
	return digit{word, uint(from % 64), 1<<(hi-from) - 1}, from
}

// digitAbove returns the digit that starts at bit lo, and the number of the bit after the digit.
// The digit has at most width bits, is in one word, and ends below bit hi.
func digitAbove(words, lo, hi, width int) (digit, int) {
	word := words - 1 - lo/64
	to := min(lo+width, hi, (lo/64+1)*64)
	return digit{word, uint(lo % 64), 1<<(to-lo) - 1}, to
}

// less reports whether the key of a is less than the key of b. words is the length of a key.
func less[R record](a, b *R, words int) bool {
	for w := range words {
		if (*a)[w] != (*b)[w] {
			return (*a)[w] < (*b)[w]
		}
	}
	return false
}

// sortRecords sorts a by bits [lo, hi) of the key. b is scratch memory of the same length. If toB
// is true, the result is stored in b, and otherwise in a.
func sortRecords[R record](a, b []R, words, lo, hi int, toB bool) {
	switch {
	case len(a) <= smallSort || hi <= lo:
		if hi > lo {
			insertionSort(a, words)
		}
		if toB {
			copy(b, a)
		}
	case len(a) <= cacheSort:
		lsd(a, b, words, lo, hi, toB)
	default:
		d, from := digitBelow(words, lo, hi, digitBits)
		var ends [1 << digitBits]int
		for i := range a {
			ends[a[i][d.word]>>d.shift&d.mask]++
		}
		if slices.Contains(ends[:], len(a)) { // all keys have the same digit
			sortRecords(a, b, words, lo, from, toB)
			return
		}
		sum := 0
		for k, n := range ends {
			ends[k] = sum
			sum += n
		}
		for i := range a {
			k := a[i][d.word] >> d.shift & d.mask
			b[ends[k]] = a[i]
			ends[k]++
		}
		start := 0
		for _, end := range ends {
			if end > start {
				sortRecords(b[start:end], a[start:end], words, lo, from, !toB)
			}
			start = end
		}
	}
}

func insertionSort[R record](a []R, words int) {
	for i := 1; i < len(a); i++ {
		if !less(&a[i], &a[i-1], words) {
			continue
		}
		x := a[i]
		j := i
		for ; j > 0 && less(&x, &a[j-1], words); j-- {
			a[j] = a[j-1]
		}
		a[j] = x
	}
}

// lsd sorts the records of a by bits [lo, hi) of their keys. It sorts by one digit after another,
// starting with the lowest, and skips a digit if all keys agree in it. words is the number of words
// in a key. b is a buffer of the same length as a. The sorted records are in b if toB is true,
// otherwise in a.
func lsd[R record](a, b []R, words, lo, hi int, toB bool) {
	inB := false
	for at := lo; at < hi; {
		d, to := digitAbove(words, at, hi, digitBits)
		at = to
		var ends [1 << digitBits]uint32
		for i := range a {
			ends[a[i][d.word]>>d.shift&d.mask]++
		}
		if ends[a[0][d.word]>>d.shift&d.mask] == uint32(len(a)) {
			continue
		}
		sum := uint32(0)
		for k, n := range ends {
			ends[k] = sum
			sum += n
		}
		for i := range a {
			k := a[i][d.word] >> d.shift & d.mask
			b[ends[k]] = a[i]
			ends[k]++
		}
		a, b, inB = b, a, !inB
	}
	if inB != toB {
		copy(b, a)
	}
}

// parallel calls f(0) to f(n-1) concurrently and returns after the last one.
func parallel(n int, f func(int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
