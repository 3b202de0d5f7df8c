package main

import (
	"fmt"
	"strings"

	"distaff/io/picture"
)

// entry is a stored entry of the example matrix.
type entry struct {
	at    [2]int
	value int
}

// example is the matrix in the picture of formats: 4 rows and 5 columns, the second row empty.
var (
	exampleDims = [2]int{4, 5}
	example     = []entry{{[2]int{0, 0}, 5}, {[2]int{0, 3}, 1}, {[2]int{2, 1}, 7}, {[2]int{2, 3}, 2},
		{[2]int{3, 4}, 4}}
)

// array is an array of a format: its name and its elements.
type array struct {
	name     string
	elements []string
}

// arrays returns the arrays that store the example matrix in a format. levels has the kind of each
// level, d or s. order has the mode of each level.
func arrays(levels string, order [2]int) []array {
	var list []array
	parents := [][]int{nil} // the stored coordinates of each position of the level above
	for l, kind := range levels {
		pos, crd := []int{0}, []int{}
		var nodes [][]int
		for _, parent := range parents {
			for c := range exampleDims[order[l]] {
				node := append(append([]int{}, parent...), c)
				if kind == 'd' || len(below(order, node)) > 0 {
					nodes = append(nodes, node)
					crd = append(crd, c)
				}
			}
			pos = append(pos, len(nodes))
		}
		if kind == 's' {
			list = append(list, array{fmt.Sprintf("pos of level %d", l), words(pos)},
				array{fmt.Sprintf("crd of level %d", l), words(crd)})
		}
		parents = nodes
	}
	values := make([]string, len(parents))
	for k, node := range parents {
		values[k] = "0"
		for _, e := range below(order, node) {
			values[k] = fmt.Sprint(e.value)
		}
	}
	return append(list, array{"values", values})
}

// below returns the entries of the example that are stored below node. node has the coordinates of
// the first levels, and order has the mode of each level.
func below(order [2]int, node []int) (list []entry) {
	for _, e := range example {
		matches := true
		for l, c := range node {
			matches = matches && e.at[order[l]] == c
		}
		if matches {
			list = append(list, e)
		}
	}
	return list
}

func words(list []int) []string { return strings.Fields(strings.Trim(fmt.Sprint(list), "[]")) }

// formats draws the example matrix and its arrays in four formats.
func formats() *picture.Picture {
	const cell, left, top = 22.0, 20.0, 50.0
	p := &picture.Picture{W: 1000, H: 440, Title: "One matrix in four formats",
		About: "The arrays of the formats dd, ds, ss and ds:1,0 for a matrix of 4 x 5 with 5 entries."}
	write := func(x, y, size, anchor float64, bold bool, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Bold: bold, Text: text})
	}
	write(left, 30, 14, 0, true, "A, 4 x 5")
	for i := range exampleDims[0] {
		write(left+8, top+cell*(float64(i)+1.7), 10, .5, false, fmt.Sprint(i))
		for j := range exampleDims[1] {
			if i == 0 {
				write(left+cell*(float64(j)+1.5), top+12, 10, .5, false, fmt.Sprint(j))
			}
			x, y := left+cell*float64(j+1), top+cell*float64(i+1)
			p.Frame(x, y, cell, cell)
			for _, e := range example {
				if e.at == [2]int{i, j} {
					p.Rect(x, y, cell, cell, runtime)
					write(x+cell/2, y+15, 12, .5, false, fmt.Sprint(e.value))
				}
			}
		}
	}
	columns := [2]float64{190, 600}
	for k, f := range []struct {
		levels, about string
		order         [2]int
	}{
		{"dd", "dense: a value for each coordinate", [2]int{0, 1}},
		{"ds", "rows dense, columns stored: CSR", [2]int{0, 1}},
		{"ss", "only rows with entries: DCSR", [2]int{0, 1}},
		{"ds:1,0", "columns first: CSC", [2]int{1, 0}},
	} {
		x, y := columns[k%2], 30+210*float64(k/2)
		write(x, y, 14, 0, true, "-f=A:"+f.levels)
		write(x+110, y, 12, 0, false, f.about)
		for _, a := range arrays(f.levels[:2], f.order) {
			y += 34
			write(x, y+4, 11, 0, false, a.name)
			width := min(cell, 290/float64(len(a.elements)))
			for n, text := range a.elements {
				fill := compiler
				if a.name == "values" {
					fill = runtime
				}
				at := x + 100 + width*float64(n)
				p.Rect(at, y-11, width, cell, fill)
				p.Frame(at, y-11, width, cell)
				write(at+width/2, y+4, min(11, width*.7), .5, false, text)
			}
		}
	}
	return p
}
