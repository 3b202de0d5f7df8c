package planview

import (
	"fmt"
	"html/template"
	"image/color"
	"math"

	"distaff/io/picture"
)

// luminance returns the relative luminance of c, from 0 to 1, as WCAG 2.1 defines it.
func luminance(c color.RGBA) float64 {
	part := func(x uint8) float64 {
		v := float64(x) / 255
		if v <= .04045 {
			return v / 12.92
		}
		return math.Pow((v+.055)/1.055, 2.4)
	}
	return .2126*part(c.R) + .7152*part(c.G) + .0722*part(c.B)
}

// inkOn returns the color of text on c: black or white, whichever has more contrast.
func inkOn(c color.RGBA) color.Color {
	if luminance(c) > .179 {
		return color.Black
	}
	return color.White
}

// hex returns a color as it is written in style sheets.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// fewColors are colors that color-blind people can distinguish (Okabe and Ito 2008, with gray in
// place of black).
var fewColors = []color.RGBA{{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255},
	{204, 121, 167, 255}, {86, 180, 233, 255}, {213, 94, 0, 255}, {240, 228, 66, 255},
	{120, 120, 120, 255}}

// areFew reports whether there are few enough ranks to give each a color that is easy to
// distinguish.
func areFew(ranks int) bool { return ranks <= len(fewColors) }

// rankColor returns the color of a rank. If there are few ranks (areFew), each rank has a fixed
// color. Otherwise the colors of the ranks are spaced evenly on a color scale.
func rankColor(rank, ranks int) color.RGBA {
	if areFew(ranks) {
		return fewColors[rank]
	}
	return picture.Viridis(float64(rank) / float64(ranks-1))
}

// legendWidth is the width of the scale in the legend of many ranks. legendKeyWidth is the width of
// one key in the legend of few ranks.
const legendWidth, legendKeyWidth = 480, 48

// legend draws the colors of few ranks, or the scale with the numbers of some ranks if there are
// many.
func legend(ranks int) template.HTML {
	p := &picture.Picture{W: legendWidth + 12, H: 36, Title: "The colors of ranks"}
	write := func(x, y, anchor float64, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: 12, Anchor: anchor, Text: text})
	}
	if areFew(ranks) {
		p.W = 40 + float64(ranks)*legendKeyWidth
		p.H = 16
		write(0, 12, 0, "rank")
		for r := range ranks {
			left := float64(40 + r*legendKeyWidth)
			p.Rect(left, 0, 16, 16, rankColor(r, ranks))
			write(left+21, 12, 0, fmt.Sprint(r))
		}
		return template.HTML(p.Inline())
	}
	n := min(ranks, 65)
	for k := range n {
		w := float64(legendWidth) / float64(n)
		rank := k * (ranks - 1) / (n - 1)
		p.Rect(float64(k)*w, 0, w, 16, rankColor(rank, ranks))
	}
	for quarter := range 5 {
		k := (quarter*(n-1) + 3) / 4
		share := float64(k) / float64(n-1)
		text := grouped(int64(k * (ranks - 1) / (n - 1)))
		if quarter == 0 {
			text = "rank " + text
		}
		write(share*legendWidth, 32, share, text)
	}
	return template.HTML(p.Inline())
}
