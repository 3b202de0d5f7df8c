package lower

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
)

// rowRange is the range of rows that one chunk of a parallel loop computes, for a sparse result
// that is appended to. A row with more entries than the strategy's limit may be cut. The range may
// then begin inside its first row and end inside its last row, at a coordinate. The cuts are chosen
// so that the chunks have about equal work. Every entry of the result is computed by one chunk, so
// the result does not depend on the cuts. The chunk that has the end of a row closes the row.
type rowRange struct {
	f    *cin.Forall
	rows tree.Range
	// closed is 1 plus the last row whose end is in the range.
	closed ir.Expr
	// cutVar is the variable along the rows, or "" if no row is cut. Row first begins at coordinate
	// from, and row last ends at coordinate to. If the range begins or ends with a whole row, first
	// or last is a number that is smaller than every row.
	cutVar       string
	first, last  ir.Expr
	from, to     ir.Expr
	begins, ends ir.Expr // whether the first row is cut, and whether the last row is cut
}

// cutLongRows lets chunks cut long rows, if the strategy says so.
func (w *work) cutLongRows(long strategy.Long) {
	if long.How == strategy.CutInside {
		w.cutVar, w.longRow = w.l.resultVars[1], long.N
	}
}

// rowRange returns the rows of chunk c.
func (w *work) rowRange(f *cin.Forall, c ir.Expr) *rowRange {
	if w.cutVar == "" {
		s := w.chunk(f.Var, c)
		return &rowRange{f: f, rows: s, closed: s.Hi}
	}
	l := w.l
	s := &rowRange{f: f, cutVar: w.cutVar}
	var lo, hi ir.Expr
	lo, s.first, s.from, s.begins = w.edge(f.Var+"_from", c)
	lo = l.b.Named(f.Var+"_first", ir.Choose(s.begins, s.first, lo))
	hi, s.last, s.to, s.ends = w.edge(f.Var+"_to", ir.Plus(c, ir.Int(1)))
	s.rows = tree.Range{Lo: lo, Hi: hi, Clip: true}
	s.closed = l.b.Named(f.Var+"_closed", ir.Choose(s.ends, s.last, hi))
	return s
}

// edge returns the place where chunk c starts. inside is the condition that this place is inside a
// row. If it is false, the chunk starts at row x, and row is smaller than every row. If it is true,
// the chunk starts at coordinate at of row, which is x-1.
func (w *work) edge(name string, c ir.Expr) (x, row, at, inside ir.Expr) {
	l := w.l
	x = l.b.Named(name, w.boundary(c))
	none := ir.Minus(w.lo, ir.Int(1))
	r := l.b.Declare(name+"_row", none)
	b := l.bounds[w.cutVar]
	j := l.b.Declare(name+"_"+w.cutVar, b[0])
	l.b.When(ir.Less(w.lo, x), func() {
		start := l.b.Named("start", w.before(ir.Minus(x, ir.Int(1))))
		end := l.b.Named("end", w.before(x))
		target := l.b.Named("target", w.target(c))
		long := ir.Less(ir.Int(w.longRow), ir.Minus(end, start))
		l.b.When(ir.Both(ir.Less(target, end), long), func() {
			l.b.Set(r, ir.Minus(x, ir.Int(1)))
			y := l.b.Declare("y", b[1])
			l.b.While(ir.Less(j, y), func() {
				m := l.b.Declare("mid", ir.Over(ir.Plus(j, y), ir.Int(2)))
				less := l.b.Within(func() { l.b.Set(j, ir.Plus(m, ir.Int(1))) })
				more := l.b.Within(func() { l.b.Set(y, m) })
				l.b.Emit(&ir.If{Cond: ir.Less(w.beforeIn(r, m), ir.Minus(target, r)), Then: less, Else: more})
			})
		})
	})
	return x, r, j, ir.Less(none, r)
}

// beforeIn returns the number of entries before coordinate j of row r, including the entries of all
// rows before r. Unlike before, it does not count the rows themselves.
func (w *work) beforeIn(r, j ir.Expr) ir.Expr {
	var n ir.Expr = ir.Int(0)
	for _, c := range w.counted() {
		op := c.Of
		p := ir.Minus(r, op.Offset(0))
		lo, hi := ir.Coord(op.Pos(1), p), ir.Coord(op.Pos(1), ir.Plus(p, ir.Int(1)))
		n = ir.Plus(n, w.entries(c, 2, &ir.Search{A: op.Crd(1), Lo: lo, Hi: hi, Key: j}))
	}
	return n
}

// lower lowers the chunk's loop.
func (s *rowRange) lower(l *lowerer, e *env) ir.Expr {
	e.ranges = e.ranges.with(s.f.Var, s.rows)
	if s.cutVar == "" {
		return l.serial(s.f, e, false)
	}
	return (&loop{l: l, f: s.f, e: e, body: func(in *env) ir.Expr {
		row := in.coord.at(s.f.Var)
		all := l.rangeOf(in, s.cutVar)
		begins, ends := ir.Equal(row, s.first), ir.Equal(row, s.last)
		all.Open = l.b.Named("open", ends)
		if !all.Clip {
			all.Clip, all.When = true, l.b.Named("cut", ir.Either(begins, all.Open))
		}
		all.Lo = l.b.Named(s.cutVar+"_from", ir.Choose(begins, s.from, all.Lo))
		all.Hi = l.b.Named(s.cutVar+"_to", ir.Choose(all.Open, s.to, all.Hi))
		in.ranges = in.ranges.with(s.cutVar, all)
		return l.stmt(s.f.Body, in, false)
	}}).loops()
}
