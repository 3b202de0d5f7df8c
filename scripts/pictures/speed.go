package main

import (
	"bytes"
	"errors"
	"image/color"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// line is a row of the table of leaves that `make bench` prints, with the best times in
// milliseconds.
type line struct {
	kernel             string
	threads            int
	ours, byHand, peer float64
	name               string // name of the peer; empty if no library has the kernel
}

// against returns the time that ours is compared with: the peer's or, without a peer, the
// handwritten kernel's. The length of a bar is this time divided by our time.
func (l line) against() float64 {
	if l.name == "" {
		return l.byHand
	}
	return l.peer
}

// run holds the table of leaves that was measured on one processor.
type run struct {
	processor string
	lines     []line
}

var (
	heading = regexp.MustCompile(`(?m)^### (.+)$`)
	row     = regexp.MustCompile(
		`^(\S.*?\S) +(\d+) +([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+ +(\S+) +([\d.]+|-) +(?:[\d.]+|-) +[\d.]+ +(?:[\d.]+|-)`)
)

// tables reads the tables of leaves in a page. Each table is in a section whose heading names
// the processor.
func tables(text string) ([]run, error) {
	var list []run
	heads := heading.FindAllStringSubmatchIndex(text, -1)
	for k, h := range heads {
		end := len(text)
		if k+1 < len(heads) {
			end = heads[k+1][0]
		}
		r := run{processor: text[h[2]:h[3]]}
		for each := range strings.Lines(text[h[1]:end]) {
			l, ok, err := lineOf(strings.TrimSpace(each))
			if err != nil {
				return nil, err
			}
			if ok {
				r.lines = append(r.lines, l)
			}
		}
		if len(r.lines) > 0 {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("docs/benchmarks.md has no table of leaves")
	}
	return list, nil
}

// lineOf parses a row. ok is false if the text is not a row.
func lineOf(text string) (l line, ok bool, err error) {
	m := row.FindStringSubmatch(text)
	if m == nil {
		return l, false, nil
	}
	l = line{kernel: m[1]}
	var errs [4]error
	l.threads, errs[0] = strconv.Atoi(m[2])
	l.ours, errs[1] = strconv.ParseFloat(m[3], 64)
	l.byHand, errs[2] = strconv.ParseFloat(m[4], 64)
	if m[5] != "-" {
		l.name = m[5]
		l.peer, errs[3] = strconv.ParseFloat(m[6], 64)
	}
	return l, true, errors.Join(errs[:]...)
}

// marks is a plotter that draws a stroke across each bar. at maps the number of a row to the value
// where its stroke is drawn. offset and width are the offset and width of the bars.
type marks struct {
	at     map[int]float64 // row -> value
	offset vg.Length
	width  vg.Length
}

func (m marks) style() draw.LineStyle {
	return draw.LineStyle{Color: color.Black, Width: vg.Points(1.2)}
}

// Plot draws the strokes.
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, k := range slices.Sorted(maps.Keys(m.at)) {
		at := y(float64(k)) + m.offset
		c.StrokeLine2(m.style(), x(m.at[k]), at-m.width/2, x(m.at[k]), at+m.width/2)
	}
}

// Thumbnail draws a stroke for the legend.
func (m marks) Thumbnail(c *draw.Canvas) {
	mid := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(m.style(), mid, c.Min.Y, mid, c.Max.Y)
}

// label returns the text for a kernel's bars: the kernel's name, followed in parentheses by the
// names of the libraries in the kernel's lines. A line without a library has the name "by hand".
func label(lines []line, kernel string) string {
	var names []string
	for _, l := range lines {
		name := l.name
		if name == "" {
			name = "by hand"
		}
		if l.kernel == kernel && (len(names) == 0 || names[len(names)-1] != name) {
			names = append(names, name)
		}
	}
	return kernel + " (" + strings.Join(names, ", ") + ")"
}

// panel draws the speed of the leaves and of the handwritten kernels on a processor, relative to
// the best library or, without a library, to the handwritten kernel.
func panel(r run) (*plot.Plot, int, error) {
	p := plot.New()
	p.Title.Text = r.processor
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.X.Label.Text = "times as fast as the best library (in brackets)"
	var kernels []string
	most := 0
	for _, l := range r.lines {
		if len(kernels) == 0 || kernels[len(kernels)-1] != l.kernel {
			kernels = append(kernels, l.kernel)
		}
		most = max(most, l.threads)
	}
	// The first kernel of the table is at the top.
	at, names := map[string]int{}, make([]string, len(kernels))
	for k, kernel := range kernels {
		at[kernel] = len(kernels) - 1 - k
		names[at[kernel]] = label(r.lines, kernel)
	}
	const width = 5 * vg.Length(1)
	for _, series := range []struct {
		threads int
		label   string
		color   color.RGBA
		offset  vg.Length
	}{{1, "1 thread", color.RGBA{0x4c, 0x78, 0xa8, 0xff}, width / 2},
		{most, "all threads", color.RGBA{0xf5, 0x8a, 0x3c, 0xff}, -width / 2}} {
		values, byHand := make(plotter.Values, len(kernels)), map[int]float64{}
		for _, l := range r.lines {
			if l.threads == series.threads && l.ours > 0 && l.byHand > 0 {
				values[at[l.kernel]] = l.against() / l.ours
				byHand[at[l.kernel]] = l.against() / l.byHand
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, 0, err
		}
		bars.Horizontal, bars.Color, bars.Offset, bars.LineStyle.Width = true, series.color,
			series.offset, 0
		strokes := marks{byHand, series.offset, width}
		p.Add(bars, strokes)
		p.Legend.Add(series.label+"   ", bars)
		if series.threads == most {
			p.Legend.Add("by hand in C   ", strokes)
		}
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.7},
		{X: 1, Y: float64(len(kernels)) - 0.3}})
	if err != nil {
		return nil, 0, err
	}
	one.Color, one.Dashes = color.Gray{0x60}, []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(one)
	p.NominalY(names...)
	p.Y.Tick.Label.Font.Size = vg.Points(8)
	p.Y.Padding = vg.Points(30) // for wider fonts
	p.X.Min = 0
	p.X.Max *= 1.2 // room for the legend
	p.Legend.Top = false
	p.Legend.XOffs = -vg.Points(4)
	p.Legend.YOffs = vg.Points(4)
	return p, len(kernels), nil
}

// speed draws a panel for each measured processor, next to one another.
func speed(runs []run, file string) error {
	plots := [][]*plot.Plot{make([]*plot.Plot, len(runs))}
	rows := 0
	for k, r := range runs {
		p, n, err := panel(r)
		if err != nil {
			return err
		}
		plots[0][k], rows = p, max(rows, n)
	}
	image := vgsvg.New(vg.Length(len(runs))*7*vg.Inch, vg.Length(rows)*vg.Points(14)+vg.Points(70))
	tiles := draw.Tiles{Rows: 1, Cols: len(runs)}
	for k, c := range plot.Align(plots, tiles, draw.New(image))[0] {
		plots[0][k].Draw(c)
	}
	var text bytes.Buffer
	if _, err := image.WriteTo(&text); err != nil {
		return err
	}
	// Times is as wide as the font that the positions of labels were computed for, and is more
	// often installed.
	svg := strings.ReplaceAll(text.String(), "font-family:Liberation Serif",
		"font-family:'Liberation Serif','Times New Roman',Times,serif")
	return os.WriteFile(file, []byte(svg), 0o644)
}
