package flat

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
)

// leastGemm is the smallest number of multiply-adds of a product of matrices. Smaller contractions
// are loops.
const leastGemm = 64

// maxDims is the largest number of variables along the rows, columns or sums of a product of
// matrices.
const maxDims = 32

// contraction emits a contraction: loops over vars around an assignment. It reports whether a
// product of matrices computes it.
func (l *lowerer) contraction(vars []string, a *cin.Assign) bool {
	l.begin(a.LHS)
	alpha, factors := l.factors(a.RHS)
	to := l.place(a.LHS)
	if g := l.gemm(vars, to, factors); g != nil {
		g.Alpha = alpha
		l.batch(g.batch, func() {
			// the places, again, inside of the loops
			x := *g.Gemm
			x.C.At = l.place(a.LHS).at
			_, now := l.factors(a.RHS)
			if g.swapped {
				now[0], now[1] = now[1], now[0]
			}
			x.A.At, x.B.At = now[0].at, now[1].at
			l.b.Emit(&x)
		})
		return true
	}
	l.loops(vars, to, func() {
		value, now := l.factors(a.RHS)
		for _, p := range now {
			value = ir.Times(value, ir.Convert(l.Compute, ir.At(p.array, p.at)))
		}
		to := l.place(a.LHS)
		l.b.Emit(&ir.Store{A: to.array, Index: to.at, Accumulate: true, X: value})
	})
	return false
}

// leastParallel is the smallest number of multiply-adds of loops that run on threads.
const leastParallel = 1 << 12

// loops emits the loops over vars of a contraction that adds to a place. If they are long, the
// outermost loop runs on threads. It is over a variable of that place, or else it has only one
// iteration, because a parallel loop has a function of its own, which is optimized.
func (l *lowerer) loops(vars []string, to place, body func()) {
	work := 1.0
	for _, v := range vars {
		work *= float64(l.Size(v))
	}
	if work < leastParallel {
		l.batch(vars, body)
		return
	}
	k := slices.IndexFunc(vars, func(v string) bool { return to.by[v] != nil && l.Size(v) > 1 })
	if k < 0 {
		l.b.Parallel("all", ir.Int(1), func(*ir.Var) { l.batch(vars, body) })
		return
	}
	v := vars[k]
	l.b.Parallel(v, l.extent(v), func(x *ir.Var) {
		l.at[v] = ir.Plus(l.bounds[v][0], x)
		l.batch(slices.Delete(slices.Clone(vars), k, k+1), body)
	})
	delete(l.at, v)
}

// batch emits loops over vars.
func (l *lowerer) batch(vars []string, body func()) {
	if len(vars) == 0 {
		body()
		return
	}
	l.loop(vars[0], func() { l.batch(vars[1:], body) })
}

// factors returns a product's accesses that have variables, and the product of the rest.
func (l *lowerer) factors(x cin.Expr) (rest ir.Expr, places []place) {
	rest = ir.One(l.Compute)
	var walk func(x cin.Expr)
	walk = func(x cin.Expr) {
		switch x := x.(type) {
		case *cin.Lit:
			rest = ir.Times(rest, ir.Convert(l.Compute, x.Value))
		case *cin.Neg:
			rest = ir.Negated(rest)
			walk(x.X)
		case *cin.Binary:
			walk(x.X)
			walk(x.Y)
		case *cin.Access:
			p := l.place(x)
			if len(x.Vars) > 0 {
				places = append(places, p)
			} else {
				rest = ir.Times(rest, ir.Convert(l.Compute, ir.At(p.array, p.at)))
			}
		}
	}
	walk(x)
	return rest, places
}

// product is a product of matrices with loops around it. swapped says that its first matrix is the
// second factor.
type product struct {
	*ir.Gemm
	batch   []string
	swapped bool
}

// gemm returns a contraction as a product of matrices, without its places and its constant factor.
// It returns nil if the contraction has another form or is too small.
func (l *lowerer) gemm(vars []string, c place, factors []place) *product {
	if !l.Compute.IsFloat() && !l.Compute.IsComplex() || len(factors) != 2 {
		return nil
	}
	a, b := factors[0], factors[1]
	if a.array.Elem != l.Compute || b.array.Elem != l.Compute || c.array.Elem != l.Compute {
		return nil
	}
	var rows, cols, sums, batch []string
	work := 1.0
	for _, v := range vars {
		inA, inB, inC := a.by[v] != nil, b.by[v] != nil, c.by[v] != nil
		switch {
		case inA && inB && inC:
			batch = append(batch, v)
			continue
		case inA && inB:
			sums = append(sums, v)
		case inA && inC:
			rows = append(rows, v)
		case inB && inC:
			cols = append(cols, v)
		default:
			return nil
		}
		work *= float64(l.Size(v))
	}
	if work < leastGemm || max(len(rows), len(cols), len(sums)) > maxDims {
		return nil
	}
	p := &product{batch: batch}
	// Neighbours of the result are in one row, if the result has neighbours.
	if slices.ContainsFunc(rows, func(v string) bool { return ir.Is(c.by[v], 1) }) {
		a, b, rows, cols, p.swapped = b, a, cols, rows, true
	}
	by := func(p place, vars []string) (list []ir.Expr) {
		for _, v := range vars {
			list = append(list, p.by[v])
		}
		return list
	}
	extents := func(vars []string) (list []ir.Expr) {
		for _, v := range vars {
			list = append(list, l.extent(v))
		}
		return list
	}
	p.Gemm = &ir.Gemm{M: extents(rows), N: extents(cols), K: extents(sums),
		C: ir.Matrix{A: c.array, Row: by(c, rows), Col: by(c, cols)},
		A: ir.Matrix{A: a.array, Row: by(a, rows), Col: by(a, sums)},
		B: ir.Matrix{A: b.array, Row: by(b, sums), Col: by(b, cols)}}
	return p
}
