package coo

import (
	"math/bits"

	"distaff/io/tcs"
)

// counter is the first pass: hist[k] is how many entries first differ at level
// k from the one before (the first entry: at level 0); hist[L] counts those
// that differ nowhere. The positions of level l are made by the entries with
// k <= Depths[l].
type counter struct {
	hist     []int64
	prev     []int64
	any      bool
	repeated []int64 // a coordinate that is there twice; nil if none
}

func newCounter(kinds string) *counter {
	return &counter{hist: make([]int64, len(kinds)+1), prev: make([]int64, len(kinds))}
}

// add counts n entries; false if they are not in order.
func (c *counter) add(cols [][]int64, n int) bool {
	var buf [BatchSize]uint8
	for from := 0; from < n; {
		to := min(from+BatchSize, n)
		k := buf[:to-from]
		diffs(k, cols, c.prev, c.any, from)
		for i, l := range k {
			c.hist[l]++
			if int(l) == len(cols) {
				c.noteRepeat(cols, from+i)
				continue
			}
			before := c.prev[l]
			if i > 0 {
				before = cols[l][from+i-1]
			}
			if cols[l][from+i] < before && (i > 0 || c.any) {
				return false
			}
		}
		for l := range cols {
			c.prev[l] = cols[l][to-1]
		}
		c.any = true
		from = to
	}
	return true
}

// diffs sets k[i] to the first level where entry from+i differs from the one
// before it (entry from: from prev, or at level 0 without any), or to the
// number of levels.
func diffs(k []uint8, cols [][]int64, prev []int64, any bool, from int) {
	for i := range k {
		k[i] = uint8(len(cols))
	}
	for l := len(cols) - 1; l >= 0; l-- {
		col := cols[l][from : from+len(k)]
		last := prev[l]
		level := uint8(l)
		for i, x := range col {
			d := k[i]
			if x != last {
				d = level
			}
			k[i] = d
			last = x
		}
	}
	if !any && len(k) > 0 {
		k[0] = 0
	}
}

func (c *counter) noteRepeat(cols [][]int64, i int) {
	if c.repeated == nil {
		c.repeated = make([]int64, len(cols))
		for l := range cols {
			c.repeated[l] = cols[l][i]
		}
	}
}

// count makes the first pass over records [from, to), which are in order and
// follow those before from.
func (s *store) count(kinds string, from, to int64) []int64 {
	c := newCounter(kinds)
	if from > 0 {
		c.any = true
		s.at(from-1, c.prev)
	}
	if s.pack.words == 1 && from < to && len(kinds) > 0 {
		s.countKeys(c, from, to)
		return c.hist
	}
	r := s.reader(from, to)
	var b Batch
	for n, _ := r.next(&b); n > 0; n, _ = r.next(&b) {
		if !c.add(b.Coords, n) {
			panic("BUG: coo: sorted entries are not in order")
		}
	}
	return c.hist
}

// countKeys counts keys of one word: the highest bit in which neighbours differ
// tells the level.
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
	first := !c.any
	for l, x := range c.prev {
		last |= uint64(x) << s.pack.shift[l]
	}
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
		if first && n > 0 { // it was compared with nothing
			hist[bits.Len64(recs[0])]--
			c.hist[0]++
			first = false
		}
	}
	for n, h := range hist {
		c.hist[level[n]] += h
	}
}

// counts are the coordinates of each level from the histogram; those of
// entries that differ nowhere count where repeats stay.
func counts(kinds string, hist []int64) []int64 {
	depth := tcs.Depths(kinds)
	n := make([]int64, len(kinds))
	for l := range n {
		for k := 0; k <= depth[l]; k++ {
			n[l] += hist[k]
		}
	}
	return n
}
