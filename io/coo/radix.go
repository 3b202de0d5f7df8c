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
// their highest bits, then each part is sorted from the lowest digit up.
const (
	smallSort = 40      // records that are sorted by insertion
	cacheSort = 1 << 13 // records that are sorted by the lowest digit first
	digitBits = 8
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
