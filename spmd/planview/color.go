package planview

import (
	"fmt"
	"math"
)

// rgb is a color.
type rgb [3]uint8

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance is the relative luminance of c, from 0 to 1, as WCAG 2.1 defines it.
func (c rgb) luminance() float64 {
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		v := float64(c[i]) / 255
		if v <= .04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// ink is the color of text on c: black or white, whichever has more contrast with it.
func (c rgb) ink() string {
	if c.luminance() > .179 {
		return "#000"
	}
	return "#fff"
}

// Few ranks have colors that the color-blind tell apart (Okabe and Ito 2008).
var fewColors = []rgb{{0, 114, 178}, {230, 159, 0}, {0, 158, 115}, {204, 121, 167}, {86, 180, 233},
	{213, 94, 0}, {240, 228, 66}, {120, 120, 120}}

// Many have colors of a scale that grows lighter evenly (viridis, of van der Walt and Smith 2015),
// here at even distances.
var scaleColors = []rgb{{68, 1, 84}, {71, 45, 123}, {59, 82, 139}, {44, 114, 142}, {33, 145, 140},
	{40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37}}

// rankColors gives ranks colors.
type rankColors struct{ ranks int }

func newRankColors(ranks int) rankColors { return rankColors{ranks} }

// few tells whether every rank has a color of its own that is easily told from others.
func (x rankColors) few() bool { return x.ranks <= len(fewColors) }

// of is a rank's color, and that of text on it.
func (x rankColors) of(rank int) (fill, ink string) {
	c := x.at(rank)
	return c.String(), c.ink()
}

func (x rankColors) at(rank int) rgb {
	if x.few() {
		return fewColors[rank]
	}
	at := float64(rank) / float64(x.ranks-1) * float64(len(scaleColors)-1)
	k := min(int(at), len(scaleColors)-2)
	var c rgb
	for i := range c {
		a, b := float64(scaleColors[k][i]), float64(scaleColors[k+1][i])
		c[i] = uint8(a + (b-a)*(at-float64(k)) + 0.5)
	}
	return c
}

// legendKey is a color of the legend, and the rank that it is of.
type legendKey struct {
	X, W   float64
	Fill   string
	Label  string // the rank; "" where there is no room for it
	At     float64
	Anchor string // how the label lies at At: start, middle or end
}

// A scale of colors in the legend is this wide; the key of one rank of few takes less.
const legendWidth, legendKeyWidth = 480, 48

// legend has the colors of few ranks, else the scale, with some ranks' numbers.
func legend(ranks int) []legendKey {
	x := newRankColors(ranks)
	var keys []legendKey
	if x.few() {
		for r := range ranks {
			left := float64(r * legendKeyWidth)
			keys = append(keys, legendKey{X: left, W: 16, Fill: x.at(r).String(), Label: fmt.Sprint(r),
				At: left + 21, Anchor: "start"})
		}
		return keys
	}
	n := min(ranks, 65)
	quarter := 0 // of the ranks, that has a label next
	for k := range n {
		w := float64(legendWidth) / float64(n)
		rank := k * (ranks - 1) / (n - 1)
		key := legendKey{X: pixels(float64(k) * w), W: pixels(w), Fill: x.at(rank).String(),
			At: pixels((float64(k) + 0.5) * w), Anchor: "middle"}
		if 4*k >= quarter*(n-1) {
			quarter++
			key.Label = grouped(int64(rank))
		}
		switch k {
		case 0:
			key.At, key.Anchor = 0, "start"
		case n - 1:
			key.At, key.Anchor = legendWidth, "end"
		}
		keys = append(keys, key)
	}
	return keys
}
