package planview

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"distaff/spmd/forecast"
)

// pixels rounds a length to hundredths of a pixel, so that numbers in the page are short.
func pixels(x float64) float64 { return math.Round(x*100) / 100 }

// axis is one direction of a picture: a mode of the tensor.
type axis struct {
	name string
	size int64
	cut  int // index of the mode's cuts in PlannedTensor.Axes; -1 if the mode is not cut
	cuts []int64
}

// axisOf returns the axis of a mode.
func axisOf(t forecast.PlannedTensor, mode int) axis {
	a := axis{t.Vars[mode], t.Sizes[mode], -1, []int64{0, t.Sizes[mode]}}
	k := slices.IndexFunc(t.Axes,
		func(c forecast.PlannedAxis) bool { return slices.Contains(c.Modes, mode) })
	if k >= 0 {
		a.cut, a.cuts = k, t.Axes[k].Cuts
	}
	return a
}

// axesOf returns the axes of all modes.
func axesOf(t forecast.PlannedTensor) []axis {
	var list []axis
	for m := range t.Vars {
		list = append(list, axisOf(t, m))
	}
	return list
}

// ranges returns the number of ranges that the axis is cut into.
func (a axis) ranges() int { return len(a.cuts) - 1 }

// says formats range k of the axis: "i 0:10".
func (a axis) says(k int) string { return fmt.Sprintf("%s %d:%d", a.name, a.cuts[k], a.cuts[k+1]) }

// cutsOf returns the values of axis.cut of a list of axes, each once, in the order of the axes.
// Axes that are not cut have no value.
func cutsOf(list []axis) (cuts []int) {
	for _, a := range list {
		if a.cut >= 0 && !slices.Contains(cuts, a.cut) {
			cuts = append(cuts, a.cut)
		}
	}
	return cuts
}

// blockAt returns the number of a block of tensor t. Blocks are numbered in row-major order of
// their ranges along the axes of t. ranges maps the index of an axis to the block's range along
// this axis. If an axis is not in the map, the range is 0.
func blockAt(t forecast.PlannedTensor, ranges map[int]int) int {
	n := 0
	for k, a := range t.Axes {
		n = n*(len(a.Cuts)-1) + ranges[k]
	}
	return n
}

// span is a part of an axis that a picture draws for one range. If not all ranges are drawn, it
// represents several.
type span struct {
	at       int // the number of the range
	from, to float64
}

// spans divides a length in pixels among the ranges of the axis. If there are more than n ranges,
// spans divides the length into n equal parts. Each part shows the range at the part's middle, and
// sampled is true.
func (a axis) spans(n int, length float64) (list []span, sampled bool) {
	total := float64(max(a.size, 1))
	if a.ranges() <= n {
		for k := range a.ranges() {
			list = append(list, span{k, pixels(float64(a.cuts[k]) / total * length),
				pixels(float64(a.cuts[k+1]) / total * length)})
		}
		return list, false
	}
	for k := range n {
		middle := int64((float64(k) + 0.5) / float64(n) * total)
		at := sort.Search(len(a.cuts), func(i int) bool { return a.cuts[i] > middle }) - 1
		list = append(list, span{min(max(at, 0), a.ranges()-1),
			pixels(float64(k) / float64(n) * length),
			pixels(float64(k+1) / float64(n) * length)})
	}
	return list, true
}
