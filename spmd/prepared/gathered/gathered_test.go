package gathered_test

import (
	"slices"
	"testing"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/plan"
	"distaff/spmd/prepared/gathered"
)

// TestRows checks which elements of x a rank reads for y(i) = A(i,j) * x(j), with two steps over
// rows of A. They are the columns with entries if A is sparse, unless they are nearly all columns,
// and all of them if A is dense.
func TestRows(t *testing.T) {
	const rows, columns = 4, 8
	all := make([]int64, columns)
	for c := range all {
		all[c] = int64(c)
	}
	for _, c := range []struct {
		format  string
		columns [rows][]int64 // of the entries of each row
		want    []int64       // nil: all
		spans   [][2]int64
		drivers []int // nil: all rows are needed
	}{
		{"ds", [rows][]int64{{1, 3}, {3}, {2, 5}, {5}}, []int64{1, 2, 3, 5}, [][2]int64{{1, 4}, {2, 6}},
			[]int{0}},
		{"ds", [rows][]int64{all, {}, {}, {7}}, nil, nil, []int{0}},
		{"dd", [rows][]int64{{1}, {1}, {1}, {1}}, nil, nil, nil},
	} {
		stmt, err := notation.Parse("y(i) = A(i,j) * x(j)")
		if err != nil {
			t.Fatal(err)
		}
		blocking := &place.Blocking{Vars: []place.BlockVar{{Name: "i", Cuts: []int64{0, 2, rows}}},
			Groups: []place.Group{{Terms: []int{0}}}}
		p := &plan.Problem{Blocking: blocking, Nest: blocking.Nest(), Ranks: 1,
			Norm: notation.Normalize(stmt), Operands: []plan.Operand{
				{Name: "A", Tensor: "A", Vars: []string{"i", "j"}, Groups: []int{0}},
				{Name: "x", Tensor: "x", Vars: []string{"j"}, Groups: []int{0}}}}
		p.Result, p.ResultCut = p.Partition([]int{0})
		for n, modes := range [][]int{{0, -1}, {-1}} {
			p.Operands[n].Partition, p.Operands[n].Cut = p.Partition(modes)
			p.Operands[n].Scope = len(p.Nest.Loops)
		}
		p.Operands[1].Gathered = p.Operands[1].Partition
		f, err := tensor.ParseFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		q := &gathered.Query{Problem: p,
			Formats: map[string]tensor.Format{"A": f, "x": tensor.DenseOf(1)}}
		h := &gathered.Held{Sizes: map[string][]int64{"A": {rows, columns}, "x": {columns}},
			Own: []map[plan.Block]*tcs.Tensor{{}, {}}}
		for b := range plan.Block(2) {
			h.Own[0][b] = block(t, p.Operands[0].Partition.Box(b, h.Sizes["A"]), c.columns[:], f)
		}
		got := q.Rows(h, 1)
		if got.All != (c.want == nil) || !slices.Equal(got.List, c.want) ||
			c.spans != nil && !slices.Equal(got.Spans, c.spans) {
			t.Errorf("%s, columns %v: got %+v, want %v in %v", c.format, c.columns, got, c.want, c.spans)
		}
		if drivers, _ := q.Drivers(1); !slices.Equal(drivers, c.drivers) {
			t.Errorf("%s: got the drivers %v, want %v", c.format, drivers, c.drivers)
		}
		for _, b := range h.Own[0] {
			b.Close()
		}
	}
}

// block returns a block of a matrix in format f. columns holds the columns of each row's entries.
func block(t *testing.T, box [][2]int64, columns [][]int64, f tensor.Format) *tcs.Tensor {
	t.Helper()
	dense, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{4, 8}, Box: box,
		Type: tensor.Float64}, Format: tensor.DenseOf(2)}, nil, "A")
	if err != nil {
		t.Fatal(err)
	}
	defer dense.Close()
	values := tcs.Values[float64](dense)
	dense.Entries(func(at []int64, i int64) bool {
		if slices.Contains(columns[at[0]], at[1]) {
			values[i] = 1
		}
		return true
	})
	b, err := coo.Repack(dense, f, coo.DropFill, coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
