package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// sumPlaces lowers f as one loop over the positions of its tile, if f is the innermost loop of a
// consumer that reads a workspace by position, and only sums. It sums into a scalar or, if the
// strategy says so, into the sum of a row, which is added to the result when the row ends (source
// 004, figure 2-2). It returns false if rows are walked instead.
func (l *lowerer) sumPlaces(f *cin.Forall, e *env, c *component, o *openLoops) bool {
	cur := e.cur[o.iv.key]
	a, ok := f.Body.(*cin.Assign)
	if o.iv.unit != positions || cur == nil || l.positionSpaces[cur.Of] == nil || !ok ||
		!a.Accumulate || f.Unit != cin.Serial {
		return false
	}
	w := l.positionSpaces[cur.Of]
	if ir.Never(cur.Present) || !l.valuedAtAll(a, o.iv.key) {
		return false
	}
	p := &placeLoop{l, f, e, c, cur, o.iv, w, l.rootsRead(a, c, o.iv.key)}
	inRows := slices.ContainsFunc(c.component.Roots,
		func(r string) bool { return slices.Contains(a.LHS.Vars, r) })
	switch {
	case inRows && w.each && e.res.tile == nil && l.assigns(f):
		l.zero(e)
		p.sumRows(a)
		return true
	case inRows || l.assigns(f) || !p.branchless() ||
		len(c.component.Roots) == 1 && !w.unrolls(f, o.iv):
		return false
	}
	p.emit(func(at ir.Expr) { l.stmt(a, p.in(e, at), false) })
	return true
}

// valuedAtAll reports whether an assignment has a value wherever the access with the given key has
// one, because everything else that it reads is dense.
func (l *lowerer) valuedAtAll(a *cin.Assign, key string) bool {
	all := true
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		op := l.ops[x.Name]
		all = all && (x.Key() == key || op != nil && op.Argument.Format.AllDense())
	})
	return all
}

// rowWalk tracks the row of the current position in a loop over positions. It has a position in
// each level of the component down to the level of the rows. The loop advances them.
type rowWalk struct {
	placeLoop *placeLoop
	at        []*ir.Var // one for each level from the first one down to the level of the rows
	end       *ir.Var   // the first position after the current row
	// later is used on a GPU. It is true after the first row: later rows begin inside the interval.
	later *ir.Var
}

// sumRows emits the loop with a sum for the current row. The sum is added to the result when the
// next row begins, and at the end.
func (p *placeLoop) sumRows(a *cin.Assign) {
	l := p.l
	l.b.When(ir.Less(p.iv.lo, p.iv.hi), func() {
		w := p.walkRows(a)
		sum := ir.NewVar(l.b.Fresh("sum"), l.spec.Compute)
		l.b.Emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
		temp := &cin.Access{Name: sum.Name}
		p.emit(func(at ir.Expr) {
			l.b.When(ir.AtMost(w.end, at), func() {
				w.add(a, temp, sum, true)
				l.b.Set(sum, ir.Zero(sum.Typ))
				w.advance(at)
			})
			in := p.in(w.inRow(p.reads), at).summing(temp.Name, sum)
			l.stmt(&cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}, in, false)
		})
		w.add(a, temp, sum, false)
	})
}

// walkRows returns a walk that starts at the row of the interval's first position.
func (p *placeLoop) walkRows(a *cin.Assign) *rowWalk {
	l, w := p.l, &rowWalk{placeLoop: p}
	last := len(p.c.component.Roots) - 1
	row := 0
	for d, r := range p.c.component.Roots[:last] {
		if p.reads[d] || slices.Contains(a.LHS.Vars, r) {
			row = d
		}
	}
	for _, at := range p.cur.Ancestors(p.iv.ancestor, len(p.c.component.Roots), p.iv.lo)[:row+1] {
		w.at = append(w.at, l.b.Declare(p.cur.Of.Prefix()+"_at", at))
	}
	w.end = l.b.Declare(p.cur.Of.Prefix()+"_end", w.endBelow(row, last))
	if l.spec.GPU && l.ownsRows(p.e, p.c, p.cur.Of, p.cur.Level+last) {
		w.later = ir.NewVar(l.b.Fresh("later"), tensor.Bool)
		l.b.Emit(&ir.Declare{V: w.later, Init: ir.Truth(false)})
	}
	return w
}

// endBelow returns the end of the positions in level to below the current position of level d. The
// component's levels are numbered from 0.
func (w *rowWalk) endBelow(d, to int) ir.Expr {
	p := ir.Plus(w.at[d], ir.Int(1))
	for k := d + 1; k <= to; k++ {
		p = w.placeLoop.cur.Of.Below(w.placeLoop.cur.Level+k, p)
	}
	return p
}

// advance emits code that advances to the row that contains position p, which is after the current
// row.
func (w *rowWalk) advance(p ir.Expr) {
	l := w.placeLoop.l
	row := len(w.at) - 1
	l.b.While(ir.AtMost(w.end, p), func() {
		l.b.Incr(w.at[row], ir.Int(1))
		l.b.Set(w.end, w.endBelow(row, len(w.placeLoop.c.component.Roots)-1))
	})
	for d := row - 1; d >= 0; d-- {
		l.b.While(ir.AtMost(w.endBelow(d, d+1), w.at[d+1]), func() { l.b.Incr(w.at[d], ir.Int(1)) })
	}
}

// inRow returns the environment of the current row, with the coordinates that are read there.
func (w *rowWalk) inRow(reads []bool) *env {
	in := w.placeLoop.e.clone()
	above := w.placeLoop.cur.Pos
	for d, p := range w.at {
		if reads[d] {
			in.coord = in.coord.with(w.placeLoop.c.component.Roots[d], w.placeLoop.l.b.Named(
				w.placeLoop.c.component.Roots[d], w.placeLoop.cur.CoordAt(d, above, p)))
		}
		above = p
	}
	return in
}

// add emits code that adds the sum of the current row to the result. ended is true if the row ends
// before the interval does. Only the first and the last row of an interval may continue in other
// intervals. Their additions are atomic if other threads may add to the same row. On a GPU, a row
// that has ended is inside the interval if another row ended before it. The last row is added after
// the loop, where the threads of a warp meet and threads in one long row add together.
func (w *rowWalk) add(a *cin.Assign, temp *cin.Access, sum *ir.Var, ended bool) {
	l := w.placeLoop.l
	assigned := make([]bool, len(w.placeLoop.c.component.Roots))
	for d, r := range w.placeLoop.c.component.Roots {
		assigned[d] = slices.Contains(a.LHS.Vars, r)
	}
	in := w.inRow(assigned)
	store := func(in *env) {
		in.temps = in.temps.with(temp.Name, value{pres: ir.Truth(true), v: sum, zeroed: true})
		l.stmt(&cin.Assign{LHS: a.LHS, Accumulate: true, RHS: temp}, in, false)
	}
	last := len(w.placeLoop.c.component.Roots) - 1
	row := *w.placeLoop.cur
	row.Level += last
	switch {
	case w.later != nil && ended:
		l.enterResult(in)
		own := in.clone()
		own.atomic, own.racing = false, nil
		own.res.zeroed = own.res.zeroed &&
			(l.spec.Adds || !l.storedOnce(w.placeLoop.e, w.placeLoop.c, w.placeLoop.cur.Of,
				w.placeLoop.cur.Level, last))
		l.b.Emit(&ir.If{Cond: w.later, Then: l.b.Within(func() { store(own) }),
			Else: l.b.Within(func() { store(in) })})
		l.b.Set(w.later, ir.Truth(true))
		return
	case !l.spec.GPU && l.ownsRows(w.placeLoop.e, w.placeLoop.c, w.placeLoop.cur.Of, row.Level):
		inner := len(w.at) - 1
		first := ir.Expr(w.at[inner])
		for k := inner + 1; k <= last; k++ {
			first = w.placeLoop.cur.Of.Below(w.placeLoop.cur.Level+k, first)
		}
		in.own = l.b.Named("own", ir.Both(ir.AtLeast(first, w.placeLoop.iv.lo),
			ir.AtLeast(w.placeLoop.iv.hi, w.end)))
	}
	l.enterResult(in)
	store(in)
}
