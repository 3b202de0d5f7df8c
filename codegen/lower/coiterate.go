package lower

import (
	"math"

	"distaff/codegen/ir"
	"distaff/codegen/lattice"
)

// mergeLoops emits a loop for each lattice point. The loop runs while all iterators of the point
// have entries, and its body has a case for each point under it.
func (l *lowerer) mergeLoops(p *loop) ir.Expr {
	if p.merge != nil && p.merge(p) {
		return ir.Truth(true)
	}
	for _, it := range p.subset(p.lat.All()) {
		l.start(it)
	}
	any := ir.Expr(ir.Truth(false))
	l.inFlag(p, func() {
		for _, point := range p.lat.Points {
			any = anyOf(any, l.mergeLoop(p, point))
		}
	}, func() bool { return never(any) })
	return p.result(any)
}

// anyOf combines the results of cases: it returns false only if no case assigns.
func anyOf(any, some ir.Expr) ir.Expr {
	if never(some) {
		return any
	}
	return ir.Truth(true)
}

// mergeLoop emits the loop of one point. Each iteration visits the smallest coordinate that an
// iterator is at, and then advances the iterators that are at this coordinate.
func (l *lowerer) mergeLoop(p *loop, point lattice.Point) ir.Expr {
	its := p.subset(point.Iters)
	cases := p.lat.Under(point)
	var live []ir.Expr
	for _, it := range its {
		live = append(live, it.live())
	}
	any := ir.Expr(ir.Truth(false))
	l.while(ir.Both(live...), func() {
		c := l.smallest(p, its)
		for _, it := range its {
			l.declareRunEnd(it, c, ir.Equal(it.c, c))
		}
		if l.canPredicate(p, its, cases) {
			any = l.predicatedMerge(p, c, its)
			// The flags are used here instead of new comparisons, because the C compiler turns such
			// comparisons into branches that depend on the data.
			for _, it := range its {
				l.advance(it, it.here)
			}
			return
		}
		any = l.cases(p, c, its, cases)
		for _, it := range its {
			l.advance(it, ir.Equal(it.c, c))
		}
	})
	return any
}

// smallest declares the coordinate of each iterator and returns the smallest coordinate.
func (l *lowerer) smallest(p *loop, its []*iter) ir.Expr {
	if len(its) == 1 {
		its[0].c = l.declare(p.v(), its[0].at(its[0].p))
		return its[0].c
	}
	var least ir.Expr
	for _, it := range its {
		it.c = l.declare(p.v()+"_"+it.name(), it.at(it.p))
		if least == nil {
			least = it.c
		} else {
			least = ir.Least(least, it.c)
		}
	}
	return l.declare(p.v(), least)
}

// cases lowers the body for the first of the points whose iterators are all at c. Another iterator
// may also be at c without being in that point. It does not change the values: if it did, the two
// sets together would be a larger point.
func (l *lowerer) cases(p *loop, c ir.Expr, its []*iter, points []lattice.Point) ir.Expr {
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
	then := l.within(func() {
		s := l.iteration(p, c, here, nil)
		l.noteAssigned(p, s)
		some = anyOf(some, s)
	})
	rest := l.within(func() { some = anyOf(some, l.cases(p, c, its, points[1:])) })
	switch {
	case always(cond):
		l.blk.List = append(l.blk.List, then.List...)
		return some
	case len(then.List) == 0 && len(rest.List) == 0:
		return some
	}
	s := &ir.If{Cond: cond, Then: then}
	if len(rest.List) > 0 {
		s.Else = rest
	}
	l.emit(s)
	return some
}

// alwaysHasCase reports whether each iterator is a case by itself, so that one of the cases always
// holds.
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

// universeLoop visits the whole range, and the entries of the iterators on the way. flagged is true
// if one body handles all cases.
func (l *lowerer) universeLoop(p *loop, flagged bool) ir.Expr {
	its := p.subset(p.lat.All())
	for _, it := range its {
		l.start(it)
	}
	b := l.rangeOf(p.e, p.v())
	i := l.newVar(p.v())
	var some ir.Expr
	l.inFlag(p, func() {
		body := l.within(func() {
			flags := make([]ir.Expr, len(its))
			for k, it := range its {
				flags[k] = l.named(it.name()+"_at", ir.Both(it.live(), ir.Equal(it.at(it.p), i)))
				l.declareRunEnd(it, i, flags[k])
			}
			if flagged {
				some = l.iteration(p, i, its, flags)
				l.noteAssigned(p, some)
			} else {
				some = l.universeCases(p, i, its, flags, p.lat.UniversePoints())
			}
			for k, it := range its {
				l.advance(it, flags[k])
			}
		})
		l.emit(&ir.For{V: i, Lo: b.lo, Hi: b.hi, Step: 1, Body: body})
	}, func() bool { return never(some) })
	return p.result(some)
}

// universeCases is cases for a universe loop. Its last point has no iterators.
func (l *lowerer) universeCases(p *loop, i ir.Expr, its []*iter, flags []ir.Expr,
	points []lattice.Point) ir.Expr {
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
	then := l.within(func() {
		s := l.iteration(p, i, here, nil)
		l.noteAssigned(p, s)
		some = anyOf(some, s)
	})
	if len(here) == 0 {
		l.blk.List = append(l.blk.List, then.List...)
		return some
	}
	s := &ir.If{Cond: ir.Both(at...), Then: then}
	s.Else = l.within(func() { some = anyOf(some, l.universeCases(p, i, its, flags, points[1:])) })
	l.emit(s)
	return some
}

// flaggedLoop visits every coordinate of every iterator. It has one body, and the presence of an
// operand is a condition there.
func (l *lowerer) flaggedLoop(p *loop) ir.Expr {
	its := p.subset(p.lat.All())
	for _, it := range its {
		l.start(it)
	}
	var some ir.Expr
	l.inFlag(p, func() {
		l.while(l.pointsHold(p, (*iter).live), func() {
			c := l.smallestLive(p, its)
			flags := make([]ir.Expr, len(its))
			at := map[*iter]ir.Expr{}
			for k, it := range its {
				flags[k] = l.named(it.name()+"_at", ir.Equal(it.c, c))
				l.declareRunEnd(it, c, flags[k])
				at[it] = flags[k]
			}
			l.when(l.pointsHold(p, func(it *iter) ir.Expr { return at[it] }), func() {
				some = l.iteration(p, c, its, flags)
				l.noteAssigned(p, some)
			})
			for k, it := range its {
				l.advance(it, flags[k])
			}
		})
	}, func() bool { return never(some) })
	return p.result(some)
}

// smallestLive is smallest for iterators that may be exhausted. An exhausted iterator counts as
// past every coordinate.
func (l *lowerer) smallestLive(p *loop, its []*iter) ir.Expr {
	var least ir.Expr
	for _, it := range its {
		it.c = l.declare(p.v()+"_"+it.name(), ir.Choose(it.live(), it.at(it.p), ir.Int(math.MaxInt64)))
		if least == nil {
			least = it.c
		} else {
			least = ir.Least(least, it.c)
		}
	}
	return l.declare(p.v(), least)
}

// pointsHold returns the condition that cond is true for all iterators of some point. It tests the
// smallest points only. If the lattice is coarse, it tests if cond is true for any iterator.
func (l *lowerer) pointsHold(p *loop, cond func(*iter) ir.Expr) ir.Expr {
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
