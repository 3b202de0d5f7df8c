package lower

import (
	"math"

	"distaff/codegen/ir"
	"distaff/codegen/lattice"
)

// mergeLoops emits a loop for each lattice point. The loop runs while all iterators of the point
// have entries, and its body has a case for each point under it.
func (p *loop) mergeLoops() ir.Expr {
	l := p.l
	if p.merge != nil && p.merge(p) {
		return ir.Truth(true)
	}
	for _, it := range p.subset(p.lat.All()) {
		l.start(it)
	}
	any := ir.Expr(ir.Truth(false))
	p.inFlag(func() {
		for _, point := range p.lat.Points {
			any = anyOf(any, p.mergeLoop(point))
		}
	}, func() bool { return ir.Never(any) })
	return p.result(any)
}

// mergeLoop emits the loop of one point. Each iteration visits the smallest coordinate that an
// iterator is at, and then advances the iterators that are at this coordinate.
func (p *loop) mergeLoop(point lattice.Point) ir.Expr {
	l := p.l
	its := p.subset(point.Iters)
	cases := p.lat.Under(point)
	var live []ir.Expr
	for _, it := range its {
		live = append(live, it.live())
	}
	any := ir.Expr(ir.Truth(false))
	l.b.While(ir.Both(live...), func() {
		c := p.smallest(its)
		for _, it := range its {
			l.declareRunEnd(it, c, ir.Equal(it.c, c))
		}
		if p.canPredicate(its, cases) {
			any = p.predicatedMerge(c, its)
			// The flags are used here instead of new comparisons, because the C compiler turns such
			// comparisons into branches that depend on the data.
			for _, it := range its {
				l.advance(it, it.here)
			}
			return
		}
		any = p.cases(c, its, cases)
		for _, it := range its {
			l.advance(it, ir.Equal(it.c, c))
		}
	})
	return any
}

// smallest declares the coordinate of each iterator and returns the smallest coordinate.
func (p *loop) smallest(its []*iter) ir.Expr {
	l := p.l
	if len(its) == 1 {
		its[0].c = l.b.Declare(p.v(), its[0].at(its[0].p))
		return its[0].c
	}
	var least ir.Expr
	for _, it := range its {
		it.c = l.b.Declare(p.v()+"_"+it.name(), it.at(it.p))
		if least == nil {
			least = it.c
		} else {
			least = ir.Least(least, it.c)
		}
	}
	return l.b.Declare(p.v(), least)
}

// cases emits the body for the first point in points whose iterators are all at coordinate c. Other
// iterators may be at c too, but can be ignored: if they changed the values, the two sets of
// iterators together would be a larger point.
func (p *loop) cases(c ir.Expr, its []*iter, points []lattice.Point) ir.Expr {
	l := p.l
	if len(points) == 0 {
		return ir.Truth(false)
	}
	here := p.subset(points[0].Iters)
	var at []ir.Expr
	for _, it := range here {
		at = append(at, ir.Equal(it.c, c))
	}
	cond := ir.Both(at...)
	if len(points) == 1 && alwaysHasCase(p, its) {
		cond = ir.Truth(true)
	}
	some := ir.Expr(ir.Truth(false))
	then := l.b.Within(func() {
		s := p.iteration(c, here, nil)
		p.noteAssigned(s)
		some = anyOf(some, s)
	})
	rest := l.b.Within(func() { some = anyOf(some, p.cases(c, its, points[1:])) })
	switch {
	case ir.Always(cond):
		l.b.Append(then)
		return some
	case len(then.List) == 0 && len(rest.List) == 0:
		return some
	}
	s := &ir.If{Cond: cond, Then: then}
	if len(rest.List) > 0 {
		s.Else = rest
	}
	l.b.Emit(s)
	return some
}

// alwaysHasCase reports whether each iterator alone is a point. One of the cases then always holds.
func alwaysHasCase(p *loop, its []*iter) bool {
	for _, it := range its {
		alone := false
		for _, q := range p.lat.Points {
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
func (p *loop) universeLoop(flagged bool) ir.Expr {
	l := p.l
	its := p.subset(p.lat.All())
	for _, it := range its {
		l.start(it)
	}
	b := l.rangeOf(p.e, p.v())
	i := l.b.Var(p.v())
	var some ir.Expr
	p.inFlag(func() {
		body := l.b.Within(func() {
			flags := make([]ir.Expr, len(its))
			for k, it := range its {
				flags[k] = l.b.Named(it.name()+"_at", ir.Both(it.live(), ir.Equal(it.at(it.p), i)))
				l.declareRunEnd(it, i, flags[k])
			}
			if flagged {
				some = p.iteration(i, its, flags)
				p.noteAssigned(some)
			} else {
				some = p.universeCases(i, its, flags, p.lat.UniversePoints())
			}
			for k, it := range its {
				l.advance(it, flags[k])
			}
		})
		l.b.Emit(&ir.For{V: i, Lo: b.Lo, Hi: b.Hi, Step: 1, Body: body})
	}, func() bool { return ir.Never(some) })
	return p.result(some)
}

// universeCases is cases for a universe loop. flags has the conditions that the iterators are at
// coordinate i. The last point has no iterators, so its case always holds.
func (p *loop) universeCases(i ir.Expr, its []*iter, flags []ir.Expr,
	points []lattice.Point) ir.Expr {
	l := p.l
	point := points[0]
	var here []*iter
	var at []ir.Expr
	for k, it := range its {
		if point.Iters.Has(it.number) {
			here = append(here, it)
			at = append(at, flags[k])
		}
	}
	some := ir.Expr(ir.Truth(false))
	then := l.b.Within(func() {
		s := p.iteration(i, here, nil)
		p.noteAssigned(s)
		some = anyOf(some, s)
	})
	if len(here) == 0 {
		l.b.Append(then)
		return some
	}
	s := &ir.If{Cond: ir.Both(at...), Then: then}
	s.Else = l.b.Within(func() { some = anyOf(some, p.universeCases(i, its, flags, points[1:])) })
	l.b.Emit(s)
	return some
}

// flaggedLoop emits a loop over the coordinates of all iterators. It has one body, in which the
// presence of each operand is a condition.
func (p *loop) flaggedLoop() ir.Expr {
	l := p.l
	its := p.subset(p.lat.All())
	for _, it := range its {
		l.start(it)
	}
	var some ir.Expr
	p.inFlag(func() {
		l.b.While(p.pointsHold((*iter).live), func() {
			c := p.smallestLive(its)
			flags := make([]ir.Expr, len(its))
			at := map[*iter]ir.Expr{}
			for k, it := range its {
				flags[k] = l.b.Named(it.name()+"_at", ir.Equal(it.c, c))
				l.declareRunEnd(it, c, flags[k])
				at[it] = flags[k]
			}
			l.b.When(p.pointsHold(func(it *iter) ir.Expr { return at[it] }), func() {
				some = p.iteration(c, its, flags)
				p.noteAssigned(some)
			})
			for k, it := range its {
				l.advance(it, flags[k])
			}
		})
	}, func() bool { return ir.Never(some) })
	return p.result(some)
}

// smallestLive is smallest for iterators that may be exhausted. An exhausted iterator counts as
// past every coordinate.
func (p *loop) smallestLive(its []*iter) ir.Expr {
	l := p.l
	var least ir.Expr
	for _, it := range its {
		it.c = l.b.Declare(p.v()+"_"+it.name(), ir.Choose(it.live(), it.at(it.p), ir.Int(math.MaxInt64)))
		if least == nil {
			least = it.c
		} else {
			least = ir.Least(least, it.c)
		}
	}
	return l.b.Declare(p.v(), least)
}

// pointsHold returns the condition that the iterators of at least one point all satisfy cond. It
// tests the smallest points only. If the lattice is coarse, one iterator that satisfies cond is
// enough.
func (p *loop) pointsHold(cond func(*iter) ir.Expr) ir.Expr {
	any := ir.Expr(ir.Truth(false))
	if p.lat.Coarse {
		for _, it := range p.subset(p.lat.All()) {
			any = ir.Either(any, cond(it))
		}
		return any
	}
	for _, q := range p.lat.Points {
		if len(p.lat.Under(q)) > 1 {
			continue
		}
		var all []ir.Expr
		for _, it := range p.subset(q.Iters) {
			all = append(all, cond(it))
		}
		any = ir.Either(any, ir.Both(all...))
	}
	return any
}
