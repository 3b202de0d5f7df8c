package positions

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
	"distaff/io/tensor"
)

// keptRow delays the addition of a row's sum to the result. It is used on a GPU, in a walk over an
// interval of positions, if other threads may add to the same row.
//
// A row that is known to be entirely inside the interval is added when it ends. The sum of any
// other row is kept. It is added after the next row of this kind is summed, or after the walk. At
// these points the threads of a warp can run together. If all of them do, and their intervals are
// in the same long row, the warp adds up their sums and makes a single addition to the result
// (package emit/cuda).
//
// A thread whose interval is inside one row of the result adds only once, even if this row contains
// many rows of lower levels.
type keptRow struct {
	e    *scope.Env // around the walk
	root int        // index of the component's root that completes the row's coordinates
	at   *ir.Var    // the row's place in the result, or -1 if no row is kept
	sum  *ir.Var
	used bool
}

// keepRow returns the state of a walk that keeps sums of rows and adds them to the result late (see
// keptRow). f is the loop whose iterations the walk visits. keepRow returns nil if the walk adds
// each row to the result when the row ends.
func keepRow(f *cin.Forall, e *scope.Env, c *scope.Component) *keptRow {
	l := e.Leaf
	if !l.Spec.GPU || !e.Atomic || e.Private != nil || e.Res.Tile != nil || !l.Assigns(f) ||
		l.Out.InOrder {
		return nil
	}
	k := &keptRow{e: e, root: -1}
	for d, r := range c.Roots[:len(c.Roots)-1] {
		if slices.Contains(l.ResultVars, r) {
			k.root = d
		}
	}
	if k.root < 0 {
		return nil
	}
	k.at = ir.NewVar(l.B.Fresh("row_at"), tensor.Int64)
	k.sum = ir.NewVar(l.B.Fresh("row_sum"), l.Spec.Compute)
	return k
}

// walk emits a walk over rows, and after it the addition of the last row.
func (k *keptRow) walk(emit func()) {
	if k == nil {
		emit()
		return
	}
	l := k.e.Leaf
	b := l.B.Within(emit)
	if k.used {
		l.B.Emit(&ir.Declare{V: k.at, Init: ir.Int(-1)})
		l.B.Emit(&ir.Declare{V: k.sum, Init: ir.Zero(k.sum.Typ)})
	}
	l.B.Append(b)
	if k.used {
		k.add()
	}
}

// fits reports whether a thread can keep the sum of a row (see keptRow). The loops over the roots
// after root d sum the row. rowEnv is the environment of the row.
func (k *keptRow) fits(f *cin.Forall, d int, rowEnv *scope.Env) bool {
	return k != nil && k.root == d && rowEnv.Atomic && rowEnv.Res.Zeroed &&
		rowEnv.Res.Level == k.e.Leaf.Out.Op.Order() && rowEnv.Res.Here == nil && rowEnv.Res.Row == nil &&
		units.SumsSingleValue(f, rowEnv)
}

// row lowers the loops inside a row of the result. The loops sum into a variable, and row keeps the
// sum in k instead of adding it to the result (see keptRow). emit lowers the loops with the
// variable as their target.
func (k *keptRow) row(f *cin.Forall, in *scope.Env, emit func(f *cin.Forall,
	in *scope.Env) ir.Expr) ir.Expr {
	l := k.e.Leaf
	k.used = true
	target := cin.Target(f).Name
	sum := l.B.Local("sum", ir.Zero(l.Spec.Compute))
	temp := &cin.Access{Name: sum.Name}
	g := *f
	g.Body = cin.Map(f.Body, func(s cin.Stmt) cin.Stmt {
		if a, ok := s.(*cin.Assign); ok && a.LHS.Name == target {
			return &cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}
		}
		return s
	})
	some := emit(&g, in.Summing(temp.Name, sum))
	k.add()
	l.B.Set(k.at, in.Res.Pos)
	l.B.Set(k.sum, sum)
	return some
}

// add emits code that adds the kept row to the result. The code does nothing if no row is kept.
func (k *keptRow) add() {
	l := k.e.Leaf
	l.B.When(ir.AtLeast(k.at, ir.Int(0)), func() {
		l.B.Emit(&ir.Store{A: l.Out.Values, Index: k.at, Accumulate: true, Atomic: true,
			X: ir.Convert(l.Out.Values.Elem, k.sum)})
	})
}
