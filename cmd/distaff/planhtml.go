package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"distaff/spmd"
)

// openRanks is the most ranks whose table is open when the page is.
const openRanks = 64

// grouped prints a count with commas between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for k := len(s) - 3; k > 0 && s[k-1] != '-'; k -= 3 {
		s = s[:k] + "," + s[k:]
	}
	return s
}

// blocksOf is a count of blocks.
func blocksOf(n int64) string {
	if n == 1 {
		return "1 block"
	}
	return grouped(n) + " blocks"
}

// extents prints sizes.
func extents(sizes []int64) string {
	var list []string
	for _, n := range sizes {
		list = append(list, grouped(n))
	}
	return cmp.Or(strings.Join(list, " x "), "scalar")
}

// pageNumber prints a count, or a mean of counts.
func pageNumber(n float64) string {
	if n == float64(int64(n)) {
		return grouped(int64(n))
	}
	if n >= 1000 {
		return grouped(int64(n + 0.5))
	}
	return compact(n)
}

// rankRow is a rank's line of the table.
type rankRow struct {
	Rank, Fill string
	Cells      []string
}

// pageTotal is a line of the table of totals, with a profile over the ranks.
type pageTotal struct {
	planTotal
	Bars []bar
}

// pageData is what the page is made of.
type pageData struct {
	*spmd.Planned
	Count  string // of ranks
	Keys   []legendKey
	Few    bool
	Grids  []blockGrid
	Totals []pageTotal
	Rows   []rankRow
	Open   bool // the table of all ranks
}

func newPageData(p *spmd.Planned) *pageData {
	colors := newRankColors(p.Ranks)
	d := &pageData{Planned: p, Count: grouped(int64(p.Ranks)) + " ranks", Keys: legend(p.Ranks), Few: colors.few(), Open: p.Ranks <= openRanks}
	if p.Ranks == 1 {
		d.Count = "1 rank"
	}
	for _, t := range p.Tensors {
		d.Grids = append(d.Grids, grid(p, t))
	}
	quantities := planQuantities(p)
	for _, q := range quantities {
		t := pageTotal{planTotal: q.total(pageNumber)}
		if p.Ranks > 1 {
			t.Bars = profile(q.values, func(n int64) string { return q.text(float64(n), pageNumber) })
		}
		d.Totals = append(d.Totals, t)
	}
	for r := range p.Ranks {
		row := rankRow{Rank: grouped(int64(r)), Fill: colors.at(r).String()}
		for _, q := range quantities {
			row.Cells = append(row.Cells, q.text(float64(q.values[r]), pageNumber))
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

var planTemplate = template.Must(template.New("plan").Funcs(template.FuncMap{
	"label": tensorLabel, "extents": extents, "loops": planLoops, "grouped": grouped,
	"entries":       func(t spmd.PlannedTensor) string { return about(t.Counted, grouped(t.Entries)) },
	"bytes":         func(t spmd.PlannedTensor) string { return about(t.Exact, sizeOf(t.Bytes)) },
	"profileWidth":  func() int { return profileWidth },
	"profileHeight": func() int { return profileHeight },
	"legendWidth":   func() int { return legendWidth },
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Plan: {{.Statement}}</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
h1 { font-size: 1.3em; font-family: monospace } h2 { font-size: 1.1em; margin: 1.6em 0 .4em }
table { border-collapse: collapse } td, th { padding: .25em .8em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
td:first-child, th:first-child, .left { text-align: left } td svg { background: #f2f2f2 }
figure { display: inline-block; margin: 1em 2em .5em 0; vertical-align: bottom } figcaption { max-width: 320px; min-width: 130px; margin-bottom: .4em }
small { color: #666 } svg { display: block } svg text { font: 12px system-ui, sans-serif }
.scale { shape-rendering: crispEdges } .outlined rect { stroke: #fff; stroke-width: .5 } summary { cursor: pointer; font-size: 1.1em; font-weight: bold; margin: 1.6em 0 .4em }
</style></head><body>
<h1>{{.Statement}}</h1>
<p>{{.Count}}. Blocks: {{loops .Planned}}.{{if .Estimated}} What is marked ~, and what rests on it, is an estimate, as if entries were spread evenly.{{end}}</p>
<h2>Tensors</h2>
<table><tr><th>tensor</th><th class="left">storage</th><th>sizes</th><th>blocks</th><th>entries</th><th>bytes</th><th class="left">source</th></tr>
{{range .Tensors}}<tr><td>{{label .}}</td><td class="left">{{.Format}} {{.Type}}</td><td>{{extents .Sizes}}</td><td>{{grouped .Blocks}}</td><td>{{entries .}}</td><td>{{bytes .}}</td><td class="left">{{if .Result}}result{{else}}{{.Source}}{{end}}</td></tr>
{{end}}</table>
<h2>Which rank owns which block</h2>
<svg id="legend" class="scale" width="{{legendWidth}}" height="36"><text x="0" y="12">rank</text>{{range .Keys}}
<rect x="{{.X}}" y="18" width="{{.W}}" height="16" fill="{{.Fill}}"></rect>{{if $.Few}}<text x="{{.At}}" y="31" text-anchor="{{.Anchor}}">{{.Label}}</text>{{end}}{{end}}</svg>
{{if not .Few}}<svg width="{{legendWidth}}" height="16">{{range .Keys}}{{if .Label}}<text x="{{.At}}" y="12" text-anchor="{{.Anchor}}">{{.Label}}</text>{{end}}{{end}}</svg>{{end}}
{{range .Grids}}<figure><figcaption><b>{{.Title}}</b> {{.Sizes}}<br><small>{{.Note}}</small></figcaption>
{{if .Height}}<svg width="{{.Width}}" height="16"><text x="0" y="12">{{if .Rows}}{{.Rows}} &#8595;{{end}}{{if .Cols}} &#160; {{.Cols}} &#8594;{{end}}</text></svg>
<svg width="{{.Width}}" height="{{.Height}}" class="{{if .Outlined}}outlined{{else}}scale{{end}}">{{range .Cells}}<rect x="{{.X}}" y="{{.Y}}" width="{{.W}}" height="{{.H}}" fill="{{.Fill}}">{{if .Title}}<title>{{.Title}}</title>{{end}}</rect>{{end}}
{{range .Cells}}{{if .Label}}<text x="{{.CX}}" y="{{.CY}}" text-anchor="middle" style="pointer-events: none" fill="{{.Ink}}">{{.Label}}</text>{{end}}{{end}}</svg>{{end}}</figure>
{{end}}
<h2>What a rank does</h2>
<table><tr><th></th><th>total</th><th>min</th><th>mean</th><th>max</th>{{if gt .Ranks 1}}<th>max at rank</th><th class="left">by rank</th>{{end}}</tr>
{{range .Totals}}<tr><td>{{.Name}}</td><td>{{.Total}}</td><td>{{.Min}}</td><td>{{.Mean}}</td><td>{{.Max}}</td>{{if .Bars}}<td>{{.At}}</td><td class="left"><svg class="scale" width="{{profileWidth}}" height="{{profileHeight}}">{{range .Bars}}<rect x="{{.X}}" y="{{.Top}}" width="{{.Wide}}" height="{{.Most}}" fill="{{.Fill}}" fill-opacity=".4"><title>{{.Title}}</title></rect><rect x="{{.X}}" y="{{.Middle}}" width="{{.W}}" height="{{.Least}}" fill="{{.Fill}}"><title>{{.Title}}</title></rect>{{end}}</svg></td>{{end}}</tr>
{{end}}</table>
<details{{if .Open}} open{{end}}><summary>{{if gt .Ranks 1}}All {{end}}{{.Count}}</summary>
<table><tr><th>rank</th>{{range .Totals}}<th>{{.Name}}</th>{{end}}</tr>
{{range .Rows}}<tr><td><svg width="12" height="12" style="display: inline"><rect width="12" height="12" fill="{{.Fill}}"></rect></svg> {{.Rank}}</td>{{range .Cells}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></details>
</body></html>
`))

// planPage is the plan as a page that needs nothing else.
func planPage(p *spmd.Planned) ([]byte, error) {
	var b bytes.Buffer
	if err := planTemplate.Execute(&b, newPageData(p)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
