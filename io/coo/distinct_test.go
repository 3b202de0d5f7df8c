package coo

import (
	"io"
	"testing"

	"distaff/io/tensor"
)

// TestDistinct checks that different coordinates are counted exactly, in any order, and that
// repeats are detected.
func TestDistinct(t *testing.T) {
	count := func(dims []int64, at [][]int64) (int64, bool) {
		t.Helper()
		s := &memStream{dims: dims, exact: true, batch: 2, coords: at, typ: tensor.Int32,
			vals: make([]tensor.Value, len(at))}
		var d Distinct
		var b Batch
		for {
			err := s.Next(&b)
			if err == io.EOF {
				return d.Count()
			}
			if err != nil {
				t.Fatal(err)
			}
			d.Add(&b)
		}
	}
	for _, c := range []struct {
		name  string
		at    [][]int64
		n     int64
		exact bool
	}{
		{"none", nil, 0, true},
		{"in order", [][]int64{{0, 5}, {1, 0}, {1, 3}, {7, 0}}, 4, true},
		{"in another order", [][]int64{{7, 0}, {1, 0}, {0, 5}, {1, 3}}, 4, true},
		{"a neighbour", [][]int64{{0, 5}, {0, 5}, {1, 3}}, 2, false},
		{"far apart", [][]int64{{3, 4}, {4, 3}, {0, 0}, {3, 4}}, 3, false},
	} {
		if n, exact := count([]int64{8, 8}, c.at); n != c.n || exact != c.exact {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, n, exact, c.n, c.exact)
		}
	}
	var grid [][]int64 // the hashes of neighbours must differ
	for i := range int64(300) {
		for j := range int64(300) {
			grid = append(grid, []int64{(i * 7) % 300, j})
		}
	}
	if n, exact := count([]int64{300, 300}, grid); n != 90000 || !exact {
		t.Errorf("a grid: got %d, %v", n, exact)
	}
	// There are more entries than hashes: the count is exact only if they are in order.
	for _, order := range []bool{true, false} {
		var d Distinct
		at := [][]int64{make([]int64, BatchSize)}
		for k := int64(0); k <= maxHashes; k += BatchSize {
			for i := range at[0] {
				if at[0][i] = k + int64(i); !order {
					at[0][i] = 2*maxHashes - at[0][i]
				}
			}
			d.Add(&Batch{N: BatchSize, Coords: at})
		}
		if n, exact := d.Count(); n != maxHashes+BatchSize || exact != order {
			t.Errorf("many, in order %v: got %d, %v", order, n, exact)
		}
	}
}
