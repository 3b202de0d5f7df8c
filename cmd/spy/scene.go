package spy

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"

	"distaff/io/bins"
	"distaff/io/picture"
)

// Sizes in a drawing, in its unit.
const (
	maxSide     = 512 // longer side of the grid if there is one view
	minSide     = 48  // longer side of the grid if there are very many views
	allSides    = 640 // divided by the root of the number of views in between
	maxCell     = 32  // largest side of a bin
	stripHeight = 40  // height of a strip
	page        = 20  // margin of the page
	between     = 28  // distance of two views
	titleSize   = 16
	textSize    = 12
	tickSize    = 10
	tickMark    = 4
	swatch      = 12
	lineHeight  = 16
	maxClasses  = 9 // largest number of classes of counts
)

// BinsOnLongerSide returns the largest number of bins on the longer side of a view, for a drawing
// with the given number of views.
func BinsOnLongerSide(views int) int {
	return max(minSide, min(maxSide, int(allSides/math.Sqrt(float64(max(views, 1))))))
}

// SVG writes the picture as SVG.
func (p *Picture) SVG(w io.Writer) error { return p.scene().SVG(w) }

// PNG writes the picture as PNG.
func (p *Picture) PNG(w io.Writer) error { return p.scene().PNG(w) }

// scene draws the title, and below it the views in rows and columns.
func (p *Picture) scene() *picture.Picture {
	s := &scene{Picture: picture.Picture{Title: p.Name, About: p.summary()}}
	columns := int(math.Ceil(math.Sqrt(float64(len(p.Grids)))))
	longest := BinsOnLongerSide(len(p.Grids))
	wide := make([]float64, columns)
	for k, g := range p.Grids {
		w, _ := new(scene).view(g, longest, 0, 0)
		wide[k%columns] = max(wide[k%columns], w)
	}
	x, top, high := 0.0, float64(page+titleSize+lineHeight+20), 0.0
	for k, g := range p.Grids {
		if k%columns == 0 {
			if k > 0 {
				top += high + between
			}
			x, high = page, 0
		}
		_, h := s.view(g, longest, x, top)
		high = max(high, h)
		s.W = max(s.W, x+wide[k%columns])
		x += wide[k%columns] + between
	}
	s.W = math.Ceil(max(s.W, page+240, page+room(s.About, textSize)) + page)
	s.H = math.Ceil(top + high + page)
	name := s.Title
	for n := len(name); 1.15*picture.Width(name, titleSize, true) > s.W-2*page && n > 5; n-- {
		name = shorten(s.Title, n)
	}
	s.Write(picture.Text{X: page, Y: page + titleSize - 2, Size: titleSize, Bold: true, Text: name})
	s.text(page, page+titleSize+lineHeight, textSize, 0, s.About)
	return &s.Picture
}

// scene is a drawing under construction.
type scene struct{ picture.Picture }

func (s *scene) text(x, y, size, anchor float64, text string) {
	s.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Text: text})
}

// room returns the width that a text may occupy in any of the fonts that a program could use for an
// SVG file.
func room(text string, size float64) float64 { return 1.15 * picture.Width(text, size, false) }

// tint returns the color for a number of entries. fraction is the number's place on the color
// scale, from 0 for few entries to 1 for many. Many entries are dark. The brightest colors are not
// used because they resemble the page's color, and even a single entry must be visible.
func tint(fraction float64) color.RGBA { return picture.Viridis(0.7 - 0.7*fraction) }

// image returns a grid as an image. Each bin is binWidth wide and binHeight high, in the picture's
// unit, which is picture.Pixels pixels.
func (s *scale) image(g *bins.Grid, binWidth, binHeight float64) image.Image {
	colors := color.Palette{picture.Paper}
	for k := range s.classes {
		colors = append(colors, tint(s.at(k)))
	}
	w, h := int(binWidth*picture.Pixels), int(binHeight*picture.Pixels)
	m := image.NewPaletted(image.Rect(0, 0, w*g.Bins[1], h*g.Bins[0]), colors)
	for y := range m.Rect.Dy() {
		row, line := g.Row(y/h), m.Pix[y*m.Stride:]
		for x := range m.Rect.Dx() {
			line[x] = uint8(s.of(row[x/w]) + 1)
		}
	}
	return m
}

// view draws a view of grid g whose top left corner is at x, y. It returns the width and height
// that it occupies.
func (s *scene) view(g *bins.Grid, longest int, x, y float64) (w, h float64) {
	classes := newScale(g, maxClasses)
	sx, sy := cell(g, longest)
	w, h = max(sx*float64(g.Bins[1]), 1), max(sy*float64(g.Bins[0]), 1)
	perAcross, perDown := sx/float64(g.Width[1]), sy/float64(g.Width[0])
	left := 0.0
	var down []tick
	if g.Modes[0] >= 0 {
		down = ticks(g.Size[0], float64(g.Size[0])*perDown, 30)
		for _, t := range down {
			left = max(left, room(t.text, tickSize))
		}
		left += lineHeight + tickMark + 4
	}
	above := float64(lineHeight + tickSize + tickMark + 4)
	px, py := math.Ceil(x+left), math.Ceil(y+above)
	if len(classes.classes) > 0 {
		s.Image(px, py, classes.image(g, sx, sy))
	}
	s.Frame(px, py, w, h)

	name := fmt.Sprintf("mode %d: %d", g.Modes[1], g.Size[1])
	wide := max(w, room(name, textSize))
	if wide > w {
		s.text(px, y+textSize, textSize, 0, name)
	} else {
		s.text(px+w/2, y+textSize, textSize, 0.5, name)
	}
	widest := room(fmt.Sprint(min(g.Size[1], 99999)), tickSize)
	for _, t := range ticks(g.Size[1], float64(g.Size[1])*perAcross, 12+widest) {
		s.text(px+t.at, py-tickMark-3, tickSize, 0.5, t.text)
		s.mark(px+t.at, py-tickMark, px+t.at, py)
	}
	high := h
	if g.Modes[0] >= 0 {
		name := fmt.Sprintf("mode %d: %d", g.Modes[0], g.Size[0])
		l := picture.Text{X: x + textSize, Y: py + h/2, Size: textSize, Anchor: 0.5, Up: true, Text: name}
		if n := room(name, textSize); n > h { // a longer name ends at the top of the grid
			l.Y, l.Anchor, high = py, 1, n
		}
		s.Write(l)
	}
	for _, t := range down {
		s.text(px-tickMark-3, py+t.at+0.35*tickSize, tickSize, 1, t.text)
		s.mark(px-tickMark, py+t.at, px, py+t.at)
	}
	lw, lh := s.legend(g, &classes, px+wide+14, py)
	return px - x + wide + 14 + lw, above + max(high, lh)
}

// mark draws the mark of a tick.
func (s *scene) mark(x1, y1, x2, y2 float64) {
	s.Path(picture.Faint, 1, nil, picture.Point{X: x1, Y: y1}, picture.Point{X: x2, Y: y2})
}

// legend draws the legend of a view's colors, and returns its width and height.
func (s *scene) legend(g *bins.Grid, classes *scale, x, y float64) (w, h float64) {
	line := func(indent float64, text string) {
		s.text(x+indent, y+h+textSize-2, textSize, 0, text)
		w, h = max(w, indent+room(text, textSize)), h+lineHeight
	}
	if len(classes.classes) == 0 {
		line(0, "no entry")
		return w, h
	}
	line(0, "entries in a bin of")
	line(0, bin(g))
	h += 4
	for k, c := range classes.classes {
		s.Rect(x, y+h, swatch, swatch, tint(classes.at(k)))
		line(swatch+6, c.text("–"))
	}
	return w, h
}

// cell returns the width and height of a bin in a drawing. Both are multiples of half a unit. Half
// a unit is one pixel in a PNG file, so all bins have the same size there. longest is the length of
// the longer side of the view.
func cell(g *bins.Grid, longest int) (sx, sy float64) {
	if g.Modes[0] < 0 {
		return side(longest, g.Bins[1]), stripHeight
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
	return min(maxCell, max(1, math.Floor(2*float64(length)/float64(max(bins, 1)))/2))
}
