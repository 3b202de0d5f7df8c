// Package rewrite finds forms in code and replaces them: products of matrices, loops that run in
// lanes, and code that only counts.
//
//	gemm.go    products of matrices
//	vector.go  loops that run in lanes
//	strip.go   code that only counts
//	blocks.go  loops on a GPU that other units run, or that only add up
package rewrite

import (
	"fmt"

	"distaff/codegen/ir"
)

// Named returns the name of the tensor whose values are in an array, or "".
type Named func(a *ir.Array) string

// Gemm replaces nested loops around a product with one matrix product. The loops are the last
// statement of b, and count is their number. If adjacent is true, the matrix product must also meet
// the condition of ir.Gemm.SideBySide. If batches is true, all three matrices may depend on some of
// the loops (ir.Gemm.Batch). named returns the names of tensors. nonEmpty is the condition that
// every loop has at least one iteration, so that the loops add a value. If the code is not a matrix
// product, reason names the part that does not fit. Otherwise reason is "".
func Gemm(b *ir.Block, count int, adjacent, batches bool, named Named) (nonEmpty ir.Expr,
	reason string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			reason = string(r)
		default:
			panic(r)
		}
	}()
	n := &gemmNest{named: named, batches: batches, vars: make([]*ir.Var, count),
		lo: make([]ir.Expr, count), hi: make([]ir.Expr, count), values: map[*ir.Var]ir.Expr{}}
	before := n.read(b)
	b.List = append(before, n.product(adjacent))
	return n.assigned(), ""
}

// assigned returns the condition that the loops add anything: each of them has an iteration.
func (n *gemmNest) assigned() ir.Expr {
	some := ir.Expr(ir.Truth(true))
	for d := range n.vars {
		some = ir.Both(some, ir.Less(n.lo[d], n.hi[d]))
	}
	return some
}

// gemmNest is the code of the loops that gemm replaces.
type gemmNest struct {
	named   Named
	batches bool
	vars    []*ir.Var
	lo, hi  []ir.Expr
	store   *ir.Store
	// values has the values of the variables that are declared in the loops.
	values map[*ir.Var]ir.Expr
}

// refusal is the reason why code does not have the wanted form. It is the value of panics inside
// this package.
type refusal string

func (n *gemmNest) refuse(format string, args ...any) {
	panic(refusal(fmt.Sprintf(format, args...)))
}

// read parses the nest of loops that is the last statement of b, and stores its parts in n. Inside
// the loops there may be only declarations and one statement that adds a product to an array. read
// returns the statements of b before the loops.
func (n *gemmNest) read(b *ir.Block) (before []ir.Stmt) {
	last := len(b.List) - 1
	if last < 0 {
		n.refuse("nothing is computed")
	}
	before, list := b.List[:last], b.List[last:]
	for d := range n.vars {
		loop, ok := n.inner(list).(*ir.For)
		if !ok || loop.Kind != ir.Serial || loop.Step != 1 {
			n.refuse("the loops must be nested without other statements or conditions between " +
				"them, and each must run in order over a range")
		}
		n.vars[d], n.lo[d], n.hi[d] = loop.V, n.inline(loop.Lo), n.inline(loop.Hi)
		if n.varies(n.lo[d]) || n.varies(n.hi[d]) {
			n.refuse("the range of the loop over %s must not depend on the loops around it", loop.V.Name)
		}
		list = loop.Body.List
	}
	s, ok := n.inner(list).(*ir.Store)
	if !ok || !s.Accumulate || s.Atomic {
		n.refuse("the loops must only add products, and must not use Atomics")
	}
	n.store = s
	return before
}

// inner returns the last statement of list, which is the body of a loop. The statements before it
// must be declarations, and inner records their values. inner returns nil if another statement
// comes before the last one, or if the body has only declarations.
func (n *gemmNest) inner(list []ir.Stmt) ir.Stmt {
	for k, s := range list {
		d, ok := s.(*ir.Declare)
		switch {
		case ok:
			n.values[d.V] = n.inline(d.Init)
		case k == len(list)-1:
			return s
		default:
			return nil
		}
	}
	return nil
}

// inline returns x with the variables that are declared in the loops replaced by their values.
func (n *gemmNest) inline(x ir.Expr) ir.Expr {
	if v, ok := x.(*ir.Var); ok {
		if y := n.values[v]; y != nil {
			return y
		}
		return x
	}
	return ir.Rebuild(x, n.inline)
}

// varies reports whether x changes in the loops.
func (n *gemmNest) varies(x ir.Expr) bool {
	found := false
	ir.WalkExpr(x, func(x ir.Expr) {
		for _, v := range n.vars {
			found = found || x == ir.Expr(v) && v != nil
		}
	})
	return found
}

// strides returns the stride of index x for each of the loops' variables. rest is the index if all
// variables are 0. ok is false if the index is not a linear function of the variables.
func (n *gemmNest) strides(x ir.Expr) (by []ir.Expr, rest ir.Expr, ok bool) {
	by = make([]ir.Expr, len(n.vars))
	for d := range by {
		by[d] = ir.Int(0)
	}
	if !n.varies(x) {
		return by, x, true
	}
	for d, v := range n.vars {
		if x == ir.Expr(v) {
			by[d] = ir.Int(1)
			return by, ir.Int(0), true
		}
	}
	b, is := x.(*ir.Binary)
	if !is {
		return by, nil, false
	}
	p, atP, okP := n.strides(b.X)
	q, atQ, okQ := n.strides(b.Y)
	product := b.Op == ir.Mul && (!n.varies(b.X) || !n.varies(b.Y))
	if !okP || !okQ || b.Op != ir.Add && b.Op != ir.Sub && !product {
		return by, nil, false
	}
	for d := range by {
		switch {
		case !product:
			by[d] = ir.Bin(b.Op, p[d], q[d])
		case n.varies(b.X):
			by[d] = ir.Times(p[d], b.Y)
		default:
			by[d] = ir.Times(b.X, q[d])
		}
	}
	return by, ir.Bin(b.Op, atP, atQ), true
}

// gemmMatrix is an array that the loops access. The field at is the index in the first iteration of
// all loops. The field by has a stride for each loop: the change of the index from one iteration to
// the next.
type gemmMatrix struct {
	a  *ir.Array
	at ir.Expr
	by []ir.Expr
}

func (n *gemmNest) matrix(a *ir.Array, index ir.Expr) gemmMatrix {
	by, at, ok := n.strides(index)
	if !ok {
		n.refuse("each loop must step through the values of %s with a fixed stride, as through dense "+
			"levels", n.name(a))
	}
	for d := range by {
		at = ir.Plus(at, ir.Times(by[d], n.lo[d]))
	}
	return gemmMatrix{a, at, by}
}

// name returns the name of the tensor whose values an array has, or the array's own name.
func (n *gemmNest) name(a *ir.Array) string {
	if name := n.named(a); name != "" {
		return name
	}
	return a.Name
}

// over reports whether the matrix has loop d as a dimension.
func (m gemmMatrix) over(d int) bool { return !ir.Is(m.by[d], 0) }

// matrix returns m as an operand of a matrix product. The loops with the numbers in rows run over
// the rows of the matrix, the loops with the numbers in cols run over its columns, and the loops
// with the numbers in each run over products.
func (m gemmMatrix) matrix(rows, cols, each []int) ir.Matrix {
	return ir.Matrix{A: m.a, At: m.at, Row: pick(m.by, rows), Col: pick(m.by, cols),
		Each: pick(m.by, each)}
}

func pick(list []ir.Expr, at []int) []ir.Expr {
	out := make([]ir.Expr, len(at))
	for k, d := range at {
		out[k] = list[d]
	}
	return out
}

// product returns the statement that replaces the loops. See Gemm for adjacent.
func (n *gemmNest) product(adjacent bool) *ir.Gemm {
	c := n.matrix(n.store.A, n.inline(n.store.Index))
	g := &ir.Gemm{Alpha: ir.One(c.a.Elem)}
	var of []gemmMatrix
	n.factors(n.inline(n.store.X), func(a *ir.Array, index ir.Expr) {
		of = append(of, n.matrix(a, index))
	}, func(x ir.Expr) { g.Alpha = ir.Times(g.Alpha, x) })
	if len(of) != 2 {
		n.refuse("the loops multiply %d tensors, want two: gemm multiplies two matrices", len(of))
	}
	a, b := of[0], of[1]
	rows, cols, sums, each := n.roles(c, a, b)
	for _, d := range rows {
		if ir.Is(c.by[d], 1) { // neighbouring values of the result are in one row
			a, b, rows, cols = b, a, cols, rows
			break
		}
	}
	extents := make([]ir.Expr, len(n.vars))
	for d := range extents {
		extents[d] = ir.Minus(n.hi[d], n.lo[d])
	}
	g.M, g.N, g.K = pick(extents, rows), pick(extents, cols), pick(extents, sums)
	g.Batch = pick(extents, each)
	g.C, g.A, g.B = c.matrix(rows, cols, each), a.matrix(rows, sums, each), b.matrix(sums, cols, each)
	if adjacent && !g.SideBySide() {
		n.refuse("cublas needs two of the loops' variables along which the values of %s, %s and %s "+
			"are adjacent in memory; there are none", n.name(c.a), n.name(a.a), n.name(b.a))
	}
	return g
}

// roles returns the loops over the rows of a and of the result c, the loops over the columns of b
// and c, the loops that sum, and the loops over products of different matrices.
func (n *gemmNest) roles(c, a, b gemmMatrix) (rows, cols, sums, each []int) {
	for d := range n.vars {
		switch {
		case c.over(d) && a.over(d) && !b.over(d):
			rows = append(rows, d)
		case c.over(d) && b.over(d) && !a.over(d):
			cols = append(cols, d)
		case a.over(d) && b.over(d) && !c.over(d):
			sums = append(sums, d)
		case a.over(d) && b.over(d) && c.over(d) && n.batches:
			each = append(each, d)
		default:
			n.refuse("the loop over %s must index two of the three matrices %s, %s and %s",
				n.vars[d].Name, n.name(c.a), n.name(a.a), n.name(b.a))
		}
	}
	if len(rows) == 0 || len(cols) == 0 || len(sums) == 0 {
		n.refuse("the loops must compute a product of two matrices, with loops over rows, over " +
			"columns and over a sum")
	}
	return rows, cols, sums, each
}

// factors calls a function for each factor of x. If the factor changes in the loops, it must be an
// array element, and factors calls visitArray. For any other factor it calls visitConstant.
func (n *gemmNest) factors(x ir.Expr, visitArray func(*ir.Array, ir.Expr),
	visitConstant func(ir.Expr)) {
	if !n.varies(x) {
		visitConstant(x)
		return
	}
	switch x := x.(type) {
	case *ir.Binary:
		if x.Op == ir.Mul {
			n.factors(x.X, visitArray, visitConstant)
			n.factors(x.Y, visitArray, visitConstant)
			return
		}
	case *ir.Unary:
		if x.Op == ir.Neg {
			visitConstant(ir.Negated(ir.One(x.Type())))
			n.factors(x.X, visitArray, visitConstant)
			return
		}
	case *ir.Load:
		visitArray(x.A, x.Index)
		return
	case *ir.Cast:
		n.refuse("gemm needs values of one type, but values of %s are converted to %s",
			x.X.Type(), x.Typ)
	}
	n.refuse("the loops must add products of two tensors to the result")
}
