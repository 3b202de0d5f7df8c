package main

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"

	"distaff/spmd"
)

// drawnBlocks is the most blocks of a tensor that the page draws.
const drawnBlocks = 1 << 14

// blockGrid is a tensor's blocks as a picture, seen along its first two split
// variables.
type blockGrid struct {
	Title         string
	Width, Height int
	Cells         []gridCell
	Note          string
}

type gridCell struct {
	X, Y, W, H  float64
	Color, Text string
}

// hue gives ranks colors that differ between neighbors.
func hue(rank int) string { return fmt.Sprintf("hsl(%d 65%% %d%%)", rank*137%360, 55+rank/360%3*12) }

// grid draws tensor t.
func grid(p *spmd.Planned, t spmd.PlannedTensor) blockGrid {
	g := blockGrid{Title: tensorLabel(t), Width: 320, Height: 320}
	var cuts [][]int64 // of the split variables, as the blocks are numbered
	var seen []string
	for _, v := range t.Vars {
		k := slices.IndexFunc(p.Loops, func(l spmd.PlannedLoop) bool { return l.Var == v })
		if k >= 0 && !slices.Contains(seen, v) {
			seen, cuts = append(seen, v), append(cuts, p.Loops[k].Cuts)
		}
	}
	whole := []int64{0, 1}
	rows, cols, rest := whole, whole, 1
	for k, c := range cuts {
		switch k {
		case 0:
			rows = c
		case 1:
			cols = c
		default:
			rest *= len(c) - 1
		}
	}
	if len(cuts) < 2 {
		g.Width = 120
	}
	nr, nc := len(rows)-1, len(cols)-1
	if nr*nc > drawnBlocks {
		g.Note, g.Height = fmt.Sprintf("%d blocks: too many to draw", t.Blocks), 0
		return g
	}
	if rest > 1 {
		g.Note = fmt.Sprintf("the first of %d layers", rest)
	}
	at := func(c []int64, k int, size float64) (from, extent float64) {
		n := float64(max(c[len(c)-1], 1))
		return float64(c[k]) / n * size, float64(c[k+1]-c[k]) / n * size
	}
	for r := range nr {
		for c := range nc {
			y, h := at(rows, r, float64(g.Height))
			x, w := at(cols, c, float64(g.Width))
			owner := t.Owners[(r*nc+c)*rest]
			g.Cells = append(g.Cells, gridCell{x, y, w, h, hue(owner), fmt.Sprintf("block %d,%d at rank %d", r, c, owner)})
		}
	}
	return g
}

var planTemplate = template.Must(template.New("plan").Funcs(template.FuncMap{
	"label": tensorLabel, "size": sizeOf, "loops": planLoops, "totals": planTotals, "hue": hue,
	"about": func(exact bool, n int64) string { return about(exact, fmt.Sprint(n)) },
	"bytes": func(exact bool, n int64) string { return about(exact, sizeOf(n)) },
	"grids": func(p *spmd.Planned) []blockGrid {
		var list []blockGrid
		for _, t := range p.Tensors {
			list = append(list, grid(p, t))
		}
		return list
	},
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Plan: {{.Statement}}</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right }
td:first-child, th:first-child { text-align: left } h1 { font-size: 1.3em; font-family: monospace }
figure { display: inline-block; margin: 0 2em 1em 0; vertical-align: top } rect { stroke: #fff; stroke-width: .5 }
</style></head><body>
<h1>{{.Statement}}</h1>
<p>{{.Ranks}} ranks. Blocks: {{loops .}}.{{if .Estimated}} What is marked ~, and what rests on it, is an estimate, as if entries were spread evenly.{{end}}</p>
{{range grids .}}<figure><figcaption>{{.Title}} {{.Note}}</figcaption>
{{if .Height}}<svg width="{{.Width}}" height="{{.Height}}">{{range .Cells}}<rect x="{{.X}}" y="{{.Y}}" width="{{.W}}" height="{{.H}}" fill="{{.Color}}"><title>{{.Text}}</title></rect>{{end}}</svg>{{end}}</figure>
{{end}}
<table><tr><th>tensor</th><th>storage</th><th>sizes</th><th>blocks</th><th>entries</th><th>bytes</th></tr>
{{range .Tensors}}<tr><td>{{label .}}</td><td>{{.Format}} {{.Type}}</td><td>{{.Sizes}}</td><td>{{.Blocks}}</td><td>{{about .Counted .Entries}}</td><td>{{bytes .Exact .Bytes}}{{if .Broadcast}}, broadcast{{end}}</td></tr>
{{end}}</table>
<table><tr><th>a rank</th><th>total</th><th>min</th><th>mean</th><th>max</th></tr>
{{range totals .}}<tr><td>{{.Name}}</td><td>{{.Total}}</td><td>{{.Min}}</td><td>{{.Mean}}</td><td>{{.Max}}</td></tr>
{{end}}</table>
<table><tr><th>rank</th><th>steps</th><th>owned</th><th>sent</th><th>messages</th><th>received</th><th>memory</th><th>entries of {{.Largest}}</th></tr>
{{range $r, $n := .Steps}}<tr><td><span style="color: {{hue $r}}">&#9632;</span> {{$r}}</td><td>{{$n}}</td><td>{{size (index $.Owned $r)}}</td><td>{{size (index $.Comm.BytesSent $r)}}</td><td>{{index $.Comm.MessagesSent $r}}</td><td>{{size (index $.Comm.BytesReceived $r)}}</td><td>{{size (index $.Memory $r)}}</td><td>{{index $.Balance.Nonzeros $r}}</td></tr>
{{end}}</table>
</body></html>
`))

// planPage is the plan as a page that needs nothing else.
func planPage(p *spmd.Planned) ([]byte, error) {
	var b bytes.Buffer
	if err := planTemplate.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
