package partition

import "slices"

// Image describes an axis whose ranges follow from the ranges of an ordered axis of another tensor.
// Each mode of this axis corresponds to a mode of the ordered axis, which has the same coordinates
// (see Shows). In corresponding modes, range i of this axis and range i of the ordered axis have
// the same bounds (see Axis.Bounds). Ranges of this axis may therefore overlap.
type Image struct {
	Of    *Axis   // the ordered axis
	Sizes []int64 // sizes of the modes of Of
	// for each mode of the image's axis, the index in Of.Modes of the mode that has the same
	// coordinates
	Shows []int
}

// Overlaps reports whether pieces may have coordinates in common.
func (p *Partition) Overlaps() bool {
	return slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Image != nil })
}

// bound sets box[m] to the coordinates of range i, for each mode m of modes, the modes of the
// image's axis.
func (x *Image) bound(modes []int, i int64, box [][2]int64) {
	own := x.Of.Bounds(i, x.Sizes)
	for k, m := range modes {
		box[m] = own[x.Shows[k]]
	}
}
