package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// A chunk of a parallel loop whose result grows makes a stretch of it: some rows,
// of which the first may begin, and the last end, at a coordinate inside. A row of more
// entries than the strategy says is cut so, at whatever coordinates make the chunks even:
// entries are computed one by one, so that no bit tells where. The chunk with a row's
// end closes it.
type stretch struct {
	f    *cin.Forall
	rows span
	// closed is behind the last row that ends here.
	closed ir.Expr
	// v is the variable along the rows, "" where none is cut. first and last are the
	// rows that begin at from and end at to, each a row before all where there is none.
	v            string
	first, last  ir.Expr
	from, to     ir.Expr
	begins, ends ir.Expr // whether there is one
}

// cutAlong has the chunks cut long rows, where the strategy says so.
func (w *work) cutAlong(long strategy.Long) {
	if long.How == strategy.CutAlong {
		w.along, w.cutRow = w.l.resultVars[1], long.N
	}
}

// stretch is what chunk c makes.
func (w *work) stretch(f *cin.Forall, c ir.Expr) *stretch {
	if w.along == "" {
		s := w.chunk(f.Var, c)
		return &stretch{f: f, rows: s, closed: s.hi}
	}
	l := w.l
	s := &stretch{f: f, v: w.along}
	var lo, hi ir.Expr
	lo, s.first, s.from, s.begins = w.edge(f.Var+"_from", c)
	lo = l.named(f.Var+"_first", ir.Choose(s.begins, s.first, lo))
	hi, s.last, s.to, s.ends = w.edge(f.Var+"_to", ir.Plus(c, ir.Int(1)))
	s.rows = span{lo: lo, hi: hi, clip: true}
	s.closed = l.named(f.Var+"_closed", ir.Choose(s.ends, s.last, hi))
	return s
}

// edge is where chunk c starts: at row x, unless inside, from coordinate at of row on,
// the one before x. Otherwise that is a row before all.
func (w *work) edge(name string, c ir.Expr) (x, row, at, inside ir.Expr) {
	l := w.l
	x = l.named(name, w.boundary(c))
	none := ir.Minus(w.lo, ir.Int(1))
	r := l.declare(name+"_row", none)
	b := l.bounds[w.along]
	j := l.declare(name+"_"+w.along, b[0])
	l.when(ir.Less(w.lo, x), func() {
		start := l.named("start", w.before(ir.Minus(x, ir.Int(1))))
		end := l.named("end", w.before(x))
		target := l.named("target", w.target(c))
		long := ir.Less(ir.Int(w.cutRow), ir.Minus(end, start))
		l.when(ir.Both(ir.Less(target, end), long), func() {
			l.set(r, ir.Minus(x, ir.Int(1)))
			y := l.declare("y", b[1])
			l.while(ir.Less(j, y), func() {
				m := l.declare("mid", ir.Over(ir.Plus(j, y), ir.Int(2)))
				less := l.within(func() { l.set(j, ir.Plus(m, ir.Int(1))) })
				more := l.within(func() { l.set(y, m) })
				l.emit(&ir.If{Cond: ir.Less(w.beforeIn(r, m), ir.Minus(target, r)), Then: less, Else: more})
			})
		})
	})
	return x, r, j, ir.Less(none, r)
}

// beforeIn is the work before coordinate j of row r, and all rows before, but the rows themselves.
func (w *work) beforeIn(r, j ir.Expr) ir.Expr {
	var n ir.Expr = ir.Int(0)
	for _, c := range w.counted() {
		op := c.op
		p := ir.Minus(r, op.offset(0))
		lo, hi := ir.Coord(op.pos(1), p), ir.Coord(op.pos(1), ir.Plus(p, ir.Int(1)))
		n = ir.Plus(n, w.entries(c, 2, &ir.Search{A: op.crd(1), Lo: lo, Hi: hi, Key: j}))
	}
	return n
}

// lower lowers the chunk's loop.
func (s *stretch) lower(l *lowerer, e *env) ir.Expr {
	e.ranges[s.f.Var] = s.rows
	if s.v == "" {
		return l.serial(s.f, e, false)
	}
	return l.loops(&loop{f: s.f, e: e, body: func(in *env) ir.Expr {
		row := in.coord[s.f.Var]
		all := l.span(in, s.v)
		begins, ends := ir.Equal(row, s.first), ir.Equal(row, s.last)
		all.open = l.named("open", ends)
		if !all.clip {
			all.clip, all.when = true, l.named("cut", ir.Either(begins, all.open))
		}
		all.lo = l.named(s.v+"_from", ir.Choose(begins, s.from, all.lo))
		all.hi = l.named(s.v+"_to", ir.Choose(all.open, s.to, all.hi))
		in.ranges[s.v] = all
		return l.stmt(s.f.Body, in, false)
	}})
}
