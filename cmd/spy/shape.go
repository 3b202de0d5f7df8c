package spy

import "distaff/io/bins"

// maxRatio is the largest ratio of a view's long side to its short side. If the sizes of a matrix
// have a larger ratio, its view has the ratio maxRatio. A bin may then cover fewer coordinates in
// the short mode than in the long mode.
const maxRatio = 3

// extents returns the lengths of a view's sides: the side that goes down, and the side that goes
// across. size has the sizes of the view's two modes, and longest is the length of the longer side.
// proportional is true if the lengths have the same ratio as the sizes. It is false if that ratio
// would be larger than maxRatio.
func extents(size [2]int64, longest int) (sides [2]int, proportional bool) {
	ratio := float64(max(size[0], 1)) / float64(max(size[1], 1))
	long, short := 0, 1
	if ratio < 1 {
		long, short, ratio = 1, 0, 1/ratio
	}
	proportional = ratio <= maxRatio
	sides[long] = longest
	sides[short] = max(1, int(float64(longest)/min(ratio, maxRatio)+0.5))
	return sides, proportional
}

// width returns the number of coordinates that a bin covers in each mode. size has the sizes of the
// view's two modes. longest is the largest number of bins on the longer side of the view. In a
// proportional view, the bins are equally wide in both modes.
func width(size [2]int64, longest int) [2]int64 {
	sides, proportional := extents(size, longest)
	var w [2]int64
	for k := range w {
		w[k] = max(1, (size[k]+int64(sides[k])-1)/int64(sides[k]))
	}
	if proportional {
		w[0] = max(w[0], w[1])
		w[1] = w[0]
	}
	return w
}

// Views returns the views whose entries must be counted for a picture of the given pairs of modes.
// longest returns the largest number of bins on the longer side of a view with the given sizes.
func Views(modes [][2]int, longest func(size [2]int64) int) []bins.View {
	views := make([]bins.View, len(modes))
	for k, m := range modes {
		views[k] = bins.View{Modes: m, Width: func(size [2]int64) [2]int64 {
			if m[0] >= 0 {
				return width(size, longest(size))
			}
			n := int64(longest(size))
			return [2]int64{1, max(1, (size[1]+n-1)/n)}
		}}
	}
	return views
}
