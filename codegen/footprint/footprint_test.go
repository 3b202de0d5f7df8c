package footprint_test

import (
	"testing"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/footprint"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// product returns the problem of a matrix product in sparse rows, with 100 coordinates of each
// variable and 1000 entries of each operand. The loop over i is the only outermost loop.
func product(t *testing.T) (*analysis.Problem, *cin.Forall) {
	t.Helper()
	s, err := cin.Parse("forall(i, CPUThread, where(forall(j, A(i,j) = w(j)), " +
		"forall(k, forall(j, w(j) += B(i,k) * C(k,j)))))")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := notation.ParseFormat("ds")
	if err != nil {
		t.Fatal(err)
	}
	p := &analysis.Problem{Stmt: s, Sizes: map[string]int64{"i": 100, "j": 100, "k": 100},
		Compute: tensor.Float64, Assembly: strategy.Append,
		Target: analysis.Target{ChunkWork: 1 << 13, FarBytes: 8 << 20}}
	for _, name := range []string{"A", "B", "C"} {
		p.Tensors = append(p.Tensors, analysis.Tensor{Name: name, Format: rows, Type: tensor.Float64,
			CrdWidth: []uint8{4, 4}, NNZ: 1000, Counts: []int64{100, 1000}})
	}
	return p, s.(*cin.Forall)
}

// TestWorkspaces checks the memory of workspaces and of partial results. Each array is counted with
// 64 bytes of its own.
func TestWorkspaces(t *testing.T) {
	p, l := product(t)
	const array, marked = 100*8 + 64, (100*8 + 64) + (100*1 + 64) + (100*4 + 64)
	for _, c := range []struct {
		name    string
		kind    strategy.Kind
		cut     cin.Cut
		threads int
		want    int64
	}{
		{"an array", strategy.Array, cin.Cut{}, 0, array},
		{"an array for each thread", strategy.Array, cin.Cut{}, 4, 4 * array},
		{"a list of marked places", strategy.MarkedList, cin.Cut{}, 3, 3 * marked},
		{"parts of the range of j", strategy.Array, cin.Cut{How: cin.Rows, Own: "j"}, 4,
			4 * (25*8 + 64)},
		{"partial sums", strategy.Array, cin.Cut{How: cin.Reduction, N: 16}, 2,
			2*array + (16*8 + 64) + (16 + 64)},
		{"partial results", strategy.Array, cin.Cut{How: cin.Partial, N: 2}, 1,
			array + 2*100*100*8 + 64},
	} {
		v := &strategy.Value{Stmt: l, Loops: map[*cin.Forall]*strategy.Loop{l: {Cut: c.cut}},
			Spaces: map[string]strategy.Space{"w": {Form: strategy.Form{Kind: c.kind}}}}
		if got := footprint.Workspaces(p, v, c.threads); got != c.want {
			t.Errorf("%s on %d threads: got %d bytes, want %d", c.name, c.threads, got, c.want)
		}
	}
	if p.Sizes["j"] != 100 {
		t.Errorf("the problem was changed: j has %d coordinates", p.Sizes["j"])
	}
}

// TestInitialResult checks the memory of a result before its first entry.
func TestInitialResult(t *testing.T) {
	p, l := product(t)
	const entries, first = 84, 84 + strategy.LeastCapacity
	v := &strategy.Value{Stmt: l, Loops: map[*cin.Forall]*strategy.Loop{},
		Result: strategy.Result{Factor: 1}}
	kept, joined := footprint.InitialResult(p, v, entries, 4, false)
	if kept != 0 || joined <= 100*12 {
		t.Errorf("a piece for each of 100 iterations: got %d and %d bytes", kept, joined)
	}
	v.At(l).Cut = cin.Cut{How: cin.Ordered}
	one, _ := footprint.InitialResult(p, v, entries, 1, false)
	if want := int64(first+strategy.LeastCapacity)*(8+4) + 2*64; one != want {
		t.Errorf("one piece: got %d bytes, want %d", one, want)
	}
	v.Result.Most = first / 2
	if less, _ := footprint.InitialResult(p, v, entries, 1, false); one-less != first/2*(8+4) {
		t.Errorf("half the capacity: got %d bytes, want %d less than %d", less, first/2*(8+4), one)
	}
	p.Assembly = strategy.TwoPass
	if kept, joined := footprint.InitialResult(p, v, entries, 1, false); kept != 0 || joined != 0 {
		t.Errorf("a result that does not grow: got %d and %d bytes, want none", kept, joined)
	}
}
