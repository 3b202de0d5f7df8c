package place

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Ordered says how the entries of a tensor are cut along its storage order into consecutive ranges.
// The tuple of an entry is its coordinates in Modes.
type Ordered struct {
	// the modes of the outermost levels, in storage order, down to the innermost level that Cuts
	// names
	Modes []int
	Cuts  []OrderedCut // the coarsest first; each cuts every range of the cuts before it
}

// OrderedCut cuts a range into N parts. If Level is -1, it divides the coordinates of the outermost
// mode. Otherwise it divides the positions of a level, so that the numbers of positions in the
// parts differ by at most one.
type OrderedCut struct {
	N     int64
	Level int // positions of this level (0 is the outermost); -1: coordinates of Modes[0]
}

// Ranges returns the number of ranges.
func (o *Ordered) Ranges() int64 {
	n := int64(1)
	for _, c := range o.Cuts {
		n *= c.N
	}
	return n
}

// Even returns the tuples of coordinates where the ranges begin if the entries are spread evenly
// over all coordinates. sizes are the sizes of Modes. The first and the last tuple are nil, for the
// two ends.
//
// A range of rows may be divided into parts. If there are several modes, the first part begins at
// coordinate 0 of the innermost mode. A later part might begin at coordinate 0 too. It begins at
// coordinate 1 instead, if the range has rows and the mode has this coordinate. The part then
// begins within a row, so that neighbouring parts share this row.
func (o *Ordered) Even(sizes []int64) [][]int64 {
	rows, parts := []int64{0, sizes[0]}, int64(1)
	for _, c := range o.Cuts {
		if c.Level < 0 || c.Level == 0 && len(o.Modes) > 1 { // positions of the outermost level are rows
			rows = CutEvenly(rows, c.N)
		} else {
			parts *= c.N
		}
	}
	keys := [][]int64{nil}
	for k := range len(rows) - 1 {
		for part := range parts {
			if k > 0 || part > 0 {
				keys = append(keys, within(rows[k], rows[k+1]-rows[k], part, parts, sizes))
			}
		}
	}
	return append(keys, nil)
}

// within returns the tuple where a part begins, if the n rows [first, first+n) are divided into
// equal parts. parts is the number of parts, and index is the part's index. sizes has the sizes of
// the modes.
func within(first, n, index, parts int64, sizes []int64) []int64 {
	key := make([]int64, len(sizes))
	key[0] = first
	if index == 0 || n == 0 {
		return key
	}
	left := index // of a coordinate of the level before, in parts
	for m := range key {
		extent := sizes[m]
		if m == 0 {
			extent = n
		}
		high, low := bits.Mul64(uint64(left), uint64(extent))
		whole, rest := bits.Div64(high, low, uint64(parts)) // left < parts
		key[m] += int64(whole)
		left = int64(rest)
	}
	if last := len(key) - 1; last > 0 && key[last] == 0 && sizes[last] > 1 {
		key[last] = 1
	}
	return key
}

// Equal reports whether o and p cut tensors with the same storage order in the same way.
func (o *Ordered) Equal(p *Ordered) bool {
	if o == nil || p == nil {
		return o == p
	}
	return slices.Equal(o.Modes, p.Modes) && slices.Equal(o.Cuts, p.Cuts)
}

// nonzeros adds a dimension of the machine that divides the stored entries of a tensor into n equal
// parts. The dimension divides the positions of one level: the innermost level whose mode is in
// modes. order lists the tensor's modes in storage order.
//
// Each level above this level must be divided too. The level's mode must be in modes, or earlier
// dimensions must divide it along the storage order. For the outermost mode, an earlier dimension
// may also divide the coordinates. If the division is impossible, nonzeros returns the reason.
// Otherwise it returns "".
func (h *Home) nonzeros(l *Level, modes, order []int, n int64) (why string) {
	level := 0
	for _, m := range modes {
		level = max(level, slices.Index(order, m))
	}
	inner, outermost := l.Modes[order[level]], l.Modes[order[0]]
	o := &Ordered{Modes: slices.Clone(order[:level+1])}
	covered := slices.Clone(modes)
	if h.ordered != nil {
		o.Cuts = h.ordered.Cuts
		covered = append(covered, h.ordered.Modes...)
		if last := o.Cuts[len(o.Cuts)-1].Level; last > level {
			return fmt.Sprintf(
				"the placement partitions the stored entries of %s after those of %s, which "+
					"is stored inside it; want the order in which they are stored", inner,
				l.Modes[order[last]])
		}
	}
	extents := h.Machine.Dims()
	for k := range h.Dims {
		d := &h.Dims[k]
		if d.Kind != Cut || !slices.Contains(o.Modes, d.Mode) {
			continue
		}
		if d.Mode != order[0] {
			return fmt.Sprintf(
				"the placement partitions the coordinates of %s before the stored entries of "+
					"%s; of the modes whose entries are partitioned, only the outermost "+
					"stored one, %s, may come first", l.Modes[d.Mode], inner, outermost)
		}
		d.Kind = Nonzeros
		o.Cuts = append(o.Cuts, OrderedCut{N: extents[k], Level: -1})
		covered = append(covered, d.Mode)
	}
	for _, m := range o.Modes {
		if !slices.Contains(covered, m) {
			return fmt.Sprintf(
				"the placement partitions the stored entries of %s but not %s, which is "+
					"stored outside it; want ~(%s)",
				inner, l.Modes[m], l.names(o.Modes))
		}
	}
	o.Cuts = append(o.Cuts, OrderedCut{N: n, Level: level})
	h.ordered = o
	return ""
}

// coordinates returns the reason why a mode cannot be partitioned by coordinates, or "" if it can
// be. The reason is that an earlier dimension of the machine already partitions the mode by its
// stored entries.
func (h *Home) coordinates(l *Level, mode int) (why string) {
	if h.ordered == nil || !slices.Contains(h.ordered.Modes, mode) {
		return ""
	}
	return fmt.Sprintf(
		"the placement partitions the coordinates of %s after its stored entries; want them "+
			"before", l.Modes[mode])
}

func (l *Level) names(modes []int) string {
	names := make([]string, len(modes))
	for k, m := range modes {
		names[k] = l.Modes[m]
	}
	return strings.Join(names, ",")
}
