package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// keptRow is the sum of the row that a thread summed last in a walk over an interval of positions.
// It is used on a GPU if other threads may add to the same row. The sum is added to the result only
// when the walk reaches the next such row, or after the walk. There the threads of a warp meet
// again, so threads whose intervals are inside one long row add a single sum (package emit/cuda).
// An interval inside one row also adds only once, even if it has many rows of lower levels.
type keptRow struct {
	l    *lowerer
	e    *env    // around the walk
	root int     // index of the component's root that completes the row's coordinates
	at   *ir.Var // the row's place in the result, or -1 if no row is kept
	sum  *ir.Var
	used bool
}

// keepRow returns the state for keeping rows in the walk that f determines, or nil if each row is
// added to the result when it ends.
func (l *lowerer) keepRow(f *cin.Forall, e *env, c *component) *keptRow {
	if !l.spec.GPU || !e.atomic || e.private != nil || e.res.tile != nil || !l.assigns(f) ||
		l.assembly.inOrder() {
		return nil
	}
	k := &keptRow{l: l, e: e, root: -1}
	for d, r := range c.component.Roots[:len(c.component.Roots)-1] {
		if slices.Contains(l.resultVars, r) {
			k.root = d
		}
	}
	if k.root < 0 {
		return nil
	}
	k.at = ir.NewVar(l.b.Fresh("row_at"), tensor.Int64)
	k.sum = ir.NewVar(l.b.Fresh("row_sum"), l.spec.Compute)
	return k
}

// walk emits a walk over rows, and after it the addition of the last row.
func (k *keptRow) walk(emit func()) {
	if k == nil {
		emit()
		return
	}
	l := k.l
	b := l.b.Within(emit)
	if k.used {
		l.b.Emit(&ir.Declare{V: k.at, Init: ir.Int(-1)})
		l.b.Emit(&ir.Declare{V: k.sum, Init: ir.Zero(k.sum.Typ)})
	}
	l.b.Append(b)
	if k.used {
		k.add()
	}
}

// fits reports whether the sum of the row that starts at root d of the walk can be kept. in is the
// environment of the row.
func (k *keptRow) fits(f *cin.Forall, d int, in *env) bool {
	return k != nil && k.root == d && in.atomic && in.res.zeroed &&
		in.res.level == k.l.out.op.Order() && in.res.here == nil && in.res.row == nil &&
		k.l.sumsSingleValue(f, in)
}

// row lowers the loops inside a row and keeps their sum. emit lowers them with the sum in place of
// the result.
func (k *keptRow) row(f *cin.Forall, in *env, emit func(f *cin.Forall, in *env) ir.Expr) ir.Expr {
	l := k.l
	k.used = true
	target := cin.Target(f).Name
	sum := ir.NewVar(l.b.Fresh("sum"), l.spec.Compute)
	l.b.Emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
	temp := &cin.Access{Name: sum.Name}
	g := *f
	g.Body = cin.Map(f.Body, func(s cin.Stmt) cin.Stmt {
		if a, ok := s.(*cin.Assign); ok && a.LHS.Name == target {
			return &cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}
		}
		return s
	})
	some := emit(&g, in.summing(temp.Name, sum))
	k.add()
	l.b.Set(k.at, in.res.pos)
	l.b.Set(k.sum, sum)
	return some
}

// add adds the kept row to the result, if there is one.
func (k *keptRow) add() {
	l := k.l
	l.b.When(ir.AtLeast(k.at, ir.Int(0)), func() {
		l.b.Emit(&ir.Store{A: l.out.vals(), Index: k.at, Accumulate: true, Atomic: true,
			X: ir.Convert(l.out.vals().Elem, k.sum)})
	})
}
