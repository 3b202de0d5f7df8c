package units_test

import (
	"strings"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

func TestThreadsFor(t *testing.T) {
	for bound, want := range map[int64]int64{0: 256, 1: 32, 32: 32, 33: 64, 1024: 1024, 1025: 256} {
		if got := units.ThreadsFor(bound); got != want {
			t.Errorf("%d iterations: got %d threads, want %d", bound, got, want)
		}
	}
}

// TestSetKind makes loops parallel, or refuses them because of their bodies.
func TestSetKind(t *testing.T) {
	for _, c := range []struct{ body, why string }{
		{"y[i] = 1.0", ""},
		{"s += 1.0", ""},
		{"s = 1.0", "each of them sets s"},
		{"var v float64 = 0.0\nv = 1.0", ""},
		{"grow y, n, n + 1", "append to y in order"},
	} {
		f, err := ir.Parse("func leaf\n param y float64 = t0.vals\n param n0 = t0.nnz\n{\nvar n int64 = n0\n" +
			"var s float64 = 0.0\nfor i in 0 : n {\n" + c.body + "\n}\n}\n")
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		loop := f.Body.List[2].(*ir.For)
		e := &scope.Env{Leaf: &scope.Leaf{B: emit.New(), Spec: &scope.Spec{Strategy: &strategy.Value{}},
			Graph: &provenance.Graph{}, Lanes: &rewrite.Lanes{Over: map[*ir.For]string{}}}}
		why := refusal(func() {
			units.SetKind(&cin.Forall{Var: "i", Unit: cin.CPUThread, Race: cin.NoRaces}, e, loop)
		})
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: got %q, want %q", c.body, why, c.why)
		}
		if why == "" && (loop.Kind != ir.Parallel || (len(loop.Reduce) > 0) != (c.body == "s += 1.0")) {
			t.Errorf("%s: got a loop of kind %v that reduces %v", c.body, loop.Kind, loop.Reduce)
		}
	}
}

// refusal returns the reason for which f refuses a schedule, or "".
func refusal(f func()) (why string) {
	defer func() {
		if r, ok := recover().(*scope.Refusal); ok {
			why = r.Why
		}
	}()
	f()
	return ""
}

// TestSumsSingleValue checks which loops sum one value of the result y(i), inside a loop over i.
func TestSumsSingleValue(t *testing.T) {
	for text, want := range map[string]bool{
		"forall(j, y(i) += A(i,j))":                                        true,
		"forall(j, y(i) = A(i,j))":                                         false,
		"forall(j, y(j) += A(i,j))":                                        false,
		"forall(j, w(i) += A(i,j))":                                        false,
		"suchthat(forall(j, CPUThread/Atomics, y(i) += A(i,j)))":           false,
		"suchthat(forall(j, CPUThread/ParallelReduction, y(i) += A(i,j)))": true,
	} {
		s, err := cin.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if such, ok := s.(*cin.SuchThat); ok {
			s = such.Body
		}
		l := &scope.Leaf{Spec: &scope.Spec{}, ResultVars: []string{"i"}}
		l.Out = &scope.Result{Leaf: l, Op: operand("y")}
		e := &scope.Env{Leaf: l}
		e.Coord = e.Coord.With("i", ir.NewVar("i", tensor.Int64))
		if got := units.SumsSingleValue(s.(*cin.Forall), e); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

func operand(name string) *tree.Operand {
	return tree.NewOperand(&tree.Arguments{}, tree.Argument{Name: name})
}
