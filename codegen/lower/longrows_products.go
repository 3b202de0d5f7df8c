package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// longProductRows handles the long rows of a parallel loop that sums each row in a workspace, as in
// products of sparse matrices. A row is long if it has more terms than the strategy's limit, and
// more than one thread's share of the terms of all rows. The long rows are computed before the
// loop, each on all threads (longrows_sums.go), and the loop reads them.
type longProductRows struct {
	l     *lowerer
	f     *cin.Forall
	where *cin.Where
	t     *cin.Access // the workspace
	terms *cin.Forall // adds a row's terms to it
	rows  *cursor     // a cursor of the operand whose rows are long
	long  strategy.Long
	// stores is true if the first value at a coordinate is stored instead of added to 0, because
	// the workspace does so too. The two differ if the value is -0.
	stores bool

	least ir.Expr   // a long row has more terms than this
	n     *ir.Var   // the number of long rows
	row   *ir.Array // the long rows, in ascending order
	// long row number x has coordinates crd[at[x]:at[x+1]], and the values at the same indices
	at         *ir.Array
	crd, vals  *ir.Array
	capC, capV *ir.Var
}

// newLongProductRows returns the handling of long rows for the parallel loop f.
func (l *lowerer) newLongProductRows(f *cin.Forall, e *env, long strategy.Long) *longProductRows {
	s, ok := f.Body.(*cin.Where)
	if !ok {
		panic("BUG: lower: the loop over " + f.Var + " has no workspace for its long rows")
	}
	t := cin.Target(s.Producer)
	a := &longProductRows{l: l, f: f, where: s, t: t, terms: s.Producer.(*cin.Forall),
		rows: e.cur[long.Key], long: long}
	placed := l.assembly.sumsInPlace(s.Consumer, t, 1)
	a.stores = !placed && l.spec.Strategy.Spaces[t.Name].Form.Kind != strategy.Bitmap
	return a
}

// ends returns the range of positions of row r's terms.
func (a *longProductRows) ends(r ir.Expr) (lo, hi ir.Expr) {
	op := a.rows.op
	p := ir.Minus(r, op.offset(0))
	return ir.Coord(op.pos(1), p), ir.Coord(op.pos(1), ir.Plus(p, ir.Int(1)))
}

// compute computes the long rows.
func (a *longProductRows) compute(e *env) {
	l := a.l
	all := l.rangeOf(e, a.f.Var)
	first, _ := a.ends(all.lo)
	last, _ := a.ends(all.hi)
	lo := l.named("terms_lo", first)
	n := l.named("terms", ir.Minus(last, lo))
	a.least = l.named("long_least",
		ir.Greatest(ir.Over(n, ir.Greatest(l.threads, ir.Int(1))), ir.Int(a.long.N)))
	a.n = l.declare("long", ir.Int(0))
	most := l.named("long_most", ir.Plus(ir.Over(n, ir.Int(a.long.N)), ir.Int(1)))
	a.row = l.alloc("long_row", tensor.Int64, most, false)
	a.at = l.alloc("long_at", tensor.Int64, ir.Plus(most, ir.Int(1)), false)
	l.store(a.at, ir.Int(0), ir.Int(0))
	a.capC, a.capV = l.declare("long_crd_cap", ir.Int(1)), l.declare("long_vals_cap", ir.Int(1))
	a.crd = l.alloc("long_crd", l.crdType(a.t.Vars[0]), a.capC, false)
	a.vals = l.alloc("long_vals", l.spec.Compute, a.capV, false)
	l.when(ir.Less(ir.Int(1), l.threads), func() { a.find(all, lo, n) })
	l.when(ir.Less(ir.Int(0), a.n), func() {
		b := a.newRowSums()
		x := l.newVar("long_x")
		l.emit(&ir.For{V: x, Lo: ir.Int(0), Hi: a.n, Step: 1, Body: l.within(func() {
			r := l.named(a.f.Var, ir.At(a.row, x))
			b.computeRow(x, r, l.bind(e, a.where, a.f.Var, r, nil))
		})})
		b.free()
	})
}

// find lists the long rows. A long row has more than long.N terms. It therefore has at least one of
// every long.N-th term, and only the rows of these terms are tested.
func (a *longProductRows) find(all coordRange, lo, n ir.Expr) {
	l := a.l
	step := ir.Int(a.long.N)
	m := l.newVar("m")
	l.emit(&ir.For{V: m, Lo: ir.Int(0), Hi: ir.Over(ir.Plus(n, ir.Int(a.long.N-1)), step), Step: 1,
		Body: l.within(func() {
			q := l.named("q", ir.Plus(lo, ir.Times(m, step)))
			x, y := l.declare("x", all.lo), l.declare("y", all.hi)
			l.while(ir.Less(x, y), func() {
				mid := l.declare("mid", ir.Over(ir.Plus(x, y), ir.Int(2)))
				_, end := a.ends(mid)
				before := l.within(func() { l.set(x, ir.Plus(mid, ir.Int(1))) })
				behind := l.within(func() { l.set(y, mid) })
				l.emit(&ir.If{Cond: ir.AtMost(end, q), Then: before, Else: behind})
			})
			fresh := ir.Either(ir.Equal(a.n, ir.Int(0)),
				ir.Unequal(ir.At(a.row, ir.Minus(a.n, ir.Int(1))), x))
			l.when(ir.Both(a.isLong(x), fresh), func() {
				l.store(a.row, a.n, x)
				l.incr(a.n, ir.Int(1))
			})
		})})
}

// isLong returns the condition that row r is long.
func (a *longProductRows) isLong(r ir.Expr) ir.Expr {
	lo, hi := a.ends(r)
	return ir.Less(a.least, ir.Minus(hi, lo))
}

// free frees the rows.
func (a *longProductRows) free() {
	for _, arr := range []*ir.Array{a.row, a.at, a.crd, a.vals} {
		a.l.emit(&ir.Free{A: arr})
	}
}

// lower lowers the where for one row. A long row is read from the rows that were computed before.
func (a *longProductRows) lower(e *env) ir.Expr {
	l, s, name := a.l, a.where, a.t.Name
	r := e.coord[a.f.Var]
	read := l.within(func() {
		x := l.named("long_x", &ir.Search{A: a.row, Lo: ir.Int(0), Hi: a.n, Key: r})
		op := newOperand(l, Operand{Name: name, Arg: -1, Type: l.spec.Compute,
			Format: tensor.Format{Levels: []tensor.Kind{tensor.Compressed}, Order: []int{0}}})
		op.arrays[ir.Slot{Arg: -1, Field: ir.Pos}] = a.at
		op.arrays[ir.Slot{Arg: -1, Field: ir.Crd}] = a.crd
		op.arrays[ir.Slot{Arg: -1, Field: ir.Vals}] = a.vals
		op.operand.PosWidth, op.operand.CrdWidth = []uint8{0}, []uint8{0}
		in := e.clone()
		shadowed := l.ops[name]
		l.ops[name] = op
		cin.Accesses(s.Consumer, func(y *cin.Access) {
			if y.Name == name {
				in.cur[y.Key()] = &cursor{op: op, vars: l.levelVars(y), pos: x, pres: ir.Truth(true)}
			}
		})
		l.stmt(s.Consumer, in, false)
		l.ops[name] = shadowed
	})
	l.longRows = nil
	some := ir.Expr(ir.Truth(false))
	rest := l.within(func() { some = l.whereWorkspace(s, a.t, e, false) })
	l.longRows = a
	l.emit(&ir.If{Cond: ir.Both(ir.Less(ir.Int(0), a.n), a.isLong(r)), Then: read, Else: rest})
	return some
}
