package result

import (
	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/merge"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/lower/units"
	"distaff/codegen/strategy"
)

// rowRange is the range of rows that one chunk of a parallel loop computes, if the chunks append to
// a sparse result or write a fixed pattern. The chunks have about equal work. Chunks may share a
// row with more entries than the strategy's limit. The range may therefore begin or end at a
// coordinate inside a row. Each entry of the result is computed by a single chunk, so the result
// does not depend on the division. If a pos array is written, the chunk that computes the end of a
// row writes the pos entry of the row.
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

// rowCuts cuts rows into chunks.
type rowCuts struct {
	work *units.Work
	// v is the variable along the rows if rows with more entries than longRow are cut, or "".
	v       string
	longRow int64
}

// cutRows returns the division of the work w into ranges of rows, one for each chunk. The strategy
// says how long rows are treated (the parameter long). A long row is divided as well if long.How is
// strategy.CutInside.
func cutRows(w *units.Work, long strategy.Long) *rowCuts {
	if long.How == strategy.CutInside {
		return &rowCuts{w, w.L.ResultVars[1], long.N}
	}
	return &rowCuts{work: w}
}

// rowRange returns the rows of chunk c.
func (w *rowCuts) rowRange(f *cin.Forall, c ir.Expr) *rowRange {
	if w.v == "" {
		s := w.work.Chunk(c)
		return &rowRange{f: f, rows: s, closed: s.Hi}
	}
	l := w.work.L
	s := &rowRange{f: f, cutVar: w.v}
	var lo, hi ir.Expr
	lo, s.first, s.from, s.begins = w.edge(f.Var+"_from", c)
	lo = l.B.Named(f.Var+"_first", ir.Choose(s.begins, s.first, lo))
	hi, s.last, s.to, s.ends = w.edge(f.Var+"_to", ir.Plus(c, ir.Int(1)))
	s.rows = tree.Range{Lo: lo, Hi: hi, Clip: true}
	s.closed = l.B.Named(f.Var+"_closed", ir.Choose(s.ends, s.last, hi))
	return s
}

// edge emits code that computes where chunk c starts. inside is the condition that the start is
// inside a row. If inside is true, the chunk starts at the coordinate coord of the row with number
// row, and x is the next row. If inside is false, the chunk starts at the beginning of row x, and
// row is a number that is smaller than every row number.
func (w *rowCuts) edge(name string, c ir.Expr) (x, row, coord, inside ir.Expr) {
	l := w.work.L
	x = l.B.Named(name, w.work.Boundary(c))
	none := ir.Minus(w.work.Lo, ir.Int(1))
	r := l.B.Declare(name+"_row", none)
	b := l.Bounds[w.v]
	j := l.B.Declare(name+"_"+w.v, b[0])
	l.B.When(ir.Less(w.work.Lo, x), func() {
		start := l.B.Named("start", w.work.Before(ir.Minus(x, ir.Int(1))))
		end := l.B.Named("end", w.work.Before(x))
		target := l.B.Named("target", w.work.Target(c))
		long := ir.Less(ir.Int(w.longRow), ir.Minus(end, start))
		l.B.When(ir.Both(ir.Less(target, end), long), func() {
			l.B.Set(r, ir.Minus(x, ir.Int(1)))
			y := l.B.Declare("y", b[1])
			l.B.Bisect(j, y, func(mid ir.Expr) ir.Expr {
				return ir.Less(w.beforeIn(r, mid), ir.Minus(target, r))
			})
		})
	})
	return x, r, j, ir.Less(none, r)
}

// beforeIn returns the number of entries before coordinate j of row r, including the entries of all
// earlier rows. Work.Before also adds 1 for each row, and beforeIn does not.
func (w *rowCuts) beforeIn(r, j ir.Expr) ir.Expr {
	var n ir.Expr = ir.Int(0)
	for _, c := range w.work.Counted() {
		op := c.Of
		p := ir.Minus(r, op.Offset(0))
		lo, hi := ir.Coord(op.Pos(1), p), ir.Coord(op.Pos(1), ir.Plus(p, ir.Int(1)))
		n = ir.Plus(n, op.DownTo(2, op.Order()-1, &ir.Search{A: op.Crd(1), Lo: lo, Hi: hi, Key: j}))
	}
	return n
}

// lower lowers the chunk's loop.
func (s *rowRange) lower(l *scope.Leaf, e *scope.Env) ir.Expr {
	e.Ranges = e.Ranges.With(s.f.Var, s.rows)
	if s.cutVar == "" {
		return l.Serial(s.f, e, false)
	}
	return (&merge.Loop{F: s.f, E: e, Body: func(in *scope.Env, _ bool) ir.Expr {
		row := in.Coord.At(s.f.Var)
		all := in.RangeOf(s.cutVar)
		begins, ends := ir.Equal(row, s.first), ir.Equal(row, s.last)
		all.Open = l.B.Named("open", ends)
		if !all.Clip {
			all.Clip, all.When = true, l.B.Named("cut", ir.Either(begins, all.Open))
		}
		all.Lo = l.B.Named(s.cutVar+"_from", ir.Choose(begins, s.from, all.Lo))
		all.Hi = l.B.Named(s.cutVar+"_to", ir.Choose(all.Open, s.to, all.Hi))
		in.Ranges = in.Ranges.With(s.cutVar, all)
		return l.Stmt(s.f.Body, in, false)
	}}).Loops()
}
