package main

import (
	"fmt"
	"slices"
	"sort"

	"distaff/spmd"
)

// What the page draws: a picture is a square at most, and has no more cells than a
// browser shows at once.
const (
	gridSide   = 320
	gridVector = 56 // the width of what has one mode
	drawnCells = 1 << 14
	titled     = 1 << 12 // cells that say what they are where the mouse is
	minOutline = 8       // the narrowest cell, in pixels, that has an outline
)

// blockGrid is a tensor's blocks as a picture: its rows from top to bottom and its columns from
// left to right.
type blockGrid struct {
	Title, Sizes  string
	Rows, Cols    string // the variables of the axes
	Width, Height int
	Cells         []gridCell
	Outlined      bool
	Note          string
}

type gridCell struct {
	X, Y, W, H float64
	Fill, Ink  string
	Label      string // the rank, where there is room for it, at (CX, CY)
	CX, CY     float64
	Title      string
}

// axis is one direction of a picture: a mode of the tensor.
type axis struct {
	name string
	size int64
	loop int // of the split variable, in Planned.Loops; -1 where nothing cuts the mode
	cuts []int64
}

// axisOf is the axis of a mode.
func axisOf(p *spmd.Planned, t spmd.PlannedTensor, mode int) axis {
	a := axis{t.Vars[mode], t.Sizes[mode], -1, []int64{0, t.Sizes[mode]}}
	if k := slices.IndexFunc(p.Loops, func(l spmd.PlannedLoop) bool { return l.Var == a.name }); k >= 0 {
		a.loop, a.cuts = k, p.Loops[k].Cuts
	}
	return a
}

// axes are the two modes that a picture shows, in their order: those that are cut
// before others. What has one mode, or none, has fewer.
func axes(p *spmd.Planned, t spmd.PlannedTensor) (shown, hidden []axis) {
	var all []axis
	for m := range t.Vars {
		all = append(all, axisOf(p, t, m))
	}
	var chosen []int
	for _, cut := range []bool{true, false} {
		for m, a := range all {
			if len(chosen) < 2 && a.loop >= 0 == cut {
				chosen = append(chosen, m)
			}
		}
	}
	for m, a := range all {
		if slices.Contains(chosen, m) {
			shown = append(shown, a)
		} else {
			hidden = append(hidden, a)
		}
	}
	return shown, hidden
}

// span is a part of an axis that a picture draws: a range, or what stands for many.
type span struct {
	at       int // the range
	from, to float64
}

// spans are n ranges of the axis or fewer, over that many pixels. Of more ranges those are
// drawn that lie at even distances.
func (a axis) spans(n, pixels int) (list []span, sampled bool) {
	total := float64(max(a.size, 1))
	if len(a.cuts)-1 <= n {
		for k := range len(a.cuts) - 1 {
			list = append(list, span{k, float64(a.cuts[k]) / total * float64(pixels), float64(a.cuts[k+1]) / total * float64(pixels)})
		}
		return list, false
	}
	for k := range n {
		middle := int64((float64(k) + 0.5) / float64(n) * total)
		at := sort.Search(len(a.cuts), func(i int) bool { return a.cuts[i] > middle }) - 1
		width := float64(pixels) / float64(n)
		list = append(list, span{min(max(at, 0), len(a.cuts)-2), float64(k) * width, float64(k+1) * width})
	}
	return list, true
}

// grid draws tensor t.
func grid(p *spmd.Planned, t spmd.PlannedTensor) blockGrid {
	shown, hidden := axes(p, t)
	none := axis{size: 1, loop: -1, cuts: []int64{0, 1}}
	g := blockGrid{Title: tensorLabel(t), Sizes: extents(t.Sizes), Width: gridSide, Height: gridSide}
	rows, cols := none, none
	if len(shown) > 0 {
		rows, g.Rows = shown[0], shown[0].name
	} else {
		g.Height = gridVector
	}
	if len(shown) > 1 {
		cols, g.Cols = shown[1], shown[1].name
	} else {
		g.Width = gridVector
	}
	nr, nc := min(len(rows.cuts)-1, g.Height), min(len(cols.cuts)-1, g.Width)
	for nr*nc > drawnCells {
		if nr > nc {
			nr = (nr + 1) / 2
		} else {
			nc = (nc + 1) / 2
		}
	}
	down, fewer := rows.spans(nr, g.Height)
	across, fewerAcross := cols.spans(nc, g.Width)
	g.note(p, t, hidden)
	if fewer || fewerAcross {
		g.Note += fmt.Sprintf("; drawn: %s, at even distances", grouped(int64(len(down)*len(across))))
	}
	place := blockNumber(p, t)
	colors := newRankColors(p.Ranks)
	narrowest := float64(gridSide)
	for _, y := range down {
		for _, x := range across {
			if rows.loop >= 0 && rows.loop == cols.loop && y.at != x.at {
				continue // A(i,i) has blocks on the diagonal alone
			}
			c := gridCell{X: x.from, Y: y.from, W: x.to - x.from, H: y.to - y.from}
			if c.W <= 0 || c.H <= 0 {
				continue
			}
			owner := t.Owners[place(map[int]int{rows.loop: y.at, cols.loop: x.at})]
			c.Fill, c.Ink = colors.of(owner)
			narrowest = min(narrowest, c.W, c.H)
			if label := fmt.Sprint(owner); c.W >= float64(8*len(label)+6) && c.H >= 12 {
				c.Label, c.CX, c.CY = label, (x.from+x.to)/2, (y.from+y.to)/2+4
			}
			if len(down)*len(across) <= titled {
				c.Title = rows.says(y.at) + cols.says(x.at) + "at rank " + fmt.Sprint(owner)
			}
			g.Cells = append(g.Cells, c)
		}
	}
	g.Outlined = narrowest >= minOutline
	if len(g.Cells) == 0 {
		g.Height, g.Note = 0, g.Note+", empty"
	}
	return g
}

// says is a range of the axis in words.
func (a axis) says(k int) string {
	if a.name == "" {
		return ""
	}
	return fmt.Sprintf("%s %d:%d, ", a.name, a.cuts[k], a.cuts[k+1])
}

// note says what the picture does not show.
func (g *blockGrid) note(p *spmd.Planned, t spmd.PlannedTensor, hidden []axis) {
	g.Note = blocksOf(t.Blocks)
	if t.Broadcast && p.Ranks > 1 {
		g.Note += ", broadcast to all ranks"
	}
	for _, a := range hidden {
		if a.loop >= 0 && len(a.cuts) > 2 {
			g.Note += fmt.Sprintf("; drawn: those of %s %d:%d", a.name, a.cuts[0], a.cuts[1])
		}
	}
}

// blockNumber tells the number of a block from its ranges, by loop; those that are not given are the
// first. Blocks are numbered row-major over the split variables of the tensor's modes.
func blockNumber(p *spmd.Planned, t spmd.PlannedTensor) func(at map[int]int) int {
	var loops []int
	for m := range t.Vars {
		if k := axisOf(p, t, m).loop; k >= 0 && !slices.Contains(loops, k) {
			loops = append(loops, k)
		}
	}
	return func(at map[int]int) int {
		n := 0
		for _, k := range loops {
			n = n*(len(p.Loops[k].Cuts)-1) + at[k]
		}
		return n
	}
}

// bar is some neighbouring ranks in a profile: the least of their values, and the most.
type bar struct {
	X, W        float64
	Wide        float64 // the width of what is drawn of the most, so that it is seen
	Most, Least float64 // heights
	Top, Middle float64 // their upper ends
	Fill        string
	Title       string
}

// A profile is this wide and high, and has this many bars at most.
const profileWidth, profileHeight, profileBars = 256, 32, 256

// profile draws a value of every rank, from rank 0 on the left. The highest bar is the most.
func profile(values []int64, show func(int64) string) []bar {
	colors := newRankColors(len(values))
	n := min(len(values), profileBars)
	most := max(slices.Max(values), 1)
	var bars []bar
	for k := range n {
		lo, hi := k*len(values)/n, (k+1)*len(values)/n
		part := values[lo:hi]
		height := func(v int64) float64 { return float64(v) / float64(most) * profileHeight }
		b := bar{X: float64(k) * profileWidth / float64(n), W: profileWidth / float64(n), Most: height(slices.Max(part)), Least: height(slices.Min(part))}
		b.Wide = max(b.W, 2)
		b.Top, b.Middle = profileHeight-b.Most, profileHeight-b.Least
		b.Fill, _ = colors.of((lo + hi - 1) / 2)
		if hi-lo == 1 {
			b.Title = fmt.Sprintf("rank %d: %s", lo, show(part[0]))
		} else {
			b.Title = fmt.Sprintf("ranks %d to %d: %s to %s", lo, hi-1, show(slices.Min(part)), show(slices.Max(part)))
		}
		bars = append(bars, b)
	}
	return bars
}
