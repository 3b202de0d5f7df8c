// Package picture draws pictures that are written as SVG or as PNG, by the canvas of gonum/plot.
//
// A picture has its origin at the top left; x goes right and y goes down. Its unit is one pixel on
// a screen and two pixels in a PNG file. What is drawn later covers what was drawn before. Texts
// cover everything else.
package picture

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"io"
	"math"
	"strings"
	"sync"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Pixels is the width in pixels, in a PNG file, of one unit of a picture's coordinates.
const Pixels = 2

// The colors of a page. On a dark screen an SVG file shows them inverted.
var (
	Paper = color.RGBA{0xff, 0xff, 0xff, 0xff}
	Ink   = color.RGBA{0x1f, 0x23, 0x28, 0xff} // of texts
	Faint = color.RGBA{0x77, 0x7d, 0x85, 0xff} // of frames and ticks
)

// Picture is a picture in the making. W and H, its size, can be set until it is written.
type Picture struct {
	W, H         float64
	Title, About string // what an SVG file says to who does not see it
	Texts        []Text
	steps        []func(c vg.Canvas)
}

// Text is a line of text.
type Text struct {
	X, Y   float64 // where its base line begins, or has the middle or the end that Anchor names
	Size   float64
	Anchor float64 // the part of its width before X, Y: 0, 0.5 or 1
	Up     bool    // it goes up, and not right
	Bold   bool
	Color  color.Color // if nil, Ink
	Text   string
}

// Rect fills a rectangle whose upper left corner is x, y.
func (p *Picture) Rect(x, y, w, h float64, fill color.Color) {
	p.Path(fill, 0, nil, Point{x, y}, Point{x + w, y}, Point{x + w, y + h}, Point{x, y + h})
}

// Frame draws a line, one unit wide, around a rectangle. The line is outside of the rectangle.
// Dashes are as in Path.
func (p *Picture) Frame(x, y, w, h float64, dashes ...float64) {
	a, b := Point{x - .5, y - .5}, Point{x + w + .5, y + h + .5}
	p.Path(Faint, 1, dashes, a, Point{b.X, a.Y}, b, Point{a.X, b.Y}, a)
}

// Point is a place in a picture.
type Point struct{ X, Y float64 }

// Path draws a line of the given width through points or, if width is 0, fills the area that the
// points enclose. dashes are the lengths of strokes and of the gaps between them; nil draws a solid
// line.
func (p *Picture) Path(c color.Color, width float64, dashes []float64, points ...Point) {
	p.stroke(c, width, dashes, func(path *vg.Path, toCanvas func(Point) vg.Point) {
		path.Move(toCanvas(points[0]))
		for _, q := range points[1:] {
			path.Line(toCanvas(q))
		}
	})
}

// Curve draws a quadratic curve from a to c with the control point b. The other parameters are as
// in Path.
func (p *Picture) Curve(ink color.Color, width float64, dashes []float64, a, b, c Point) {
	p.stroke(ink, width, dashes, func(path *vg.Path, toCanvas func(Point) vg.Point) {
		path.Move(toCanvas(a))
		path.QuadTo(toCanvas(b), toCanvas(c))
	})
}

// stroke draws a path as a line of the given width, or fills the path if width is 0. The function
// build makes the path. It gets the function toCanvas, which converts points of the picture to
// points of the canvas.
func (p *Picture) stroke(c color.Color, width float64, dashes []float64,
	build func(path *vg.Path, toCanvas func(Point) vg.Point)) {
	p.steps = append(p.steps, func(on vg.Canvas) {
		var path vg.Path
		build(&path, p.at)
		on.SetColor(c)
		if width == 0 {
			path.Close()
			on.Fill(path)
			return
		}
		pattern := make([]vg.Length, len(dashes))
		for k, d := range dashes {
			pattern[k] = vg.Length(d)
		}
		on.SetLineWidth(vg.Length(width))
		on.SetLineDash(pattern, 0)
		on.Stroke(path)
	})
}

// Image draws an image whose upper left corner is at x, y. In a PNG file, each pixel of the image
// is one pixel.
func (p *Picture) Image(x, y float64, m image.Image) {
	size := m.Bounds().Size()
	w, h := float64(size.X)/Pixels, float64(size.Y)/Pixels
	p.steps = append(p.steps, func(on vg.Canvas) {
		on.DrawImage(vg.Rectangle{Min: p.at(Point{x, y + h}), Max: p.at(Point{x + w, y})}, m)
	})
}

// at converts a point to the canvas's coordinates, whose origin is at the bottom left.
func (p *Picture) at(q Point) vg.Point {
	return vg.Point{X: vg.Length(q.X), Y: vg.Length(p.H - q.Y)}
}

// Write draws a text.
func (p *Picture) Write(t Text) { p.Texts = append(p.Texts, t) }

// faces are the Go fonts: regular and bold.
var faces = sync.OnceValue(func() (list [2]font.Face) {
	for k, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		parsed, err := opentype.Parse(ttf)
		if err != nil {
			panic("BUG: picture: a Go font can't be read: " + err.Error())
		}
		list[k] = font.Face{Font: font.Font{Typeface: "Go"}, Face: parsed}
	}
	list[1].Font.Weight = xfont.WeightBold
	return list
})

// face returns a font in a size.
func face(size float64, bold bool) font.Face {
	f := faces()[0]
	if bold {
		f = faces()[1]
	}
	f.Font.Size = vg.Length(size)
	return f
}

// Width returns how wide a text is.
func Width(text string, size float64, bold bool) float64 {
	f := face(size, bold)
	return float64(f.Width(text))
}

// Box returns the upper left and the lower right corner of the rectangle that a text occupies.
func (t *Text) Box() (from, to Point) {
	w := Width(t.Text, t.Size, t.Bold)
	back, up, down := w*t.Anchor, .75*t.Size, .25*t.Size
	if t.Up {
		return Point{t.X - up, t.Y + back - w}, Point{t.X + down, t.Y + back}
	}
	return Point{t.X - back, t.Y - up}, Point{t.X - back + w, t.Y + down}
}

// write draws a text on a canvas.
func (p *Picture) write(on vg.Canvas, t *Text) {
	back := vg.Length(Width(t.Text, t.Size, t.Bold) * t.Anchor)
	if on.SetColor(Ink); t.Color != nil {
		on.SetColor(t.Color)
	}
	on.Push()
	on.Translate(p.at(Point{t.X, t.Y}))
	if t.Up {
		on.Rotate(math.Pi / 2)
	}
	on.FillString(face(t.Size, t.Bold), vg.Point{X: -back}, t.Text)
	on.Pop()
}

// draw draws the picture on a canvas.
func (p *Picture) draw(on vg.Canvas) {
	for _, step := range p.steps {
		step(on)
	}
	for k := range p.Texts {
		p.write(on, &p.Texts[k])
	}
}

// PNG writes the picture as PNG, on white paper.
func (p *Picture) PNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(p.W), vg.Length(p.H)), vgimg.UseDPI(72*Pixels))
	p.draw(c)
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// SVG writes the picture as an SVG file on white paper. A dark screen shows it inverted. The file
// has no scripts and fetches nothing.
func (p *Picture) SVG(w io.Writer) error {
	const style = "<style>@media (prefers-color-scheme: dark)" +
		"{svg{filter:invert(1) hue-rotate(180deg)}}</style>\n"
	paper := &Picture{W: p.W, H: p.H, Title: p.Title, About: p.About, Texts: p.Texts}
	paper.Rect(0, 0, p.W, p.H, Paper)
	paper.steps = append(paper.steps, p.steps...)
	_, err := io.WriteString(w, paper.element(style))
	return err
}

// Inline returns the picture as an SVG element of a page, without paper.
func (p *Picture) Inline() string { return p.element("") }

// element returns the picture as an SVG element with the given style sheet. It changes three things
// in the output of the canvas. It writes its own head, because the canvas's head has another unit.
// It names other fonts, because few machines have the canvas's font. It names the type of images,
// which is PNG.
func (p *Picture) element(style string) string {
	c := vgsvg.New(vg.Length(p.W), vg.Length(p.H))
	p.draw(c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		panic("BUG: picture: " + err.Error())
	}
	_, drawn, _ := strings.Cut(b.String(), "<svg")
	_, drawn, _ = strings.Cut(drawn, ">\n")
	// No text has a quote that is not escaped, so that a pattern with a quote is in no text.
	const family = `style="font-family:Go;font-variant:none;`
	drawn = strings.NewReplacer(family+"font-weight:normal;font-style:normal;", `style="`,
		family, `style="`, `"data:image/jpg;`, `"data:image/png;`).Replace(drawn)
	about := ""
	if p.Title+p.About != "" {
		about = fmt.Sprintf("<title>%s</title>\n<desc>%s</desc>\n", html.EscapeString(p.Title),
			html.EscapeString(p.About))
	}
	head := fmt.Sprintf(`width="%v" height="%v" viewBox="0 0 %[1]v %[2]v"`, p.W, p.H)
	return `<svg xmlns="http://www.w3.org/2000/svg" ` +
		`xmlns:xlink="http://www.w3.org/1999/xlink" ` + head +
		` font-family="Go,Arial,Helvetica,sans-serif" role="img">` + "\n" + about + style + drawn
}

// viridis is nine points of the color map of that name (S. van der Walt and N. Smith, 2015), whose
// lightness rises evenly, also for readers who see fewer colors.
var viridis = [...][3]float64{
	{0x44, 0x01, 0x54}, {0x47, 0x2d, 0x7b}, {0x3b, 0x52, 0x8b}, {0x2c, 0x72, 0x8e}, {0x21, 0x91, 0x8c},
	{0x28, 0xae, 0x80}, {0x5e, 0xc9, 0x62}, {0xad, 0xdc, 0x30}, {0xfd, 0xe7, 0x25},
}

// Viridis returns the color for the number at on a scale from 0 (dark) to 1 (bright).
func Viridis(at float64) color.RGBA {
	t := at * float64(len(viridis)-1)
	k := min(int(t), len(viridis)-2)
	t -= float64(k)
	mix := func(c int) uint8 {
		return uint8(viridis[k][c] + t*(viridis[k+1][c]-viridis[k][c]) + 0.5)
	}
	return color.RGBA{mix(0), mix(1), mix(2), 0xff}
}
