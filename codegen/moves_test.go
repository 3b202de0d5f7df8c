package codegen_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/workload"
)

// TestMoves compares the memory accesses of leaves with numbers computed by hand. All sizes are 100
// except l, which is 8. counts has the numbers of positions of the operands' levels.
func TestMoves(t *testing.T) {
	matrix, tensor := []int64{100, 400}, []int64{80, 500, 2000}
	// the filled places of a workspace of 100 places, with 20 values in each of 100 passes
	filled := 100 * 100 * (1 - math.Exp(-0.2))
	for _, c := range []struct {
		stmt   string
		counts map[string][]int64
		want   workload.Moves
	}{
		// Values of A and x are loaded, and y is written once.
		{"y(i)=A(i,j)*x(j) A:dd", nil, workload.Moves{Loads: 20000 + 100}},
		// A product of matrices keeps its values in registers.
		{"Y(i,j)=A(i,k)*B(k,j)", nil, workload.Moves{}},
		// Each entry picks a value of x, and each row ends.
		{"y(i)=A(i,j)*x(j) A:ds", map[string][]int64{"A": matrix},
			workload.Moves{Picks: []workload.Pick{
				{Arg: 2, Count: 400, Run: 1, Passes: 100, Reach: 1, Within: 1}}, Loads: 2*400 + 100,
				Enters: 100, Ends: 100}},
		// Long rows are summed in lanes, which gather several values at once.
		{"y(i)=A(i,j)*x(j) A:ds -s=temporaries(y),vectorize(j,A)", map[string][]int64{"A": matrix},
			workload.Moves{Picks: []workload.Pick{
				{Arg: 2, Count: 400, Run: 1, Passes: 100, Reach: 1, Within: 1, Lanes: true}},
				Loads: 2*400 + 100, Enters: 100, Ends: 100}},
		// Rows of 8 values are summed in registers.
		{"Y(i,l)=A(i,j)*X(j,l) l=8 A:ds", map[string][]int64{"A": matrix},
			workload.Moves{Picks: []workload.Pick{
				{Arg: 2, Count: 400, Run: 8, Passes: 100, Reach: 1, Within: 1}}, Loads: 8 * 400, Enters: 100,
				Ends: 100}},
		// A row has at most one entry: whether it has one is unpredictable.
		{"y(i)=A(i,j)*x(j) A:ds", map[string][]int64{"A": {100, 40}},
			workload.Moves{Picks: []workload.Pick{
				{Arg: 2, Count: 40, Run: 1, Passes: 100, Reach: 1, Within: 1}}, Loads: 2*40 + 100, Enters: 100,
				Ends: 40}},
		// A's coordinates pick rows of the result; segments of A have at least one entry.
		{"Y(i,l)=A(i,j,k)*C(j,l)*D(k,l) l=8 A:sss", map[string][]int64{"A": tensor}, workload.Moves{
			Picks: []workload.Pick{{Arg: 0, Count: 80, Run: 8, Passes: 1, Reach: 1, Within: 1},
				{Arg: 2, Count: 500, Run: 8, Passes: 80, Reach: 1, Within: 1},
				{Arg: 3, Count: 2000, Run: 8, Passes: 500, Reach: 1, Within: 1}}, Loads: 8 * 2 * 2000,
			Enters: 80 + 500, Ends: 80 + 500}},
		// A sum steps through both operands of each row.
		{"Y(i,j)=A(i,j)+B(i,j) Y:ds A:ds B:ds", map[string][]int64{"A": {100, 5000}, "B": {100, 2000}},
			workload.Moves{Loads: 3 * 6000, Enters: 100, Ends: 100, Steps: 2 * 6000}},
		// A union of two or three operands, merged in windows, takes one step for two coordinates
		// of its result. A further operand is merged with this result.
		{"Y(i,j)=A(i,j)+B(i,j) Y:ds A:ds B:ds -s=mergeby(j,Windows)",
			map[string][]int64{"A": {100, 5000}, "B": {100, 2000}},
			workload.Moves{Loads: 3 * 6000, Enters: 100, Ends: 100, Steps: 6000 / 2}},
		{"Y(i,j)=A(i,j)+B(i,j)-C(i,j) Y:ds A:ds B:ds C:ds -s=mergeby(j,Windows)",
			map[string][]int64{"A": {100, 5000}, "B": {100, 2000}, "C": {100, 1000}},
			workload.Moves{Loads: 4 * 6400, Enters: 100, Ends: 100, Steps: 6400 / 2}},
		{"a=A(i,j)*B(i,j) A:ds B:ds", map[string][]int64{"A": {100, 5000}, "B": {100, 2000}},
			workload.Moves{Loads: 2 * 1000, Enters: 100, Ends: 100 + 2*5000*2000/7000., Steps: 5000 + 2000}},
		// The loop over k begins for each entry of A, and then walks a row of B and a row of C.
		{"a=A(i,j)*B(j,k)*C(i,k) A:ds B:ds C:ds",
			map[string][]int64{"A": matrix, "B": {100, 500}, "C": {100, 300}}, workload.Moves{
				Picks: []workload.Pick{{Arg: 2, Count: 400, Run: 5, Passes: 100, Reach: 1, Within: 1}},
				Loads: 2 * 60, Enters: 100 + 400, Ends: 100 + 60 + 400*2*5*3/8., Steps: 400 * (5 + 3)}},
		// Each entry of A adds values to a row of the result, which is accessed repeatedly.
		{"Y(i,m)=A(i,j)*B(j,m) A:ds B:ds", map[string][]int64{"A": matrix, "B": {100, 500}},
			workload.Moves{
				Picks: []workload.Pick{{Arg: 0, Count: 2000, Run: 1, Passes: 400, Reach: 0.01, Within: 0.01},
					{Arg: 2, Count: 400, Run: 5, Passes: 100, Reach: 1, Within: 1}}, Loads: 3 * 2000,
				Enters: 100 + 400, Ends: 100 + 400}},
		// Each row is walked once, and no row is accessed again.
		{"Y(i,j)=A(i,j)*B(i,j) Y:ds A:ds", map[string][]int64{"A": matrix},
			workload.Moves{Picks: []workload.Pick{
				{Arg: 2, Count: 400, Run: 1, Passes: 100, Reach: 0.01, Within: 1}}, Loads: 3 * 400, Enters: 100,
				Ends: 100}},
		// Each of 25 tiles of entries searches for its first row, and cuts it.
		{
			"y(i)=A(i,j)*x(j) A:ds -s=fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16),parallelize(p0,CPUThread,Atomics,1)", map[string][]int64{"A": matrix}, workload.Moves{
				Picks: []workload.Pick{{Arg: 2, Count: 400, Run: 1, Passes: 100, Reach: 1, Within: 1}},
				Loads: 2 * 400, Enters: 100 + 25, Ends: 100 + 3*25, Searches: 25 * math.Log2(100), Atomics: 50,
				Taken: 25}},
		// A row of X is added for each entry, in the order of the keys. The rows may be anywhere in
		// X.
		{"Y(j,k,l)=A(i,j,k)*X(i,l) l=8 Y:ssd A:sss", map[string][]int64{"A": tensor}, workload.Moves{
			Picks: []workload.Pick{{Arg: 2, Count: 2000, Run: 8, Passes: 2000, Reach: 1, Within: 1}},
			Inserts: []workload.Insert{
				{Count: 2000, Row: 8, Places: 1e4, Passes: 1, Keys: 2, Listed: true, Kept: true, Sorted: true}},
			Loads: 3*8*2000 + 2*8*filled, Enters: 80 + 500, Ends: 80 + 500}},
		// Rows of B are picked, and their entries are stored in a workspace.
		{"Y(i,j)=A(i,k)*B(k,j) Y:ds A:ds B:ds", map[string][]int64{"A": matrix, "B": {100, 500}},
			workload.Moves{
				Picks:   []workload.Pick{{Arg: 2, Count: 400, Run: 5, Passes: 100, Reach: 1, Within: 1}},
				Inserts: []workload.Insert{{Count: 2000, Row: 1, Places: 100, Passes: 100}},
				Loads:   3*2000 + 2*filled, Enters: 100 + 400, Ends: 100 + 400}},
	} {
		r := goldenRequest(t, strings.ReplaceAll(c.stmt, " ", "\n"))
		for v := range r.Tensors.Sizes {
			r.Tensors.Sizes[v] = 100
			if v == "l" {
				r.Tensors.Sizes[v] = 8
			}
		}
		for name, x := range r.Tensors.All {
			x.Counts, x.NNZ = c.counts[name], -1
			for m := range x.Dims {
				x.Dims[m] = 100
			}
			for _, a := range append(r.Statement.Stmt.Accesses(), r.Statement.Stmt.LHS) {
				for m, v := range a.Vars {
					if a.Name == name {
						x.Dims[m] = r.Tensors.Sizes[v]
					}
				}
			}
			if n := len(x.Counts); n > 0 {
				x.NNZ = x.Counts[n-1]
			}
			r.Tensors.All[name] = x
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatalf("%s: %v", c.stmt, err)
		}
		e := workload.Extents{Size: func(v string) int64 { return r.Tensors.Sizes[v] },
			Counts: make([][]int64, len(u.Args))}
		for n, a := range u.Args[1:] {
			e.Counts[n+1] = c.counts[a.Tensor]
			if a.Format.AllDense() {
				n1 := int64(1)
				for range a.Format.Levels {
					n1 *= 100
					e.Counts[n+1] = append(e.Counts[n+1], n1)
				}
			}
		}
		got := u.Workload.Operations(e).Moves
		slices.SortFunc(got.Picks, func(a, b workload.Pick) int { return a.Arg - b.Arg })
		same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
		ok := same(got.Loads, c.want.Loads) && same(got.Enters, c.want.Enters) &&
			same(got.Ends, c.want.Ends) && same(got.Steps, c.want.Steps) &&
			same(got.Searches, c.want.Searches) && same(got.Atomics, c.want.Atomics) &&
			same(got.Taken, c.want.Taken) && len(got.Picks) == len(c.want.Picks) &&
			len(got.Inserts) == len(c.want.Inserts)
		for n, p := range c.want.Picks {
			ok = ok && got.Picks[n].Arg == p.Arg && same(got.Picks[n].Count, p.Count) &&
				same(got.Picks[n].Run, p.Run) && same(got.Picks[n].Passes, p.Passes) &&
				same(got.Picks[n].Reach, p.Reach) && same(got.Picks[n].Within, p.Within) &&
				got.Picks[n].Lanes == p.Lanes
		}
		for n, p := range c.want.Inserts {
			ok = ok && same(got.Inserts[n].Count, p.Count) && same(got.Inserts[n].Row, p.Row) &&
				got.Inserts[n].Listed == p.Listed && same(got.Inserts[n].Places, p.Places) &&
				same(got.Inserts[n].Passes, p.Passes)
		}
		if !ok {
			t.Errorf("%s:\n%v\ngot  %+v\nwant %+v", c.stmt, u.CIN, got, c.want)
		}
	}
	found := workload.Insert{Count: 200, Places: 100, Passes: 2}.PlacesFilled()
	if want := 200 * (1 - math.Exp(-1)); math.Abs(found-want) > 1e-9 {
		t.Errorf("an entry for each place on average: got %v found, want %v", found, want)
	}
}
