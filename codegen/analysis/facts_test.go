package analysis_test

import (
	"math"
	"slices"
	"testing"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
)

// facts returns the facts of a statement with 100 coordinates of each variable. tensors has the
// name and levels of each tensor, the result first. Each one that is not dense has 1000 entries.
func facts(t *testing.T, stmt string, tensors ...[2]string) *analysis.Facts {
	t.Helper()
	s, err := cin.Parse(stmt)
	if err != nil {
		t.Fatal(err)
	}
	p := &analysis.Problem{Stmt: s, Sizes: map[string]int64{}}
	for _, x := range tensors {
		f, err := notation.ParseFormat(x[1])
		if err != nil {
			t.Fatal(err)
		}
		n := int64(1000)
		if f.AllDense() {
			n = int64(math.Pow(100, float64(len(f.Levels))))
		}
		p.Tensors = append(p.Tensors, analysis.Tensor{Name: x[0], Format: f, NNZ: n})
	}
	for _, v := range []string{"i", "j", "k"} {
		p.Sizes[v] = 100
	}
	p.Assembly = strategy.AssemblyOf(p.Tensors[0].Format, strategy.Pattern{}, false)
	return analysis.New(p)
}

// TestResult checks the facts about the result.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		levels string
		vars   string
		last   int
		dense  string
	}{
		{"dd", "ij", -1, "j"},
		{"ds:1,0", "ji", 1, ""},
		{"sd", "ij", 0, "j"},
		{"ss", "ij", 1, ""},
	} {
		f := facts(t, "forall(i, forall(j, A(i,j) = B(i,j)))", [2]string{"A", c.levels},
			[2]string{"B", "dd"})
		if !slices.Equal(f.Vars, []string{c.vars[:1], c.vars[1:]}) || f.LastCompressed != c.last ||
			f.LastDense() != c.dense || f.IsSparse() != (c.last >= 0) || f.Grows() != (c.last >= 0) {
			t.Errorf("%s: got %v, %d and %q, want %v", c.levels, f.Vars, f.LastCompressed,
				f.LastDense(), c)
		}
	}
	f := facts(t, "forall(i, a += x(i))", [2]string{"a", ""}, [2]string{"x", "d"})
	if f.LastDense() != "" || f.IsSparse() {
		t.Errorf("a scalar: got %q as its last dense variable", f.LastDense())
	}
}

// TestOperands checks which accesses are operands, and which of them a text names.
func TestOperands(t *testing.T) {
	f := facts(t, "forall(i, forall(j, A(i,j) = B(i,j) * B(j,i) + B(i,j) * x(j) * w))",
		[2]string{"A", "dd"}, [2]string{"B", "ds:1,0"}, [2]string{"x", "d"})
	var keys []string
	for _, x := range f.Operands(f.Stmt) {
		keys = append(keys, x.Key)
	}
	slices.Sort(keys)
	if want := []string{"B(i,j)", "B(j,i)", "x(j)"}; !slices.Equal(keys, want) {
		t.Errorf("got the operands %v, want %v", keys, want)
	}
	if _, _, err := f.Access("B"); err == nil {
		t.Error("B, which has two accesses: got no error")
	}
	if a, _, err := f.Access("B(j,i)"); err != nil || a.Key() != "B(j,i)" {
		t.Errorf("B(j,i): got %v, %v", a, err)
	}
	if x, b := f.ShortName("x(j)"), f.ShortName("B(i,j)"); x != "x" || b != "B(i,j)" {
		t.Errorf("got the short names %s and %s", x, b)
	}
}

// TestCounts checks estimates and bounds of the number of values that are added.
func TestCounts(t *testing.T) {
	f := facts(t, "where(forall(i, forall(j, A(i,j) = w(i,j))), "+
		"forall(i, forall(k, forall(j, w(i,j) += B(i,k) * C(k,j)))))",
		[2]string{"A", "dd"}, [2]string{"B", "ds"}, [2]string{"C", "ds"})
	w := f.Stmt.(*cin.Where)
	to := cin.Target(w.Producer)
	if got := f.Additions(w.Producer, to); got != 1000*1000/100 {
		t.Errorf("two sparse factors that share k: got %g additions", got)
	}
	if _, ok := f.TermsAdded(w.Producer, to); ok {
		t.Error("two sparse factors: got a bound of the terms")
	}
	if f.KeysFrom(w.Producer, to, []string{"i"}) != nil {
		t.Error("two sparse factors: got an operand that has the keys")
	}
	f.Tensor("C").NNZ = -1
	if got := f.Additions(w.Producer, to); got != 0 {
		t.Errorf("an unknown number of entries: got %g additions", got)
	}

	f = facts(t, "where(forall(i, y(i) = w(i)), forall(i, forall(j, w(i) += B(i,j) * x(j))))",
		[2]string{"y", "d"}, [2]string{"B", "ds"}, [2]string{"x", "d"})
	w = f.Stmt.(*cin.Where)
	to = cin.Target(w.Producer)
	if n, ok := f.TermsAdded(w.Producer, to); !ok || n != 1000 {
		t.Errorf("one sparse factor: got at most %g terms, %v", n, ok)
	}
	if a := f.KeysFrom(w.Producer, to, []string{"i"}); a == nil || a.Name != "B" {
		t.Errorf("one sparse factor: got the keys of %v", a)
	}
	if got := f.Places([]string{"i", "j"}); got != 1e4 {
		t.Errorf("got %g places of two variables", got)
	}
}

// TestDerivedLoops checks which variables split loops determine, and their numbers of iterations.
func TestDerivedLoops(t *testing.T) {
	f := facts(t, "suchthat(forall(i0, forall(i1, y(i) = x(i))), split(i, i0, i1, 8))",
		[2]string{"y", "d"}, [2]string{"x", "d"})
	if f.IsKnown("i", []string{"i0"}) || !f.IsKnown("i", []string{"i0", "i1"}) {
		t.Error("i must be known inside both loops, and not inside one")
	}
	vars, walked := f.Determined([]string{"i0", "i1"})
	if !walked || !slices.Equal(vars, []string{"i"}) {
		t.Errorf("the loop over i1 determines %v, in order: %v", vars, walked)
	}
	if n := f.MaxTrips("i"); n != 8 {
		t.Errorf("got %d iterations in a tile, want 8", n)
	}
	if n, ok := f.MostPositions("i1"); n != 8 || !ok {
		t.Errorf("i1: got at most %d positions, %v", n, ok)
	}
	if !f.IsDerived("i1") || f.LoweredVar("i1") != "i" {
		t.Errorf("i1: got the name %s, derived: %v", f.LoweredVar("i1"), f.IsDerived("i1"))
	}
	if got := f.Underived([]string{"i1", "j"}); !slices.Equal(got, []string{"i", "j"}) {
		t.Errorf("got the original variables %v", got)
	}
}

// TestHasSegments checks the mean length of segments.
func TestHasSegments(t *testing.T) {
	rows, err := notation.ParseFormat("ds")
	if err != nil {
		t.Fatal(err)
	}
	x := &analysis.Tensor{Format: rows, NNZ: 400, Counts: []int64{100, 400}}
	if !x.HasSegments(4) || x.HasSegments(5) {
		t.Error("400 entries in 100 rows: want segments of 4")
	}
	if x.Counts = nil; x.HasSegments(1) {
		t.Error("no counts: got segments of 1")
	}
}
