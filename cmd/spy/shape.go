package spy

import "distaff/io/bins"

// maxRatio is how many times as long as the other a side of a view is at most: a matrix that is
// taller or wider than that is drawn so, with bins that have fewer coordinates in its short mode.
const maxRatio = 3

// extents are the sides of a view, down and across, the longer one of that length; proportional
// tells whether their ratio is that of the sizes.
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

// width is how many coordinates a bin has where a view has room for as many bins as its sides
// are long. It is the same for both modes of a view that is proportional.
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

// Views are what to count for a picture of these modes in which a view's longer side is at most
// longest(size) bins.
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
