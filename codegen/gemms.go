package codegen

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// findGemms notes the products of matrices that a term, which adds to places over left as these are
// stored, and its parts end in.
func (n *nest) findGemms(x *term, left []string) {
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
			all *= n.sizes(v)
		}
		return all
	}
	p := &product{term: x, rows: places(x.gemm.Rows), cols: places(x.gemm.Cols),
		terms: places(x.gemm.Sums)}
	p.inner = x.gemmOrder(left)
	n.gemms = append(n.gemms, p)
}

// gemmOrder are the loops of a term's product of matrices: sums first, and then those of its
// places, as these are stored.
func (x *term) gemmOrder(left []string) []string {
	return append(keep(x.sums, x.gemm.Sums), keep(left, slices.Concat(x.gemm.Rows, x.gemm.Cols))...)
}

// keep are those of list that are among some.
func keep(list, some []string) []string {
	return slices.DeleteFunc(slices.Clone(list),
		func(v string) bool { return !slices.Contains(some, v) })
}

// isGemmFrom tells whether a term's product of matrices has the loop over v, and no loop but its
// own is left.
func (x *term) isGemmFrom(v string) bool {
	return x.gemm != nil &&
		slices.Contains(x.gemm.Vars(), v)
}

// gemmLoops are the loops of a term's product of matrices, which adds to t.
func (n *nest) gemmLoops(x *term, t target) cin.Stmt {
	var s cin.Stmt = &cin.Assign{LHS: t.lhs, Accumulate: true, RHS: n.x(x)}
	for _, v := range slices.Backward(x.gemmOrder(t.left)) {
		s = &cin.Forall{Var: v, Body: s}
	}
	return s
}

// withoutProducts begins again with loops alone.
func (c *compilation) withoutProducts() error {
	c.loopsAlone = true
	if len(c.nest.gemms) > 0 {
		return &goBack{to: "order"}
	}
	return &goBack{to: "nest"}
}

// gemmInside tells whether some loops inside of s are a product of matrices of a contraction, and
// whether s is one.
func (n *nest) gemmInside(s *cin.Forall) (inside, whole bool) {
	cin.Walk(s, func(x cin.Stmt) {
		for _, p := range n.gemms {
			if _, found := nestOf(x, p.inner).(*cin.Assign); found {
				inside, whole = true, whole || x == cin.Stmt(s)
			}
		}
	})
	return inside, whole
}

// nestOf is what stands inside of loops over vars, in this order; nil where s is none.
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

// keepsThreads tells whether loops run in order though they are outermost ones: a product of
// matrices inside of them runs on all threads.
func (n *nest) keepsThreads(f *cin.Forall) bool {
	if inside, whole := n.gemmInside(f); inside {
		return whole || n.sizes(f.Var) < manyProducts
	}
	return slices.ContainsFunc(n.products, func(p *product) bool {
		if p.parallel {
			return false
		}
		_, ok := nestOf(f, slices.Concat(p.outer, p.inner)).(*cin.Assign)
		return ok
	})
}

// strategyProducts are the products of matrices of the default strategy.
func (c *compilation) strategyProducts() (out []strategy.Product) {
	if c.request.Schedule != nil {
		return nil
	}
	for _, p := range slices.Concat(c.nest.products, c.nest.gemms) {
		x := strategy.Product{Gemm: strategy.Gemm{Vars: strings.Join(p.inner, ",")},
			Why: fmt.Sprintf("a product of dense matrices, %d by %d places with %d terms each", p.rows,
				p.cols, p.terms)}
		if !slices.ContainsFunc(out, func(y strategy.Product) bool { return x.Gemm == y.Gemm }) {
			out = append(out, x)
		}
	}
	return out
}
