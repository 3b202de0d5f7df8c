package planview

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"distaff/io/picture"
	"distaff/spmd/forecast"
)

// Sizes in pixels: panelSide and panelLeast are the largest and the smallest length of a panel's
// side. The blocks of a panel have outlines if no side of a block is shorter than minOutline.
const (
	panelSide  = 320
	panelLeast = 28
	minOutline = 8
)

// drawnPanels is the largest number of slices of a tensor that are drawn.
const drawnPanels = 6

// blocks is the picture of a tensor's blocks, with a panel for each slice that is drawn.
type blocks struct {
	Title, Sizes, Note string
	Panels             []panel
}

// panel shows blocks of a tensor in a rectangle whose axes are two modes, or in a bar along one
// mode.
type panel struct {
	Label         string // a text alternative
	Slice         string // the ranges of split modes that the panel does not show
	Down, Across  string // the variables of the axes
	Width, Height float64
	Blocks        []drawnBlock
	Outlined      bool
	Picture       template.HTML
}

type drawnBlock struct {
	X, Y, W, H float64
	Owner      int
	Label      string // the owner, if there is room for it
}

// draw draws the panel. The colors of the blocks depend on ranks, the number of ranks.
func (g *panel) draw(ranks int) template.HTML {
	p := &picture.Picture{W: g.Width, H: g.Height, Title: g.Label}
	for _, b := range g.Blocks {
		fill := rankColor(b.Owner, ranks)
		p.Rect(b.X, b.Y, b.W, b.H, fill)
		if g.Outlined {
			a, c := picture.Point{X: b.X, Y: b.Y}, picture.Point{X: b.X + b.W, Y: b.Y + b.H}
			p.Path(picture.Paper, .5, nil, a, picture.Point{X: c.X, Y: a.Y}, c,
				picture.Point{X: a.X, Y: c.Y}, a)
		}
		if b.Label != "" {
			p.Write(picture.Text{X: b.X + b.W/2, Y: b.Y + b.H/2 + 4, Size: 12, Anchor: .5,
				Color: inkOn(fill), Text: b.Label})
		}
	}
	return template.HTML(p.Inline())
}

// drawing is the state while a picture is made.
type drawing struct {
	p          *forecast.Planned
	t          forecast.PlannedTensor
	down       axis // without a name if the tensor has fewer than two modes
	across     axis
	hidden     []axis
	most       int // largest number of blocks of a panel
	sampled    bool
	notToScale bool
}

// draw draws the blocks of a tensor. Each panel shows at most 64 blocks, or an equal share of
// `most` if the share is larger than 64.
func draw(p *forecast.Planned, t forecast.PlannedTensor, most int) blocks {
	axes := axesOf(t)
	x := &drawing{p: p, t: t}
	x.choose(axes)
	out := blocks{Title: Label(t), Sizes: extents(t.Sizes)}
	if slices.Contains(t.Sizes, 0) {
		out.Note = x.note() + ", empty"
		return out
	}
	all := x.slices()
	drawn := min(all, drawnPanels)
	x.most = max(most/int(drawn), 64)
	for n := range drawn {
		out.Panels = append(out.Panels, x.panel(x.slice(n)))
	}
	out.Note = x.note()
	if drawn < all {
		out.Note += fmt.Sprintf("; drawn: the first %d of %s", drawn, countOf(all, "slice"))
	}
	if x.sampled {
		n := 0
		for _, p := range out.Panels {
			n += len(p.Blocks)
		}
		out.Note += fmt.Sprintf("; drawn: %s, at even distances", grouped(int64(n)))
	}
	if x.notToScale {
		out.Note += "; its short side is not to scale"
	}
	return out
}

// choose chooses the two modes that panels show, preferring modes that are cut. The only mode of a
// vector is drawn across.
func (x *drawing) choose(all []axis) {
	var chosen []int
	for _, cut := range []bool{true, false} {
		for m, a := range all {
			if len(chosen) < 2 && a.cut >= 0 == cut {
				chosen = append(chosen, m)
			}
		}
	}
	none := axis{size: 1, cut: -1, cuts: []int64{0, 1}}
	x.down, x.across = none, none
	for m, a := range all {
		switch {
		case !slices.Contains(chosen, m):
			x.hidden = append(x.hidden, a)
		case len(chosen) == 2 && x.down.name == "":
			x.down = a
		default:
			x.across = a
		}
	}
}

// unseen returns the indices of the cuts (axis.cut) that the panels do not show. Each combination
// of ranges of the unseen cuts is a slice.
func (x *drawing) unseen() []int {
	return slices.DeleteFunc(cutsOf(x.hidden),
		func(k int) bool { return k == x.down.cut || k == x.across.cut })
}

// slice returns the range of each unseen cut (see unseen) in the n-th slice. The range of the last
// cut changes fastest.
func (x *drawing) slice(n int64) map[int]int {
	at := map[int]int{}
	for _, k := range slices.Backward(x.unseen()) {
		ranges := int64(len(x.t.Axes[k].Cuts) - 1)
		at[k] = int(n % ranges)
		n /= ranges
	}
	return at
}

// slices returns the number of slices.
func (x *drawing) slices() int64 {
	n := int64(1)
	for _, k := range x.unseen() {
		n *= int64(len(x.t.Axes[k].Cuts) - 1)
	}
	return n
}

// frame returns the size of a panel. If the panel shows two modes, its sides have the ratio of the
// modes' sizes, unless a side would be too short to see.
func (x *drawing) frame() (width, height float64) {
	if x.down.name == "" {
		if x.across.name == "" {
			return panelLeast, panelLeast
		}
		return panelSide, panelLeast
	}
	most := float64(max(x.down.size, x.across.size))
	side := func(a axis) float64 {
		n := float64(a.size) / most * panelSide
		if n < panelLeast {
			n, x.notToScale = panelLeast, true
		}
		return pixels(n)
	}
	return side(x.across), side(x.down)
}

// panel draws the blocks of a slice.
func (x *drawing) panel(at map[int]int) panel {
	g := panel{Down: x.down.name, Across: x.across.name, Slice: x.sliceOf(at)}
	g.Width, g.Height = x.frame()
	rows, columns := min(x.down.ranges(), int(g.Height)), min(x.across.ranges(), int(g.Width))
	for rows*columns > x.most {
		if rows > columns {
			rows = (rows + 1) / 2
		} else {
			columns = (columns + 1) / 2
		}
	}
	down, fewer := x.down.spans(rows, g.Height)
	across, fewerAcross := x.across.spans(columns, g.Width)
	x.sampled = x.sampled || fewer || fewerAcross
	narrowest := float64(panelSide)
	for _, v := range down {
		for _, h := range across {
			if x.down.cut >= 0 && x.down.cut == x.across.cut && v.at != h.at {
				continue // A(i,i) has blocks only on the diagonal
			}
			if b := x.block(at, v, h); b.W > 0 && b.H > 0 {
				narrowest = min(narrowest, b.W, b.H)
				g.Blocks = append(g.Blocks, b)
			}
		}
	}
	g.Outlined = narrowest >= minOutline
	g.Label = fmt.Sprintf("%s, %s, in %s", Label(x.t), extents(x.t.Sizes),
		countOf(len(g.Blocks), "block"))
	if g.Slice != "" {
		g.Label += ", slice " + g.Slice
	}
	g.Picture = g.draw(x.p.Ranks)
	return g
}

// block returns the block in row v and column h of a panel. slice holds the range of each unseen
// cut (see unseen).
func (x *drawing) block(slice map[int]int, v, h span) drawnBlock {
	at := maps.Clone(slice)
	at[x.down.cut], at[x.across.cut] = v.at, h.at
	b := drawnBlock{X: h.from, Y: v.from, W: pixels(h.to - h.from), H: pixels(v.to - v.from),
		Owner: x.t.Owners[blockAt(x.t, at)]}
	if label := fmt.Sprint(b.Owner); b.W >= float64(8*len(label)+6) && b.H >= 12 {
		b.Label = label
	}
	return b
}

// sliceOf returns a slice in words.
func (x *drawing) sliceOf(at map[int]int) string {
	var parts []string
	for _, a := range x.hidden {
		if r, ok := at[a.cut]; ok && a.cut >= 0 {
			parts = append(parts, a.says(r))
		}
	}
	return strings.Join(parts, ", ")
}

// note returns a line that says how many blocks there are, and how panels show a tensor of more
// than two modes.
func (x *drawing) note() string {
	s := countOf(x.t.Blocks, "block")
	if x.t.Broadcast && x.p.Ranks > 1 {
		s += ", broadcast to all ranks"
	}
	if slices.ContainsFunc(x.t.Axes, func(a forecast.PlannedAxis) bool { return a.Entries }) {
		s += ", divided by entries; each block is drawn from its first entry"
	}
	var along []string
	for _, a := range x.hidden {
		if a.cut < 0 || a.cut == x.down.cut || a.cut == x.across.cut {
			along = append(along, a.name)
		}
	}
	if len(along) > 0 {
		s += "; a projection along " + strings.Join(along, ", ")
	}
	return s
}
