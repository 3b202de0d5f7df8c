package planview

import (
	"testing"

	"distaff/spmd/forecast"
)

// TestLayout checks that no two ranks have the same place.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		machine            []int64
		ranks              int
		layers, rows, cols int
		says, note         string
	}{
		{nil, 6, 1, 1, 6, "A machine of one dimension.", ""},
		{[]int64{12}, 12, 1, 2, 8, "A machine of one dimension, in lines of 8.", ""},
		{[]int64{2, 3}, 6, 1, 2, 3,
			"A machine of 2x3: rows are its first dimension and columns its second.", ""},
		{[]int64{2, 3, 2, 2}, 24, 4, 2, 3,
			"A machine of 2x3x2x2: rows are its first dimension, columns its second, and layers the points of the others.", ""},
		{[]int64{2, 2}, 3, 1, 1, 3, "A machine of one dimension.",
			"The machine 2x2 has 4 points, so the ranks are drawn in a row."},
	} {
		x := newLayout(&forecast.Planned{Ranks: c.ranks, Machine: c.machine}, cellLine)
		if x.rows != c.rows || x.cols != c.cols || x.says() != c.says || x.note != c.note {
			t.Errorf("%v: layers of %dx%d, %q, %q", c.machine, x.rows, x.cols, x.says(), x.note)
		}
		seen, layers := map[[3]int]int{}, map[int]bool{}
		for r := range c.ranks {
			layer, row, col := x.place(r)
			at := [3]int{layer, row, col}
			if other, ok := seen[at]; ok || layer >= c.layers || row >= c.rows || col >= c.cols {
				t.Errorf("%v: rank %d is at %v, where rank %d is", c.machine, r, at, other)
			}
			seen[at], layers[layer] = r, true
		}
		if len(layers) != c.layers {
			t.Errorf("%v: %d layers, want %d", c.machine, len(layers), c.layers)
		}
	}
	x := newLayout(&forecast.Planned{Ranks: 24, Machine: []int64{2, 3, 2, 2}}, cellLine)
	if got := x.coordinates(23) + x.coordinates(7); got != " at (1,2,1,1) at (0,1,1,1)" {
		t.Errorf("got %s", got)
	}
}
