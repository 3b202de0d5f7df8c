// Package merge lowers the loop over the coordinates of one variable. The merge lattice says which
// coordinates are visited. The caller lowers the body, once for each case: a set of present
// operands.
//
//	loop.go        which kind of loop it is; loops over a whole range
//	iter.go        a loop over the segment of one sparse level
//	coiterate.go   loops over several segments together, with a case for each set of present
//	               operands, or with one body
//	predicated.go  merges with one body, where a neutral number replaces an absent term
//	gallop.go      intersections by searching
//	prefetch.go    rows that are fetched ahead
//	pick.go        loops with a single coordinate, which is an affine form of others
//	rowcopy.go     rows of operands that are read from registers
//	output.go      the result's cursor, which follows the loops; values that are set to 0 first
package merge

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/io/tensor"
)

// Loop is a forall while it is lowered.
type Loop struct {
	F    *cin.Forall
	E    *scope.Env
	Want bool
	Body LowersBody
	// Reserve, if it is not nil, is called before the loops. n is the largest possible number of
	// iterations.
	Reserve func(n ir.Expr)
	// Merge, if it is not nil, can lower the loop in place of MergeLoops. It returns false if it
	// cannot.
	Merge func(p *Loop) bool

	Lat   *lattice.Lattice
	Iters []*Iter
	some  *ir.Var // set if an iteration assigned, when Want is true
	count *ir.Var // the number of iterations that assigned, if they are counted instead
}

// LowersBody lowers the body of a loop in the environment of an iteration. If want is true, it
// returns the condition that the body assigned a value. If want is false, the result says less: if
// it is the constant false, the body never assigns a value, and any other result has no meaning.
type LowersBody func(in *scope.Env, want bool) ir.Expr

// V returns the loop's variable.
func (p *Loop) V() string { return p.F.Var }

// Entered returns a function for package lattice. The function says which level of an access the
// loops of environment e reach next. It returns whether the access is absent and, if it is not
// absent, the variable of the next level. This variable is "" if the loops have visited all levels,
// or if the access is to a scalar temporary or a tile of a row.
func Entered(e *scope.Env) func(a *cin.Access) lattice.Place {
	return func(a *cin.Access) lattice.Place {
		if t, ok := e.Temps.Get(a.Name); ok {
			return lattice.Place{Absent: ir.IsFalse(t.Pres)}
		}
		if r, ok := e.Rows.Get(a.Name); ok {
			return lattice.Place{Absent: ir.IsFalse(r.Pres)}
		}
		c := e.Cur[a.Key()]
		switch {
		case c == nil:
			panic("BUG: lower: access " + a.Key() + " is not in scope")
		case ir.IsFalse(c.Present):
			return lattice.Place{Absent: true}
		case c.Next() == "":
			return lattice.Place{}
		}
		return lattice.Place{Next: c.Next(), Walked: !c.Of.Kind(c.Level).CanLocate()}
	}
}

// Loops emits the loops over the coordinates of a variable.
func (p *Loop) Loops() ir.Expr {
	l := p.E.Leaf
	p.Lat = lattice.Loop(p.V(), p.F.Body, Entered(p.E))
	defer l.Used.Enter(p.V(), p.Lat)()
	if l.Assigns(p.F) && !(p.atResult() && p.Lat.Universe()) {
		p.E = Zero(p.E)
	}
	if len(p.Lat.Points) == 0 {
		return ir.Truth(false)
	}
	if k := p.picked(); k != "" {
		return p.pick(k)
	}
	for k, key := range p.Lat.Iters {
		p.Iters = append(p.Iters, p.newIter(k, p.E.Cur[key]))
	}
	all := p.Lat.All()
	if all.Len() > 1 || all.Len() == 1 && p.Lat.Universe() {
		p.refuseParallelMerge()
	}
	if p.Reserve != nil {
		p.Reserve(p.atMost())
	}
	oneBody := p.Lat.Coarse || all.Len() > 1 && l.Spec.Strategy.OneBody[p.V()]
	if p.Lat.Universe() {
		if all.Len() == 0 {
			return p.countLoop()
		}
		return p.universeLoop(oneBody)
	}
	if len(p.Lat.Points) == 1 && all.Len() == 1 && !p.Lat.Coarse {
		return p.singleLoop()
	}
	if p.isGallopLoop() {
		return p.gallopLoop()
	}
	if oneBody {
		return p.flaggedLoop()
	}
	return p.MergeLoops()
}

// atResult reports whether a loop is over the variable of the result's next level.
func (p *Loop) atResult() bool {
	l := p.E.Leaf
	k := p.E.Res.Level
	return k < len(l.ResultVars) && l.ResultVars[k] == p.V()
}

// atMost returns the largest possible number of iterations of the loops.
func (p *Loop) atMost() ir.Expr {
	if p.Lat.Universe() {
		s := p.E.RangeOf(p.V())
		return ir.Minus(s.Hi, s.Lo)
	}
	op := ir.Plus
	if len(p.Lat.Points) == 1 && !p.Lat.Coarse {
		op = ir.Least
	}
	return fold(op, ofAll(p.Subset(p.Lat.All()), func(it *Iter) ir.Expr { return ir.Minus(it.Hi, it.Lo) }))
}

// countLoop emits a loop over the whole range of the variable.
func (p *Loop) countLoop() ir.Expr {
	l := p.E.Leaf
	b := p.E.RangeOf(p.V())
	if b.Width > 0 {
		return p.laneLoop(b)
	}
	p.CountAssigned()
	i := l.B.Var(p.V())
	return p.Collect(ir.Less(b.Lo, b.Hi), func() (some ir.Expr) {
		body := units.BodyOf(l, p.F, func() {
			p.prefetchWalked(i, b.Hi)
			some = p.iteration(i, nil, false)
		})
		if p.count != nil && ir.Always(some) {
			dropAssigns(body, p.count)
		}
		l.B.Emit(units.SetKind(p.F, p.E, &ir.For{V: i, Lo: b.Lo, Hi: b.Hi, Step: 1, Body: body}))
		return some
	})
}

// laneLoop emits a loop over the places of a tile.
func (p *Loop) laneLoop(b tree.Range) ir.Expr {
	l := p.E.Leaf
	k := l.B.Var(p.V() + "_lane")
	return p.Collect(ir.Truth(true), func() (some ir.Expr) {
		body := l.B.Within(func() {
			i := l.B.Declare(p.V(), ir.Plus(b.Lo, k))
			inner := *p
			inner.E = p.E.Clone()
			inner.E.Lanes = inner.E.Lanes.With(p.V(), k)
			some = inner.iteration(i, nil, false)
		})
		l.B.Emit(units.SetKind(p.F, p.E, &ir.For{V: k, Lo: ir.Int(0), Hi: ir.Int(b.Width), Step: 1,
			Body: body}))
		return some
	})
}

// Collect calls emit, which emits the loops, and returns the condition that an iteration of these
// loops assigned a value. emit returns this condition for a single iteration. Each iteration must
// call NoteAssigned.
//
// always is the condition that the loops have an iteration, or nil if it is not known. If always is
// not nil and every iteration assigns a value, Collect returns always.
//
// Normally NoteAssigned sets a flag, and Collect returns the flag. No flag is set if the
// condition is known without it, if nobody wants the condition, or if the iterations that assign
// are counted instead.
func (p *Loop) Collect(always ir.Expr, emit func() (some ir.Expr)) ir.Expr {
	l := p.E.Leaf
	if p.Want {
		p.some = ir.NewVar(l.B.Fresh("some_"+p.V()), tensor.Bool)
	}
	var some ir.Expr
	loops := l.B.Within(func() { some = emit() })
	known := always != nil && ir.Always(some)
	switch {
	case p.some == nil:
	case known || ir.IsFalse(some):
		dropAssigns(loops, p.some)
	default:
		l.B.Emit(&ir.Declare{V: p.some, Init: ir.Truth(false)})
	}
	l.B.Append(loops)
	switch {
	case known:
		return always
	case p.count != nil:
		return ir.Less(ir.Int(0), p.count)
	case ir.IsFalse(some):
		return some
	case p.some != nil:
		return p.some
	}
	return ir.Truth(true) // it is not wanted, so any value except false is correct
}

// dropAssigns removes the assignments to v from b, in place.
func dropAssigns(b *ir.Block, v *ir.Var) {
	rewrite.Filter(b, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		return !ok || a.V != v
	})
}

// NoteAssigned emits code that sets the loop's flag, or increments its count, if the current
// iteration has assigned a value. assigned is the condition that it has.
func (p *Loop) NoteAssigned(assigned ir.Expr) {
	l := p.E.Leaf
	switch {
	case p.count != nil:
		l.B.When(assigned, func() { l.B.Incr(p.count, ir.Int(1)) })
	case p.some == nil || ir.IsFalse(assigned):
	case ir.Always(assigned):
		l.B.Set(p.some, ir.Truth(true))
	default:
		l.B.Set(p.some, ir.Either(p.some, assigned))
	}
}

// iteration lowers the body of the loop at coordinate c. present lists the iterators that may be at
// c, and the other iterators are not at c. If flagged is false, all iterators in present are at c.
// If flagged is true, the field here of each of them is the condition that it is at c.
func (p *Loop) iteration(c ir.Expr, present []*Iter, flagged bool) ir.Expr {
	cursors := map[string]*tree.Cursor{}
	for _, it := range p.Iters {
		cursors[it.Key] = it.Cur.Absent()
	}
	for _, it := range present {
		pres := ir.Expr(ir.Truth(true))
		if flagged {
			pres = it.here
		}
		cursors[it.Key] = it.Enter(pres)
	}
	in := p.E.Bind(p.F.Body, p.V(), c, cursors)
	p.bindResult(in)
	p.copyRows(in)
	return p.RunBody(in)
}

// RunBody lowers the body in the environment of an iteration.
func (p *Loop) RunBody(in *scope.Env) ir.Expr {
	some := p.Body(in, p.Want || p.count != nil)
	p.NoteAssigned(some)
	return some
}

// Subset returns the iterators of a set.
func (p *Loop) Subset(s lattice.Set) []*Iter {
	var out []*Iter
	for k, it := range p.Iters {
		if s.Has(k) {
			out = append(out, it)
		}
	}
	return out
}

// CountAssigned makes the loop count the iterations that assign a value. It does so if the loop's
// result is wanted and its iterations run in parallel, because several iterations could set a flag
// at the same time.
func (p *Loop) CountAssigned() {
	if p.Want && p.F.Unit != cin.Serial && p.F.Race != cin.Unsaid {
		p.count = p.E.Leaf.B.Declare("some_"+p.V(), ir.Int(0))
		p.Want = false
	}
}

// onUnits reports whether a schedule runs the loop itself on threads, in lanes or on a GPU.
func (p *Loop) onUnits() bool {
	return p.F.Unit == cin.CPUVector || p.F.Unit.OnGPU() ||
		p.F.Unit == cin.CPUThread && p.F.Race != cin.Unsaid
}

// refuseParallelMerge ends the lowering with a refusal if the loop is to run on threads, in lanes
// or on a GPU. It is called for a merge loop, which must be serial.
func (p *Loop) refuseParallelMerge() {
	if p.onUnits() {
		p.E.Leaf.Refuse(p.V(),
			"the loop over %s steps through several operands, so it cannot be parallel; split "+
				"or divide it, and parallelize the loop over tiles", p.V())
	}
}

// IterOf returns the iterator of an access, or nil if it has none.
func (p *Loop) IterOf(a *cin.Access) *Iter {
	for _, it := range p.Iters {
		if it.Key == a.Key() {
			return it
		}
	}
	return nil
}
