package place

import (
	"fmt"
	"slices"
	"strings"
)

// Ordered says how the entries of a tensor are cut along its storage order: into ranges that follow
// one another in it. An entry is known by its tuple, the coordinates of Modes.
type Ordered struct {
	Modes []int        // the modes of the outermost levels, in storage order, down to the innermost level that Cuts names
	Cuts  []OrderedCut // each cuts every range of those before it, the coarsest first
}

// OrderedCut cuts a range into N: by the positions of a level, whose numbers then differ by one at
// most, or by the coordinates of the outermost mode.
type OrderedCut struct {
	N     int64
	Level int // positions of this level (0 is the outermost); -1: coordinates of Modes[0]
}

// Ranges is the number of ranges.
func (o *Ordered) Ranges() int64 {
	n := int64(1)
	for _, c := range o.Cuts {
		n *= c.N
	}
	return n
}

// Equal tells whether two tensors of one storage order are cut alike.
func (o *Ordered) Equal(p *Ordered) bool {
	if o == nil || p == nil {
		return o == p
	}
	return slices.Equal(o.Modes, p.Modes) && slices.Equal(o.Cuts, p.Cuts)
}

// nonzeros adds a dimension of the machine, of so many coordinates, that cuts the positions of the
// innermost of these modes, or says why it cannot. The modes of the levels above are to be among
// these, or in ranges that the dimensions before cut along the storage order.
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
			return fmt.Sprintf("the stored entries of %s are cut behind those of %s, which is stored inside of it", inner, l.Modes[order[last]])
		}
	}
	extents := h.Machine.Dims()
	for k := range h.Dims {
		d := &h.Dims[k]
		if d.Kind != Cut || !slices.Contains(o.Modes, d.Mode) {
			continue
		}
		if d.Mode != order[0] {
			return fmt.Sprintf("the coordinates of %s are cut before the stored entries of %s; of the modes whose entries are cut only the outermost stored one, %s, may be", l.Modes[d.Mode], inner, outermost)
		}
		d.Kind = Nonzeros
		o.Cuts = append(o.Cuts, OrderedCut{N: extents[k], Level: -1})
		covered = append(covered, d.Mode)
	}
	for _, m := range o.Modes {
		if !slices.Contains(covered, m) {
			return fmt.Sprintf("the stored entries of %s are cut, and %s, which is stored outside of it, is not; want ~(%s)", inner, l.Modes[m], l.names(o.Modes))
		}
	}
	o.Cuts = append(o.Cuts, OrderedCut{N: n, Level: level})
	h.ordered = o
	return ""
}

// coordinates says why a mode cannot be cut by coordinates behind the dimensions so far.
func (h *Home) coordinates(l *Level, mode int) (why string) {
	if h.ordered == nil || !slices.Contains(h.ordered.Modes, mode) {
		return ""
	}
	return fmt.Sprintf("the coordinates of %s are cut behind its stored entries", l.Modes[mode])
}

func (l *Level) names(modes []int) string {
	names := make([]string, len(modes))
	for k, m := range modes {
		names[k] = l.Modes[m]
	}
	return strings.Join(names, ",")
}
