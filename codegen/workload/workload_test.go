package workload_test

import (
	"slices"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
	"distaff/codegen/workload"
	"distaff/io/tensor"
)

// TestOperations compares the counts of small leaves with counts computed by hand. All sizes are
// 100. A has 400 entries, B has 1000, and x is dense.
func TestOperations(t *testing.T) {
	sparse := tensor.Format{Levels: []tensor.Kind{tensor.Dense, tensor.Compressed}, Order: []int{0, 1}}
	operands := []tree.Argument{{Name: "y", Format: tensor.DenseOf(1)},
		{Name: "A", Number: 1, Format: sparse}, {Name: "B", Number: 2, Format: sparse},
		{Name: "x", Number: 3, Format: tensor.DenseOf(1)}}
	at := workload.Extents{Size: func(string) int64 { return 100 },
		Counts: [][]int64{nil, {100, 400}, {100, 1000}, {100}}}
	for _, c := range []struct {
		stmt string
		want workload.Operations
	}{
		// Each entry of A picks a value of x.
		{"forall(i, forall(j, y(i) += A(i,j) * x(j)))", workload.Operations{Multiplications: 400,
			Additions: 400, Reads: []float64{0, 400, 0, 400}, Exact: true, Serial: true,
			Moves: workload.Moves{Loads: 2 * 400, Enters: 100, Ends: 100, Picks: []workload.Pick{
				{Arg: 3, Count: 400, Run: 1, Passes: 100, Reach: 1, Within: 1}}}}},
		{"forall(i, CPUThread, forall(j, y(i) += A(i,j)))", workload.Operations{Additions: 400,
			Reads: []float64{0, 400, 0, 0}, Exact: true,
			Moves: workload.Moves{Loads: 400, Enters: 100, Ends: 100}}},
		// An entry of A meets one of B in a tenth of all cases.
		{"forall(i, forall(j, y(i) += A(i,j) * B(i,j)))", workload.Operations{Multiplications: 40,
			Additions: 40, Reads: []float64{0, 40, 40, 0}, Serial: true,
			Moves: workload.Moves{Loads: 2 * 40, Enters: 100, Ends: 40 + 2*400*1000/1400.,
				Steps: 400 + 1000}}},
	} {
		s, err := cin.Parse(c.stmt)
		if err != nil {
			t.Fatal(err)
		}
		leaf := workload.Leaf{Stmt: s, Vars: []string{"i", "j"}, Operands: operands}
		got := leaf.Operations(at)
		for _, x := range [][2]float64{{got.Multiplications, c.want.Multiplications},
			{got.Additions, c.want.Additions}, {got.Moves.Loads, c.want.Moves.Loads},
			{got.Moves.Enters, c.want.Moves.Enters}, {got.Moves.Ends, c.want.Moves.Ends},
			{got.Moves.Steps, c.want.Moves.Steps}} {
			if !near(x[0], x[1]) {
				t.Errorf("%s: got %v, want %v, in %+v", c.stmt, x[0], x[1], got)
			}
		}
		if got.Exact != c.want.Exact || got.Serial != c.want.Serial ||
			!slices.EqualFunc(got.Reads, c.want.Reads, near) ||
			!slices.Equal(got.Moves.Picks, c.want.Moves.Picks) {
			t.Errorf("%s: got %+v, want %+v", c.stmt, got, c.want)
		}
	}
}

func near(x, y float64) bool { return x-y < 1e-9*y+1e-9 && y-x < 1e-9*y+1e-9 }
