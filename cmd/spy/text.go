package spy

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"distaff/io/bins"
)

// Page has the options for Picture.Text, which draws a picture with characters.
type Page struct {
	Columns int  // characters in a line; a picture uses at least 24
	Unicode bool // false restricts the picture to ASCII
}

const (
	minPanel  = 38 // smallest width of a panel that has neighbours, in characters
	maxAcross = 80 // largest width of a panel's grid, in characters
	panelGap  = 2
)

// panels returns the number of views in a line, and the width of each in characters.
func (p Page) panels(views int) (perLine, wide int) {
	columns := max(p.Columns, 24)
	perLine = max(1, min(views, (columns+panelGap)/(minPanel+panelGap)))
	return perLine, (columns - (perLine-1)*panelGap) / perLine
}

// Longest returns a function for Views. The function returns the largest number of bins on the
// longer side of a view with the given sizes. views is the number of views in the picture.
func (p Page) Longest(views int) func(size [2]int64) int {
	_, wide := p.panels(views)
	return func(size [2]int64) int {
		return dotsAcross * max(4, min(maxAcross, wide-3-margin(size[0])))
	}
}

// MaxBins returns the largest number that a function from Longest can return.
func (p Page) MaxBins() int { return dotsAcross * maxAcross }

// margin returns the width of the column of coordinates to the left of a grid.
func margin(size int64) int { return len(fmt.Sprint(size)) }

// Text writes the picture in characters.
func (p *Picture) Text(w io.Writer, page Page) error {
	set := asciiSet
	if page.Unicode {
		set = unicodeSet
	}
	perLine, wide := page.panels(len(p.Grids))
	longest := page.Longest(len(p.Grids))
	lines := wrap([]string{p.Name + ":", p.summary()}, max(page.Columns, 24))
	for at := 0; at < len(p.Grids); at += perLine {
		var group [][]string
		for _, g := range p.Grids[at:min(at+perLine, len(p.Grids))] {
			group = append(group, panel(g, longest(g.Size), wide, set))
		}
		if len(p.Grids) > 1 {
			lines = append(lines, "")
		}
		lines = append(lines, abreast(group, wide+panelGap)...)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// panel returns the lines of one view: title, frame, the first and the last coordinate of each
// side, and legend.
func panel(g *bins.Grid, longest, wide int, set charset) []string {
	rows, legend := marks(g, longest, set)
	across := 1
	for _, r := range rows {
		across = max(across, utf8.RuneCountInString(r))
	}
	if len(rows) == 0 {
		rows = []string{""}
	}
	left := 0
	title := []string{fmt.Sprintf("mode %d across", g.Modes[1])}
	if g.Modes[0] >= 0 {
		left = margin(g.Size[0])
		title = append([]string{fmt.Sprintf("mode %d down,", g.Modes[0])}, title...)
	}
	f := set.frame
	bar := strings.Repeat(f[4], across)
	pad := strings.Repeat(" ", left)
	out := append(wrap(title, wide), pad+f[0]+bar+f[1])
	for k, r := range rows {
		label := ""
		if last := ends(g.Size[0]); g.Modes[0] >= 0 {
			switch {
			case k == 0:
				label = last[0]
			case k == len(rows)-1:
				label = last[1]
			}
		}
		fill := strings.Repeat(" ", across-utf8.RuneCountInString(r))
		out = append(out, fmt.Sprintf("%*s", left, label)+f[5]+r+fill+f[5])
	}
	out = append(out, pad+f[3]+bar+f[2])
	last := ends(g.Size[1])
	gap := max(1, across-len(last[0])-len(last[1]))
	if last[1] == "" {
		gap = 0
	}
	out = append(out, pad+" "+last[0]+strings.Repeat(" ", gap)+last[1])
	return append(out, wrap(legend, wide)...)
}

// ends returns the labels of the first and the last coordinate of a mode. The second label is empty
// if size is below 2.
func ends(size int64) [2]string {
	switch size {
	case 0:
		return [2]string{"0", ""}
	case 1:
		return [2]string{"1", ""}
	}
	return [2]string{"1", fmt.Sprint(size)}
}

// wrap joins words to lines. A line has at most columns characters. A longer word has a line of its
// own.
func wrap(words []string, columns int) []string {
	var lines []string
	for _, w := range words {
		k := len(lines) - 1
		if k >= 0 && utf8.RuneCountInString(lines[k])+1+utf8.RuneCountInString(w) <= columns {
			lines[k] += " " + w
			continue
		}
		lines = append(lines, w)
	}
	return lines
}

// abreast puts panels next to each other. columns is the width of a panel in characters, including
// the gap after it.
func abreast(panels [][]string, columns int) []string {
	var lines []string
	for k, p := range panels {
		for n, l := range p {
			if n == len(lines) {
				lines = append(lines, "")
			}
			if pad := k*columns - utf8.RuneCountInString(lines[n]); l != "" && pad > 0 {
				lines[n] += strings.Repeat(" ", pad)
			}
			lines[n] += l
		}
	}
	return lines
}
