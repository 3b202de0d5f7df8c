package store

import (
	"context"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// TestRowsTaken checks which results are assembled row by row.
func TestRowsTaken(t *testing.T) {
	grid := [][][2]int64{{{0, 40}, {0, 30}}, {{0, 40}, {30, 100}}, {{40, 50}, {0, 30}},
		{{40, 50}, {30, 100}}}
	for _, k := range []struct {
		name  string
		kinds string
		block string
		rows  int64 // that have entries
		row   int64 // entries of each
		modes []int
		want  bool
	}{
		{"CSR", "ds", "ds", 50, 7, []int{0, 1}, true},
		{"CSC", "ds", "ds", 50, 7, []int{1, 0}, true},
		{"empty", "ds", "ds", 0, 0, []int{0, 1}, true},
		{"stored otherwise", "ds", "ss", 50, 7, []int{0, 1}, false},
		{"compressed rows", "ss", "ss", 50, 7, []int{0, 1}, true},
		{"padded rows", "dp", "dp", 50, 1, []int{0, 1}, false},
	} {
		var list [][2]int64
		for i := range k.rows {
			for j := range k.row {
				list = append(list, [2]int64{i, (7*j + i) % 100})
			}
		}
		takes(t, k.name, []int64{50, 100}, grid, list, k.kinds, k.block, k.modes, k.want)
	}
	// A row of more entries than a window holds.
	n := int64(1 << 20)
	var long [][2]int64
	for j := range n {
		long = append(long, [2]int64{1, j})
	}
	half := [][][2]int64{{{0, 3}, {0, n / 2}}, {{0, 3}, {n / 2, n}}}
	takes(t, "a long row", []int64{3, n}, half, long, "ds", "ds", []int{0, 1}, false)
}

// takes checks whether newRows accepts the blocks at two ranks, and the counts of entries if it
// does.
func takes(t *testing.T, name string, dims []int64, boxes [][][2]int64, list [][2]int64, kinds,
	block string, modes []int, want bool) {
	t.Helper()
	err := local.Run(context.Background(), 2, func(c comm.Comm) error {
		b := &Blocks{Layout: tensor.Layout{Dims: dims, Type: tensor.Float64,
			Format: tensor.FormatOf(kinds, modes)},
			Boxes: boxes,
			Own:   map[int]*tcs.Tensor{}}
		for k, box := range boxes {
			b.Owners = append(b.Owners, k%2)
			if k%2 != c.Rank() {
				continue
			}
			var in [][2]int64
			for _, e := range list {
				if e[0] >= box[0][0] && e[0] < box[0][1] && e[1] >= box[1][0] && e[1] < box[1][1] {
					in = append(in, e)
				}
			}
			m, err := coo.Assemble(&ones{dims: dims, entries: in},
				coo.Spec{Format: tensor.FormatOf(block, modes), Box: box}, coo.Config{})
			if err != nil {
				return err
			}
			defer m.Close()
			b.Own[k] = m
		}
		x, err := newRows(c, b, nil)
		if err != nil {
			return err
		}
		if (x != nil) != want {
			t.Errorf("%s: taken is %v, want %v", name, x != nil, want)
		}
		if x != nil && x.starts[len(x.ends)] != int64(len(list)) {
			t.Errorf("%s: %d entries, want %d", name, x.starts[len(x.ends)], len(list))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
