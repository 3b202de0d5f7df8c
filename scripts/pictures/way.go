package main

import (
	"image/color"
	"math"

	"distaff/io/picture"
)

// box is a step in the picture: its position, its width, its name and what it does.
type box struct {
	x, y, w    float64
	name, text string
	fill       color.RGBA
}

const boxHeight = 58

var (
	compiler = color.RGBA{0xdb, 0xe9, 0xf6, 0xff}
	runtime  = color.RGBA{0xe3, 0xf1, 0xdc, 0xff}
	files    = color.RGBA{0xfb, 0xe8, 0xcf, 0xff}
)

// way draws two paths: a statement's through the compiler in the upper half, and the data's through
// the runtime in the lower half.
func way() *picture.Picture {
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
	arrows := [][4]float64{
		{190, 79, 220, 79}, {390, 79, 420, 79}, {590, 79, 620, 79}, {790, 79, 820, 79},
		{900, 108, 900, 190},
		{190, 219, 220, 219}, {390, 219, 420, 219}, {590, 219, 620, 219},
		{705, 248, 705, 310}, {420, 339, 390, 339}, {220, 339, 190, 339},
	}
	p := &picture.Picture{W: 1000, H: 390, Title: "The way of a statement and of its data"}
	write := func(x, y, size, anchor float64, bold bool, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Bold: bold, Text: text})
	}
	write(20, 32, 15, 0, false, "A statement becomes a leaf,")
	write(20, 172, 15, 0, false, "and every rank runs it on its blocks.")
	for _, k := range boxes {
		p.Rect(k.x, k.y, k.w, boxHeight, k.fill)
		p.Frame(k.x, k.y, k.w, boxHeight)
		write(k.x+k.w/2, k.y+24, 13, .5, true, k.name)
		write(k.x+k.w/2, k.y+43, 10, .5, false, k.text)
	}
	for _, a := range arrows {
		from, to := picture.Point{X: a[0], Y: a[1]}, picture.Point{X: a[2], Y: a[3]}
		p.Path(picture.Faint, 1.5, nil, from, to)
		long := math.Hypot(to.X-from.X, to.Y-from.Y)
		dx, dy := (to.X-from.X)/long*8, (to.Y-from.Y)/long*8
		p.Path(picture.Faint, 0, nil, to, picture.Point{X: to.X - dx - dy/2, Y: to.Y - dy - dx/2},
			picture.Point{X: to.X - dx + dy/2, Y: to.Y - dy + dx/2})
	}
	return p
}
