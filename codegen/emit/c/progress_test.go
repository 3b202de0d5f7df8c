package c_test

import (
	"testing"

	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// TestSettled checks that a loop bound counts as changed if any statement sets its variable, and
// not only an assignment.
func TestSettled(t *testing.T) {
	n, m := ir.NewVar("n", tensor.Int64), ir.NewVar("m", tensor.Int64)
	crd, vals := ir.NewArray("crd", tensor.Int32), ir.NewArray("vals", tensor.Float64)
	one := ir.Segment{Crd: crd, Vals: vals, Lo: ir.Int(0), Hi: ir.Int(1), Factor: ir.Int(1)}
	sets := map[string]ir.Stmt{
		"an assignment": &ir.Assign{V: n, X: ir.Int(1)},
		"a declaration": &ir.Declare{V: n, Init: ir.Int(1)},
		"a union":       &ir.Union{Crd: crd, Vals: vals, N: n, Of: []ir.Segment{one, one}},
		"an assignment in a branch": &ir.If{Cond: ir.Less(m, ir.Int(3)),
			Then: &ir.Block{List: []ir.Stmt{&ir.Assign{V: n, X: ir.Int(1)}}}},
	}
	for what, s := range sets {
		if c.Settled(n, []ir.Stmt{s}) {
			t.Errorf("%s of n: n counts as unchanged", what)
		}
		if !c.Settled(ir.Plus(ir.NewVar("k", tensor.Int64), ir.Int(1)), []ir.Stmt{s}) {
			t.Errorf("%s of n: another variable counts as changed", what)
		}
	}
}
