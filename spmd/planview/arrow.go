package planview

import (
	"fmt"
	"math"
	"slices"

	"distaff/io/tcs"
)

// The cells of ranks between which arrows go, in pixels: their distance from one to the next, and
// their size.
const (
	pitch      = 96
	cellWidth  = 44
	cellHeight = 32
	margin     = 12
)

// arrowColors is how many colors of arrows the page's style has: classes a0, a1 and so on, one for
// each tensor.
const arrowColors = 7

// stage is the drawing of a flow: the arrows of each moment, with cells of ranks over them.
type stage struct {
	Says          string
	Left, Top     float64 // the upper left corner, in the coordinates of cells
	Width, Height float64
	Cells         []stageCell
	Keys          []arrowKey
	Moments       []drawnMoment
	Last          int // moment
}

type stageCell struct {
	X, Y, W, H float64
	CX, CY     float64 // of the label
	Fill, Ink  string
	Label      string
}

// arrowKey is a tensor's color in the legend.
type arrowKey struct{ Class, Name string }

// drawnMoment is a moment as it is drawn.
type drawnMoment struct {
	Name, Says string
	Arrows     []arrow
	Idle       []stageCell // cells that are faint
	Lines      []string
}

// arrow is a block on its way.
type arrow struct {
	Class  string
	Path   string
	Title  string
	Label  string // "" where there are many, or no room
	LX, LY float64
}

// point is a place on the stage.
type point struct{ x, y float64 }

func (p point) String() string {
	return fmt.Sprintf("%d %d", int(math.Round(p.x)), int(math.Round(p.y)))
}

// stager makes a stage.
type stager struct {
	flow   *flow
	layout *layout
	class  map[string]string // by tensor
	lo, hi point             // the corners of all that is drawn
	out    *stage
}

// newStage draws a flow; nil where there is one rank, between which and itself nothing travels.
func newStage(x *flow) *stage {
	if x.p.Ranks == 1 || len(x.moments) == 0 {
		return nil
	}
	s := &stager{flow: x, layout: newLayout(x.p, cellLine), class: map[string]string{},
		out: &stage{Says: x.says()}}
	for _, t := range x.p.Tensors {
		if s.class[t.Name] == "" {
			s.class[t.Name] = fmt.Sprintf("a%d", len(s.class)%arrowColors)
			s.out.Keys = append(s.out.Keys, arrowKey{s.class[t.Name], t.Name})
		}
	}
	s.cells()
	for _, m := range x.moments {
		s.moment(&m)
	}
	s.out.Left, s.out.Top = pixels(s.lo.x-margin), pixels(s.lo.y-margin)
	s.out.Width, s.out.Height = pixels(s.hi.x-s.lo.x+2*margin), pixels(s.hi.y-s.lo.y+2*margin)
	s.out.Last = len(s.out.Moments) - 1
	return s.out
}

// at is the middle of a rank's cell. The ranks elsewhere have one below all others.
func (s *stager) at(rank int) point {
	if rank == elsewhere {
		rows := 0
		for r := range s.flow.drawn {
			_, row, _ := s.layout.place(r)
			rows = max(rows, row+1)
		}
		return point{cellWidth, float64(rows)*pitch + cellHeight/2}
	}
	layer, row, col := s.layout.place(rank)
	return point{pixels(s.layout.column(layer, col)*pitch + cellWidth/2),
		float64(row)*pitch + cellHeight/2}
}

// cell is a rank's.
func (s *stager) cell(rank int) stageCell {
	at := s.at(rank)
	c := stageCell{X: at.x - cellWidth/2, Y: at.y - cellHeight/2, W: cellWidth, H: cellHeight,
		CX: at.x, CY: at.y + 4}
	if rank == elsewhere {
		c.X, c.W = 0, 2*cellWidth
		c.Label, c.Fill, c.Ink = "others", "#707070", "#fff"
		return c
	}
	c.Label = fmt.Sprint(rank)
	c.Fill, c.Ink = newRankColors(s.flow.p.Ranks).of(rank)
	return c
}

// cells draws the ranks.
func (s *stager) cells() {
	for r := range s.flow.drawn {
		s.out.Cells = append(s.out.Cells, s.cell(r))
	}
	if s.flow.drawn < s.flow.p.Ranks {
		s.out.Cells = append(s.out.Cells, s.cell(elsewhere))
	}
	for _, c := range s.out.Cells {
		s.cover(point{c.X, c.Y})
		s.cover(point{c.X + c.W, c.Y + c.H})
	}
}

// cover makes room for a point.
func (s *stager) cover(p point) {
	s.lo, s.hi = point{min(s.lo.x, p.x), min(s.lo.y, p.y)}, point{max(s.hi.x, p.x), max(s.hi.y, p.y)}
}

// moment draws what travels.
func (s *stager) moment(m *moment) {
	d := drawnMoment{Name: m.name, Says: m.says, Lines: m.lines}
	moves := m.moves[:min(len(m.moves), momentArrows)]
	before := map[[2]int]int{} // arrows of a pair of ranks
	for _, v := range moves {
		pair := [2]int{v.from, v.to}
		d.Arrows = append(d.Arrows, s.arrow(v, before[pair]))
		before[pair]++
	}
	if len(moves) <= labelled {
		s.labels(d.Arrows, moves)
	}
	for _, r := range m.idle {
		d.Idle = append(d.Idle, s.cell(r))
	}
	s.out.Moments = append(s.out.Moments, d)
}

// The height of a label in pixels, about the width of a letter, and how far from its arrow a label
// may be, in labels.
const (
	labelHeight = 14
	letterWidth = 6.2
	labelsAway  = 4
)

// labels puts one at each arrow, but for those of a block that goes from one rank to several, of
// which the longest has it.
func (s *stager) labels(arrows []arrow, moves []move) {
	var taken []stageCell // by labels
	for n, v := range moves {
		if slices.ContainsFunc(moves,
			func(o move) bool { return s.sameBlock(o, v) && s.reach(o) > s.reach(v) }) {
			continue
		}
		taken = s.label(&arrows[n], s.reach(v),
			v.block.Tensor+" "+About(s.flow.exact[v.block.Tensor], tcs.Size(v.block.Bytes)), taken)
	}
}

// sameBlock tells whether two moves are of one block, from one rank.
func (s *stager) sameBlock(a, b move) bool {
	return a.from == b.from && a.sum == b.sum && s.flow.block(a.block) == s.flow.block(b.block)
}

// reach is how far a move goes on the stage.
func (s *stager) reach(v move) float64 {
	a, b := s.at(v.from), s.at(v.to)
	return math.Hypot(b.x-a.x, b.y-a.y)
}

// label puts a text beside the middle of an arrow, where no label is yet that is among those taken,
// and adds it to these. On a short arrow, which it would hide, it does not stand. An arrow that has
// no room for one has none: the lines below say the same.
func (s *stager) label(a *arrow, reach float64, text string, taken []stageCell) []stageCell {
	w := letterWidth * float64(len(text))
	first := 0
	if reach < 3*w/2+cellWidth {
		first = 1
	}
	for n := first; n <= 2*labelsAway; n++ {
		away := float64((n + 1) / 2 * labelHeight)
		if n%2 == 0 {
			away = -away
		}
		c := stageCell{X: a.LX - w/2, Y: a.LY + away - labelHeight + 3, W: w, H: labelHeight}
		if slices.ContainsFunc(taken, c.over) || slices.ContainsFunc(s.out.Cells, c.over) {
			continue
		}
		a.Label, a.LY = text, a.LY+away
		s.cover(point{c.X, c.Y})
		s.cover(point{c.X + c.W, c.Y + c.H})
		return append(taken, c)
	}
	return taken
}

// over tells whether two rectangles overlap.
func (c stageCell) over(d stageCell) bool {
	return c.X < d.X+d.W && d.X < c.X+c.W && c.Y < d.Y+d.H && d.Y < c.Y+c.H
}

// arrow draws a move, the nth between its two ranks. It is bent to its left, the more the longer it
// is and the more arrows lie beside it, so that the arrows of both directions and of several blocks
// are seen.
func (s *stager) arrow(v move, nth int) arrow {
	a, b := s.at(v.from), s.at(v.to)
	dx, dy := b.x-a.x, b.y-a.y
	length := max(math.Hypot(dx, dy), 1)
	bend := .14*length + 14*float64(min(nth, 8)) + 4
	mid := point{(a.x+b.x)/2 + dy/length*2*bend, (a.y+b.y)/2 - dx/length*2*bend}
	start, end := trim(a, mid), trim(b, mid)
	peak := point{start.x/4 + mid.x/2 + end.x/4, start.y/4 + mid.y/2 + end.y/4}
	s.cover(peak)
	out := arrow{Class: s.class[v.block.Tensor], LX: math.Round(peak.x), LY: math.Round(peak.y + 4)}
	if v.sum {
		out.Class += " sum"
	}
	left, right := head(mid, end)
	out.Path = fmt.Sprintf("M%vQ%v %vM%vL%vL%v", start, mid, end, left, end, right)
	out.Title = fmt.Sprintf("%s from %s to %s", s.flow.block(v.block), s.name(v.from), s.name(v.to))
	return out
}

// name is a rank in words.
func (s *stager) name(rank int) string {
	if rank == elsewhere {
		return "a rank that is not drawn"
	}
	return fmt.Sprintf("rank %d", rank)
}

// trim is where the way from the middle of a cell towards a point leaves the cell.
func trim(a, to point) point {
	dx, dy := to.x-a.x, to.y-a.y
	w, h := float64(cellWidth)/2+3, float64(cellHeight)/2+3
	share := min(1, w/max(math.Abs(dx), 1e-9), h/max(math.Abs(dy), 1e-9))
	return point{a.x + dx*share, a.y + dy*share}
}

// head are the ends of the two strokes of an arrow's head, which comes from a point to its end.
func head(from, end point) (left, right point) {
	dx, dy := end.x-from.x, end.y-from.y
	length := max(math.Hypot(dx, dy), 1)
	dx, dy = dx/length*7, dy/length*7
	return point{end.x - dx - dy*.6, end.y - dy + dx*.6}, point{end.x - dx + dy*.6, end.y - dy - dx*.6}
}

// drawsSums tells whether some arrow is that of a sum, which has dashes.
func (x *flow) drawsSums() bool {
	return slices.ContainsFunc(x.moments,
		func(m moment) bool { return len(m.moves) > 0 && m.moves[0].sum })
}
