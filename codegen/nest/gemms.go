package nest

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
)

// findGemms adds matrix products to n.gemms: the products in the term x and in the sums that were
// taken out of x. A matrix product can replace the innermost loops of a term. The parameter left
// has the variables of the tensor that x is added to, in storage order.
func (n *Nest) findGemms(x *term, left []string) {
	for _, p := range x.parts {
		for _, y := range p.body {
			n.findGemms(y, p.at.Vars)
		}
	}
	if x.gemm == nil {
		return
	}
	places := func(vars []string) int64 {
		all := int64(1)
		for _, v := range vars {
			all *= n.in.Size(v)
		}
		return all
	}
	p := &product{term: x, rows: places(x.gemm.Rows), cols: places(x.gemm.Cols),
		terms: places(x.gemm.Sums)}
	p.inner = x.gemmOrder(left)
	n.gemms = append(n.gemms, p)
}

// gemmOrder returns the variables of a term's product of matrices, in the order of the product's
// loops. The summed variables come first. Then come the variables that are also in left, in storage
// order.
func (x *term) gemmOrder(left []string) []string {
	places := keepOnly(left, slices.Concat(x.gemm.Rows, x.gemm.Cols))
	return append(keepOnly(x.sums, x.gemm.Sums), places...)
}

// keepOnly returns the elements of list that are also in allowed, in the order of list.
func keepOnly(list, allowed []string) []string {
	return slices.DeleteFunc(slices.Clone(list),
		func(v string) bool { return !slices.Contains(allowed, v) })
}

// isGemmFrom reports whether a product of matrices replaces the loop over v and all remaining
// loops of a term.
func (x *term) isGemmFrom(v string) bool {
	return x.gemm != nil && slices.Contains(x.gemm.Vars(), v)
}

// gemmLoops returns the loops of a term's product of matrices. The result of the product is added
// to t.
func (n *Nest) gemmLoops(x *term, t target) cin.Stmt {
	return cin.Nest(x.gemmOrder(t.left),
		&cin.Assign{LHS: t.lhs, Accumulate: true, RHS: n.expression(x)})
}

// HasProducts reports whether products of matrices replace loops of the nest (products), and
// whether some of them compute parts of a contraction (contracted).
func (n *Nest) HasProducts() (products, contracted bool) {
	return len(n.products)+len(n.gemms) > 0, len(n.gemms) > 0
}

// gemmInside reports whether s contains loops that the matrix product of a contraction will replace
// (inside), and whether s itself is the outermost of these loops (whole).
func (n *Nest) gemmInside(s *cin.Forall) (inside, whole bool) {
	cin.Walk(s, func(x cin.Stmt) {
		for _, p := range n.gemms {
			if _, found := nestOf(x, p.inner).(*cin.Assign); found {
				inside, whole = true, whole || x == cin.Stmt(s)
			}
		}
	})
	return inside, whole
}

// nestOf returns the statement inside loops over vars in this order, or nil if s does not begin
// with these loops.
func nestOf(s cin.Stmt, vars []string) cin.Stmt {
	for _, v := range vars {
		l, ok := s.(*cin.Forall)
		if !ok || l.Var != v {
			return nil
		}
		s = l.Body
	}
	return s
}

// mustStaySerial reports whether the outermost loop f must stay serial because a product of
// matrices inside it runs on all threads.
func (n *Nest) mustStaySerial(f *cin.Forall) bool {
	if inside, whole := n.gemmInside(f); inside {
		return whole || n.in.Size(f.Var) < manyProducts
	}
	return slices.ContainsFunc(n.products, func(p *product) bool {
		if p.parallel {
			return false
		}
		_, ok := nestOf(f, slices.Concat(p.outer, p.inner)).(*cin.Assign)
		return ok
	})
}

// Products returns the matrix products that the default strategy has chosen, each with the reason
// for the choice. It returns nil if there is a schedule.
func (n *Nest) Products() (out []analysis.Product) {
	if n.in.Schedule != nil {
		return nil
	}
	for _, p := range slices.Concat(n.products, n.gemms) {
		if !slices.ContainsFunc(out,
			func(x analysis.Product) bool { return slices.Equal(x.Vars, p.inner) }) {
			what := "a product"
			if p.batch > 1 {
				what = fmt.Sprintf("%d products", p.batch)
			}
			out = append(out, analysis.Product{Vars: p.inner, Why: fmt.Sprintf(
				"%s of dense matrices, %d by %d places with %d terms each",
				what, p.rows, p.cols, p.terms)})
		}
	}
	return out
}
