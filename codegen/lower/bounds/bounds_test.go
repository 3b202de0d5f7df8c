package bounds_test

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/bounds"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/strategy"
)

// schedule returns the environment outside the loops of a scheduled statement, and the loops.
func schedule(t *testing.T, text string) (*scope.Env, *cin.SuchThat) {
	t.Helper()
	s, err := cin.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b := emit.New()
	l := &scope.Leaf{B: b, Spec: &scope.Spec{Stmt: s, Vars: []string{"i"}, Strategy: &strategy.Value{}},
		Bounds: map[string][2]*ir.Var{"i": {b.Var("i_lo"), b.Var("i_hi")}}}
	bounds.ReadSchedule(l, s)
	return &scope.Env{Leaf: l}, s.(*cin.SuchThat)
}

// TestSplit narrows the range of i to a tile, and widens the tile's number to coordinates again.
func TestSplit(t *testing.T) {
	e, s := schedule(t, "suchthat(forall(i0, forall(i1, y(i) = x(i))), split(i, i0, i1, 32))")
	c := e.Leaf.Comps["i0"]
	if !c.Natural || c != e.Leaf.Comps["i1"] || c != e.Leaf.Comps["i"] {
		t.Fatalf("got component %+v of i0, want one for i, i0 and i1 in natural order", c)
	}
	var o *scope.OpenLoops
	var in scope.Interval
	block := e.Leaf.B.Within(func() {
		f := s.Body.(*cin.Forall)
		o = bounds.Descend(nil, c.Top, bounds.SpaceOf(e, c), f, e)
		_, in, _ = bounds.Tile(o, ir.Int(2), e)
	})
	text := ""
	for _, s := range block.List {
		text += ir.PrintStmt(s)
	}
	if o.Leaf != "i0" || o.Iv.Unit != scope.Numbers || !ir.Is(o.Iv.Lo, 0) {
		t.Errorf("got %+v, want tiles from 0 on, for i0", o.Iv)
	}
	if in.Unit != scope.Coords || !ir.Is(in.Lo, 64) || in.Whole {
		t.Errorf("got %+v, want the coordinates of tile 2, from 64 on; the code is\n%s", in, text)
	}
	all := bounds.Coverage(scope.Interval{Unit: scope.Numbers, Lo: ir.Int(1), Hi: ir.Int(3)}, o.Frames, e)
	lo, hi := ir.PrintExpr(all.Lo), ir.PrintExpr(all.Hi)
	if lo != "min(32, i_hi)" || hi != "min(96, i_hi)" || all.Whole {
		t.Errorf("got coordinates from %s to %s, want those of tiles 1 and 2", lo, hi)
	}
}

// TestForms converts expressions to forms and back.
func TestForms(t *testing.T) {
	x := emit.New().Var("x")
	for _, y := range []ir.Expr{ir.Int(7), x, ir.Plus(x, ir.Int(1))} {
		if got := bounds.Code(bounds.Form(y)); !ir.Same(got, y) {
			t.Errorf("got %v, want %v", got, y)
		}
	}
}

// TestDrivenBy checks which statements have values only at entries of A.
func TestDrivenBy(t *testing.T) {
	for text, want := range map[string]bool{
		"forall(i, y(i) = A(i) * b(i))":                true,
		"forall(i, y(i) = A(i) + b(i))":                false,
		"forall(i, y(i) = b(i))":                       false,
		"forall(i, where(y(i) = w, w += A(i) * 2))":    false,
		"forall(i, forall(j, y(i) += -A(i) * B(i,j)))": true,
	} {
		s, err := cin.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := bounds.DrivenBy(s, "A(i)"); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}
