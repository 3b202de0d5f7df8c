package lower

import "distaff/codegen/ir"

// isGallopLoop reports whether a loop is an intersection that its schedule wants to find by
// searching.
func (l *lowerer) isGallopLoop(p *loop) bool {
	if !p.f.Gallop || len(p.lat.Points) != 1 || p.lat.Coarse {
		return false
	}
	for _, it := range p.subset(p.lat.All()) {
		if it.repeats || it.padded {
			return false
		}
	}
	return true
}

// gallopLoop visits the coordinates that all iterators have. A search moves each iterator to the
// largest coordinate that one of them is at. When they are all at the same coordinate, the body
// runs.
func (l *lowerer) gallopLoop(p *loop) ir.Expr {
	its := p.subset(p.lat.All())
	var live []ir.Expr
	for _, it := range its {
		l.start(it)
		live = append(live, it.live())
	}
	var some ir.Expr
	l.inFlag(p, func() {
		l.while(ir.Both(live...), func() {
			var most ir.Expr
			for _, it := range its {
				it.c = l.declare(p.v()+"_"+it.name(), it.at(it.p))
				if most == nil {
					most = it.c
				} else {
					most = ir.Greatest(most, it.c)
				}
			}
			c := l.declare(p.v(), most)
			var meet []ir.Expr
			for _, it := range its {
				meet = append(meet, ir.Equal(it.c, c))
			}
			then := l.within(func() {
				some = l.iteration(p, c, its, nil)
				l.noteAssigned(p, some)
				for _, it := range its {
					l.incr(it.p, ir.Int(1))
				}
			})
			advance := l.within(func() {
				for _, it := range its {
					l.when(ir.Less(it.c, c), func() {
						l.set(it.p, &ir.Search{A: it.crd, Lo: ir.Plus(it.p, ir.Int(1)), Hi: it.hi, Key: c})
					})
				}
			})
			l.emit(&ir.If{Cond: ir.Both(meet...), Then: then, Else: advance})
		})
	}, func() bool { return never(some) })
	return p.result(some)
}
