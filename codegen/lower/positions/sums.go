package positions

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/units"
)

// Sum lowers f as one loop over the positions of its tile, and returns true. f must be the
// innermost loop of a consumer that reads a workspace by position, and f's body must add to its
// target. If Sum cannot lower f, it emits nothing and returns false.
//
// The loop has one of two forms (source 004, figure 2-2). If the target is a temporary without
// variables of the component, the loop adds all values to it. If the target is the result, and the
// strategy says so, the loop sums the current row in a variable. It adds this sum to the result
// when the row ends.
func Sum(f *cin.Forall, e *scope.Env, o *scope.OpenLoops) bool {
	c := o.Of
	l := e.Leaf
	cur := e.Cur[o.Iv.Key]
	a, ok := f.Body.(*cin.Assign)
	if o.Iv.Unit != scope.Positions || cur == nil || !ok || !a.Accumulate || f.Unit != cin.Serial {
		return false
	}
	w := readPlaces(e, cur.Of)
	if w == nil || ir.IsFalse(cur.Present) || !valuedAtAll(a, o.Iv.Key, e) {
		return false
	}
	p := &placeLoop{f, e, c, cur, o.Iv, w, rootsRead(l, a, c, o.Iv.Key)}
	inRows := slices.ContainsFunc(c.Roots,
		func(r string) bool { return slices.Contains(a.LHS.Vars, r) })
	switch {
	case inRows && w.each && e.Res.Tile == nil && l.Assigns(f):
		p.e = merge.Zero(e)
		p.sumRows(a)
		return true
	case inRows || l.Assigns(f) || !p.branchless() ||
		len(c.Roots) == 1 && !w.unrolls(f, o.Iv):
		return false
	}
	p.emit(func(at ir.Expr) { l.Stmt(a, p.in(e, at), false) })
	return true
}

// valuedAtAll reports whether all operands that assignment a reads, except the access with the
// given key, are dense tensors. Then a has a value at every stored entry of this access.
func valuedAtAll(a *cin.Assign, key string, e *scope.Env) bool {
	all := true
	cin.ExprAccesses(a.RHS, func(x *cin.Access) {
		op := e.Operand(x.Name)
		all = all && (x.Key() == key || op != nil && op.Argument.Format.AllDense())
	})
	return all
}

// rowWalk tracks the row of the current position in a loop over positions. It has the current
// position in each of the fused levels, from the outermost level to the level of the rows. The loop
// advances these positions.
type rowWalk struct {
	tile *placeLoop
	at   []*ir.Var // one for each level from the first one down to the level of the rows
	end  *ir.Var   // the first position after the current row
	// later is used on a GPU. It is true after the first row: later rows begin inside the interval.
	later *ir.Var
}

// sumRows emits the loop over the positions of the tile, with a variable for the sum of the current
// row. The sum is added to the result when the next row begins, and once more after the last
// position.
func (p *placeLoop) sumRows(a *cin.Assign) {
	l := p.e.Leaf
	l.B.When(ir.Less(p.iv.Lo, p.iv.Hi), func() {
		w := p.walkRows(a)
		sum := l.B.Local("sum", ir.Zero(l.Spec.Compute))
		temp := &cin.Access{Name: sum.Name}
		p.emit(func(at ir.Expr) {
			l.B.When(ir.AtMost(w.end, at), func() {
				w.add(a, temp, sum, true)
				l.B.Set(sum, ir.Zero(sum.Typ))
				w.advance(at)
			})
			in := p.in(w.inRow(func(d int) bool { return p.reads[d] }), at).Summing(temp.Name, sum)
			l.Stmt(&cin.Assign{LHS: temp, Accumulate: true, RHS: a.RHS}, in, false)
		})
		w.add(a, temp, sum, false)
	})
}

// walkRows returns a walk that starts at the row of the interval's first position.
func (p *placeLoop) walkRows(a *cin.Assign) *rowWalk {
	l, w := p.e.Leaf, &rowWalk{tile: p}
	last := len(p.c.Roots) - 1
	row := 0
	for d, r := range p.c.Roots[:last] {
		if p.reads[d] || slices.Contains(a.LHS.Vars, r) {
			row = d
		}
	}
	for _, at := range p.cur.Ancestors(p.iv.Ancestor, len(p.c.Roots), p.iv.Lo)[:row+1] {
		w.at = append(w.at, l.B.Declare(p.cur.Of.Prefix()+"_at", at))
	}
	w.end = l.B.Declare(p.cur.Of.Prefix()+"_end", w.endBelow(row, last))
	if l.Spec.GPU && units.OwnsRows(p.e, p.c, p.cur.Of, p.cur.Level+last) {
		w.later = l.B.Local("later", ir.Truth(false))
	}
	return w
}

// endBelow returns the end of a range of positions of level inner: the positions below the current
// position of level outer. The component's levels are numbered from 0.
func (w *rowWalk) endBelow(outer, inner int) ir.Expr {
	first := w.tile.cur.Level
	return w.tile.cur.Of.DownTo(first+outer+1, first+inner, ir.Plus(w.at[outer], ir.Int(1)))
}

// advance emits code that advances to the row that contains position p, which is after the current
// row.
func (w *rowWalk) advance(p ir.Expr) {
	l := w.tile.e.Leaf
	row := len(w.at) - 1
	l.B.While(ir.AtMost(w.end, p), func() {
		l.B.Incr(w.at[row], ir.Int(1))
		l.B.Set(w.end, w.endBelow(row, len(w.tile.c.Roots)-1))
	})
	for d := row - 1; d >= 0; d-- {
		l.B.While(ir.AtMost(w.endBelow(d, d+1), w.at[d+1]), func() { l.B.Incr(w.at[d], ir.Int(1)) })
	}
}

// inRow returns the environment of the current row, with the coordinates that need asks for.
func (w *rowWalk) inRow(need func(d int) bool) *scope.Env {
	in := w.tile.e.Clone()
	at := make([]ir.Expr, len(w.at))
	for d, p := range w.at {
		at[d] = p
	}
	w.tile.bind(in, at, need)
	return in
}

// add emits code that adds the sum of the current row to the result. ended is true if the row ends
// before the interval does.
//
// The first and the last row of an interval may continue in other intervals. The rows between them
// belong to this interval alone. If other threads may add only to the first and the last row
// (units.OwnsRows), the additions of the rows between them are not atomic. On a CPU, the code then
// tests at run time whether a row is entirely inside the interval.
//
// On a GPU, the code then tests at run time whether the row is the first row of the interval. A row
// is the first one if no other row of the interval has ended yet. The last row is added after the
// loop, where the threads of a warp can run together. If all of them do, and have parts of the same
// long row, they first add up these parts.
func (w *rowWalk) add(a *cin.Assign, temp *cin.Access, sum *ir.Var, ended bool) {
	p, l := w.tile, w.tile.e.Leaf
	op, first, last := p.cur.Of, p.cur.Level, len(p.c.Roots)-1
	in := w.inRow(func(d int) bool { return slices.Contains(a.LHS.Vars, p.c.Roots[d]) })
	store := func(in *scope.Env) {
		in.Temps = in.Temps.With(temp.Name, scope.Value{Pres: ir.Truth(true), V: sum, Zeroed: true})
		l.Stmt(&cin.Assign{LHS: a.LHS, Accumulate: true, RHS: temp}, in, false)
	}
	switch {
	case w.later != nil && ended:
		merge.EnterResult(in)
		own := in.Clone()
		own.Atomic, own.Racing = false, nil
		own.Res.Zeroed = own.Res.Zeroed &&
			(l.Spec.Adds || !units.StoredOnce(p.e, p.c, op, first, last))
		l.B.Choose(w.later, func() { store(own) }, func() { store(in) })
		l.B.Set(w.later, ir.Truth(true))
		return
	case !l.Spec.GPU && units.OwnsRows(p.e, p.c, op, first+last):
		row := len(w.at) - 1
		begin := op.DownTo(first+row+1, first+last, w.at[row])
		in.Own = l.B.Named("own", ir.Both(ir.AtLeast(begin, p.iv.Lo), ir.AtLeast(p.iv.Hi, w.end)))
	}
	merge.EnterResult(in)
	store(in)
}
