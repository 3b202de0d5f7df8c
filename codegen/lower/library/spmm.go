package library

import (
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// offsetThreads is the number of threads in a block of the kernel that computes the row offsets of
// a matrix.
const offsetThreads = 256

// SpMM lowers loops around a product of matrices to a call of a GPU library. One matrix is in
// compressed rows, and the other one is dense, or a vector. The library requires row positions that
// start at 0 and have the width of coordinates. If they do not, a kernel computes them first.
func SpMM(f *cin.Forall, e *scope.Env, o *strategy.Extern, want bool) ir.Expr {
	l := e.Leaf
	n := &spmmNest{nest: externNest{l: l, f: f, e: e, o: o, ranges: map[string]tree.Range{}}}
	a := n.nest.loops()
	l.Called[o] = true
	if want {
		n.nest.refuse("%[2]s cannot report which entries of %[1]s the loops store",
			l.Out.Op.Argument.Name, o.Name)
	}
	if a.LHS.Name != l.Out.Op.Argument.Name || !a.Accumulate {
		n.nest.refuse("%s adds to the result, but the loops replace the values of %s", o.Name,
			a.LHS.Key())
	}
	result := n.nest.values()
	n.factors(a.RHS)
	s := n.product(result)
	l.B.When(n.nest.some, func() { n.emit(s) })
	return n.nest.some
}

// spmmNest collects the parts of a product with a sparse matrix.
type spmmNest struct {
	nest          externNest
	sparse, dense []segment // the arrays of the two factors
	rows, cols    string    // the variables of the sparse factor's levels
	alpha         ir.Expr   // the product of all other factors
}

// factors finds the two factors of x that depend on the loop variables. It multiplies the other
// factors into n.alpha, the number that scales the product.
func (n *spmmNest) factors(x cin.Expr) {
	l := n.nest.l
	n.alpha = ir.One(l.Spec.Compute)
	var walk func(x cin.Expr)
	walk = func(x cin.Expr) {
		switch x := x.(type) {
		case *cin.Lit:
			n.alpha = ir.Times(n.alpha, n.nest.e.Expr(x, ir.Truth(true)).V)
			return
		case *cin.Neg:
			n.alpha = ir.Negated(n.alpha)
			walk(x.X)
			return
		case *cin.Access:
			n.factor(x)
			return
		case *cin.Binary:
			if x.Op == '*' {
				walk(x.X)
				walk(x.Y)
				return
			}
		}
		n.nest.refuse("%s adds products of a sparse and a dense matrix, but the loops add %s",
			n.nest.o.Name, cin.ExprString(x))
	}
	walk(x)
	if n.sparse == nil || n.dense == nil {
		n.nest.refuse(
			"%s multiplies a sparse matrix by a dense matrix or vector, but the loops have no "+
				"two such factors", n.nest.o.Name)
	}
}

// refuseMissing refuses access x, which may have no entry at some coordinates.
func (n *spmmNest) refuseMissing(x *cin.Access) {
	n.nest.refuse("%s may have no entry at some coordinates, but %s needs a value at each", x.Key(),
		n.nest.o.Name)
}

// factor handles one factor of the product: it is the sparse matrix, the dense matrix or vector, or
// a value that does not change in the loops. The last kind is multiplied into alpha.
func (n *spmmNest) factor(x *cin.Access) {
	l := n.nest.l
	c := n.nest.e.Cur[x.Key()]
	if c == nil || c.Level == len(c.Vars) {
		v := n.nest.e.Access(x)
		if !ir.Always(v.Pres) {
			n.refuseMissing(x)
		}
		n.alpha = ir.Times(n.alpha, v.V)
		return
	}
	switch {
	case !ir.Always(c.Present):
		n.refuseMissing(x)
	case !inOrder(c):
		n.nest.refuse("the values of %s must be in an array in the order of positions", x.Key())
	case c.Of.Argument.Type != l.Spec.Compute:
		n.nest.refuse(
			"the values of %[1]s are converted to %[2]s, but %[3]s multiplies values of one type",
			c.Of.Argument.Type, l.Spec.Compute, n.nest.o.Name)
	}
	list := n.nest.segments(x, c)
	levels := c.Of.Argument.Format.Levels[c.Level:]
	switch {
	case !slices.ContainsFunc(levels, func(k tensor.Kind) bool { return k != tensor.Dense }) &&
		n.dense == nil:
		n.dense = list
	case len(levels) == 2 && levels[0] == tensor.Dense && levels[1] == tensor.Compressed &&
		len(list) == 3 && len(list[0].by) == 1 && n.sparse == nil:
		n.sparse, n.rows, n.cols = list, list[0].by[0].v, c.Vars[c.Level+1]
	default:
		n.nest.refuse(
			"%s multiplies a matrix in compressed rows (ds) by a dense matrix or vector, but "+
				"%s (its format is %s) is neither", n.nest.o.Name, x.Key(), c.Of.Argument.Format)
	}
}

// product returns the statement that replaces the loops of n: a product of a sparse matrix with a
// dense one. result is the part of the result that the statement writes.
func (n *spmmNest) product(result segment) *ir.SpMM {
	l := n.nest.l
	if l.Spec.Parts[l.Graph.Original(n.cols)] || l.Comps[n.cols] != nil {
		n.nest.refuse("the loop over %s visits parts of the sparse matrix's rows, but %s multiplies "+
			"whole rows", n.cols, n.nest.o.Name)
	}
	rows, inner := n.nest.ranges[n.rows], n.nest.ranges[n.cols]
	if !ir.Is(stepOf(n.sparse[0], n.rows), 1) || !n.over(result, n.rows) || n.over(result, n.cols) ||
		!n.over(n.dense[0], n.cols) || n.over(n.dense[0], n.rows) {
		n.nest.refuse("%s needs loops over the rows of the sparse matrix, which must be rows of the "+
			"result, and over its columns, which must be summed; got %s",
			n.nest.o.Name, strings.ReplaceAll(n.nest.o.Vars, ",", " and "))
	}
	s := &ir.SpMM{
		M: ir.Minus(rows.Hi, rows.Lo), N: ir.Int(1), K: inner.Hi, Pos: n.sparse[0].a, Crd: n.sparse[1].a,
		Vals: n.sparse[2].a,
		At:   ir.Plus(n.sparse[0].at, rows.Lo), From: ir.Int(0), Alpha: n.alpha,
		C: ir.Matrix{A: result.a, At: ir.Plus(result.at, ir.Times(stepOf(result, n.rows), rows.Lo)),
			Row: []ir.Expr{stepOf(result, n.rows)}, Col: []ir.Expr{ir.Int(0)}},
		B: ir.Matrix{A: n.dense[0].a, At: n.dense[0].at, Row: []ir.Expr{stepOf(n.dense[0], n.cols)},
			Col: []ir.Expr{ir.Int(0)}},
	}
	for _, v := range strings.Split(n.nest.o.Vars, ",") {
		v = l.Graph.ConsumerVar(v)
		if root := n.coordinate(v); root != n.rows && root != n.cols {
			r := n.nest.ranges[v]
			if !n.over(result, root) || !n.over(n.dense[0], root) || !ir.Is(s.N, 1) {
				n.nest.refuse("the loop over %s must run along the columns of the dense matrix and of "+
					"the result", v)
			}
			s.N = ir.Minus(r.Hi, r.Lo)
			s.C.At, s.C.Col[0] = ir.Plus(s.C.At, ir.Times(stepOf(result, root), r.Lo)), stepOf(result, root)
			s.B.At, s.B.Col[0] = ir.Plus(s.B.At, ir.Times(stepOf(n.dense[0], root), r.Lo)),
				stepOf(n.dense[0], root)
		}
	}
	if len(result.by) > 2 || len(n.dense[0].by) > 2 {
		n.nest.refuse(
			"%s multiplies matrices, but one tensor has more than two of the loops' variables",
			n.nest.o.Name)
	}
	unit := func(m ir.Matrix) bool {
		return ir.Is(m.Row[0], 1) || ir.Is(m.Col[0], 1) ||
			ir.Is(m.Col[0], 0)
	}
	if !unit(s.B) || !unit(s.C) {
		n.nest.refuse("%s needs matrices whose values are adjacent in memory along a row or a column",
			n.nest.o.Name)
	}
	return s
}

// coordinate returns the variable whose coordinates the loop over v visits.
func (n *spmmNest) coordinate(v string) string {
	if c := n.nest.l.Comps[v]; c != nil && n.nest.l.Graph.ReplacedBy(v) == nil {
		return c.Roots[0]
	}
	return v
}

func (n *spmmNest) over(s segment, v string) bool { return !ir.Is(stepOf(s, v), 0) }

// stepOf returns by how much the index of a segment grows if v grows by 1.
func stepOf(s segment, v string) ir.Expr {
	for _, b := range s.by {
		if b.v == v {
			return b.n
		}
	}
	return ir.Int(0)
}

// emit emits the matrix product s. The library needs row offsets that start at 0 and have the width
// of coordinates. If the pos array has this form, it is used directly. Otherwise emit first emits a
// kernel that computes the offsets.
func (n *spmmNest) emit(s *ir.SpMM) {
	l := n.nest.l
	first := l.B.Local(n.rows+"_first", ir.Coord(s.Pos, s.At))
	entries := l.B.Local(n.rows+"_entries", ir.Minus(ir.Coord(s.Pos, ir.Plus(s.At, s.M)), first))
	s.Entries = entries
	count := ir.Plus(s.M, ir.Int(1))
	offsets := l.B.Array(n.rows+"_offsets", s.Crd.Elem)
	block, at := ir.NewVar(l.B.Fresh("block"), tensor.Int64),
		ir.NewVar(l.B.Fresh(n.rows+"_row"), tensor.Int64)
	lo := ir.Times(block, ir.Int(offsetThreads))
	store := &ir.Store{A: offsets, Index: at,
		X: ir.Convert(offsets.Elem, ir.Minus(ir.Coord(s.Pos, ir.Plus(s.At, at)), first))}
	threads := &ir.For{V: at, Lo: lo, Hi: ir.Least(ir.Plus(lo, ir.Int(offsetThreads)), count), Step: 1,
		Kind: ir.Lanes, Width: offsetThreads, Body: ir.Seq(store)}
	part := *s
	part.Pos, part.At, part.From = offsets, ir.Int(0), first
	blocks := ir.Over(ir.Plus(s.M, ir.Int(offsetThreads)), ir.Int(offsetThreads))
	made := ir.Seq(&ir.Alloc{A: offsets, Len: count},
		&ir.For{V: block, Lo: ir.Int(0), Hi: blocks, Step: 1, Kind: ir.Blocks, Body: ir.Seq(threads)},
		&part, &ir.Free{A: offsets},
	)
	if s.Pos.Elem != s.Crd.Elem {
		l.B.Emit(made)
		return
	}
	l.B.Emit(&ir.If{Cond: ir.Equal(first, ir.Int(0)), Then: ir.Seq(s), Else: made})
}
