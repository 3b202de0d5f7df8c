package main

import (
	"fmt"
	"image/color"

	"distaff/io/picture"
)

var rankColors = [4]color.RGBA{{0x3b, 0x52, 0x8b, 0xff}, {0x21, 0x91, 0x8c, 0xff},
	{0xe0, 0x8a, 0x2c, 0xff},
	{0xb0, 0x4a, 0x7f, 0xff}}

// placedEntries returns the coordinates of the entries of an example matrix with n rows and n
// columns, sorted by rows. The first rows have more entries than the last ones.
func placedEntries(n int) (list [][2]int) {
	for i := range n {
		every := 1 + i // row i has about n/(i+1) entries
		for j := i * 5 % every; j < n; j += every {
			list = append(list, [2]int{i, j})
		}
	}
	return list
}

// places draws one matrix on four ranks: by rows, by tiles, and by entries.
func places() *picture.Picture {
	const n, cell, left, top = 16, 16.0, 30.0, 80.0
	p := &picture.Picture{W: 1000, H: 400, Title: "A sparse matrix placed on four ranks",
		About: "By rows and by tiles, ranks have very different numbers of entries. " +
			"By entries, they differ by one at most."}
	write := func(x, y, size, anchor float64, bold bool, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Bold: bold, Text: text})
	}
	entries := placedEntries(n)
	for k, way := range []struct {
		name, machine, place string
		rank                 func(number, i, j int) int
	}{
		{"By rows", "machine M(4)", "A(x,y) -> M(x)", func(_, i, _ int) int { return i * 4 / n }},
		{"By tiles", "machine M(2,2)", "A(x,y) -> M(x,y)",
			func(_, i, j int) int { return i*2/n*2 + j*2/n }},
		{"By entries", "machine M(4)", "A(x,y) -> M(~(x,y))",
			func(number, _, _ int) int {
				rank := 3
				for number < len(entries)*rank/4 {
					rank--
				}
				return rank
			}},
	} {
		x0 := left + 325*float64(k)
		write(x0, 30, 15, 0, true, way.name)
		write(x0, 52, 11, 0, false, way.machine+", place "+way.place)
		var counts [4]int
		for number, e := range entries {
			rank := way.rank(number, e[0], e[1])
			counts[rank]++
			p.Rect(x0+cell*float64(e[1])+1, top+cell*float64(e[0])+1, cell-2, cell-2, rankColors[rank])
		}
		p.Frame(x0, top, cell*n, cell*n)
		cut := func(x1, y1, x2, y2 float64) {
			p.Path(picture.Ink, 1, []float64{4, 3}, picture.Point{X: x1, Y: y1},
				picture.Point{X: x2, Y: y2})
		}
		switch k {
		case 0:
			for r := 1; r < 4; r++ {
				cut(x0, top+cell*n/4*float64(r), x0+cell*n, top+cell*n/4*float64(r))
			}
		case 1:
			cut(x0+cell*n/2, top, x0+cell*n/2, top+cell*n)
			cut(x0, top+cell*n/2, x0+cell*n, top+cell*n/2)
		}
		for r, count := range counts {
			x := x0 + 64*float64(r)
			p.Rect(x, top+cell*n+16, 12, 12, rankColors[r])
			write(x+17, top+cell*n+26, 11, 0, false, fmt.Sprintf("%d: %d", r, count))
		}
	}
	write(left, 390, 11, 0, false, "Rank and its entries.")
	return p
}

// steps draws which tiles the ranks of a grid of 3 x 3 multiply in each step of SUMMA and of
// Cannon's algorithm, and what they receive before the step.
func steps() *picture.Picture {
	const cell = 78.0
	p := &picture.Picture{W: 1000, H: 665, Title: "The steps of SUMMA and of Cannon's algorithm",
		About: "C = A * B on a grid of 3 x 3 ranks. " +
			"In each step a rank multiplies a tile of A and a tile of B."}
	write := func(x, y, size, anchor float64, bold bool, c color.Color, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Bold: bold, Color: c, Text: text})
	}
	of := [2]color.RGBA{rankColors[0], rankColors[2]}
	for k, way := range []struct {
		name, about string
		tile        func(t, i, j int) int
	}{
		{"SUMMA",
			"In step t, column t of A is broadcast along rows of the grid, row t of B along columns.",
			func(t, _, _ int) int { return t }},
		{"Cannon's algorithm",
			"Rank (i,j) begins with A(i,i+j) and B(i+j,j). Then tiles of A move left, tiles of B up.",
			func(t, i, j int) int { return (i + j + t) % 3 }},
	} {
		y0 := 30 + 310*float64(k)
		write(30, y0, 15, 0, true, nil, way.name)
		write(220, y0, 12, 0, false, nil, way.about)
		for t := range 3 {
			x0, y1 := 30+325*float64(t), y0+40
			write(x0, y1-8, 11, 0, false, nil, fmt.Sprintf("step %d", t))
			for i := range 3 {
				for j := range 3 {
					x, y := x0+cell*float64(j), y1+cell*float64(i)
					use := way.tile(t, i, j)
					for m, own := range [2]bool{use == j, use == i} {
						if own { // the rank's own tile, which it does not receive
							p.Rect(x+4, y+12+30*float64(m), cell-8, 24, compiler)
						}
					}
					p.Frame(x, y, cell, cell)
					write(x+cell/2, y+29, 13, .5, true, of[0], fmt.Sprintf("A(%d,%d)", i, use))
					write(x+cell/2, y+59, 13, .5, true, of[1], fmt.Sprintf("B(%d,%d)", use, j))
				}
			}
		}
	}
	p.Rect(30, 632, 24, 14, compiler)
	write(62, 643, 11, 0, false, nil, "The rank owns this tile. It receives the others.")
	return p
}
