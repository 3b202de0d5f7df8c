package spy

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
)

// SVG draws the picture as SVG: each class of counts of a view is one path, of a line for each run
// of neighbors across. It has no scripts, names no font and suits light pages and dark ones.
func (p *Picture) SVG(w io.Writer) error {
	s := p.newScene()
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="0 0 %v %v" font-family="sans-serif" role="img">`+"\n", s.w, s.h, s.w, s.h)
	fmt.Fprintf(b, "<title>%s</title>\n<desc>%s</desc>\n", html.EscapeString(s.title),
		html.EscapeString(s.desc))
	b.WriteString(s.style())
	fmt.Fprintf(b, `<rect class="p" width="%v" height="%v" fill="%s"/>`+"\n", s.w, s.h,
		hex(light.page))
	for _, d := range s.panels {
		d.svg(b)
	}
	for _, k := range s.keys {
		fmt.Fprintf(b, `<rect class="%s" x="%v" y="%v" width="%d" height="%d" fill="%s"/>`+"\n",
			colorClass("f", k.at), round(k.x), round(k.y), swatch, swatch, hex(light.color(k.at)))
	}
	fmt.Fprintf(b, `<path class="l" fill="none" stroke="%s" d="`, hex(light.faint))
	for _, d := range s.panels {
		fmt.Fprintf(b, "M%v %vh%vv%vh%vz", d.x-0.5, d.y-0.5, round(d.w+1), round(d.h+1), round(-d.w-1))
	}
	for _, m := range s.marks {
		fmt.Fprintf(b, "M%v %vL%v %v", round(m[0]), round(m[1]), round(m[2]), round(m[3]))
	}
	b.WriteString("\"/>\n")
	fmt.Fprintf(b, `<g class="t" fill="%s">`+"\n", hex(light.ink))
	for _, l := range s.labels {
		l.svg(b)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Flush()
}

// colorClass names a color by what it is for, f (fill) or s (stroke), and its place.
func colorClass(kind string, at float64) string { return fmt.Sprintf("%s%d", kind, place(at)) }

func place(at float64) int { return int(math.Round(at * 1000)) }

// style is the colors on a dark page.
func (s *scene) style() string {
	used := map[int]float64{}
	for _, k := range s.keys {
		used[place(k.at)] = k.at
	}
	css := fmt.Sprintf(".p{fill:%s}.t{fill:%s}.l{stroke:%s}", hex(dark.page), hex(dark.ink),
		hex(dark.faint))
	for _, k := range slices.Sorted(maps.Keys(used)) {
		c := hex(dark.color(used[k]))
		css += fmt.Sprintf(".f%d{fill:%s}.s%d{stroke:%s}", k, c, k, c)
	}
	return "<style>@media (prefers-color-scheme: dark){" + css + "}</style>\n"
}

// round leaves two digits after the point.
func round(x float64) float64 { return math.Round(100*x) / 100 }

// svg draws the bins as lines of a bin's height, in the unit of bins.
func (d *panelDrawn) svg(b *bufio.Writer) {
	paths := make([][]byte, len(d.scale.classes))
	ends := make([][2]int, len(paths)) // where each path's last line ends: row, column
	for k := range ends {
		ends[k] = [2]int{-1, 0}
	}
	num := func(p []byte, n int) []byte { return strconv.AppendInt(p, int64(n), 10) }
	for i := range d.grid.Bins[0] {
		row := d.grid.Row(i)
		for j := 0; j < len(row); {
			k, from := d.scale.of(row[j]), j
			for j++; j < len(row) && d.scale.of(row[j]) == k; j++ {
			}
			if k < 0 {
				continue
			}
			p := paths[k]
			if ends[k][0] == i {
				p = append(num(append(p, 'm'), from-ends[k][1]), " 0h"...)
			} else {
				p = append(num(append(num(append(p, 'M'), from), ' '), i), 'h')
			}
			paths[k], ends[k] = num(p, j-from), [2]int{i, j}
		}
	}
	fmt.Fprintf(b,
		`<g shape-rendering="crispEdges" fill="none" transform="translate(%v %v) scale(%v %v)">`+"\n",
		d.x, d.y+d.sy/2, d.sx, d.sy)
	for k, p := range paths {
		if len(p) > 0 {
			at := d.scale.at(k)
			fmt.Fprintf(b, `<path class="%s" stroke="%s" d="%s"/>`+"\n", colorClass("s", at),
				hex(light.color(at)), p)
		}
	}
	b.WriteString("</g>\n")
}

func (l *label) svg(b *bufio.Writer) {
	anchor := [...]string{"", ` text-anchor="middle"`, ` text-anchor="end"`}[l.anchor]
	weight := ""
	if l.bold {
		weight = ` font-weight="bold"`
	}
	at := fmt.Sprintf(`x="%v" y="%v"`, round(l.x), round(l.y))
	if l.up {
		at = fmt.Sprintf(`transform="translate(%v %v) rotate(-90)"`, round(l.x), round(l.y))
	}
	fmt.Fprintf(b, `<text %s font-size="%v"%s%s>%s</text>`+"\n", at, l.size, anchor, weight,
		html.EscapeString(l.text))
}
