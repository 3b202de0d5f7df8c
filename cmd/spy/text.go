package spy

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"distaff/io/bins"
)

// Page is what a picture in characters is written on.
type Page struct {
	Columns int  // characters in a line; the picture takes 24 at least
	Unicode bool // else plain ASCII
}

const (
	leastPanel = 38 // characters of a panel beside another
	mostAcross = 80 // characters of a panel's grid
	panelGap   = 2
)

// panels is how many views stand side by side, and how wide one of them is.
func (p Page) panels(views int) (beside, wide int) {
	columns := max(p.Columns, 24)
	beside = max(1, min(views, (columns+panelGap)/(leastPanel+panelGap)))
	return beside, (columns - (beside-1)*panelGap) / beside
}

// Longest is the longer side of a view, in bins, where that many are drawn; Most what it is at
// most.
func (p Page) Longest(views int) func(size [2]int64) int {
	_, wide := p.panels(views)
	return func(size [2]int64) int {
		return dotsAcross * max(4, min(mostAcross, wide-3-margin(size[0])))
	}
}

// Most is what Longest is at most.
func (p Page) Most() int { return dotsAcross * mostAcross }

// margin is the characters before a grid's frame, for its first and last coordinate down.
func margin(size int64) int { return len(fmt.Sprint(size)) }

// Text draws the picture in characters.
func (p *Picture) Text(w io.Writer, page Page) error {
	set := asciiSet
	if page.Unicode {
		set = unicodeSet
	}
	beside, wide := page.panels(len(p.Grids))
	longest := page.Longest(len(p.Grids))
	lines := wrap([]string{p.Name + ":", p.summary()}, max(page.Columns, 24))
	for at := 0; at < len(p.Grids); at += beside {
		var group [][]string
		for _, g := range p.Grids[at:min(at+beside, len(p.Grids))] {
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

// panel is one view, with its frame, the first and the last coordinate of each side, and what its
// marks mean.
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

// ends are the names of the first and the last coordinate of a mode, where it has them.
func ends(size int64) [2]string {
	switch size {
	case 0:
		return [2]string{"0", ""}
	case 1:
		return [2]string{"1", ""}
	}
	return [2]string{"1", fmt.Sprint(size)}
}

// wrap puts words into lines of at most that many characters, where they fit.
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

// abreast puts panels side by side, each that many characters wide with the gap.
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
