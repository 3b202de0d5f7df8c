package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// sumPlaces lowers the loop f of the consumer of a workspace by position, where it is the
// innermost one and only sums, as one loop over the positions of its tile: into a scalar, or, as
// the strategy says, into the sum of a row that is added to the result as the row ends (source
// 004, figure 2-2). It returns false where rows are walked instead.
func (l *lowerer) sumPlaces(f *cin.Forall, e *env, c *component, o *opened) bool {
	cur := e.cur[o.iv.key]
	a, ok := f.Body.(*cin.Assign)
	if o.iv.unit != positions || cur == nil || cur.op.places == nil || !ok || !a.Accumulate ||
		f.Unit != cin.Serial {
		return false
	}
	w := cur.op.places
	if never(cur.pres) || !l.valuedAtAll(a, o.iv.key) {
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

// valuedAtAll tells whether an assignment has a value wherever the access called key has: all
// else that it reads is dense.
func (l *lowerer) valuedAtAll(a *cin.Assign, key string) bool {
	all := true
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		op := l.ops[x.Name]
		all = all && (x.Key() == key || op != nil && op.operand.Format.AllDense())
	})
	return all
}

// rowWalk is how far a loop over positions has come in the rows above: the positions, which
// it steps forward, of the levels of a component that its body needs.
type rowWalk struct {
	placeLoop *placeLoop
	at        []*ir.Var // of each level from the first one on, down to that of the rows
	end       *ir.Var   // the first position behind the row at hand
	// later, on a GPU, is set behind the first row: the rows that follow begin in the interval.
	later *ir.Var
}

// sumRows emits the loop with a sum for the row at hand, which is added to the result where
// the next row begins, and at the end.
func (p *placeLoop) sumRows(a *cin.Assign) {
	l := p.l
	l.when(ir.Less(p.iv.lo, p.iv.hi), func() {
		w := p.walkRows(a)
		sum := ir.NewVar(l.fresh("sum"), l.spec.Compute)
		l.emit(&ir.Declare{V: sum, Init: ir.Zero(sum.Typ)})
		temp := &cin.Access{Name: sum.Name}
		l.scalars[temp.Name] = sum
		p.emit(func(at ir.Expr) {
			l.when(ir.AtMost(w.end, at), func() {
				w.add(a, temp, sum, true)
				l.set(sum, ir.Zero(sum.Typ))
				w.advance(at)
			})
			l.stmt(&cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}, p.in(w.inRow(p.reads), at), false)
		})
		w.add(a, temp, sum, false)
		delete(l.scalars, temp.Name)
	})
}

// walkRows begins at the row of the interval's first position.
func (p *placeLoop) walkRows(a *cin.Assign) *rowWalk {
	l, w := p.l, &rowWalk{placeLoop: p}
	last := len(p.c.component.Roots) - 1
	row := 0
	for d, r := range p.c.component.Roots[:last] {
		if p.reads[d] || slices.Contains(a.LHS.Vars, r) {
			row = d
		}
	}
	for _, at := range l.ancestors(p.cur, p.iv, len(p.c.component.Roots), p.iv.lo)[:row+1] {
		w.at = append(w.at, l.declare(p.cur.op.prefix()+"_at", at))
	}
	w.end = l.declare(p.cur.op.prefix()+"_end", w.behind(row, last))
	if l.spec.GPU && l.ownsRows(p.e, p.c, p.cur.op, p.cur.level+last) {
		w.later = ir.NewVar(l.fresh("later"), ir.Bool)
		l.emit(&ir.Declare{V: w.later, Init: ir.Truth(false)})
	}
	return w
}

// behind is the first position of the component's level number to that lies behind the
// position at hand of level number d.
func (w *rowWalk) behind(d, to int) ir.Expr {
	p := ir.Plus(w.at[d], ir.Int(1))
	for k := d + 1; k <= to; k++ {
		p = w.placeLoop.l.below(w.placeLoop.cur.op, w.placeLoop.cur.level+k, p)
	}
	return p
}

// advance steps to the row that holds position p, which lies behind the row at hand.
func (w *rowWalk) advance(p ir.Expr) {
	l := w.placeLoop.l
	row := len(w.at) - 1
	l.while(ir.AtMost(w.end, p), func() {
		l.incr(w.at[row], ir.Int(1))
		l.set(w.end, w.behind(row, len(w.placeLoop.c.component.Roots)-1))
	})
	for d := row - 1; d >= 0; d-- {
		l.while(ir.AtMost(w.behind(d, d+1), w.at[d+1]), func() { l.incr(w.at[d], ir.Int(1)) })
	}
}

// inRow is the environment of the row at hand, with the coordinates that are read there.
func (w *rowWalk) inRow(reads []bool) *env {
	in := w.placeLoop.e.clone()
	above := w.placeLoop.cur.pos
	for d, p := range w.at {
		if reads[d] {
			in.coord[w.placeLoop.c.component.Roots[d]] = w.placeLoop.l.named(
				w.placeLoop.c.component.Roots[d], w.placeLoop.l.coordAt(w.placeLoop.cur, d, above, p))
		}
		above = p
	}
	return in
}

// add adds the sum of the row at hand to the result: atomically where others may add to
// it, but for a row that lies within the interval. On a GPU that is told of the rows that end
// before the interval does, by whether one did before: the last one is added behind the loop, where
// the threads of a warp meet, and those in one long row add together.
func (w *rowWalk) add(a *cin.Assign, temp *cin.Access, sum *ir.Var, ended bool) {
	l := w.placeLoop.l
	assigned := make([]bool, len(w.placeLoop.c.component.Roots))
	for d, r := range w.placeLoop.c.component.Roots {
		assigned[d] = slices.Contains(a.LHS.Vars, r)
	}
	in := w.inRow(assigned)
	store := func(in *env) {
		in.temps[temp.Name] = value{pres: ir.Truth(true), v: sum, zeroed: true}
		l.stmt(&cin.Assign{LHS: a.LHS, Accumulate: true, RHS: temp}, in, false)
	}
	last := len(w.placeLoop.c.component.Roots) - 1
	row := *w.placeLoop.cur
	row.level += last
	switch {
	case w.later != nil && ended:
		l.enterResult(in)
		own := in.clone()
		own.atomic, own.racing = false, nil
		own.res.zeroed = own.res.zeroed &&
			(l.spec.Adds || !l.storedOnce(w.placeLoop.e, w.placeLoop.c, w.placeLoop.cur.op,
				w.placeLoop.cur.level, last))
		l.emit(&ir.If{Cond: w.later, Then: l.within(func() { store(own) }),
			Else: l.within(func() { store(in) })})
		l.set(w.later, ir.Truth(true))
		return
	case !l.spec.GPU && l.ownsRows(w.placeLoop.e, w.placeLoop.c, w.placeLoop.cur.op, row.level):
		inner := len(w.at) - 1
		first := ir.Expr(w.at[inner])
		for k := inner + 1; k <= last; k++ {
			first = l.below(w.placeLoop.cur.op, w.placeLoop.cur.level+k, first)
		}
		in.own = l.named("own", ir.Both(ir.AtLeast(first, w.placeLoop.iv.lo),
			ir.AtLeast(w.placeLoop.iv.hi, w.end)))
	}
	l.enterResult(in)
	store(in)
}
