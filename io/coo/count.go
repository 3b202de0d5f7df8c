package coo

import "distaff/io/tensor"

// counter counts entries in the first pass. It compares each entry with the entry before it.
// hist[k] is the number of entries for which level k is the outermost level with a different
// coordinate. The first entry counts in hist[0]. The last element of hist counts the entries that
// have the same coordinates as the entry before. A scalar has no levels, so its only element counts
// all entries.
//
// The number of positions of a level l follows from these counts. Let s be
// spec.Format.Sharing()[l]. Two entries share a position of level l if their coordinates agree in
// levels 0 to s. An entry gets a new position if it differs from the entry before in one of these
// levels, or if s is the number of levels. So the number of positions is the sum of hist[0] to
// hist[s].
type counter struct {
	hist     []int64
	prev     []int64
	any      bool
	repeated []int64 // the first coordinate that repeats; nil if none does
}

func newCounter(levels int) *counter {
	return &counter{hist: make([]int64, levels+1), prev: make([]int64, levels)}
}

// add counts n entries. It returns false if they are not in order.
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

// diffs compares each entry with the entry before it. It sets k[i] to the outermost level whose
// coordinate differs between entries start+i and start+i-1, or to the number of levels if the
// coordinates are equal. prev holds the coordinates of entry start-1. If hasPrev is false, there is
// no such entry, and k[0] becomes 0.
func diffs(k []uint8, cols [][]int64, prev []int64, hasPrev bool, start int) {
	for i := range k {
		k[i] = uint8(len(cols))
	}
	for l := len(cols) - 1; l >= 0; l-- {
		col := cols[l][start : start+len(k)]
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
	if !hasPrev && len(k) > 0 {
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

// counts returns the number of positions of each level, computed from the histogram of a counter.
// Levels that keep repeats have a position for each repeated entry.
func counts(f tensor.Format, hist []int64) []int64 {
	depth := f.Sharing()
	n := make([]int64, len(depth))
	for l := range n {
		for k := 0; k <= depth[l]; k++ {
			n[l] += hist[k]
		}
	}
	return n
}
