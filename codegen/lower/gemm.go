package lower

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// gemm lowers three loops around a product that a schedule has a BLAS run. They are lowered as any
// loops are, and the product of matrices is read off the code: what its matrices are does then not
// hang on how operands are stored. Refusals say what of the code is no such product.
func (l *lowerer) gemm(f *cin.Forall, e *env, want bool) ir.Expr {
	if f.Unit != cin.Serial {
		panic(&Refusal{Var: f.Var, Why: "the loop over " + f.Var + " runs on " + f.Unit.String() + ", and gemm runs it"})
	}
	var some ir.Expr
	b := l.within(func() { some = l.loop(f, e, false) })
	if never(some) {
		l.blk.List = append(l.blk.List, b.List...) // here a factor is absent
		return some
	}
	n := &gemmNest{l: l, f: f, values: map[*ir.Var]ir.Expr{}}
	before := n.read(b)
	g := n.product()
	l.blk.List = append(l.blk.List, before...)
	l.emit(g)
	if want {
		some = n.assigned()
	}
	return some
}

// assigned tells whether the loops add anything: each of them has an iteration.
func (n *gemmNest) assigned() ir.Expr {
	some := ir.Expr(ir.Truth(true))
	for d := range n.vars {
		some = ir.Both(some, ir.Less(n.lo[d], n.hi[d]))
	}
	return some
}

// gemmNest is the code of the loops that gemm replaces.
type gemmNest struct {
	l      *lowerer
	f      *cin.Forall
	vars   [3]*ir.Var
	lo, hi [3]ir.Expr
	store  *ir.Store
	// values are those of the variables that are declared in the loops.
	values map[*ir.Var]ir.Expr
}

func (n *gemmNest) refuse(format string, args ...any) {
	panic(&Refusal{Var: n.f.Var, Why: fmt.Sprintf(format, args...)})
}

// read reads loops around declarations and one addition, and returns what stands before them.
func (n *gemmNest) read(b *ir.Block) (before []ir.Stmt) {
	last := len(b.List) - 1
	if last < 0 {
		n.refuse("nothing is computed")
	}
	before, list := b.List[:last], b.List[last:]
	for d := range n.vars {
		loop, ok := n.inner(list).(*ir.For)
		if !ok || loop.Kind != ir.Serial || loop.Step != 1 {
			n.refuse("the loops have conditions or other statements between them, or run in another way than one after another over a range")
		}
		n.vars[d], n.lo[d], n.hi[d] = loop.V, n.inline(loop.Lo), n.inline(loop.Hi)
		if n.varies(n.lo[d]) || n.varies(n.hi[d]) {
			n.refuse("the range of the loop over %s changes in the loops around it", loop.V.Name)
		}
		list = loop.Body.List
	}
	s, ok := n.inner(list).(*ir.Store)
	if !ok || !s.Accumulate || s.Atomic {
		n.refuse("the loops do not just add products to places of their own")
	}
	n.store = s
	return before
}

// inner is the last statement of a body, behind declarations, which it notes.
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

// inline is x without the variables that are declared in the loops.
func (n *gemmNest) inline(x ir.Expr) ir.Expr {
	switch x := x.(type) {
	case *ir.Var:
		if y := n.values[x]; y != nil {
			return y
		}
	case *ir.Binary:
		return ir.Bin(x.Op, n.inline(x.X), n.inline(x.Y))
	case *ir.Unary:
		if x.Op == ir.Neg {
			return ir.Negated(n.inline(x.X))
		}
		return ir.Inverse(n.inline(x.X))
	case *ir.Load:
		return &ir.Load{A: x.A, Index: n.inline(x.Index), Widen: x.Widen}
	case *ir.Cast:
		return ir.Convert(x.Typ, n.inline(x.X))
	case *ir.Select:
		return ir.Choose(n.inline(x.Cond), n.inline(x.X), n.inline(x.Y))
	case *ir.Search:
		return &ir.Search{A: x.A, Lo: n.inline(x.Lo), Hi: n.inline(x.Hi), Key: n.inline(x.Key), Upper: x.Upper}
	}
	return x
}

// varies tells whether x changes in the loops.
func (n *gemmNest) varies(x ir.Expr) bool {
	found := false
	ir.WalkExpr(x, func(x ir.Expr) {
		for _, v := range n.vars {
			found = found || x == ir.Expr(v) && v != nil
		}
	})
	return found
}

// strides are those of an index in the loops' variables, and rest is its value where all of them
// are 0; not ok where it has none.
func (n *gemmNest) strides(x ir.Expr) (by [3]ir.Expr, rest ir.Expr, ok bool) {
	by = [3]ir.Expr{ir.Int(0), ir.Int(0), ir.Int(0)}
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

// gemmMatrix is an array that the loops go over: at is where they begin.
type gemmMatrix struct {
	a  *ir.Array
	at ir.Expr
	by [3]ir.Expr
}

func (n *gemmNest) matrix(a *ir.Array, index ir.Expr) gemmMatrix {
	by, at, ok := n.strides(index)
	if !ok {
		n.refuse("the places of the values of %s are not a sum of multiples of the loops' variables", n.name(a))
	}
	for d := range by {
		at = ir.Plus(at, ir.Times(by[d], n.lo[d]))
	}
	return gemmMatrix{a, at, by}
}

// name is the tensor whose values an array has, else its own.
func (n *gemmNest) name(a *ir.Array) string {
	for name, o := range n.l.ops {
		if o.arrays[ir.Slot{Arg: o.Arg, Field: ir.Vals}] == a {
			return name
		}
	}
	return a.Name
}

func isInt(x ir.Expr, i int64) bool {
	l, ok := x.(*ir.Lit)
	return ok && l.I == i
}

// over tells whether the matrix is one over loops p and q.
func (m gemmMatrix) over(p, q int) bool {
	for d := range m.by {
		if isInt(m.by[d], 0) == (d == p || d == q) {
			return false
		}
	}
	return true
}

func (m gemmMatrix) matrix(row, col int) ir.Matrix {
	return ir.Matrix{A: m.a, At: m.at, Row: m.by[row], Col: m.by[col]}
}

// product is the statement in the place of the loops.
func (n *gemmNest) product() *ir.Gemm {
	c := n.matrix(n.store.A, n.inline(n.store.Index))
	row, col, sum := n.roles(c)
	g := &ir.Gemm{C: c.matrix(row, col), Alpha: ir.One(c.a.Elem)}
	g.M, g.N, g.K = ir.Minus(n.hi[row], n.lo[row]), ir.Minus(n.hi[col], n.lo[col]), ir.Minus(n.hi[sum], n.lo[sum])
	n.factors(n.inline(n.store.X), func(a *ir.Array, index ir.Expr) {
		m := n.matrix(a, index)
		switch {
		case m.over(row, sum) && g.A.A == nil:
			g.A = n.contiguous(m, row, sum)
		case m.over(sum, col) && g.B.A == nil:
			g.B = n.contiguous(m, sum, col)
		default:
			n.refuse("%s is no factor of a product of two matrices", n.name(a))
		}
	}, func(x ir.Expr) { g.Alpha = ir.Times(g.Alpha, x) })
	if g.A.A == nil || g.B.A == nil {
		n.refuse("the loops compute no product of two matrices")
	}
	return g
}

// roles are the loops over the rows and the columns of the result, whose values along a row are
// one apart, and the one that sums.
func (n *gemmNest) roles(c gemmMatrix) (row, col, sum int) {
	row, col, sum = -1, -1, -1
	for d, by := range c.by {
		switch {
		case isInt(by, 0):
			sum = d
		case isInt(by, 1) && col < 0:
			col = d
		default:
			row = d
		}
	}
	if col < 0 || row < 0 || sum < 0 || !c.over(row, col) {
		n.refuse("the values of %s are not one apart along one of the loops' variables: gemm wants its last level to be one of theirs", n.name(c.a))
	}
	return row, col, sum
}

// contiguous is a matrix that gemm reads: its rows, or its columns, are without gaps.
func (n *gemmNest) contiguous(m gemmMatrix, row, col int) ir.Matrix {
	if !isInt(m.by[row], 1) && !isInt(m.by[col], 1) {
		n.refuse("the values of %s along %s and %s are not one apart: gemm wants its last level to be over one of them", n.name(m.a), n.vars[row].Name, n.vars[col].Name)
	}
	return m.matrix(row, col)
}

// factors calls read for the factors of x that change in the loops, and constant for the others.
func (n *gemmNest) factors(x ir.Expr, read func(*ir.Array, ir.Expr), constant func(ir.Expr)) {
	if !n.varies(x) {
		constant(x)
		return
	}
	switch x := x.(type) {
	case *ir.Binary:
		if x.Op == ir.Mul {
			n.factors(x.X, read, constant)
			n.factors(x.Y, read, constant)
			return
		}
	case *ir.Unary:
		if x.Op == ir.Neg {
			constant(ir.Negated(ir.One(x.Type())))
			n.factors(x.X, read, constant)
			return
		}
	case *ir.Load:
		read(x.A, x.Index)
		return
	case *ir.Cast:
		n.refuse("the types differ: values of %s are converted to %s, and gemm multiplies those of one type", x.X.Type(), x.Typ)
	}
	n.refuse("what the loops add is no product")
}
