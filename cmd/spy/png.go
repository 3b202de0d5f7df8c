package spy

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// pixels is how many pixels the unit of a drawing has.
const pixels = 2

// PNG draws the picture as PNG, on a white page.
func (p *Picture) PNG(w io.Writer) error {
	s := p.newScene()
	c := &canvas{Image: image.NewRGBA(image.Rect(0, 0, int(s.w)*pixels, int(s.h)*pixels)),
		faces: map[faceKey]font.Face{}}
	draw.Draw(c, c.Bounds(), image.NewUniform(light.page), image.Point{}, draw.Src)
	for _, d := range s.panels {
		c.panel(&d)
	}
	for _, k := range s.keys {
		c.fill(k.x, k.y, k.x+swatch, k.y+swatch, light.color(k.at))
	}
	for _, m := range s.marks {
		c.line(m[0], m[1], m[2], m[3])
	}
	for _, l := range s.labels {
		c.label(&l)
	}
	return png.Encode(w, c.Image)
}

// canvas is a picture that is drawn on in the drawing's unit.
type canvas struct {
	draw.Image
	faces map[faceKey]font.Face
}

type faceKey struct {
	size float64
	bold bool
}

func (c *canvas) fill(x1, y1, x2, y2 float64, col color.Color) {
	at := func(v float64) int { return int(math.Round(v * pixels)) }
	draw.Draw(c, image.Rect(at(x1), at(y1), at(x2), at(y2)), image.NewUniform(col), image.Point{},
		draw.Src)
}

// line is a line across or down, a unit wide.
func (c *canvas) line(x1, y1, x2, y2 float64) {
	if x1 == x2 {
		c.fill(x1-0.5, y1, x2+0.5, y2, light.faint)
	} else {
		c.fill(x1, y1-0.5, x2, y2+0.5, light.faint)
	}
}

func (c *canvas) panel(d *panelDrawn) {
	x2, y2 := d.x+d.w+1, d.y+d.h+1
	c.fill(d.x-1, d.y-1, x2, y2, light.faint)
	c.fill(d.x, d.y, x2-1, y2-1, light.page)
	for i := range d.grid.Bins[0] {
		y := d.y + float64(i)*d.sy
		for j, n := range d.grid.Row(i) {
			if k := d.scale.of(n); k >= 0 {
				x := d.x + float64(j)*d.sx
				c.fill(x, y, x+d.sx, y+d.sy, light.color(d.scale.at(k)))
			}
		}
	}
}

// face is one of the Go fonts, in that size.
func (c *canvas) face(k faceKey) font.Face {
	if f := c.faces[k]; f != nil {
		return f
	}
	ttf := goregular.TTF
	if k.bold {
		ttf = gobold.TTF
	}
	parsed, err := opentype.Parse(ttf)
	if err == nil {
		c.faces[k], err = opentype.NewFace(parsed,
			&opentype.FaceOptions{Size: k.size * pixels, DPI: 72, Hinting: font.HintingNone})
	}
	if err != nil {
		panic("BUG: spy: a Go font can't be read: " + err.Error())
	}
	return c.faces[k]
}

func (c *canvas) label(l *label) {
	face := c.face(faceKey{l.size, l.bold})
	long := font.MeasureString(face, l.text)
	back := long * fixed.Int26_6(l.anchor) / 2
	at := func(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * pixels * 64)) }
	d := font.Drawer{Dst: c, Src: image.NewUniform(light.ink), Face: face,
		Dot: fixed.Point26_6{X: at(l.x) - back, Y: at(l.y)}}
	if l.up {
		// The canvas as it is seen by who looks from its right side: across goes up.
		d.Dst = &turned{c.Image}
		d.Dot = fixed.Point26_6{X: fixed.I(c.Bounds().Dy()) - at(l.y) - back, Y: at(l.x)}
	}
	d.DrawString(l.text)
}

// turned is an image turned by a quarter to the right, so that what is drawn across goes up in the
// image.
type turned struct{ draw.Image }

func (t *turned) Bounds() image.Rectangle {
	b := t.Image.Bounds()
	return image.Rect(0, 0, b.Dy(), b.Dx())
}

func (t *turned) At(x, y int) color.Color { return t.Image.At(y, t.Image.Bounds().Dy()-1-x) }

func (t *turned) Set(x, y int, c color.Color) { t.Image.Set(y, t.Image.Bounds().Dy()-1-x, c) }
