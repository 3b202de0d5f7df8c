// Package spy draws where the entries of a tensor lie: a picture of a matrix, of each pair of a
// tensor's modes, or of one mode as a strip. What is drawn are the counts of package
// io/bins; nothing here reads a file.
//
// The first coordinate is at the top left, as a matrix is written. A bin has the color, or the
// shade, of a class of counts; classes are even steps, or steps of equal ratio where the counts
// span more than two decades. A bin without an entry is left blank, and one with a single entry of
// millions is not.
//
// # Files
//
//	spy.go      views of a tensor; what a picture is made of
//	shape.go    the sides of a view, and how wide its bins are
//	classes.go  classes of counts
//	text.go     a picture in characters
//	marks.go    characters that stand for bins
//	scene.go    a picture as a drawing: SVG and PNG
//	ticks.go    coordinates along an axis
package spy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"distaff/io/bins"
	"distaff/io/tcs"
)

// Picture is what is to be drawn of a tensor.
type Picture struct {
	Name    string // of the file, without its folder
	Dims    []int64
	Entries int64
	Grids   []*bins.Grid
}

// New is the picture of what was counted in a file.
func New(name string, c *bins.Counted) *Picture {
	return &Picture{Name: tcs.Printable(filepath.Base(name)), Dims: c.Dims, Entries: c.Entries,
		Grids: c.Grids}
}

// Modes are the views of a tensor of that order: the modes that go down and across. For a vector
// there is one, a strip (-1 down); else one for each pair.
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

// summary tells sizes and entries.
func (p *Picture) summary() string {
	s := tcs.Count(p.Entries, "entry")
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

// bin tells how large a grid's bins are: "3 x 3 coordinates".
func bin(g *bins.Grid) string {
	if g.Modes[0] < 0 {
		return tcs.Count(g.Width[1], "coordinate")
	}
	return fmt.Sprintf("%d x %d coordinates", g.Width[0], g.Width[1])
}

// shorten cuts the middle out of a text of more than n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if n = max(n, 5); len(r) <= n {
		return s
	}
	head := (n - 3) / 2
	return string(slices.Concat(r[:head], []rune("..."), r[len(r)-(n-3-head):]))
}
