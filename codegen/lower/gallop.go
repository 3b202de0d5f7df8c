package lower

import "distaff/codegen/ir"

// isGallopLoop reports whether a loop is an intersection that searches for the common coordinates,
// as its schedule says.
func (p *loop) isGallopLoop() bool {
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
func (p *loop) gallopLoop() ir.Expr {
	l := p.l
	its := p.subset(p.lat.All())
	var live []ir.Expr
	for _, it := range its {
		l.start(it)
		live = append(live, it.live())
	}
	var some ir.Expr
	p.inFlag(func() {
		l.b.While(ir.Both(live...), func() {
			var most ir.Expr
			for _, it := range its {
				it.c = l.b.Declare(p.v()+"_"+it.name(), it.at(it.p))
				if most == nil {
					most = it.c
				} else {
					most = ir.Greatest(most, it.c)
				}
			}
			c := l.b.Declare(p.v(), most)
			var meet []ir.Expr
			for _, it := range its {
				meet = append(meet, ir.Equal(it.c, c))
			}
			then := l.b.Within(func() {
				some = p.iteration(c, its, nil)
				p.noteAssigned(some)
				for _, it := range its {
					l.b.Incr(it.p, ir.Int(1))
				}
			})
			advance := l.b.Within(func() {
				for _, it := range its {
					l.b.When(ir.Less(it.c, c), func() {
						l.b.Set(it.p, &ir.Search{A: it.crd, Lo: ir.Plus(it.p, ir.Int(1)), Hi: it.hi, Key: c})
					})
				}
			})
			l.b.Emit(&ir.If{Cond: ir.Both(meet...), Then: then, Else: advance})
		})
	}, func() bool { return ir.Never(some) })
	return p.result(some)
}
