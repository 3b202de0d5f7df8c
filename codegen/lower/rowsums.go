package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// inSum lowers the rows inside one of root d, which are walked by rows, on a GPU: where all of them
// sum one value of the result, into a scalar that is added to it behind them. Threads that
// come to one slice would else add to it, one after another, at each of its fibers. own tells
// whether the row lies within the tile. On a CPU, where few threads meet, sums keep the order in which source
// 004 has them.
func (l *lowerer) inSum(f *cin.Forall, in *env, c *component, cur *cursor, d int, own ir.Expr, rows func(f *cin.Forall) ir.Expr) ir.Expr {
	if !l.spec.GPU || in.private != nil || in.res.tile != nil || !in.res.zeroed || !l.sumsOne(f, in) {
		return rows(f)
	}
	target := cin.Target(f)
	temp := &cin.Access{Name: l.fresh("sum")}
	sum := ir.NewVar(temp.Name, l.spec.Compute)
	l.emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
	l.scalars[temp.Name] = sum
	some := rows(cin.Map(f, func(s cin.Stmt) cin.Stmt {
		if a, ok := s.(*cin.Assign); ok {
			return &cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}
		}
		return s
	}).(*cin.Forall))
	delete(l.scalars, temp.Name)
	out := in.clone()
	out.temps[temp.Name] = value{pres: ir.Truth(true), v: sum, zeroed: true}
	alone := in.atomic && in.racing == c
	for j, root := range c.Roots[:d+1] {
		alone = alone && slices.Contains(l.resultVars, root) && !cur.op.hasRepeats(cur.level-d+j)
	}
	if alone {
		out.own = l.named("own", own)
	}
	l.stmt(&cin.Assign{LHS: target, Accumulate: true, RHS: temp}, out, false)
	return some
}
