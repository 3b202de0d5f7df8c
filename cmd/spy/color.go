package spy

import (
	"fmt"
	"image/color"
)

// viridis is nine points of the color map of that name (S. van der Walt and N. Smith, 2015), whose
// lightness rises evenly, also for readers who see fewer colors.
var viridis = [...][3]float64{
	{0x44, 0x01, 0x54}, {0x47, 0x2d, 0x7b}, {0x3b, 0x52, 0x8b}, {0x2c, 0x72, 0x8e}, {0x21, 0x91, 0x8c},
	{0x28, 0xae, 0x80}, {0x5e, 0xc9, 0x62}, {0xad, 0xdc, 0x30}, {0xfd, 0xe7, 0x25},
}

// palette is the colors of a drawing.
type palette struct {
	page, ink, faint color.RGBA // the background, text, and frames and ticks
	from, to         float64    // the part of viridis between a few entries and many
}

// On a light page many entries are dark, on a dark one bright; the ends of viridis that are near
// the page's color are left out, so that a single entry is seen.
var (
	light = palette{page: color.RGBA{0xff, 0xff, 0xff, 0xff}, ink: color.RGBA{0x1f, 0x23, 0x28, 0xff},
		faint: color.RGBA{0x77, 0x7d, 0x85, 0xff}, from: 0.7, to: 0}
	dark = palette{page: color.RGBA{0x0d, 0x11, 0x17, 0xff}, ink: color.RGBA{0xe6, 0xed, 0xf3, 0xff},
		faint: color.RGBA{0x8b, 0x94, 0x9e, 0xff}, from: 0.3, to: 1}
)

// color is that of a place between few entries (0) and many (1).
func (p *palette) color(at float64) color.RGBA {
	t := (p.from + (p.to-p.from)*at) * float64(len(viridis)-1)
	k := min(int(t), len(viridis)-2)
	t -= float64(k)
	mix := func(c int) uint8 { return uint8(viridis[k][c] + t*(viridis[k+1][c]-viridis[k][c]) + 0.5) }
	return color.RGBA{mix(0), mix(1), mix(2), 0xff}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
