package nest

import (
	"math"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
)

// A term is a product of matrices if it multiplies two dense operands and sums over the variables
// that both of them have. The variables that the result shares with one operand are rows, and the
// variables that it shares with the other are columns. Such a term has loops of its own. The
// innermost of them become one call (ir.Gemm); loops over other variables, such as the variables
// of sparse levels, are around the call. By default a product of matrices is used if it pays. A
// schedule asks for it with substitute, whose variables are variables of the statement.

// DefaultGemmWork is the default of Target.GemmWork, in multiply-adds. For a product of this size,
// a BLAS is several times as fast as loops. The product also takes longer than the start of
// threads.
const DefaultGemmWork = 1 << 18

// These limits apply if the request leaves GemmWork at 0. They do not apply to terms that a
// schedule substitutes. A term or contraction is computed as a matrix product only if the result
// has at least gemmPlaces rows and gemmPlaces columns, and each sum has at least gemmTerms terms.
// If the result is narrower or the sums are shorter, loops are about as fast. Loops of a GPU
// compute each element by itself, so gpuPlaces is the limit there.
const (
	gemmPlaces = 64
	gpuPlaces  = 16
	gemmTerms  = 8
)

// manyProducts is the smallest size of an outermost loop whose products of matrices may run side by
// side, each on one thread. In a smaller loop, each product runs on all threads.
const manyProducts = 64

// product is a term that is computed as a product of matrices. It also describes a product at the
// end of a contraction (Nest.gemms). In this case outer and parallel are not set.
type product struct {
	term *term
	// outer has the variables of the loops around the product. inner has the variables of the loops
	// that it replaces: the summed variables first, then the variables of the result in its storage
	// order.
	outer, inner      []string
	rows, cols, terms int64 // terms is the number of terms of each sum
	batch             int64 // the number of products that a library computes at once
	// parallel says that the outermost loop runs on threads, so that each product runs on one
	// thread.
	parallel bool
}

// gemmAdd is the cost of a multiply-add in a product of matrices, relative to one in a scalar
// loop. gemmCall is the additional cost of the product, in multiply-adds of a scalar loop.
const gemmAdd, gemmCall = 1. / 24, 200

// Gemms says which products of dense matrices a statement wants.
type Gemms struct {
	Work int64 // Target.GemmWork of the request
	// Vars, if not nil, has the variables of each product that a schedule asks for. If it is nil,
	// each product is wanted that pays.
	Vars [][]string
	// GPU says that a library of a GPU computes the products. It computes narrow matrices well, and
	// a product may have loops over variables of both factors and of the result: the library
	// computes a product for each of their values.
	GPU bool
}

// Cost returns a function for network.Problem.Gemm. The function returns the cost of a contraction
// that is one matrix product. The cost is infinite if the product is too small. Cost returns nil
// if no contraction may be a matrix product.
func (g *Gemms) Cost() func(rows, cols, terms float64) float64 {
	if g == nil || g.Vars != nil && len(g.Vars) == 0 {
		return nil
	}
	return func(rows, cols, terms float64) float64 {
		work := rows * cols * terms
		switch {
		case !g.Pays(rows, cols, terms, 1):
			return math.Inf(1)
		case g.Work > 0:
			return gemmAdd * work
		}
		return gemmAdd*work + gemmCall
	}
}

// Pays reports whether products of these sizes are large enough to be computed as products of
// matrices. A library computes batch of them at once.
func (g *Gemms) Pays(rows, cols, terms, batch float64) bool {
	work := rows * cols * terms * batch
	if g.Work > 0 {
		return work >= float64(g.Work)
	}
	least := float64(gemmPlaces)
	if g.GPU {
		least = gpuPlaces
	}
	return work >= DefaultGemmWork && min(rows, cols) >= least && terms >= gemmTerms
}

// findProducts finds the terms, and the contractions of terms, that are computed as products of
// matrices.
func (n *Nest) findProducts(gemms *Gemms) {
	n.products, n.gemms = nil, nil
	for _, x := range n.terms {
		n.findGemms(x, n.target.left)
	}
	if gemms == nil || !n.in.Result.AllDense() && len(n.terms) > 1 {
		return
	}
	for _, x := range n.terms {
		if p := n.productOfTerm(x, gemms); p != nil {
			n.products = append(n.products, p)
		}
	}
}

// productOfTerm returns a term as a product of matrices, or nil if it has no such form or gemms
// does not want it.
func (n *Nest) productOfTerm(x *term, gemms *Gemms) *product {
	for _, vars := range gemms.Vars {
		if p := n.largestProduct(x, vars, gemms.GPU); p != nil {
			return p
		}
	}
	if gemms.Vars != nil {
		return nil
	}
	p := n.largestProduct(x, nil, gemms.GPU)
	if p == nil ||
		!gemms.Pays(float64(p.rows), float64(p.cols), float64(p.terms), float64(p.batch)) {
		return nil
	}
	p.parallel = len(n.terms) == 1 && len(p.outer) > 0 && p.outer[0] == n.in.Order[0] &&
		!slices.Contains(x.sums, p.outer[0]) && n.in.Size(p.outer[0]) >= manyProducts
	return p
}

// hasComputeType reports whether an access is to an operand whose values have the type that the
// statement computes in.
func (n *Nest) hasComputeType(a *cin.Access) bool {
	o := tree.Find(n.in.Operands, a.Name)
	return o != nil && o.Type == n.in.Compute
}

// largestProduct looks for two factors of term x whose product is a matrix product. Of all such
// pairs it returns the product with the most multiply-adds, or nil if there is none. If vars is
// not nil, the product must replace the loops over exactly these variables. If batches is
// true, all three matrices may depend on some of these variables.
func (n *Nest) largestProduct(x *term, vars []string, batches bool) *product {
	if len(x.pending) > 0 || len(x.parts) > 0 || x.gemm != nil {
		return nil
	}
	var best *product
	for k, f := range x.factors {
		for m, g := range x.factors[:k] {
			a, isA := f.(*cin.Access)
			b, isB := g.(*cin.Access)
			if !isA || !isB || !n.hasComputeType(a) || !n.hasComputeType(b) {
				continue
			}
			others := slices.Delete(slices.Clone(x.factors), k, k+1)
			p := n.productOf(x, b, a, slices.Delete(others, m, m+1), vars, batches)
			if p != nil && (vars == nil || len(p.inner) == len(vars)) && n.fitsResult(p) &&
				(best == nil || p.work() > best.work()) {
				best = p
			}
		}
	}
	return best
}

// work returns the number of multiply-adds.
func (p *product) work() float64 {
	return float64(p.rows) * float64(p.cols) * float64(p.terms) * float64(p.batch)
}

// productOf returns the product of factors a and b of a term, or nil if they do not form one.
// others are the term's other factors, which are computed in the loops around it. If vars is not
// nil, only loops over vars may be replaced. If batches
// is true, all three matrices may depend on some of these variables.
func (n *Nest) productOf(x *term, a, b *cin.Access, others []cin.Expr, vars []string,
	batches bool) *product {
	lhs := n.target.lhs
	replaceable := func(v string) bool {
		return (vars == nil || slices.Contains(vars, v)) && n.isTrailing(lhs, v) && n.isTrailing(a, v) &&
			n.isTrailing(b, v) &&
			!slices.ContainsFunc(others, func(x cin.Expr) bool { return hasVar(x, v) })
	}
	p := &product{term: x, rows: 1, cols: 1, terms: 1, batch: 1}
	var rows, cols, sums, each []string
	for _, v := range n.in.Order {
		inA, inB, inC := slices.Contains(a.Vars, v), slices.Contains(b.Vars, v),
			slices.Contains(lhs.Vars, v)
		size := n.in.Size(v)
		switch {
		case !inC && !slices.Contains(x.sums, v):
		case !replaceable(v):
			p.outer = append(p.outer, v)
		case inA && inB && !inC:
			sums, p.terms = append(sums, v), p.terms*size
		case inA && !inB && inC:
			rows, p.rows = append(rows, v), p.rows*size
		case inB && !inA && inC:
			cols, p.cols = append(cols, v), p.cols*size
		case inA && inB && batches:
			each, p.batch = append(each, v), p.batch*size
		default:
			p.outer = append(p.outer, v)
		}
	}
	if len(rows) == 0 || len(cols) == 0 || len(sums) == 0 {
		return nil
	}
	result := slices.Concat(rows, cols, each)
	slices.SortFunc(result, func(u,
		v string) int {
		return slices.Index(n.target.left, u) - slices.Index(n.target.left, v)
	})
	p.inner = append(sums, result...)
	return p
}

// hasVar reports whether x has an access at v.
func hasVar(x cin.Expr, v string) (found bool) {
	cin.ExprAccesses(x, func(a *cin.Access) { found = found || slices.Contains(a.Vars, v) })
	return found
}

// isTrailing reports whether variable v is missing in access a, or occurs there once and in one of
// the trailing dense levels. A dense level is trailing if all levels below it are dense.
func (n *Nest) isTrailing(a *cin.Access, v string) bool {
	f := n.in.Result
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

// fitsResult reports whether product p may be computed inside the loops around it. If entries are
// appended to the result, the outermost loops must be over the variables in n.target.ordered, in
// this order.
func (n *Nest) fitsResult(p *product) bool {
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

// withProducts returns the whole statement. First come the loops of the other terms, and then the
// loops of each product of matrices.
func (n *Nest) withProducts() cin.Stmt {
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

// productLoops returns the nest of loops of a product.
func (n *Nest) productLoops(p *product) cin.Stmt {
	return cin.Nest(slices.Concat(p.outer, p.inner),
		&cin.Assign{LHS: n.target.lhs, Accumulate: true,
			RHS: n.expression(&term{factors: p.term.factors, neg: p.term.neg})})
}
