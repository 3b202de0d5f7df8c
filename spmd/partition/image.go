package partition

import "slices"

// Image says that an axis has the ranges of another tensor's ordered axis, whose coordinates its
// modes share: in each range it has the coordinates of the smallest box that holds the tuples
// there, so that ranges overlap.
type Image struct {
	Of    *Axis   // which is ordered
	Sizes []int64 // of its modes
	// for each of the modes of the axis that is the image, which of Of.Modes has its coordinates
	Shows []int
}

// Overlaps tells whether pieces may have coordinates in common.
func (p *Partition) Overlaps() bool {
	return slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Image != nil })
}

// bound sets the ranges of the modes of the image in a box to those of range i.
func (x *Image) bound(modes []int, i int64, box [][2]int64) {
	own := x.Of.Bounds(i, x.Sizes)
	for k, m := range modes {
		box[m] = own[x.Shows[k]]
	}
}
