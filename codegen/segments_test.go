package codegen_test

import (
	"math"
	"testing"

	"distaff/codegen"
	"distaff/codegen/workload"
)

// TestLongSegments: a loop that enters each row once for each of its entries takes a number of
// steps that follows the squares of the rows' lengths. These are estimated from the longest row.
func TestLongSegments(t *testing.T) {
	const rows, columns, others = 2000, 5000, 10
	for _, c := range []struct {
		name  string
		row   func(r int) float64 // returns the number of entries of a row
		empty int64
		off   float64 // the largest accepted ratio of the estimate to the true number
	}{
		{"equal rows", func(int) float64 { return 12 }, 0, 1.001},
		{"Zipf's law, 0.7", func(r int) float64 { return math.Round(900 * math.Pow(float64(r+1), -0.7)) },
			0, 1.1},
		{"Zipf's law, 1", func(r int) float64 { return math.Round(3000 / float64(r+1)) }, 0, 1.1},
		{"rows without entries", func(r int) float64 { return float64(r % 2 * 12) }, rows / 2, 1.001},
	} {
		all, squares, longest := 0.0, 0.0, 0.0
		for r := range rows {
			n := c.row(r)
			all, squares, longest = all+n, squares+n*n, max(longest, n)
		}
		r := goldenRequest(t, "a=A(i,j)*A(i,k)*B(j,k)\nA:ds\nB:ds")
		r.Ask.Schedule = []string{"temporaries(a)"} // without tables
		r.Tensors.Sizes = map[string]int64{"i": rows, "j": columns, "k": columns}
		counts := map[string][]int64{"A": {rows, int64(all)}, "B": {columns, columns * others}}
		for name, n := range counts {
			x := r.Tensors.All[name]
			x.Dims, x.Counts, x.NNZ = []int64{n[0], columns}, n, n[1]
			r.Tensors.All[name] = x
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		e := workload.Extents{Size: func(v string) int64 { return r.Tensors.Sizes[v] },
			Counts: make([][]int64, len(u.Args)), Segments: make([][]workload.Segments, len(u.Args))}
		for n, a := range u.Args[1:] {
			e.Counts[n+1] = counts[a.Tensor]
			if a.Tensor == "A" {
				e.Segments[n+1] = []workload.Segments{{}, {Empty: c.empty, Longest: int64(longest)}}
			}
		}
		got, want := u.Workload.Operations(e).Moves.Steps, squares+others*all
		if got > want*c.off || got < want/c.off {
			t.Errorf("%s: got %.4g steps, want %.4g", c.name, got, want)
		}
	}
}
