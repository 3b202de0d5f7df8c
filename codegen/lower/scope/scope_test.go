package scope_test

import (
	"slices"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

func TestList(t *testing.T) {
	var none *scope.List[int]
	outer := none.With("i", 1).With("j", 2)
	inner := outer.With("i", 3)
	if inner.At("i") != 3 || outer.At("i") != 1 || none.At("i") != 0 {
		t.Error("an inner value must hide an outer one, and change no outer list")
	}
	if _, ok := inner.Without("i").Get("i"); ok || inner.Without("i").At("j") != 2 {
		t.Error("Without must remove all values of a name, and no others")
	}
	if got := inner.Names(); !slices.Equal(got, []string{"i", "j", "i"}) {
		t.Errorf("names: got %v", got)
	}
}

// leaf returns a leaf without a schedule, for a statement over i.
func leaf() *scope.Leaf {
	b := emit.New()
	return &scope.Leaf{B: b, Spec: &scope.Spec{Compute: tensor.Float64, Vars: []string{"i"},
		Strategy: &strategy.Value{Trips: map[string]int64{"k": 8}}}, Graph: &provenance.Graph{},
		Bounds: map[string][2]*ir.Var{"i": {b.Var("i_lo"), b.Var("i_hi")}}}
}

// TestRangeOf checks which of the ranges of a variable applies.
func TestRangeOf(t *testing.T) {
	l := leaf()
	e := &scope.Env{Leaf: l}
	chunk := *e
	chunk.Ranges = e.Ranges.With("i", tree.Range{Lo: ir.Int(3), Hi: ir.Int(5)})
	for _, c := range []struct {
		e    *scope.Env
		v    string
		want string
	}{{e, "i", "i_lo i_hi"}, {e, "k", "0 8"}, {&chunk, "i", "3 5"}, {&chunk, "k", "0 8"}} {
		s := c.e.RangeOf(c.v)
		if got := ir.PrintExpr(s.Lo) + " " + ir.PrintExpr(s.Hi); got != c.want {
			t.Errorf("%s: got %s, want %s", c.v, got, c.want)
		}
	}
}

// TestExpr computes expressions of scalars: a is present, b is absent, and c may be either.
func TestExpr(t *testing.T) {
	l := leaf()
	number := func(name string) *ir.Var { return ir.NewVar(name, tensor.Float64) }
	e := &scope.Env{Leaf: l}
	e.Temps = e.Temps.With("a", scope.Value{Pres: ir.Truth(true), V: number("a")}).
		With("b", scope.Value{Pres: ir.Truth(false)}).
		With("c", scope.Value{Pres: ir.NewVar("here", tensor.Bool), V: number("c")})
	for _, x := range []struct{ text, pres, value string }{
		{"a + b", "true", "a"},
		{"b - a", "true", "-a"},
		{"a * b", "false", "0.0"},
		{"b / a", "false", "0.0"},
		{"a / b", "true", "a / 0.0"},
		{"a + c", "true", "select(here, a + c, a)"},
		{"c * a", "here", "select(here, c * a, 0.0)"},
		{"a * 2", "true", "a * 2.0"},
	} {
		s, err := cin.Parse("y = " + x.text)
		if err != nil {
			t.Fatal(err)
		}
		got := e.Expr(s.(*cin.Assign).RHS, ir.Truth(true))
		if ir.PrintExpr(got.Pres) != x.pres || ir.PrintExpr(l.Masked(got)) != x.value {
			t.Errorf("%s: got %s if %s, want %s if %s", x.text, ir.PrintExpr(l.Masked(got)),
				ir.PrintExpr(got.Pres), x.value, x.pres)
		}
		if pres := e.Presence(s.(*cin.Assign).RHS); ir.PrintExpr(pres) != x.pres {
			t.Errorf("%s: its presence is %s, want %s", x.text, ir.PrintExpr(pres), x.pres)
		}
	}
}

// TestReading checks that a workspace is an operand inside its consumer alone.
func TestReading(t *testing.T) {
	l := leaf()
	e := &scope.Env{Leaf: l}
	op := tree.NewOperand(&tree.Arguments{B: l.B}, tree.Argument{Name: "w"})
	in := e.Reading("w", op)
	if in.Operand("w") != op || e.Operand("w") != nil {
		t.Error("w must be an operand in its consumer, and not around it")
	}
}
