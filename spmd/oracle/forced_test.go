package oracle

import (
	"slices"

	"distaff/codegen/notation"
)

// ForcedConversion reports whether an operand must be converted, because no order of the loops
// suits the storage orders of all tensors. Only then may an engine convert an operand.
//
// A level that stores coordinates can be iterated only inside the loops of the levels above it. A
// dense level can be iterated inside any loops. A sum() binds variables. Their loops are inside the
// loops of the other variables of the sum().
func (p *Prepared) ForcedConversion() bool {
	g := precedence{}
	for _, a := range append(p.Normal.Accesses(), p.Normal.LHS) {
		f := p.Case.Tensor(a.Name).Format
		for l, k := range f.Levels {
			for above := 0; above < l && k.HasCrd(); above++ {
				g.add(a.Vars[f.Order[above]], a.Vars[f.Order[l]])
			}
		}
	}
	for _, t := range p.Normal.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool {
			if r, ok := e.(*notation.ReductionExpr); ok {
				g.reduction(r)
			}
			return true
		})
	}
	return slices.ContainsFunc(p.Normal.Vars,
		func(v string) bool { return g.isCyclic(v, map[string]int{}) })
}

// precedence[v] holds the variables that must come after v.
type precedence map[string]map[string]bool

func (g precedence) add(v, w string) {
	if v == w {
		return
	}
	if g[v] == nil {
		g[v] = map[string]bool{}
	}
	g[v][w] = true
}

func (g precedence) reduction(r *notation.ReductionExpr) {
	free := notation.FreeVars(r)
	notation.Walk(r, func(e notation.Expr) bool {
		if inner, ok := e.(*notation.ReductionExpr); ok {
			for _, w := range inner.Reduction.Binds() {
				for _, v := range free {
					g.add(v, w)
				}
			}
		}
		return true
	})
}

// isCyclic reports whether a cycle can be reached from v. state is 1 for the variables on the path
// to v, and 2 for variables that reach no cycle.
func (g precedence) isCyclic(v string, state map[string]int) bool {
	switch state[v] {
	case 1:
		return true
	case 2:
		return false
	}
	state[v] = 1
	for w := range g[v] {
		if g.isCyclic(w, state) {
			return true
		}
	}
	state[v] = 2
	return false
}
