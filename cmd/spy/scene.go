package spy

import (
	"fmt"
	"math"
	"unicode/utf8"

	"distaff/io/bins"
)

// Sizes in a drawing, in its unit, a pixel of a screen.
const (
	largest   = 512 // the longer side of the grid of one view
	least     = 48  // and of each of a great many
	allSides  = 640 // what decides in between
	mostCell  = 32  // the side of a bin
	stripHigh = 40  // of a strip
	page      = 20  // the margin of the page
	between   = 28  // of two views
	titleSize = 16
	textSize  = 12
	tickSize  = 10
	tickMark  = 4
	swatch    = 12
	lineHigh  = 16
	mostNamed = 9 // classes of counts
)

// DrawnLongest is the longer side of a view, in bins, in a drawing of that many.
func DrawnLongest(views int) int {
	return max(least, min(largest, int(allSides/math.Sqrt(float64(max(views, 1))))))
}

// label is a text in a drawing.
type label struct {
	x, y, size float64
	anchor     int // the part of its width that is left of x: 0, 1 for half, 2 for all
	up         bool
	bold       bool
	text       string
}

// panelDrawn is a view in a drawing: a grid whose bins are sx by sy, and its frame.
type panelDrawn struct {
	grid         *bins.Grid
	scale        scale
	x, y, sx, sy float64
	w, h         float64 // of the frame
}

// key is a class's color in a legend.
type key struct {
	x, y float64
	at   float64
}

// scene is where things are in a drawing.
type scene struct {
	w, h   float64
	title  string
	desc   string
	labels []label
	marks  [][4]float64 // of ticks: x1, y1, x2, y2
	keys   []key
	panels []panelDrawn
}

// textWidth is about how wide a text is in the sans-serif fonts that there are.
func textWidth(s string, size float64) float64 {
	return 0.6 * size * float64(utf8.RuneCountInString(s))
}

// newScene puts a title above the views, which stand in rows and columns.
func (p *Picture) newScene() *scene {
	s := &scene{title: p.Name, desc: p.summary()}
	columns := int(math.Ceil(math.Sqrt(float64(len(p.Grids)))))
	longest := DrawnLongest(len(p.Grids))
	wide := make([]float64, columns)
	for k, g := range p.Grids {
		w, _ := new(scene).view(g, longest, 0, 0)
		wide[k%columns] = max(wide[k%columns], w)
	}
	x, top, high := 0.0, float64(page+titleSize+lineHigh+20), 0.0
	for k, g := range p.Grids {
		if k%columns == 0 {
			if k > 0 {
				top += high + between
			}
			x, high = page, 0
		}
		_, h := s.view(g, longest, x, top)
		high = max(high, h)
		s.w = max(s.w, x+wide[k%columns])
		x += wide[k%columns] + between
	}
	s.w = math.Ceil(max(s.w, page+240, page+textWidth(s.desc, textSize)) + page)
	s.h = math.Ceil(top + high + page)
	name := shorten(s.title, int((s.w-2*page)/(0.6*titleSize)))
	s.labels = append(s.labels,
		label{x: page, y: page + titleSize - 2, size: titleSize, bold: true, text: name},
		label{x: page, y: page + titleSize + lineHigh, size: textSize, text: s.desc})
	return s
}

// cell is the sides of a bin in a drawing: a whole number of half pixels where bins are many, so
// that all are alike.
func cell(g *bins.Grid, longest int) (sx, sy float64) {
	if g.Modes[0] < 0 {
		return side(longest, g.Bins[1]), stripHigh
	}
	sides, proportional := extents(g.Size, longest)
	sy, sx = side(sides[0], g.Bins[0]), side(sides[1], g.Bins[1])
	if proportional {
		sx = min(sx, sy)
		sy = sx
	}
	return sx, sy
}

func side(length, bins int) float64 {
	return min(mostCell, max(1, math.Floor(2*float64(length)/float64(max(bins, 1)))/2))
}

// view adds a view whose top left corner is at x, y, and returns how much room it takes.
func (s *scene) view(g *bins.Grid, longest int, x, y float64) (w, h float64) {
	d := panelDrawn{grid: g, scale: newScale(g, mostNamed)}
	d.sx, d.sy = cell(g, longest)
	d.w, d.h = max(d.sx*float64(g.Bins[1]), 1), max(d.sy*float64(g.Bins[0]), 1)
	perAcross, perDown := d.sx/float64(g.Width[1]), d.sy/float64(g.Width[0])
	left := 0.0
	var down []tick
	if g.Modes[0] >= 0 {
		down = ticks(g.Size[0], float64(g.Size[0])*perDown, 30)
		for _, t := range down {
			left = max(left, textWidth(t.text, tickSize))
		}
		left += lineHigh + tickMark + 4
	}
	above := float64(lineHigh + tickSize + tickMark + 4)
	d.x, d.y = math.Ceil(x+left), math.Ceil(y+above)
	s.panels = append(s.panels, d)

	name := fmt.Sprintf("mode %d: %d", g.Modes[1], g.Size[1])
	wide := max(d.w, textWidth(name, textSize))
	if wide > d.w {
		s.labels = append(s.labels, label{x: d.x, y: y + textSize, size: textSize, text: name})
	} else {
		s.labels = append(s.labels,
			label{x: d.x + d.w/2, y: y + textSize, size: textSize, anchor: 1, text: name})
	}
	for _, t := range ticks(g.Size[1], float64(g.Size[1])*perAcross,
		12+textWidth(fmt.Sprint(min(g.Size[1], 99999)), tickSize)) {
		s.labels = append(s.labels,
			label{x: d.x + t.at, y: d.y - tickMark - 3, size: tickSize, anchor: 1, text: t.text})
		s.marks = append(s.marks, [4]float64{d.x + t.at, d.y - tickMark, d.x + t.at, d.y})
	}
	high := d.h
	if g.Modes[0] >= 0 {
		name := fmt.Sprintf("mode %d: %d", g.Modes[0], g.Size[0])
		l := label{x: x + textSize, y: d.y + d.h/2, size: textSize, anchor: 1, up: true, text: name}
		if n := textWidth(name, textSize); n > d.h { // its end is at the top
			l.y, l.anchor, high = d.y, 2, n
		}
		s.labels = append(s.labels, l)
	}
	for _, t := range down {
		s.labels = append(s.labels,
			label{x: d.x - tickMark - 3, y: d.y + t.at + 0.35*tickSize, size: tickSize, anchor: 2,
				text: t.text})
		s.marks = append(s.marks, [4]float64{d.x - tickMark, d.y + t.at, d.x, d.y + t.at})
	}
	lw, lh := s.legend(&d, d.x+wide+14, d.y)
	return d.x - x + wide + 14 + lw, above + max(high, lh)
}

// legend tells what a view's colors mean.
func (s *scene) legend(d *panelDrawn, x, y float64) (w, h float64) {
	line := func(indent float64, text string) {
		s.labels = append(s.labels,
			label{x: x + indent, y: y + h + textSize - 2, size: textSize, text: text})
		w, h = max(w, indent+textWidth(text, textSize)), h+lineHigh
	}
	if len(d.scale.classes) == 0 {
		line(0, "no entry")
		return w, h
	}
	line(0, "entries in a bin of")
	line(0, bin(d.grid))
	h += 4
	for k, c := range d.scale.classes {
		s.keys = append(s.keys, key{x, y + h, d.scale.at(k)})
		line(swatch+6, c.text("–"))
	}
	return w, h
}
