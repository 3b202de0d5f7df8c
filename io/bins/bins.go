// Package bins counts how many entries of a stream lie in each bin of a grid over
// its coordinates: the numbers behind a picture of where a tensor's entries are.
//
// # Model
//
// A grid is a view along one or two modes: a bin has Width coordinates in each of them, counted
// from coordinate 0, and all coordinates in the others. All bins of a grid are of
// one width, but for the last, which may reach past the size, so that no bin holds more
// only because it is wider. Counts are exact, and each entry of the stream counts: zeros
// that are stored too, and a repeated coordinate as often as it comes.
//
// The stream is read once. Where it does not know its sizes before its end (a .tns
// file), bins begin with one coordinate each, and neighbors are added together
// whenever a coordinate lies past the last bin; at the end they are added together
// to the width that is wanted, or to the next that is a multiple of theirs.
//
// The package belongs to io because it knows streams and nothing above them:
// it draws nothing, and knows neither formats of pictures nor terminals.
//
// # Files
//
//	bins.go   what is counted, and the pass over the stream
//	axis.go   bins along one mode
//	grid.go   counts, and coarser bins made of finer ones
package bins

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// View is what a grid shows.
type View struct {
	// Modes are the mode that goes down and the one that goes across; no mode (-1)
	// down makes a grid of one row.
	Modes [2]int
	// Width tells how many coordinates a bin is to have down and across, from the
	// sizes of the modes (1 where there is none). Where sizes are known only at the end of the
	// stream, bins may get somewhat wider.
	Width func(size [2]int64) [2]int64
}

// Options of a count.
type Options struct {
	Name string // of the file, for errors
	// Most is how many bins along a mode are held while its size is not known: several times as
	// many as Width asks for, so that what it asks for can be made of them about as wide.
	Most    int
	Limit   *tcs.Limit   // counts the memory of the grids; nil for no limit
	Stopped func() error // asked now and then whether to go on; nil: always
}

// Counted is what a pass over a stream counted.
type Counted struct {
	Dims    []int64 // final sizes
	Entries int64
	Grids   []*Grid // one a view
}

// Count reads the stream to its end and counts its entries in a grid for every view.
// The grids' memory stays counted against the limit.
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

// factor is how many bins to make one of, for the width that a view wants where its axes grew. Widths that
// are to be equal stay so.
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

// sizes are those of a view's modes.
func sizes(v View, dims []int64) [2]int64 {
	s := [2]int64{1, 1}
	for side, m := range v.Modes {
		if m >= 0 {
			s[side] = dims[m]
		}
	}
	return s
}

// counter is a count under way.
type counter struct {
	opt   Options
	views []View
	modes []*axis    // for each mode that some view shows, its first axis
	all   []*axis    // each once
	axes  [][2]*axis // a view, down and across
	grids []*Grid
}

// begin makes the grids.
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
		c.grids = append(c.grids, &Grid{Modes: v.Modes, Size: size, Width: [2]int64{pair[0].width, pair[1].width}, Bins: [2]int{pair[0].bins, pair[1].bins}})
	}
}

// axis is the axis of a mode with bins of that width, which views share.
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

// reserve takes the memory of the grids.
func (c *counter) reserve() error {
	cells := 0.0
	for _, g := range c.grids {
		cells += float64(g.Bins[0]) * float64(g.Bins[1])
	}
	bytes := int64(min(8*cells, 1<<62)) + int64(len(c.all))*4*coo.BatchSize
	err := c.opt.Limit.Reserve(bytes, fmt.Sprintf("counting in %s", tcs.Count(int64(cells), "bin")))
	var full *tcs.MemoryError
	if errors.As(err, &full) && slices.ContainsFunc(c.all, func(a *axis) bool { return a.grows }) {
		full.Hint = "with sizes from -d fewer bins are needed"
	}
	if err != nil {
		return err
	}
	for _, g := range c.grids {
		g.Counts = make([]int64, g.Bins[0]*g.Bins[1])
	}
	return nil
}

// add counts a batch.
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

// fit widens the bins of an axis that grows until coordinate last is in one.
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
