package codegen

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/schedule"
)

// A term that multiplies two dense operands and sums over what both have is a product of matrices:
// the variables of the result and one operand are rows, those of the result and the other are
// columns. Such a term has loops of its own, the innermost of which become one call (ir.Gemm): the
// loops over other variables, such as those of sparse levels, stand outside. So it is by default
// where that pays, and where a schedule says substitute of variables of the statement.

// DefaultGemmWork is the GemmWork of a request that has none: a product that a call of a BLAS
// computes several times as fast as loops, in more time than threads take to begin.
const DefaultGemmWork = 1 << 18

// A product has this many rows and columns at least, and terms, where a request says nothing of
// GemmWork. A narrower result is summed as fast by loops, in registers and without being set to 0
// before; with fewer terms, loops take no longer than the memory takes to bring the values.
const (
	gemmPlaces = 64
	gemmTerms  = 8
)

// manyProducts is how many products there are at least for each to be one thread's.
const manyProducts = 64

// product is a term that is computed as a product of matrices.
type product struct {
	term *term
	// outer are the variables of the loops outside of it, and inner of those that it takes the place
	// of: sums first, and then those of the result, as it is stored.
	outer, inner      []string
	rows, cols, terms int64 // of the matrices
	// parallel: the outermost loop runs on threads, and each product on one.
	parallel bool
}

// gemmAdd is the share of a multiply-add of a scalar loop that one of a product of matrices takes,
// and gemmCall what the product takes on top.
const gemmAdd, gemmCall = 1. / 24, 200

// gemmCost is what the multiply-adds of a contraction cost that is one product of matrices
// (network.Problem.Gemm); nil where none may be: a schedule says which loops are.
func (c *compilation) gemmCost() func(rows, cols, terms float64) float64 {
	if t := c.unit.Compute; c.request.Target != CPU || c.loopsAlone || c.roundsSums() ||
		!t.IsFloat() && !t.IsComplex() ||
		c.request.Schedule != nil && len(schedule.Gemms(c.request.Schedule)) == 0 {
		return nil
	}
	return func(rows, cols, terms float64) float64 {
		work := rows * cols * terms
		switch {
		case !c.paysOf(rows, cols, terms):
			return math.Inf(1)
		case c.request.GemmWork > 0:
			return gemmAdd * work
		}
		return gemmAdd*work + gemmCall
	}
}

// roundsSums tells whether the result is of another type than the sums that it takes.
func (c *compilation) roundsSums() bool {
	return c.tensor(c.request.Stmt.LHS.Name).Type != c.unit.Compute
}

// findProducts finds the terms that are computed as products of matrices.
func (c *compilation) findProducts() {
	n := c.nest
	n.products, n.gemms = nil, nil
	for _, x := range n.terms {
		n.findGemms(x, n.target.left)
	}
	if t := c.unit.Compute; c.request.Target != CPU || c.loopsAlone || n.rounds ||
		!t.IsFloat() && !t.IsComplex() {
		return
	}
	if n.result.AllDense() || len(n.terms) == 1 {
		for _, x := range n.terms {
			if p := c.productOfTerm(x); p != nil {
				n.products = append(n.products, p)
			}
		}
	}
}

// productOfTerm is a term as a product of matrices; nil where it is none, or none is wanted.
func (c *compilation) productOfTerm(x *term) *product {
	if c.request.Schedule == nil {
		p := c.nest.product(x, nil, c.computes)
		if p == nil || !c.pays(p) {
			return nil
		}
		p.parallel = len(c.nest.terms) == 1 && len(p.outer) > 0 && p.outer[0] == c.nest.order[0] &&
			!slices.Contains(x.sums, p.outer[0]) && c.size(p.outer[0]) >= manyProducts
		return p
	}
	for _, vars := range schedule.Gemms(c.request.Schedule) {
		if p := c.nest.product(x, vars, c.computes); p != nil {
			return p
		}
	}
	return nil
}

// computes tells whether an operand has values of the type that the statement computes in.
func (c *compilation) computes(name string) bool {
	_, ok := c.formatOf(name)
	return ok && c.operand(name).Type == c.unit.Compute
}

// pays tells whether a product is large and wide enough to be one of matrices.
func (c *compilation) pays(p *product) bool {
	return c.paysOf(float64(p.rows), float64(p.cols), float64(p.terms))
}

func (c *compilation) paysOf(rows, cols, terms float64) bool {
	work := rows * cols * terms
	if c.request.GemmWork > 0 {
		return work >= float64(c.request.GemmWork)
	}
	return work >= DefaultGemmWork && min(rows, cols) >= gemmPlaces && terms >= gemmTerms
}

// product is a term as the largest product of matrices that it has over the given variables, or
// over any if there are none given. dense tells which operands may be its matrices.
func (n *nest) product(x *term, vars []string, dense func(name string) bool) *product {
	if len(x.pending) > 0 || len(x.parts) > 0 || x.gemm != nil {
		return nil
	}
	var best *product
	for k, f := range x.factors {
		for m, g := range x.factors[:k] {
			a, isA := f.(*cin.Access)
			b, isB := g.(*cin.Access)
			if !isA || !isB || !dense(a.Name) || !dense(b.Name) {
				continue
			}
			others := slices.Delete(slices.Clone(x.factors), k, k+1)
			p := n.matrices(x, b, a, slices.Delete(others, m, m+1), vars)
			if p != nil && (vars == nil || len(p.inner) == len(vars)) && n.fits(p) &&
				(best == nil || p.work() > best.work()) {
				best = p
			}
		}
	}
	return best
}

func (p *product) work() float64 { return float64(p.rows) * float64(p.cols) * float64(p.terms) }

// matrices is the product of factors a and b of a term, with the other factors outside of it; nil
// where that is none.
func (n *nest) matrices(x *term, a, b *cin.Access, others []cin.Expr, vars []string) *product {
	lhs := n.target.lhs
	free := func(v string) bool { // may be one of the product's loops
		return (vars == nil || slices.Contains(vars, v)) && n.trailing(lhs, v) && n.trailing(a, v) &&
			n.trailing(b, v) &&
			!slices.ContainsFunc(others, func(x cin.Expr) bool { return holds(x, v) })
	}
	p := &product{term: x, rows: 1, cols: 1, terms: 1}
	var rows, cols, sums []string
	for _, v := range n.order {
		inA, inB, inC := slices.Contains(a.Vars, v), slices.Contains(b.Vars, v),
			slices.Contains(lhs.Vars, v)
		size := n.sizes(v)
		switch {
		case !inC && !slices.Contains(x.sums, v):
		case !free(v):
			p.outer = append(p.outer, v)
		case inA && inB && !inC:
			sums, p.terms = append(sums, v), p.terms*size
		case inA && !inB && inC:
			rows, p.rows = append(rows, v), p.rows*size
		case inB && !inA && inC:
			cols, p.cols = append(cols, v), p.cols*size
		default:
			p.outer = append(p.outer, v)
		}
	}
	if len(rows) == 0 || len(cols) == 0 || len(sums) == 0 {
		return nil
	}
	result := slices.Concat(rows, cols)
	slices.SortFunc(result, func(u,
		v string) int {
		return slices.Index(n.target.left, u) - slices.Index(n.target.left, v)
	})
	p.inner = append(sums, result...)
	return p
}

// holds tells whether x reads something at v.
func holds(x cin.Expr, v string) (found bool) {
	cin.ExprAccesses(x, func(a *cin.Access) { found = found || slices.Contains(a.Vars, v) })
	return found
}

// trailing tells whether an access has v once at most, and in no level that stands above one that
// is not dense, or is one.
func (n *nest) trailing(a *cin.Access, v string) bool {
	f := n.result
	if a.Name != n.target.lhs.Name {
		f = n.formats[a.Name]
	}
	first := len(f.Levels) - f.TrailingDense()
	count := 0
	for l, mode := range f.Order {
		if a.Vars[mode] != v {
			continue
		}
		if count++; l < first || count > 1 {
			return false
		}
	}
	return true
}

// fits tells whether the loops outside of a product come to a result with compressed levels in its
// order.
func (n *nest) fits(p *product) bool {
	ordered := n.target.ordered
	for _, v := range p.outer {
		if len(ordered) == 0 {
			return true
		}
		if v != ordered[0] {
			return false
		}
		ordered = ordered[1:]
	}
	return len(ordered) == 0
}

// withProducts is the whole statement, whose products of matrices have loops of their own behind
// those of the other terms.
func (n *nest) withProducts() cin.Stmt {
	rest := slices.DeleteFunc(slices.Clone(n.terms), func(x *term) bool {
		return slices.ContainsFunc(n.products, func(p *product) bool { return p.term == x })
	})
	var list []cin.Stmt
	if len(rest) > 0 {
		t := n.target
		t.accumulate = true
		list = append(list, n.build(rest, 0, t))
		if s, ok := list[0].(*cin.Seq); ok {
			list = slices.Clone(s.List)
		}
	}
	for _, p := range n.products {
		list = append(list, n.productLoops(p))
	}
	if len(list) == 1 {
		return list[0]
	}
	return &cin.Seq{List: list}
}

// productLoops is the nest of loops of a product.
func (n *nest) productLoops(p *product) cin.Stmt {
	var s cin.Stmt = &cin.Assign{LHS: n.target.lhs, Accumulate: true,
		RHS: n.x(&term{factors: p.term.factors, neg: p.term.neg})}
	vars := slices.Concat(p.outer, p.inner)
	for k := len(vars) - 1; k >= 0; k-- {
		s = &cin.Forall{Var: vars[k], Body: s}
	}
	return s
}
