package planview

import (
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"

	"distaff/io/picture"
)

// Sizes in pixels of the cells of ranks, between which arrows are drawn. pitch is the distance from
// one cell to the next.
const (
	pitch      = 96
	cellWidth  = 44
	cellHeight = 32
	margin     = 12
	cellLine   = 8 // cells in a line of a machine with one dimension
)

// arrowColors are the colors of arrows. Tensors get them in turn.
var arrowColors = []color.RGBA{{0x00, 0x72, 0xb2, 255}, {0xb3, 0x4a, 0x00, 255},
	{0x00, 0x77, 0x5a, 255}, {0xa3, 0x41, 0x7c, 255}, {0x6a, 0x5a, 0xcd, 255}, {0x7a, 0x62, 0x00,
		255},
	{0xb0, 0x00, 0x20, 255}}

// stage is the drawing of a flow: sentences about the flow, the colors of the tensors, and a
// drawing of each moment.
type stage struct {
	Says    string
	Keys    []arrowKey
	Moments []drawnMoment
}

// arrowKey is a tensor's color in the legend.
type arrowKey struct{ Color, Name string }

// drawnMoment is the drawing of a moment.
type drawnMoment struct {
	Name, Says string
	Picture    template.HTML // "" if nothing travels and no rank is idle
	Lines      []string
}

// arrow is the drawn path of a block: a curve from start to end with the control point mid.
type arrow struct {
	color           color.RGBA
	sum             bool
	start, mid, end picture.Point
}

// stager draws a stage.
type stager struct {
	flow   *flow
	layout *layout
	color  map[string]color.RGBA // by tensor
}

// newStage draws a flow. It returns nil if the flow has no moments, or if there is only one rank,
// so that nothing travels.
func newStage(x *flow) *stage {
	if x.p.Ranks == 1 || len(x.moments) == 0 {
		return nil
	}
	s := &stager{x, newLayout(x.p, cellLine), map[string]color.RGBA{}}
	out := &stage{Says: joined(s.layout.says(), s.layout.note, x.says())}
	for _, t := range x.p.Tensors {
		if _, ok := s.color[t.Name]; !ok {
			c := arrowColors[len(s.color)%len(arrowColors)]
			s.color[t.Name] = c
			out.Keys = append(out.Keys, arrowKey{hex(c), t.Name})
		}
	}
	for _, m := range x.moments {
		d := drawnMoment{Name: m.name, Says: m.says, Lines: m.lines}
		if m.drawn() {
			d.Picture = s.draw(&m)
		}
		out.Moments = append(out.Moments, d)
	}
	return out
}

// at returns the middle of a rank's cell. Ranks that are not drawn (otherRanks) share one cell
// below all others.
func (s *stager) at(rank int) picture.Point {
	if rank == otherRanks {
		rows := 0
		for r := range s.flow.drawn {
			_, row, _ := s.layout.place(r)
			rows = max(rows, row+1)
		}
		return picture.Point{X: cellWidth, Y: float64(rows)*pitch + cellHeight/2}
	}
	layer, row, col := s.layout.place(rank)
	return picture.Point{X: s.layout.column(layer, col)*pitch + cellWidth/2,
		Y: float64(row)*pitch + cellHeight/2}
}

// draw draws the ranks at a moment, with an arrow for each block that travels, up to momentArrows
// arrows.
func (s *stager) draw(m *moment) template.HTML {
	ranks := make([]int, s.flow.drawn)
	for r := range ranks {
		ranks[r] = r
	}
	if s.flow.drawn < s.flow.p.Ranks {
		ranks = append(ranks, otherRanks)
	}
	var lo, hi picture.Point // the corners of the whole picture
	cover := func(p picture.Point, w, h float64) {
		lo = picture.Point{X: min(lo.X, p.X-w), Y: min(lo.Y, p.Y-h)}
		hi = picture.Point{X: max(hi.X, p.X+w), Y: max(hi.Y, p.Y+h)}
	}
	for _, r := range ranks {
		cover(s.at(r), cellWide(r)/2, cellHeight/2)
	}
	var arrows []arrow
	before := map[[2]int]int{} // number of arrows so far, for each pair of ranks
	for _, v := range m.moves[:min(len(m.moves), momentArrows)] {
		pair := [2]int{v.from, v.to}
		a := s.arrow(v, before[pair])
		before[pair]++
		cover(picture.Point{X: (a.start.X+a.end.X)/4 + a.mid.X/2,
			Y: (a.start.Y+a.end.Y)/4 + a.mid.Y/2}, 0, 0) // the peak of the curve
		arrows = append(arrows, a)
	}
	p := &picture.Picture{W: math.Ceil(hi.X - lo.X + 2*margin), H: math.Ceil(hi.Y - lo.Y + 2*margin),
		Title: "Ranks, with arrows for the blocks that are sent; the lines below say the same"}
	move := func(q picture.Point) picture.Point {
		return picture.Point{X: q.X - lo.X + margin, Y: q.Y - lo.Y + margin}
	}
	for _, a := range arrows {
		var dashes []float64
		if a.sum {
			dashes = []float64{5, 3}
		}
		p.Curve(a.color, 2, dashes, move(a.start), move(a.mid), move(a.end))
		left, right := head(a.mid, a.end)
		p.Path(a.color, 2, nil, move(left), move(a.end), move(right))
	}
	for _, r := range ranks {
		s.cell(p, move(s.at(r)), r, slices.Contains(m.idle, r))
	}
	return template.HTML(p.Inline())
}

// cellWide returns the width of a rank's cell.
func cellWide(rank int) float64 {
	if rank == otherRanks {
		return 2 * cellWidth
	}
	return cellWidth
}

// cell draws the cell of a rank, with its middle at point at. The cell of an idle rank has a dashed
// frame and no color.
func (s *stager) cell(p *picture.Picture, at picture.Point, rank int, idle bool) {
	label, w, fill := "others", cellWide(rank), color.RGBA{0x70, 0x70, 0x70, 255}
	if rank != otherRanks {
		label, fill = fmt.Sprint(rank), rankColor(rank, s.flow.p.Ranks)
	}
	text := picture.Text{X: at.X, Y: at.Y + 4, Size: 12, Anchor: .5, Color: inkOn(fill), Text: label}
	if x, y := at.X-w/2, at.Y-cellHeight/2; idle {
		p.Frame(x, y, w, cellHeight, 3, 3)
		text.Color = picture.Faint
	} else {
		p.Rect(x, y, w, cellHeight, fill)
	}
	p.Write(text)
}

// arrow returns the path of a move; nth counts the earlier moves from the same rank to the same
// other rank. A longer arrow is bent more, and so is an arrow with a larger nth, up to 8. All
// arrows are bent to their left, so that arrows of both directions do not overlap.
func (s *stager) arrow(v move, nth int) arrow {
	a, b := s.at(v.from), s.at(v.to)
	dx, dy := b.X-a.X, b.Y-a.Y
	length := max(math.Hypot(dx, dy), 1)
	bend := .14*length + 14*float64(min(nth, 8)) + 4
	mid := picture.Point{X: (a.X+b.X)/2 + dy/length*2*bend, Y: (a.Y+b.Y)/2 - dx/length*2*bend}
	return arrow{s.color[v.block.Tensor], v.sum, trim(a, mid), mid, trim(b, mid)}
}

// trim returns the point at which an arrow begins or ends, outside a rank's cell. a is the middle
// of the cell, and the arrow lies on the line from a to the point `to`. trim returns the point
// where this line crosses a rectangle that is 3 pixels larger on each side than a cell of width
// cellWidth. If the point `to` is inside the rectangle, trim returns this point.
func trim(a, to picture.Point) picture.Point {
	dx, dy := to.X-a.X, to.Y-a.Y
	w, h := float64(cellWidth)/2+3, float64(cellHeight)/2+3
	share := min(1, w/max(math.Abs(dx), 1e-9), h/max(math.Abs(dy), 1e-9))
	return picture.Point{X: a.X + dx*share, Y: a.Y + dy*share}
}

// head returns the outer ends of the two strokes of an arrowhead. The arrow arrives at end from the
// direction of from.
func head(from, end picture.Point) (left, right picture.Point) {
	dx, dy := end.X-from.X, end.Y-from.Y
	length := max(math.Hypot(dx, dy), 1)
	dx, dy = dx/length*7, dy/length*7
	return picture.Point{X: end.X - dx - dy*.6, Y: end.Y - dy + dx*.6},
		picture.Point{X: end.X - dx + dy*.6, Y: end.Y - dy - dx*.6}
}

// drawsSums reports whether some arrow is dashed. A dashed arrow shows a block of the result, or a
// part of the sum for such a block, that travels from one rank to another.
func (x *flow) drawsSums() bool {
	return slices.ContainsFunc(x.moments, func(m moment) bool {
		return len(m.moves) > 0 && m.moves[0].sum
	})
}
