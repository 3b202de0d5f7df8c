package planview

import (
	"fmt"
	"slices"
	"strings"

	"distaff/spmd/forecast"
)

// layout places the ranks of a machine in a picture. The machine's first two dimensions are rows
// and columns. Each point of its other dimensions is a separate layer, next to the previous one.
// Ranks are numbered in row-major order over the dimensions.
//
// The ranks of a machine with one dimension are drawn as one row that is wrapped into lines. Ranks
// are drawn in the same way if the machine is not known, or if the number of its points is not the
// number of ranks.
type layout struct {
	dims []int64
	wrap int // length of a line of a machine with one dimension
	note string
	rows int
	cols int
}

// newLayout returns the layout of a plan's ranks.
func newLayout(p *forecast.Planned, wrap int) *layout {
	x := &layout{dims: p.Machine, wrap: wrap}
	points := int64(1)
	for _, n := range p.Machine {
		points *= n
	}
	if len(p.Machine) > 0 && points != int64(p.Ranks) {
		x.note = fmt.Sprintf("The machine %s has %s, so the ranks are drawn in a row.",
			times(p.Machine), countOf(points, "point"))
		x.dims = nil
	}
	if len(x.dims) == 0 {
		x.dims = []int64{int64(p.Ranks)}
	}
	if len(x.dims) == 1 {
		n := int(x.dims[0])
		x.cols, x.rows = min(n, wrap), (n+wrap-1)/wrap
		return x
	}
	x.rows, x.cols = int(x.dims[0]), int(x.dims[1])
	return x
}

// says returns the machine in words.
func (x *layout) says() string {
	switch {
	case len(x.dims) > 2:
		return fmt.Sprintf(
			"A machine of %s: rows are its first dimension, columns its second, and layers the points "+
				"of the others.", times(x.dims))
	case len(x.dims) == 2:
		return fmt.Sprintf("A machine of %s: rows are its first dimension and columns its second.",
			times(x.dims))
	case x.rows > 1:
		return fmt.Sprintf("A machine of one dimension, in lines of %d.", x.wrap)
	}
	return "A machine of one dimension."
}

// times prints the extents of a machine: 2x3.
func times(dims []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}

// point returns the coordinates of a rank.
func (x *layout) point(rank int) []int64 {
	at := make([]int64, len(x.dims))
	n := int64(rank)
	for d, extent := range slices.Backward(x.dims) {
		at[d], n = n%extent, n/extent
	}
	return at
}

// place returns the layer, the row and the column of a rank in the picture.
func (x *layout) place(rank int) (layer, row, col int) {
	if len(x.dims) == 1 {
		return 0, rank / x.wrap, rank % x.wrap
	}
	at := x.point(rank)
	for d, c := range at[2:] {
		layer = layer*int(x.dims[2+d]) + int(c)
	}
	return layer, int(at[0]), int(at[1])
}

// coordinates returns a rank's coordinates in words: " at (1,2)". It returns "" for a machine with
// one dimension.
func (x *layout) coordinates(rank int) string {
	if len(x.dims) == 1 {
		return ""
	}
	return " at (" + strings.ReplaceAll(strings.Trim(fmt.Sprint(x.point(rank)), "[]"), " ", ",") + ")"
}

// column returns the horizontal position of column col of a layer, measured in columns. The layers
// are drawn side by side, with half a column between two layers.
func (x *layout) column(layer, col int) float64 {
	return float64(layer)*(float64(x.cols)+.5) + float64(col)
}
