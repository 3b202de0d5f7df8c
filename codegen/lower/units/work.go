package units

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
)

// Chunks returns the number of chunks of a parallel loop: perThread for each thread, or one if
// there is only one thread.
func Chunks(l *scope.Leaf, perThread int64) ir.Expr {
	return l.B.Named("chunks", ir.Choose(ir.AtMost(l.Threads, ir.Int(1)), ir.Int(1),
		ir.Times(l.Threads, ir.Int(perThread))))
}

// Chunk returns the range of chunk c.
func (w *Work) Chunk(c ir.Expr) tree.Range {
	v := w.f.Var
	lo := w.L.B.Named(v+"_from", w.Boundary(c))
	return tree.Range{Lo: lo, Hi: w.L.B.Named(v+"_to", w.Boundary(ir.Plus(c, ir.Int(1)))), Clip: true}
}

// Work divides a variable's range into pieces of about equal work. The work of a piece is its
// number of rows plus its number of entries in the driver. The driver is the largest operand that
// the loop walks. If the driver has every row (for example because its first level is dense), the
// entries of other operands with every row also count. If there is no driver, only rows count.
type Work struct {
	L      *scope.Leaf
	f      *cin.Forall
	e      *scope.Env // around f
	Chunks ir.Expr
	all    tree.Range
	Driver *tree.Cursor
	Key    string // the key of the driver's access
	// the other operands whose entries count. They and the driver have all rows.
	others []*tree.Cursor
	// the range of the driver's rows or positions, or of coordinates without a driver
	Lo, Hi ir.Expr
	Total  ir.Expr
}

// NewWork returns the division of the loop f into the given number of chunks.
func NewWork(f *cin.Forall, e *scope.Env, chunks ir.Expr) *Work {
	l := e.Leaf
	w := &Work{L: l, f: f, e: e, Chunks: chunks, all: e.RangeOf(f.Var)}
	heaviest := -1
	var rows []*tree.Cursor
	cin.Accesses(f.Body, func(x *cin.Access) {
		c := e.Cur[x.Key()]
		if c == nil || c.Next() != f.Var || !ir.Always(c.Present) || c.Of.Argument.Number < 0 ||
			c.Of.Argument.Format.AllDense() {
			return
		}
		if caps := c.Of.Kind(c.Level); !caps.HasPos() && !(caps.CanLocate() && c.Level == 0) {
			return
		}
		if n := l.Spec.Strategy.Weight[c.Of.Argument.Name]; n > heaviest {
			w.Driver, w.Key, heaviest = c, x.Key(), n
		}
		if c.Of.Kind(c.Level).CanLocate() && c.Of.Argument.Format.HasPosFrom(1) &&
			!slices.ContainsFunc(rows, func(d *tree.Cursor) bool { return d.Of == c.Of }) {
			rows = append(rows, c)
		}
	})
	switch {
	case w.Driver == nil:
		w.Lo, w.Hi = w.all.Lo, w.all.Hi
	case w.Driver.Of.Kind(w.Driver.Level).CanLocate():
		w.Lo, w.Hi = w.all.Lo, w.all.Hi
		w.others = slices.DeleteFunc(rows, func(c *tree.Cursor) bool { return c.Of == w.Driver.Of })
	default:
		w.Lo, w.Hi = w.Driver.Segment() // the segment of a block need not begin at 0
	}
	if w.Driver != nil {
		w.Total = l.B.Named("work", ir.Minus(w.Before(w.Hi), w.Before(w.Lo)))
	}
	return w
}

// Counted returns the cursors of the operands whose entries are counted as work: the driver and the
// others.
func (w *Work) Counted() []*tree.Cursor { return append([]*tree.Cursor{w.Driver}, w.others...) }

// Before returns the work before row or position x: the number of entries in the rows before it,
// plus 1 for each row.
func (w *Work) Before(x ir.Expr) ir.Expr {
	n := ir.Expr(ir.Int(0))
	for _, c := range w.Counted() {
		p := x
		if c.Of.Kind(c.Level).CanLocate() {
			p = ir.Minus(x, c.Of.Offset(c.Level))
		}
		n = ir.Plus(n, c.Of.DownTo(c.Level+1, c.Of.Order()-1, p))
	}
	return ir.Plus(n, x)
}

// Target returns the work, counted as Before counts it, that should precede chunk c, so that all
// chunks have the same work.
func (w *Work) Target(c ir.Expr) ir.Expr {
	return ir.Plus(w.Before(w.Lo), ir.Over(ir.Times(w.Total, c), w.Chunks))
}

// Cut returns the row or position where chunk c starts. If c is the number of chunks, it returns
// the end.
func (w *Work) Cut(c ir.Expr) ir.Expr {
	l := w.L
	if w.Driver == nil {
		return emit.Part(w.Lo, w.Hi, c, w.Chunks)
	}
	target := l.B.Named("target", w.Target(c))
	x := l.B.Declare("x", w.Lo)
	y := l.B.Declare("y", w.Hi)
	l.B.Bisect(x, y, func(mid ir.Expr) ir.Expr { return ir.Less(w.Before(mid), target) })
	return x
}

// Boundary returns the coordinate where chunk c starts. If c is the number of chunks, it returns
// the end of the range.
func (w *Work) Boundary(c ir.Expr) ir.Expr {
	at := w.Cut(c)
	if w.Driver == nil {
		return at
	}
	if level := w.Driver.Level; !w.Driver.Of.Kind(level).CanLocate() {
		at = ir.Choose(ir.Less(at, w.Hi), ir.Coord(w.Driver.Of.Crd(level), at), w.all.Hi)
		at = ir.Least(ir.Greatest(at, w.all.Lo), w.all.Hi)
	}
	return ir.Choose(ir.Equal(c, ir.Int(0)), w.all.Lo,
		ir.Choose(ir.AtLeast(c, w.Chunks), w.all.Hi, at))
}

// Each emits the parallel loop over all chunks. body lowers chunk c in the chunk's environment.
func (w *Work) Each(body func(c *ir.Var, in *scope.Env)) { w.Between(ir.Int(0), w.Chunks, body) }

// Between emits the parallel loop over the chunks [lo, hi). See Each.
func (w *Work) Between(lo, hi ir.Expr, body func(c *ir.Var, in *scope.Env)) {
	w.L.B.Chunks("chunk", lo, hi, func(c *ir.Var) {
		in := w.e.Clone()
		in.Ranges = in.Ranges.With(w.f.Var, w.Chunk(c))
		body(c, in)
	})
}

// ForEachShare makes each thread run the code that body emits for its own part of the range from 0
// to n.
func ForEachShare(l *scope.Leaf, n ir.Expr, body func(from, to ir.Expr)) {
	pieces := l.B.Named("pieces", ir.Greatest(l.Threads, ir.Int(1)))
	at := func(c ir.Expr) ir.Expr { return ir.Over(ir.Times(n, c), pieces) }
	l.B.Parallel("piece", pieces, func(c *ir.Var) {
		body(l.B.Named("piece_from", at(c)), l.B.Named("piece_to", at(ir.Plus(c, ir.Int(1)))))
	})
}
