// Package bins counts the entries of a stream in the bins of a grid over its coordinates. A
// picture of a tensor's entries can be drawn from the counts.
//
// # Model
//
// A grid is a view along one or two modes. In each of these modes, a bin has Width coordinates,
// counted from coordinate 0. In the other modes, a bin has all coordinates. All bins of a grid
// have the same width, so counts can be compared; the last bin may extend past the size. Counts
// are exact. Every entry of the stream is counted: stored zeros too, and a repeated coordinate
// each time.
//
// The stream is read once. If the sizes are unknown until the end of the stream (a .tns file),
// bins start with one coordinate each. When a coordinate is past the last bin, pairs of
// neighbors are merged. At the end, bins are merged to the requested width, or to the next
// multiple of their width.
//
// The package is part of io because it depends only on streams. It does not draw, and depends
// neither on picture formats nor on terminals.
//
// # Files
//
//	bins.go   views, options, and the pass over the stream
//	axis.go   bins along one mode
//	grid.go   counts, and merging of bins
package bins

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// View selects one or two modes of a tensor, and the width of the bins along them.
type View struct {
	// Modes are the vertical and the horizontal mode. If the vertical mode is -1, the grid has
	// one row.
	Modes [2]int
	// Width returns the number of coordinates of a bin in the vertical and the horizontal mode.
	// size has the sizes of these modes (1 for a missing mode). If the sizes are known only at the
	// end of the stream, bins may become somewhat wider.
	Width func(size [2]int64) [2]int64
}

// Options are the options of Count.
type Options struct {
	Name string // the file's name, for errors
	// Most is the number of bins along a mode while its size is unknown. It should be several times
	// the number of bins that is wanted in the end, so that merging gives about the requested
	// width.
	Most    int
	Limit   *tcs.Limit   // counts the memory of the grids; may be nil
	Stopped func() error // called from time to time; an error stops Count; may be nil
}

// Counted is the result of Count.
type Counted struct {
	Dims    []int64 // final sizes
	Entries int64
	Grids   []*Grid // one for each view
}

// Count reads the stream to its end and counts its entries in a grid for every view. The memory
// of the grids stays counted by opt.Limit.
func Count(in coo.Stream, views []View, opt Options) (*Counted, error) {
	dims, exact := in.Dims()
	c := &counter{opt: opt, views: views, modes: make([]*axis, len(dims))}
	c.begin(dims, exact)
	if err := c.reserve(); err != nil {
		return nil, err
	}
	out := &Counted{}
	var b coo.Batch
	for {
		if opt.Stopped != nil {
			if err := opt.Stopped(); err != nil {
				return nil, err
			}
		}
		err := in.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if b.N == 0 {
			continue
		}
		if err := c.add(&b); err != nil {
			return nil, err
		}
		out.Entries += int64(b.N)
	}
	out.Dims, _ = in.Dims()
	for k, v := range views {
		g := c.grids[k]
		g.Size = sizes(v, out.Dims)
		for side, a := range c.axes[k] {
			if a.grows {
				c.fit(a, g.Size[side]-1)
			}
		}
		g.cut()
		out.Grids = append(out.Grids, g.Coarsen(c.factor(k)))
	}
	return out, nil
}

// factor returns, for each side of grid k, the number of neighboring bins that must be merged into
// one, so that a bin is at least as wide as the view requests. The factor is 1 for a side whose
// size was known from the start, because its bins already have this width. If the view requests
// equal widths for two sides of unknown sizes, the factors give equal widths.
func (c *counter) factor(k int) [2]int {
	g, factor := c.grids[k], [2]int{1, 1}
	want := c.views[k].Width(g.Size)
	for side, a := range c.axes[k] {
		if !a.grows {
			continue
		}
		unit := g.Width[side]
		if want[0] == want[1] {
			unit = max(g.Width[0], g.Width[1])
		}
		factor[side] = int((want[side] + unit - 1) / unit * unit / g.Width[side])
	}
	return factor
}

func sizes(v View, dims []int64) [2]int64 {
	s := [2]int64{1, 1}
	for side, m := range v.Modes {
		if m >= 0 {
			s[side] = dims[m]
		}
	}
	return s
}

// counter is the state of Count.
type counter struct {
	opt   Options
	views []View
	modes []*axis    // for each mode that a view shows, one of its axes; otherwise nil
	all   []*axis    // all axes, without duplicates
	axes  [][2]*axis // for each view, the vertical and the horizontal axis
	grids []*Grid
}

// begin creates the axes and the grids.
func (c *counter) begin(dims []int64, exact bool) {
	for _, v := range c.views {
		size := sizes(v, dims)
		width := [2]int64{1, 1}
		if exact {
			width = v.Width(size)
		}
		var pair [2]*axis
		for side, m := range v.Modes {
			pair[side] = c.axis(m, size[side], width[side], exact || m < 0)
		}
		c.axes = append(c.axes, pair)
		c.grids = append(c.grids, &Grid{Modes: v.Modes, Size: size,
			Width: [2]int64{pair[0].width, pair[1].width},
			Bins:  [2]int{pair[0].bins, pair[1].bins}})
	}
}

// axis returns an axis for a mode of the given size, with bins of the given width. If there is
// already an axis of this mode and width, it returns that one, so that grids share it. If exact is
// false, the size is only a lower bound and the axis can grow.
func (c *counter) axis(mode int, size, width int64, exact bool) *axis {
	for _, a := range c.all {
		if a.mode == mode && a.width == width {
			return a
		}
	}
	a := newAxis(mode, size, width, exact, c.opt.Most)
	c.all = append(c.all, a)
	if mode >= 0 && c.modes[mode] == nil {
		c.modes[mode] = a
	}
	return a
}

func (c *counter) reserve() error {
	cells := 0.0
	for _, g := range c.grids {
		cells += float64(g.Bins[0]) * float64(g.Bins[1])
	}
	bytes := int64(min(8*cells, 1<<62)) + int64(len(c.all))*4*coo.BatchSize
	err := c.opt.Limit.Reserve(bytes, fmt.Sprintf("counting in %s", tensor.Count(int64(cells), "bin")))
	var full *tcs.MemoryError
	if errors.As(err, &full) && slices.ContainsFunc(c.all, func(a *axis) bool { return a.grows }) {
		full.Hint = "with sizes from -d, fewer bins are needed"
	}
	if err != nil {
		return err
	}
	for _, g := range c.grids {
		g.Counts = make([]int64, g.Bins[0]*g.Bins[1])
	}
	return nil
}

// add counts the entries of a batch.
func (c *counter) add(b *coo.Batch) error {
	for m, a := range c.modes {
		if a == nil {
			continue
		}
		last, err := a.check(b.Coords[m][:b.N], c.opt.Name)
		if err != nil {
			return err
		}
		if a.grows {
			c.fit(a, last)
		}
	}
	for _, a := range c.all {
		if a.mode >= 0 {
			a.place(b.Coords[a.mode][:b.N])
		}
	}
	for k, g := range c.grids {
		down, across := c.axes[k][0].at, c.axes[k][1].at
		switch {
		case c.axes[k][0].mode < 0:
			for _, j := range across[:b.N] {
				g.Counts[j]++
			}
		default:
			n := g.Bins[1]
			across = across[:b.N]
			for e, i := range down[:b.N] {
				g.Counts[int(i)*n+int(across[e])]++
			}
		}
	}
	return nil
}

// fit doubles the width of the bins of an axis until coordinate last is in a bin.
func (c *counter) fit(a *axis, last int64) {
	for last/a.width >= int64(a.bins) {
		a.width *= 2
		for k, g := range c.grids {
			for side := range g.Modes {
				if c.axes[k][side] == a {
					g.fold(side)
				}
			}
		}
	}
}
