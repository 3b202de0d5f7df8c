package main

import (
	"errors"
	"image/color"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// line is a row of a table of `make bench`.
type line struct {
	kernel  string
	threads int
	ratio   float64 // Distaff's time over that of the kernel by hand
}

var row = regexp.MustCompile(`^(\S.*\S) +(\d+) +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+`)

// firstTable reads the first table of kernels in a page.
func firstTable(text string) ([]line, error) {
	_, rest, ok := strings.Cut(text, "\nkernel ")
	if !ok {
		return nil, errors.New("docs/benchmarks.md has no table of kernels")
	}
	table, _, _ := strings.Cut(rest, "```")
	var list []line
	for text := range strings.Lines(table) {
		m := row.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			continue
		}
		threads, err1 := strconv.Atoi(m[2])
		ratio, err2 := strconv.ParseFloat(m[3], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		list = append(list, line{m[1], threads, ratio})
	}
	if len(list) == 0 {
		return nil, errors.New("the table of kernels in docs/benchmarks.md is empty")
	}
	return list, nil
}

// speed draws how many times as fast as the kernels by hand the leaves are.
func speed(lines []line, file string) error {
	p := plot.New()
	p.Title.Text = "Speed against the same kernel written by hand (1: as fast)"
	p.X.Label.Text = "times as fast"
	var names []string
	most := 0
	for _, l := range lines {
		if len(names) == 0 || names[len(names)-1] != l.kernel {
			names = append(names, l.kernel)
		}
		most = max(most, l.threads)
	}
	// The first kernel of the table stands on top.
	for k, n := 0, len(names); k < n/2; k++ {
		names[k], names[n-1-k] = names[n-1-k], names[k]
	}
	at := map[string]int{}
	for k, name := range names {
		at[name] = k
	}
	const width = 5 * vg.Length(1)
	for _, series := range []struct {
		threads int
		label   string
		color   color.RGBA
		offset  vg.Length
	}{{1, "1 thread", color.RGBA{0x4c, 0x78, 0xa8, 0xff}, width / 2}, {most, "all threads", color.RGBA{0xf5, 0x8a, 0x3c, 0xff}, -width / 2}} {
		values := make(plotter.Values, len(names))
		for _, l := range lines {
			if l.threads == series.threads && l.ratio > 0 {
				values[at[l.kernel]] = 1 / l.ratio
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Horizontal, bars.Color, bars.Offset, bars.LineStyle.Width = true, series.color, series.offset, 0
		p.Add(bars)
		p.Legend.Add(series.label, bars)
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.7}, {X: 1, Y: float64(len(names)) - 0.3}})
	if err != nil {
		return err
	}
	one.Color, one.Dashes = color.Gray{0x60}, []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(one)
	p.NominalY(names...)
	p.Y.Tick.Label.Font.Size = vg.Points(8)
	p.X.Min = 0
	p.X.Max *= 1.2 // room for the legend
	p.Legend.Top = false
	p.Legend.XOffs = -vg.Points(4)
	p.Legend.YOffs = vg.Points(4)
	return p.Save(7*vg.Inch, vg.Length(len(names))*vg.Points(14)+vg.Points(70), file)
}
