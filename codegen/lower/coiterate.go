package lower

import (
	"math"

	"distaff/codegen/ir"
	"distaff/codegen/lattice"
)

// mergeLoops emits a loop for each lattice point, over the coordinates at
// which all of its iterators still have entries, with a case for each point
// under it.
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

// anyOf keeps track of whether any case assigned: false only if none did.
func anyOf(any, some ir.Expr) ir.Expr {
	if never(some) {
		return any
	}
	return ir.Truth(true)
}

// mergeLoop is the loop of one point: the smallest coordinate that an iterator
// stands at is visited, and those that stand there move on.
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
			l.findRun(it, c, ir.Equal(it.c, c))
		}
		if l.canPredicate(p, its, cases) {
			any = l.predicatedMerge(p, c, its)
			// The flags, not comparisons anew: of these the C compiler makes
			// branches that depend on the data.
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

// smallest declares the coordinate of each iterator and the least of them.
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

// cases lowers the body for the first of the points whose iterators all stand
// at c. An iterator that stands there and is not in that point changes nothing:
// were there a value with it, the two would be a larger point.
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
	if len(points) == 1 && exhausts(p, its) {
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

// exhausts tells whether each of the iterators is a case by itself, so that one
// of the cases always holds.
func exhausts(p *loop, its []*iter) bool {
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

// universeLoop visits the whole range, with what the iterators have on the
// way.
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
				l.findRun(it, i, flags[k])
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

// universeCases is cases for a universe loop: the last point has no iterator.
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

// flaggedLoop visits every coordinate that an iterator holds, with one body
// in which presences are conditions.
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
				l.findRun(it, c, flags[k])
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

// smallestLive is smallest for iterators that may have run out, which stand
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

// pointsHold is the condition that holds of some point's iterators: that of
// each of the smallest points, or, where the lattice is coarse, of any iterator.
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
