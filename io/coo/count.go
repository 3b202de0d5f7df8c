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
	levels := len(cols)
	i := 0
	if n == 0 {
		return true
	}
	if !c.any {
		c.any = true
		c.hist[0]++
		i = 1
	} else if k := c.diff(cols, 0); k < 0 {
		return false
	} else {
		c.hist[k]++
		if k == levels {
			c.noteRepeat(cols, 0)
		}
		i = 1
	}
next:
	for ; i < n; i++ {
		for l := range cols {
			x, y := cols[l][i-1], cols[l][i]
			if x != y {
				if y < x {
					return false
				}
				c.hist[l]++
				continue next
			}
		}
		c.hist[levels]++
		c.noteRepeat(cols, i)
	}
	for l := range cols {
		c.prev[l] = cols[l][n-1]
	}
	return true
}

func (c *counter) noteRepeat(cols [][]int64, i int) {
	if c.repeated == nil {
		c.repeated = make([]int64, len(cols))
		for l := range cols {
			c.repeated[l] = cols[l][i]
		}
	}
}

// diff is the first level where entry i differs from prev; -1 if it is before it.
func (c *counter) diff(cols [][]int64, i int) int {
	for l := range cols {
		if x := cols[l][i]; x != c.prev[l] {
			if x < c.prev[l] {
				return -1
			}
			return l
		}
	}
	return len(cols)
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
