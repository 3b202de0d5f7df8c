package spy

import (
	"strings"

	"distaff/io/bins"
)

// A Braille character has two dots across and four dots down. Neighbouring dots are about equally
// far apart in both directions, so a dot serves as a square pixel.
const (
	dotsAcross = 2
	dotsDown   = 4
)

// charset is the set of characters that a picture in text consists of.
type charset struct {
	shades  []rune // for classes, in ascending order of counts
	braille bool   // Braille characters are allowed
	dash    string
	// the corners of the frame, clockwise from the top left, then its horizontal and its vertical
	// line
	frame [6]string
}

var (
	unicodeSet = charset{shades: []rune("░▒▓█"), braille: true, dash: "–",
		frame: [6]string{"┌", "┐", "┘", "└", "─", "│"}}
	asciiSet = charset{shades: []rune(".:+*#@"), dash: "-",
		frame: [6]string{"+", "+", "+", "+", "-", "|"}}
)

// zoom returns the height and the width of a bin in dots. Each of the two numbers is 1, 2 or a
// multiple of 4. In each direction, a character therefore contains whole bins, or a bin occupies
// whole characters.
func zoom(g *bins.Grid, longest int) [2]int {
	sides, proportional := extents(g.Size, longest)
	if g.Modes[0] < 0 { // a strip is two lines high
		sides, proportional = [2]int{2 * dotsDown, min(longest, 2*dotsDown*g.Bins[1])}, false
	}
	var z [2]int
	for k := range z {
		z[k] = sides[k] / max(g.Bins[k], 1)
	}
	if proportional {
		z[0] = min(z[0], z[1], 4)
		z[1] = z[0]
	}
	for k := range z {
		switch {
		case z[k] >= 4:
			z[k] = z[k] / 4 * 4
		case z[k] == 3:
			z[k] = 2
		}
	}
	return [2]int{max(1, z[0]), max(1, z[1])}
}

// marks draws a grid as rows of characters with a legend. It draws the bins as Braille dots if
// three conditions hold: set has Braille characters, a character contains several bins, and at most
// half of the bins have an entry. Otherwise the characters are shades.
func marks(g *bins.Grid, longest int, set charset) (rows []string, legend []string) {
	z := zoom(g, longest)
	several := z[0] < dotsDown || z[1] < dotsAcross
	if set.braille && several && 2*g.Filled() <= len(g.Counts) {
		return braille(g, z), brailleLegend(g, set)
	}
	g = g.Coarsen([2]int{max(1, dotsDown/z[0]), max(1, dotsAcross/z[1])})
	return shades(g, [2]int{max(1, z[0]/dotsDown), max(1, z[1]/dotsAcross)}, set)
}

// dotBits holds the bit of each dot of a Braille character, by row and column.
var dotBits = [dotsDown][dotsAcross]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func braille(g *bins.Grid, z [2]int) []string {
	down, across := g.Bins[0]*z[0], g.Bins[1]*z[1]
	var rows []string
	for top := 0; top < down; top += dotsDown {
		line := make([]rune, (across+dotsAcross-1)/dotsAcross)
		for i := top; i < min(top+dotsDown, down); i++ {
			counts := g.Row(i / z[0])
			for j := range across {
				if counts[j/z[1]] > 0 {
					line[j/dotsAcross] |= dotBits[i%dotsDown][j%dotsAcross]
				}
			}
		}
		for k, bits := range line {
			if line[k] = ' '; bits != 0 {
				line[k] = '⠀' + bits
			}
		}
		rows = append(rows, string(line))
	}
	return rows
}

// brailleLegend returns the legend of a picture of dots: the size of a bin, and the numbers of
// entries that a dot can represent.
func brailleLegend(g *bins.Grid, set charset) []string {
	s := newScale(g, 1)
	if len(s.classes) == 0 {
		return nil
	}
	c := class{s.classes[0].low, s.classes[len(s.classes)-1].high}
	return append(binWords("a dot:", g), "with "+c.entries(set.dash))
}

// binWords returns label and then the size of a grid's bins in words. The text is returned in
// pieces. A line may be broken between two pieces.
func binWords(label string, g *bins.Grid) []string {
	n, noun, _ := strings.Cut(bin(g), " c")
	return []string{label, "a bin of", n, "c" + noun}
}

// shades draws each bin as size[0] lines of size[1] characters.
func shades(g *bins.Grid, size [2]int, set charset) (rows, legend []string) {
	s := newScale(g, len(set.shades))
	mark := make([]rune, len(s.classes))
	for k := range mark {
		mark[k] = set.shades[len(set.shades)-1]
		if len(s.classes)+s.skipped > 1 {
			mark[k] = set.shades[int(s.at(k)*float64(len(set.shades)-1)+0.5)]
		}
		legend = append(legend, string(mark[k])+" "+s.classes[k].text(set.dash))
	}
	for i := range g.Bins[0] {
		var line strings.Builder
		for _, n := range g.Row(i) {
			c := " "
			if k := s.of(n); k >= 0 {
				c = string(mark[k])
			}
			line.WriteString(strings.Repeat(c, size[1]))
		}
		for range size[0] {
			rows = append(rows, line.String())
		}
	}
	switch n := len(s.classes); {
	case n == 0:
	case s.classes[n-1].high == 1:
		legend = append(legend, binWords("entry in", g)...)
	default:
		legend = append(legend, binWords("entries in", g)...)
	}
	return rows, legend
}
