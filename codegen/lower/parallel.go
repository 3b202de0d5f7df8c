package lower

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// parallel lowers a loop over a variable of the result whose iterations run on several threads. The
// variable's range is cut into chunks of about equal work. Each chunk is a serial loop with its own
// workspaces and, if the result is sparse, its own buffers. No sum crosses a chunk, so the result
// does not depend on the number of chunks or threads.
func (l *lowerer) parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr {
	if o.Long.How == strategy.Precomputed {
		a := l.newLongProductRows(f, e, o.Long)
		a.compute(e)
		e = e.clone()
		e.longRows = a
		defer a.free()
	}
	return l.assembly.parallel(f, e, o)
}

// parallel lowers f as chunks that run on threads, for a result with random access. Long rows are
// left out of the chunks. They are computed after them, one after another, each on all threads.
func (a randomAccess) parallel(f *cin.Forall, e *env, o strategy.Loop) ir.Expr {
	l, chunks := a.l, a.l.chunks()
	if !a.prefixed(f) {
		l.zero(e)
	}
	w := l.work(f, e, chunks)
	var h *longDenseRows
	if o.Long.How == strategy.Separate {
		h = l.newLongDenseRows(f, w, o.Long)
		h.leftOut = l.b.Array("long_left_out", tensor.Bool)
		l.b.Emit(&ir.Alloc{A: h.leftOut, Len: chunks, Zero: true})
	}
	some := ir.Expr(ir.Truth(false))
	c := l.b.Var("chunk")
	body := l.b.InScope(func() {
		in := e.clone()
		s := w.chunk(f.Var, c)
		in.ranges = in.ranges.with(f.Var, s)
		if h != nil {
			some = h.loop(f, in, c)
		} else {
			some = l.serial(f, in, false)
		}
	})
	l.b.Emit(&ir.For{V: c, Lo: ir.Int(0), Hi: chunks, Step: 1, Kind: ir.Parallel, Dynamic: true,
		Chunk: 1, Body: body})
	if h != nil {
		h.lowerLong(f, e, w)
	}
	return some
}

// chunks returns the number of chunks of a parallel loop.
func (l *lowerer) chunks() ir.Expr {
	return l.b.Named("chunks",
		ir.Choose(ir.AtMost(l.threads, ir.Int(1)), ir.Int(1),
			ir.Times(l.threads, ir.Int(l.spec.Strategy.PerThread))))
}

// chunk returns the range of chunk c of v.
func (w *work) chunk(v string, c ir.Expr) tree.Range {
	lo := w.l.b.Named(v+"_from", w.boundary(c))
	return tree.Range{Lo: lo, Hi: w.l.b.Named(v+"_to", w.boundary(ir.Plus(c, ir.Int(1)))), Clip: true}
}

// work cuts a variable's range into pieces of about equal work. The work of a piece is the number
// of its entries in the largest operand that the loop walks. If that operand has all rows, entries
// of other operands that have all rows count too.
type work struct {
	l      *lowerer
	chunks ir.Expr
	all    tree.Range
	driver *tree.Cursor
	key    string // the key of the driver's access
	// the other operands whose entries count. They and the driver have all rows.
	others []*tree.Cursor
	// the range of the driver's rows or positions, or of coordinates without a driver
	lo, hi ir.Expr
	total  ir.Expr
	// cutVar is the variable along the rows if rows with more entries than longRow are cut
	// (longrows_sparse.go), or "".
	cutVar  string
	longRow int64
}

func (l *lowerer) work(f *cin.Forall, e *env, chunks ir.Expr) *work {
	w := &work{l: l, chunks: chunks, all: l.rangeOf(e, f.Var)}
	heaviest := -1
	var rows []*tree.Cursor
	cin.Accesses(f.Body, func(x *cin.Access) {
		c := e.cur[x.Key()]
		if c == nil || c.Next() != f.Var || !ir.Always(c.Present) || c.Of.Argument.Number < 0 ||
			c.Of.Argument.Format.AllDense() {
			return
		}
		if caps := c.Of.Kind(c.Level); !caps.HasPos() && !(caps.CanLocate() && c.Level == 0) {
			return
		}
		if n := l.spec.Strategy.Weight[c.Of.Argument.Name]; n > heaviest {
			w.driver, w.key, heaviest = c, x.Key(), n
		}
		if c.Of.Kind(c.Level).CanLocate() && c.Of.HasPosFrom(1) &&
			!slices.ContainsFunc(rows, func(d *tree.Cursor) bool { return d.Of == c.Of }) {
			rows = append(rows, c)
		}
	})
	switch {
	case w.driver == nil:
		w.lo, w.hi = w.all.Lo, w.all.Hi
	case w.driver.Of.Kind(w.driver.Level).CanLocate():
		w.lo, w.hi = w.all.Lo, w.all.Hi
		w.others = slices.DeleteFunc(rows, func(c *tree.Cursor) bool { return c.Of == w.driver.Of })
	default:
		w.lo, w.hi = w.driver.Segment() // the segment of a block need not begin at 0
	}
	if w.driver != nil {
		w.total = l.b.Named("work", ir.Minus(w.before(w.hi), w.before(w.lo)))
	}
	return w
}

// counted returns the cursors of the operands whose entries count.
func (w *work) counted() []*tree.Cursor { return append([]*tree.Cursor{w.driver}, w.others...) }

// before returns the work before row or position x: the number of entries in the rows before it,
// plus 1 for each row.
func (w *work) before(x ir.Expr) ir.Expr {
	n := ir.Expr(ir.Int(0))
	for _, c := range w.counted() {
		p := x
		if c.Of.Kind(c.Level).CanLocate() {
			p = ir.Minus(x, c.Of.Offset(c.Level))
		}
		n = ir.Plus(n, w.entries(c, c.Level+1, p))
	}
	return ir.Plus(n, x)
}

// entries returns the number of entries before position p of level k-1: the position of the first
// entry below p in the last level.
func (w *work) entries(c *tree.Cursor, k int, p ir.Expr) ir.Expr {
	for ; k < c.Of.Order(); k++ {
		p = c.Of.Below(k, p)
	}
	return p
}

// target returns the work before chunk c if all chunks have the same work.
func (w *work) target(c ir.Expr) ir.Expr {
	return ir.Plus(w.before(w.lo), ir.Over(ir.Times(w.total, c), w.chunks))
}

// cut returns the row or position where chunk c starts. If c is the number of chunks, it returns
// the end.
func (w *work) cut(c ir.Expr) ir.Expr {
	l := w.l
	if w.driver == nil {
		return emit.Part(w.lo, w.hi, c, w.chunks)
	}
	target := l.b.Named("target", w.target(c))
	x := l.b.Declare("x", w.lo)
	y := l.b.Declare("y", w.hi)
	l.b.While(ir.Less(x, y), func() {
		m := l.b.Declare("mid", ir.Over(ir.Plus(x, y), ir.Int(2)))
		less := l.b.Within(func() { l.b.Set(x, ir.Plus(m, ir.Int(1))) })
		more := l.b.Within(func() { l.b.Set(y, m) })
		l.b.Emit(&ir.If{Cond: ir.Less(w.before(m), target), Then: less, Else: more})
	})
	return x
}

// boundary returns the coordinate where chunk c starts. If c is the number of chunks, it returns
// the end of the range.
func (w *work) boundary(c ir.Expr) ir.Expr {
	at := w.cut(c)
	if w.driver == nil {
		return at
	}
	if level := w.driver.Level; !w.driver.Of.Kind(level).CanLocate() {
		at = ir.Choose(ir.Less(at, w.hi), ir.Coord(w.driver.Of.Crd(level), at), w.all.Hi)
		at = ir.Least(ir.Greatest(at, w.all.Lo), w.all.Hi)
	}
	return ir.Choose(ir.Equal(c, ir.Int(0)), w.all.Lo,
		ir.Choose(ir.AtLeast(c, w.chunks), w.all.Hi, at))
}
