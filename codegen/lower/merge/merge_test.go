package merge_test

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// TestTerms checks which expressions are products, and which contain a quotient.
func TestTerms(t *testing.T) {
	for _, c := range []struct {
		text               string
		product, quotients bool
	}{
		{"a * b", true, false},
		{"-(a * 2)", true, false},
		{"a / b", true, true},
		{"a + b", false, false},
		{"a * (b - c)", false, false},
		{"-(a + b / c)", false, true},
	} {
		x := parse(t, "y = "+c.text).(*cin.Assign).RHS
		if merge.Product(x) != c.product || merge.HasQuotient(x) != c.quotients {
			t.Errorf("%s: product %t, quotient %t", c.text, merge.Product(x), merge.HasQuotient(x))
		}
	}
}

// leaf returns the environment outside the loops of a statement with result y(i), which has a level
// of the given kind, and operands a(i) and b(i), which are compressed.
func leaf(kind tensor.Kind) *scope.Env {
	b := emit.New()
	l := &scope.Leaf{B: b, Args: &tree.Arguments{B: b}, Graph: &provenance.Graph{},
		Spec: &scope.Spec{Compute: tensor.Float64, Vars: []string{"i"}, Strategy: &strategy.Value{}},
		Ops:  map[string]*tree.Operand{}, ResultVars: []string{"i"}, Used: lattice.NewRecord(),
		Bounds: map[string][2]*ir.Var{"i": {b.Var("i_lo"), b.Var("i_hi")}},
		Lanes:  &rewrite.Lanes{Over: map[*ir.For]string{}, Segments: map[*ir.For]string{}}}
	for k, name := range []string{"y", "a", "b"} {
		l.Ops[name] = tree.NewOperand(l.Args, tree.Argument{Name: name, Number: k, Type: tensor.Float64,
			Format:   tensor.Format{Levels: []tensor.Kind{tensor.Compressed}, Order: []int{0}},
			PosWidth: []uint8{8}, CrdWidth: []uint8{8}})
	}
	l.Ops["y"].Argument.Format.Levels[0] = kind
	l.Spec.Operands = []tree.Argument{l.Ops["y"].Argument}
	l.Out = l.NewResult()
	l.Out.Values = l.Ops["y"].Vals()
	return &scope.Env{Leaf: l, Cur: map[string]*tree.Cursor{}, Res: scope.ResultCursor{Pos: ir.Int(0)}}
}

func parse(t *testing.T, text string) cin.Stmt {
	t.Helper()
	s, err := cin.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCases counts the bodies of a loop. A sum of two operands has a body for each set of present
// operands while both have entries, and then one for the rest of each operand.
func TestCases(t *testing.T) {
	for text, want := range map[string]int{"a(i)": 1, "a(i) * b(i)": 1, "a(i) + b(i)": 5,
		"a(i) * 2 + a(i)": 1, "a(i) + 1": 2} {
		e := leaf(tensor.Dense)
		f := parse(t, "forall(i, y(i) = "+text+")").(*cin.Forall)
		e.OpenCursors(f)
		bodies := 0
		p := &merge.Loop{F: f, E: e, Body: func(in *scope.Env, _ bool) ir.Expr {
			if in.Coord.At("i") == nil || in.Res.Level != 1 {
				t.Errorf("%s: the body knows neither i nor the place of y(i)", text)
			}
			bodies++
			return ir.Truth(true)
		}}
		e.Leaf.B.Within(func() {
			merge.EnterResult(e)
			p.Loops()
		})
		if bodies != want {
			t.Errorf("%s: got %d bodies, want %d", text, bodies, want)
		}
	}
}

// TestZero sets a dense result to 0 once, and leaves the environment as it was.
func TestZero(t *testing.T) {
	for kind, want := range map[tensor.Kind]int{tensor.Dense: 1, tensor.Compressed: 0} {
		e := leaf(kind)
		in := e
		code := e.Leaf.B.Within(func() { in = merge.Zero(merge.Zero(e)) })
		if len(code.List) != want || in.Res.Zeroed != (want == 1) || e.Res.Zeroed {
			t.Errorf("%v: got %d statements, and values that are 0: %t before, %t after", kind,
				len(code.List), e.Res.Zeroed, in.Res.Zeroed)
		}
	}
}
