package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// rowRange is the rows that one chunk of a parallel loop computes, of a sparse result that is
// appended to. A row with more entries than the strategy says may be cut: the first row of the
// range may then begin, and the last one end, at a coordinate inside the row. Cuts are where
// they make the chunks even. Every entry of the result is computed by one chunk, so that the
// result does not depend on where the cuts are. The chunk that has a row's end closes the row.
type rowRange struct {
	f    *cin.Forall
	rows coordRange
	// closed is one more than the last row whose end is in the range.
	closed ir.Expr
	// cutVar is the variable along the rows, "" where no row is cut. Row first begins at
	// coordinate from, and row last ends at coordinate to. Where the range begins or ends
	// with a whole row, first or last is a row number before all rows.
	cutVar       string
	first, last  ir.Expr
	from, to     ir.Expr
	begins, ends ir.Expr // whether there is such a first, and such a last row
}

// cutLongRows lets chunks cut long rows, where the strategy says so.
func (w *work) cutLongRows(long strategy.Long) {
	if long.How == strategy.CutInside {
		w.cutVar, w.longRow = w.l.resultVars[1], long.N
	}
}

// rowRange is the rows of chunk c.
func (w *work) rowRange(f *cin.Forall, c ir.Expr) *rowRange {
	if w.cutVar == "" {
		s := w.chunk(f.Var, c)
		return &rowRange{f: f, rows: s, closed: s.hi}
	}
	l := w.l
	s := &rowRange{f: f, cutVar: w.cutVar}
	var lo, hi ir.Expr
	lo, s.first, s.from, s.begins = w.edge(f.Var+"_from", c)
	lo = l.named(f.Var+"_first", ir.Choose(s.begins, s.first, lo))
	hi, s.last, s.to, s.ends = w.edge(f.Var+"_to", ir.Plus(c, ir.Int(1)))
	s.rows = coordRange{lo: lo, hi: hi, clip: true}
	s.closed = l.named(f.Var+"_closed", ir.Choose(s.ends, s.last, hi))
	return s
}

// edge is where chunk c starts. It starts at row x, or, where inside is true, in the row
// before x, at coordinate at. That row is then called row; else row is a number before all rows.
func (w *work) edge(name string, c ir.Expr) (x, row, at, inside ir.Expr) {
	l := w.l
	x = l.named(name, w.boundary(c))
	none := ir.Minus(w.lo, ir.Int(1))
	r := l.declare(name+"_row", none)
	b := l.bounds[w.cutVar]
	j := l.declare(name+"_"+w.cutVar, b[0])
	l.when(ir.Less(w.lo, x), func() {
		start := l.named("start", w.before(ir.Minus(x, ir.Int(1))))
		end := l.named("end", w.before(x))
		target := l.named("target", w.target(c))
		long := ir.Less(ir.Int(w.longRow), ir.Minus(end, start))
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

// beforeIn is the number of entries before coordinate j of row r, those of all rows before r
// included. Unlike before, it does not count the rows themselves.
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
func (s *rowRange) lower(l *lowerer, e *env) ir.Expr {
	e.ranges[s.f.Var] = s.rows
	if s.cutVar == "" {
		return l.serial(s.f, e, false)
	}
	return l.loops(&loop{f: s.f, e: e, body: func(in *env) ir.Expr {
		row := in.coord[s.f.Var]
		all := l.rangeOf(in, s.cutVar)
		begins, ends := ir.Equal(row, s.first), ir.Equal(row, s.last)
		all.open = l.named("open", ends)
		if !all.clip {
			all.clip, all.when = true, l.named("cut", ir.Either(begins, all.open))
		}
		all.lo = l.named(s.cutVar+"_from", ir.Choose(begins, s.from, all.lo))
		all.hi = l.named(s.cutVar+"_to", ir.Choose(all.open, s.to, all.hi))
		in.ranges[s.cutVar] = all
		return l.stmt(s.f.Body, in, false)
	}})
}
