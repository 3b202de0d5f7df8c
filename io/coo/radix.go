package coo

import (
	"slices"
	"sync"
)

// record is packed words and then the value's bits, in 2 to 6 words.
type record interface {
	[2]uint64 | [3]uint64 | [4]uint64 | [5]uint64 | [6]uint64
}

// A sort is stable and by the bits [lo, hi) of the key, where bit 0 is the
// lowest of the last word. Records too many for the cache are first cut by
// their highest bits into buckets, which are then sorted from the lowest digit
// up.
const (
	smallSort  = 40      // records that are sorted by insertion
	cacheSort  = 1 << 13 // records that are sorted by the lowest digit first
	digitBits  = 8
	bucketBits = 11
)

// digit is a field of a key: bits [shift, shift+width) of a word.
type digit struct {
	word  int
	shift uint
	mask  uint64
}

// below is the digit of at most width bits that ends under bit hi and stays
// above lo, within one word; and the bit that it starts at.
func below(words, lo, hi, width int) (digit, int) {
	top := hi - 1
	word := words - 1 - top/64
	from := max(hi-width, lo, top/64*64)
	return digit{word, uint(from % 64), 1<<(hi-from) - 1}, from
}

// above is the digit of at most width bits that starts at bit lo.
func above(words, lo, hi, width int) (digit, int) {
	word := words - 1 - lo/64
	to := min(lo+width, hi, (lo/64+1)*64)
	return digit{word, uint(lo % 64), 1<<(to-lo) - 1}, to
}

// less compares keys of that many words.
func less[R record](a, b *R, words int) bool {
	for w := range words {
		if (*a)[w] != (*b)[w] {
			return (*a)[w] < (*b)[w]
		}
	}
	return false
}

// sortRecords sorts a by bits [lo, hi), with b as scratch; the result is in b
// if toB, else in a.
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
		d, from := below(words, lo, hi, digitBits)
		var ends [1 << digitBits]int
		for i := range a {
			ends[a[i][d.word]>>d.shift&d.mask]++
		}
		if slices.Contains(ends[:], len(a)) { // all alike in this digit
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

// lsd sorts by digits from the lowest up, skipping those that are all alike.
func lsd[R record](a, b []R, words, lo, hi int, toB bool) {
	inB := false
	for at := lo; at < hi; {
		d, to := above(words, at, hi, digitBits)
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

// sortChunks sorts the records of all chunks into out, by bits [lo, hi). Each
// of the threads counts and scatters its share of the chunks by the highest
// bits, then they sort the buckets. drop is called when the chunks are not
// needed any more.
func sortChunks[R record](chunks [][]R, out []R, words, lo, hi, threads int, scratch func(n int) ([]R, error), drop func()) error {
	if len(out) <= cacheSort || hi <= lo {
		n := 0
		for _, c := range chunks {
			n += copy(out[n:], c)
		}
		drop()
		if hi <= lo {
			return nil
		}
		tmp, err := scratch(len(out))
		if err == nil {
			sortRecords(out, tmp, words, lo, hi, false)
		}
		return err
	}
	d, from := below(words, lo, hi, bucketBits)
	shares := share(chunks, len(out), threads)
	ends := make([][1 << bucketBits]int, len(shares))
	each(len(shares), func(t int) {
		for _, c := range shares[t] {
			for i := range c {
				ends[t][c[i][d.word]>>d.shift&d.mask]++
			}
		}
	})
	sum := 0
	var starts [1<<bucketBits + 1]int
	for k := range starts[1:] {
		starts[k] = sum
		for t := range ends {
			n := ends[t][k]
			ends[t][k] = sum
			sum += n
		}
	}
	starts[len(starts)-1] = sum
	each(len(shares), func(t int) {
		e := &ends[t]
		for _, c := range shares[t] {
			for i := range c {
				k := c[i][d.word] >> d.shift & d.mask
				out[e[k]] = c[i]
				e[k]++
			}
		}
	})
	drop()
	if from <= lo {
		return nil
	}
	return sortBuckets(out, starts[:], words, lo, from, threads, scratch)
}

// sortBuckets sorts each part [starts[k], starts[k+1]) by bits [lo, hi), the
// threads taking one after another.
func sortBuckets[R record](out []R, starts []int, words, lo, hi, threads int, scratch func(n int) ([]R, error)) error {
	var next int
	var mu sync.Mutex
	var first error
	each(threads, func(int) {
		var tmp []R
		for {
			mu.Lock()
			k := next
			next++
			stop := first != nil
			mu.Unlock()
			if stop || k >= len(starts)-1 {
				return
			}
			b := out[starts[k]:starts[k+1]]
			if len(b) < 2 {
				continue
			}
			if len(tmp) < len(b) {
				t, err := scratch(len(b))
				if err != nil {
					mu.Lock()
					first = err
					mu.Unlock()
					return
				}
				tmp = t
			}
			sortRecords(b, tmp[:len(b)], words, lo, hi, false)
		}
	})
	return first
}

// share cuts the chunks into consecutive lists of about equal length.
func share[R any](chunks [][]R, n, threads int) [][][]R {
	per := max((n+threads-1)/threads, 1)
	var out [][][]R
	room := 0
	for _, c := range chunks {
		for len(c) > 0 {
			if room == 0 {
				out = append(out, nil)
				room = per
			}
			k := min(room, len(c))
			out[len(out)-1] = append(out[len(out)-1], c[:k])
			c = c[k:]
			room -= k
		}
	}
	return out
}

// each runs f(0) to f(n-1), side by side.
func each(n int, f func(int)) {
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
