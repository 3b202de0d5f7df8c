package merge

import "distaff/codegen/ir"

// isGallopLoop reports whether a loop is an intersection that searches for the common coordinates,
// as its schedule says.
func (p *Loop) isGallopLoop() bool {
	if !p.F.Gallop || len(p.Lat.Points) != 1 || p.Lat.Coarse {
		return false
	}
	for _, it := range p.Subset(p.Lat.All()) {
		if it.repeats || it.Padded {
			return false
		}
	}
	return true
}

// gallopLoop visits the coordinates that all iterators have. If all iterators are at the same
// coordinate, the body runs. Otherwise each iterator that is behind the foremost one searches for
// the first of its coordinates that is not below the foremost coordinate.
func (p *Loop) gallopLoop() ir.Expr {
	l, its := p.E.Leaf, p.start()
	return p.Collect(nil, func() (some ir.Expr) {
		l.B.While(ir.Both(ofAll(its, (*Iter).live)...), func() {
			c := l.B.Declare(p.V(), fold(ir.Greatest, p.declare(its, (*Iter).current)))
			meet := ofAll(its, func(it *Iter) ir.Expr { return ir.Equal(it.c, c) })
			l.B.Choose(ir.Both(meet...), func() {
				some = p.iteration(c, its, false)
				for _, it := range its {
					l.B.Incr(it.P, ir.Int(1))
				}
			}, func() {
				for _, it := range its {
					l.B.When(ir.Less(it.c, c), func() {
						l.B.Set(it.P, &ir.Search{A: it.Crd, Lo: ir.Plus(it.P, ir.Int(1)), Hi: it.Hi, Key: c})
					})
				}
			})
		})
		return some
	})
}
