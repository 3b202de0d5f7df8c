package estimate

import (
	"slices"

	"distaff/codegen/notation"
)

// Densities estimates the densities of expressions. A density is the share of the coordinates at
// which the expression has an entry. Patterns of different factors are assumed to be independent.
type Densities struct {
	// Of returns the tensor with the given name in the normal form. It returns nil if the tensor
	// has an entry at every coordinate.
	Of   func(tensor string) *Tensor
	Size map[string]int64 // sizes of variables
}

// Sum returns the density of a sum of terms. Each term is summed over its own variables and over
// vars.
func (x *Densities) Sum(terms []*notation.Term, vars []string) float64 {
	absent := 1.0
	for _, t := range terms {
		absent *= 1 - x.product(t.Factors, slices.Concat(vars, t.Sum))
	}
	return 1 - absent
}

// Filled reports whether variable v has no influence on where a sum of terms has entries: for each
// choice of values of the other variables, the sum has entries at all values of v or at none.
// Filled returns false if the pattern of some factor depends on v.
func (x *Densities) Filled(terms []*notation.Term, v string) bool {
	for _, t := range terms {
		if slices.ContainsFunc(t.Factors,
			func(f notation.Factor) bool { return slices.Contains(x.decides(f), v) }) {
			return false
		}
	}
	return true
}

// Pattern returns where a sum of terms will have entries. vars holds the variable of each mode.
func (x *Densities) Pattern(vars []string, terms []*notation.Term) *Pattern {
	p := &Pattern{Filled: make([]bool, len(vars))}
	for m, v := range vars {
		p.Filled[m] = x.Filled(terms, v)
	}
	p.Share = func(modes []int) float64 {
		var summed []string
		for m, v := range vars {
			if !slices.Contains(modes, m) {
				summed = append(summed, v)
			}
		}
		return x.Sum(terms, summed)
	}
	return p
}

// decides returns the variables of factor f that may decide whether f has an entry. Along any other
// variable, f has entries at all coordinates or at none. vars can list a variable more than once.
func (x *Densities) decides(f notation.Factor) (vars []string) {
	notation.WalkTerm(&notation.Term{Factors: []notation.Factor{f}}, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok {
			if t := x.Of(a.Name); t != nil {
				for _, m := range t.Layout.Format.Order[:t.lastCrd()+1] {
					vars = append(vars, a.Vars[m])
				}
			}
		}
		return true
	})
	return vars
}

// sameAccess reports whether two factors are the same access, and therefore have the same pattern.
func sameAccess(f, g notation.Factor) bool {
	a, b := accessOf(f), accessOf(g)
	return a != nil && b != nil && a.Name == b.Name && slices.Equal(a.Vars, b.Vars)
}

// accessOf returns the access that a factor consists of, or nil if the factor is not a single
// access.
func accessOf(f notation.Factor) *notation.Access {
	if g, ok := f.(*notation.Group); ok {
		a, _ := g.X.(*notation.Access)
		return a
	}
	a, _ := f.(*notation.Access)
	return a
}

// product returns the density of a product after a sum over vars. It groups factors that share a
// summed variable, and multiplies the densities of the groups. Repeated accesses count once.
func (x *Densities) product(factors []notation.Factor, vars []string) float64 {
	type group struct {
		factors []notation.Factor
		vars    []string // variables over which the group is summed
	}
	var groups []group
	for n, f := range factors {
		if slices.ContainsFunc(factors[:n],
			func(before notation.Factor) bool { return sameAccess(before, f) }) {
			continue
		}
		g := group{factors: []notation.Factor{f}}
		for _, v := range x.decides(f) {
			if slices.Contains(vars, v) {
				g.vars = append(g.vars, v)
			}
		}
		var apart []group
		for _, h := range groups {
			if slices.ContainsFunc(h.vars, func(v string) bool { return slices.Contains(g.vars, v) }) {
				g = group{append(h.factors, g.factors...), append(h.vars, g.vars...)}
			} else {
				apart = append(apart, h)
			}
		}
		groups = append(apart, g)
	}
	d := 1.0
	for _, g := range groups {
		d *= x.joined(g.factors, g.vars)
	}
	return d
}

// joined estimates the density of a product of factors that share variables, after a sum over vars.
// It never returns more than the product of the factors' own densities, where each factor is summed
// over vars by itself.
func (x *Densities) joined(factors []notation.Factor, vars []string) float64 {
	if len(factors) == 1 {
		return x.factor(factors[0], vars)
	}
	uses := map[string]int{}
	for _, f := range factors {
		vars := slices.Sorted(slices.Values(x.decides(f)))
		for _, v := range slices.Compact(vars) {
			uses[v]++
		}
	}
	var own, shared []string
	for _, v := range vars {
		if uses[v] < 2 {
			own = append(own, v)
		} else if !slices.Contains(shared, v) {
			shared = append(shared, v)
		}
	}
	products, most := 1.0, 1.0
	for _, f := range factors {
		products *= x.factor(f, own)
		most *= x.factor(f, vars)
	}
	return min(x.summed(products, shared), most)
}

// summed returns the density of an expression after a sum over vars. d is its density before the
// sum.
func (x *Densities) summed(d float64, vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(x.Size[v])
	}
	return anyOf(d, n)
}

// factor returns the density of factor f after a sum over vars.
func (x *Densities) factor(f notation.Factor, vars []string) float64 {
	switch f := f.(type) {
	case *notation.Access:
		return x.expr(f, vars)
	case *notation.Group:
		return x.expr(f.X, vars)
	case *notation.Quotient:
		return x.expr(f.Num, vars)
	case *notation.Reduction:
		return x.Sum(f.Body, slices.Concat(vars, f.Vars))
	}
	return 1
}

// expr returns the density of an expression after a sum over vars.
func (x *Densities) expr(e notation.Expr, vars []string) float64 {
	switch e := e.(type) {
	case *notation.Access:
		return x.access(e, vars)
	case *notation.Call:
		none := 1.0
		for _, y := range e.Args {
			none *= 1 - x.expr(y, vars)
		}
		if e.Func.KeepsZero {
			return 1 - none
		}
	case *notation.Neg:
		return x.expr(e.X, vars)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return x.product([]notation.Factor{&notation.Group{X: e.X}, &notation.Group{X: e.Y}}, vars)
		case '/':
			return x.expr(e.X, vars)
		}
		return 1 - (1-x.expr(e.X, vars))*(1-x.expr(e.Y, vars))
	case *notation.ReductionExpr:
		return x.Sum(e.Reduction.Body, slices.Concat(vars, e.Reduction.Vars))
	}
	return 1
}

// access returns the density of a tensor access that is summed over vars. If the access has the
// same variable in two modes, the result is the density of the diagonal.
func (x *Densities) access(a *notation.Access, vars []string) float64 {
	t := x.Of(a.Name)
	if t == nil {
		return 1
	}
	var left, all []int // modes
	var summed []string
	twice := false
	for m, v := range a.Vars {
		all = append(all, m)
		twice = twice || slices.Index(a.Vars, v) < m
		if !slices.Contains(vars, v) {
			left = append(left, m)
		} else if !slices.Contains(summed, v) && slices.Contains(x.decides(a), v) {
			summed = append(summed, v)
		}
	}
	if twice {
		return x.summed(t.Share(all), summed)
	}
	return t.Share(left)
}
