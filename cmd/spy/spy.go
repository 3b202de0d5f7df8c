// Package spy draws a picture of the positions of a tensor's entries: of a matrix, of each pair of
// a tensor's modes, or of one mode as a strip. It draws counts from package io/bins, and does not
// read files itself.
//
// The first coordinate is at the top left, as in a printed matrix. A bin has the color or the shade
// of its class of counts. Classes have equal widths, or equal ratios if the counts span more than
// two decades. A bin without an entry is blank. A bin with an entry never is, even if other bins
// have millions.
//
// # Files
//
//	spy.go      views of a tensor and the picture of them
//	shape.go    sides of a view and width of its bins
//	classes.go  classes of counts
//	text.go     a picture in characters
//	marks.go    characters for bins
//	scene.go    a picture as a drawing: SVG and PNG
//	ticks.go    coordinates along an axis
package spy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"distaff/io/bins"
	"distaff/io/tensor"
)

// Picture is the picture of a tensor.
type Picture struct {
	Name    string // name of the file, without its folder
	Dims    []int64
	Entries int64
	Grids   []*bins.Grid
}

// New returns the picture of the counts c of the file called name.
func New(name string, c *bins.Counted) *Picture {
	return &Picture{Name: tensor.Printable(filepath.Base(name)), Dims: c.Dims, Entries: c.Entries,
		Grids: c.Grids}
}

// Modes returns the axes of each view of a tensor of the given order: the mode on the vertical axis
// and the mode on the horizontal axis. A vector has one view, without a vertical axis: {-1, 0}.
func Modes(order int) [][2]int {
	if order == 1 {
		return [][2]int{{-1, 0}}
	}
	var all [][2]int
	for i := range order {
		for j := i + 1; j < order; j++ {
			all = append(all, [2]int{i, j})
		}
	}
	return all
}

// summary returns a phrase with the sizes of the tensor's modes and its number of entries.
func (p *Picture) summary() string {
	s := tensor.Count(p.Entries, "entry")
	space := 1.0
	sizes := make([]string, len(p.Dims))
	for m, d := range p.Dims {
		sizes[m] = fmt.Sprint(d)
		space *= float64(d)
	}
	if space > 0 {
		s += fmt.Sprintf(" (%.3g%% of all coordinates)", 100*float64(p.Entries)/space)
	}
	if len(sizes) == 1 {
		return "size " + sizes[0] + ", " + s
	}
	return strings.Join(sizes, " x ") + ", " + s
}

// bin returns the size of a grid's bins, such as "3 x 3 coordinates".
func bin(g *bins.Grid) string {
	if g.Modes[0] < 0 {
		return tensor.Count(g.Width[1], "coordinate")
	}
	return fmt.Sprintf("%d x %d coordinates", g.Width[0], g.Width[1])
}

// shorten cuts characters out of the middle of a text if it has more than n.
func shorten(s string, n int) string {
	r := []rune(s)
	if n = max(n, 5); len(r) <= n {
		return s
	}
	head := (n - 3) / 2
	return string(slices.Concat(r[:head], []rune("..."), r[len(r)-(n-3-head):]))
}
