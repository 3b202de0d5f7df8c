package coo

import "distaff/io/tcs"

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

// counts returns the number of coordinates of each level from the histogram. Entries that differ
// nowhere count in levels that keep repeats.
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
