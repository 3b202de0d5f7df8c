package main

import (
	"bytes"
	"fmt"
	"html"
)

// box is a step: its name, its task, and its position.
type box struct {
	x, y, w    int
	name, text string
	fill       string
}

const (
	boxHeight = 58
	compiler  = "#dbe9f6"
	runtime   = "#e3f1dc"
	files     = "#fbe8cf"
)

// way draws the path of a statement (above) and the path of the data (below).
func way() []byte {
	boxes := []box{
		{20, 50, 170, "notation", "parse, check, types, sizes", compiler},
		{220, 50, 170, "loop order, schedule", "what is converted, workspaces", compiler},
		{420, 50, 170, "merge lattices, lower", "coiteration, assembly, chunks", compiler},
		{620, 50, 170, "ir, C99 + OpenMP", "checked by an interpreter", compiler},
		{820, 50, 160, "leaf", "compiled once, cached", compiler},
		{20, 190, 170, "files", ".tns .mtx .npy .npz .rb .tcs", files},
		{220, 190, 170, "load", "pieces, sorted, in two passes", runtime},
		{420, 190, 170, "blocks at ranks", "views of mapped levels", runtime},
		{620, 190, 360, "compute", "fetch ahead, run the leaf, sum in trees", runtime},
		{420, 310, 370, "merge", "a tournament tree, cut by counted entries", runtime},
		{220, 310, 170, "store", "in order, whole or not at all", runtime},
		{20, 310, 170, "files", ".tcs .tns .mtx .npy .npz", files},
	}
	arrows := [][4]int{
		{190, 79, 220, 79}, {390, 79, 420, 79}, {590, 79, 620, 79}, {790, 79, 820, 79},
		{900, 108, 900, 190},
		{190, 219, 220, 219}, {390, 219, 420, 219}, {590, 219, 620, 219},
		{705, 248, 705, 310}, {420, 339, 390, 339}, {220, 339, 190, 339},
	}
	var b bytes.Buffer
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="390" viewBox="0 0 1000 390" font-family="sans-serif">
<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>
<rect width="1000" height="390" fill="#fff"/>
<text x="20" y="32" font-size="15" fill="#333">A statement becomes a leaf,</text>
<text x="20" y="172" font-size="15" fill="#333">and every rank runs it on its blocks.</text>
`)
	for _, k := range boxes {
		fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" "+
			"fill=\"%s\" stroke=\"#888\"/>\n", k.x, k.y, k.w, boxHeight, k.fill)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"13\" font-weight=\"bold\" "+
			"text-anchor=\"middle\" fill=\"#222\">%s</text>\n", k.x+k.w/2, k.y+24,
			html.EscapeString(k.name))
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"10\" text-anchor=\"middle\" "+
			"fill=\"#444\">%s</text>\n", k.x+k.w/2, k.y+43, html.EscapeString(k.text))
	}
	for _, a := range arrows {
		fmt.Fprintf(&b, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#555\" "+
			"stroke-width=\"1.5\" marker-end=\"url(#a)\"/>\n", a[0], a[1], a[2], a[3])
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
