package oracle

import (
	"slices"

	"distaff/codegen/notation"
)

// ForcedConversion tells whether no one order of the variables serves the
// storage of all tensors, so that an engine may convert one. A level that
// stores coordinates can be entered only when the variables of the levels
// above it are known; a dense one at any time. What a sum() beside other
// factors binds, and sums inside it, run inside the loops of what it holds else.
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
		func(v string) bool { return g.cyclic(v, map[string]int{}) })
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

// cyclic tells whether v leads to a cycle; state is 1 for variables on the way
// and 2 for those that were looked at.
func (g precedence) cyclic(v string, state map[string]int) bool {
	switch state[v] {
	case 1:
		return true
	case 2:
		return false
	}
	state[v] = 1
	for w := range g[v] {
		if g.cyclic(w, state) {
			return true
		}
	}
	state[v] = 2
	return false
}
