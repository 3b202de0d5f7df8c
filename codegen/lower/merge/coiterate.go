package merge

import (
	"math"

	"distaff/codegen/ir"
	"distaff/codegen/lattice"
	"distaff/codegen/lower/scope"
)

// MergeLoops emits a loop for each lattice point. The loop runs while all iterators of the point
// have entries. Its body has a case for each point that the loop's point covers. If the body can be
// predicated, one body replaces the cases. If p.Merge lowers the loop, MergeLoops emits nothing
// else.
func (p *Loop) MergeLoops() ir.Expr {
	if p.Merge != nil && p.Merge(p) {
		return ir.Truth(true)
	}
	p.start()
	return p.Collect(nil, func() ir.Expr {
		any := ir.Expr(ir.Truth(false))
		for _, point := range p.Lat.Points {
			any = scope.AnyOf(any, p.mergeLoop(point))
		}
		return any
	})
}

// mergeLoop emits the loop of one point. Each iteration visits the smallest coordinate that an
// iterator is at, and then advances the iterators that are at this coordinate.
func (p *Loop) mergeLoop(point lattice.Point) (any ir.Expr) {
	l, its, points := p.E.Leaf, p.Subset(point.Iters), p.Lat.Under(point)
	any = ir.Truth(false)
	l.B.While(ir.Both(ofAll(its, (*Iter).live)...), func() {
		c := p.smallest(its)
		for _, it := range its {
			it.here = ir.Equal(it.c, c)
			declareRunEnd(l, it, c)
		}
		if p.canPredicate(its, points) {
			any = p.predicatedMerge(c, its)
		} else {
			any = p.cases(c, its, points)
		}
		advance(l, its)
	})
	return any
}

// ofAll returns x of each iterator.
func ofAll(its []*Iter, x func(*Iter) ir.Expr) (list []ir.Expr) {
	for _, it := range its {
		list = append(list, x(it))
	}
	return list
}

// fold combines the expressions of a list by op.
func fold(op func(x, y ir.Expr) ir.Expr, list []ir.Expr) ir.Expr {
	x := list[0]
	for _, y := range list[1:] {
		x = op(x, y)
	}
	return x
}

// declare declares a variable for the coordinate of each iterator, with the value that at returns,
// and returns the variables.
func (p *Loop) declare(its []*Iter, at func(*Iter) ir.Expr) []ir.Expr {
	return ofAll(its, func(it *Iter) ir.Expr {
		it.c = p.E.Leaf.B.Declare(p.V()+"_"+it.Name(), at(it))
		return it.c
	})
}

// smallest declares the coordinate of each iterator and returns the smallest coordinate.
func (p *Loop) smallest(its []*Iter) ir.Expr {
	if len(its) == 1 {
		its[0].c = p.E.Leaf.B.Declare(p.V(), its[0].current())
		return its[0].c
	}
	return p.E.Leaf.B.Declare(p.V(), fold(ir.Least, p.declare(its, (*Iter).current)))
}

// cases emits tests for the points, in the given order. The emitted code runs the body of the first
// point whose iterators are all at coordinate c. Other iterators at c do not change the values: if
// they did, a larger point would contain them too, and larger points are tested earlier. cases
// returns the condition that a body assigned a value.
func (p *Loop) cases(c ir.Expr, its []*Iter, points []lattice.Point) (some ir.Expr) {
	l := p.E.Leaf
	if len(points) == 0 {
		return ir.Truth(false)
	}
	present := p.Subset(points[0].Iters)
	cond := ir.Both(ofAll(present, func(it *Iter) ir.Expr { return it.here })...)
	if len(points) == 1 && alwaysHasCase(p, its) {
		cond = ir.Truth(true)
	}
	then := l.B.Within(func() { some = scope.AnyOf(ir.Truth(false), p.iteration(c, present, false)) })
	rest := l.B.Within(func() { some = scope.AnyOf(some, p.cases(c, its, points[1:])) })
	switch {
	case ir.Always(cond):
		l.B.Append(then)
	case len(rest.List) > 0:
		l.B.Emit(&ir.If{Cond: cond, Then: then, Else: rest})
	case len(then.List) > 0:
		l.B.Emit(&ir.If{Cond: cond, Then: then})
	}
	return some
}

// alwaysHasCase reports whether each iterator alone is a point. One of the cases then always holds.
func alwaysHasCase(p *Loop, its []*Iter) bool {
	for _, it := range its {
		alone := false
		for _, q := range p.Lat.Points {
			alone = alone || q.Iters == lattice.Only(it.number) && !q.Universe
		}
		if !alone {
			return false
		}
	}
	return true
}

// universeLoop emits a loop over the whole range. The iterators advance through their entries on
// the way. If flagged is true, one body handles all cases.
func (p *Loop) universeLoop(flagged bool) ir.Expr {
	l, its := p.E.Leaf, p.start()
	b := p.E.RangeOf(p.V())
	i := l.B.Var(p.V())
	return p.Collect(nil, func() (some ir.Expr) {
		body := l.B.Within(func() {
			for _, it := range its {
				it.here = l.B.Named(it.Name()+"_at", ir.Both(it.live(), ir.Equal(it.current(), i)))
				declareRunEnd(l, it, i)
			}
			if flagged {
				some = p.iteration(i, its, true)
			} else {
				some = p.cases(i, its, p.Lat.UniversePoints())
			}
			advance(l, its)
		})
		l.B.Emit(&ir.For{V: i, Lo: b.Lo, Hi: b.Hi, Step: 1, Body: body})
		return some
	})
}

// flaggedLoop emits one loop over the coordinates of all iterators. The loop has a single body,
// which tests the presence of each operand. An exhausted iterator counts as past every coordinate.
func (p *Loop) flaggedLoop() ir.Expr {
	l, its := p.E.Leaf, p.start()
	return p.Collect(nil, func() (some ir.Expr) {
		l.B.While(p.pointsHold((*Iter).live), func() {
			c := l.B.Declare(p.V(), fold(ir.Least, p.declare(its, func(it *Iter) ir.Expr {
				return ir.Choose(it.live(), it.current(), ir.Int(math.MaxInt64))
			})))
			for _, it := range its {
				it.here = l.B.Named(it.Name()+"_at", ir.Equal(it.c, c))
				declareRunEnd(l, it, c)
			}
			l.B.When(p.pointsHold(func(it *Iter) ir.Expr { return it.here }),
				func() { some = p.iteration(c, its, true) })
			advance(l, its)
		})
		return some
	})
}

// pointsHold returns the condition that all iterators of at least one lattice point satisfy cond.
// It tests only the smallest points, because every other point contains the iterators of a smallest
// point. If the lattice is coarse, any subset of the iterators may be present. One iterator that
// satisfies cond is then enough.
func (p *Loop) pointsHold(cond func(*Iter) ir.Expr) ir.Expr {
	any := ir.Expr(ir.Truth(false))
	if p.Lat.Coarse {
		for _, it := range p.Subset(p.Lat.All()) {
			any = ir.Either(any, cond(it))
		}
		return any
	}
	for _, q := range p.Lat.Points {
		if len(p.Lat.Under(q)) > 1 {
			continue
		}
		var all []ir.Expr
		for _, it := range p.Subset(q.Iters) {
			all = append(all, cond(it))
		}
		any = ir.Either(any, ir.Both(all...))
	}
	return any
}
