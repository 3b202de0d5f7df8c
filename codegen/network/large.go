package network

import (
	"math"
	"slices"

	"distaff/codegen/network/pairs"
)

// Pairs returns the plan of a product of any number of factors, contracted two at a time in the
// order that package pairs finds. It returns nil in the same cases as ByTree.
func Pairs(p *Problem) *Plan {
	t := p.pairsTree()
	if t == nil {
		return nil
	}
	return ByTree(p, t)
}

// pairsTree returns the tree that package pairs finds for the product. It returns nil if the product
// has fewer than two factors.
func (p *Problem) pairsTree() *Tree {
	if len(p.Factors) < 2 {
		return nil
	}
	vars := p.variables()
	number := map[string]int{}
	q := &pairs.Problem{Seconds: p.Seconds}
	for k, v := range vars {
		number[v] = k
		q.Sizes = append(q.Sizes, max(float64(p.Sizes[v]), 1))
	}
	for _, v := range p.Left {
		q.Result = append(q.Result, number[v])
	}
	readers := make([]int, len(vars))
	for _, f := range p.Factors {
		x := pairs.Factor{Density: p.densityOf(f)}
		for _, v := range f.vars() {
			x.Vars = append(x.Vars, number[v])
			readers[number[v]]++
		}
		q.Factors = append(q.Factors, x)
	}
	for _, v := range q.Result {
		readers[v]++
	}
	found := pairs.Find(q)
	items := make([]*Tree, 0, 2*len(p.Factors))
	for f := range p.Factors {
		t := &Tree{Name: p.Factors[f].Text, factor: f, factors: 1 << f}
		if alone := func(v int) bool { return readers[v] == 1 }; slices.ContainsFunc(
			q.Factors[f].Vars, alone) && !p.Factors[f].isSparse() {
			t = &Tree{Children: []*Tree{t}, factors: 1 << f} // a sum of its own
		}
		items = append(items, t)
	}
	for _, x := range found.Pairs {
		items = append(items, &Tree{Children: []*Tree{items[x[0]], items[x[1]]},
			factors: items[x[0]].factors | items[x[1]].factors})
	}
	return items[len(items)-1]
}

// isSparse reports whether an access of the factor is not all dense.
func (f Factor) isSparse() bool {
	return slices.ContainsFunc(f.Accesses, func(a Access) bool { return !a.Tensor.Format.AllDense() })
}

// densityOf returns the share of the factor's coordinates that have a value. A factor of several
// accesses counts as dense.
func (p *Problem) densityOf(f Factor) float64 {
	if !f.isSparse() || len(f.Accesses) != 1 {
		return 1
	}
	places := p.placesOf(f.vars())
	return min(max(float64(f.Accesses[0].Tensor.NNZ), 1)/places, 1)
}

// searchedStep is the largest number of variables of a contraction of dense items whose loops are
// searched. Loops over more variables follow a rule.
const searchedStep = 5

// denseStep returns a plan to contract the factors of p, which are one or two dense items, in a
// product of matrices or in one nest of loops. Loops over variables that both items and the result
// have are around a product of matrices. vars are the variables of the factors. denseStep returns
// nil in three cases: the factors are not of this kind, they have at most searchedStep variables, or
// the order of the loops is given.
func (p *Problem) denseStep(vars []string) *Plan {
	if p.Order != nil || p.Ordered > 0 || len(p.Factors) > 2 || len(vars) <= searchedStep {
		return nil
	}
	for _, f := range p.Factors {
		if len(f.Accesses) != 1 || f.isSparse() || !f.Matrix {
			return nil
		}
		for k, v := range f.Accesses[0].Vars {
			if slices.Contains(f.Accesses[0].Vars[:k], v) {
				return nil
			}
		}
	}
	plan := &Plan{Root: &Contraction{}, Products: p.placesOf(vars)}
	for f := range p.Factors {
		plan.Root.Factors = append(plan.Root.Factors, f)
		plan.Converted = append(plan.Converted, []bool{false})
	}
	loops := p.largest().stored()
	if g, batch := p.roles(); g != nil {
		rows, cols, sums := p.placesOf(g.Rows), p.placesOf(g.Cols), p.placesOf(g.Sums)
		if cost := p.Gemm(rows, cols, sums); !math.IsInf(cost, 1) {
			plan.Cost = p.placesOf(batch) * cost
		} else if p.Packed {
			plan.Cost = p.placesOf(batch) * (rows*cols*sums*laneCost + packedCall)
		}
		if plan.Cost > 0 {
			plan.Root.Gemm, loops = g, slices.Concat(batch, g.Vars())
		}
	}
	for _, v := range append(loops, vars...) {
		if !slices.Contains(plan.Root.Loops, v) {
			plan.Root.Loops = append(plan.Root.Loops, v)
			plan.Root.Steps = append(plan.Root.Steps, Step{Var: v})
		}
	}
	if plan.Root.Gemm == nil {
		plan.Cost = plan.Products
	}
	plan.Root.loops, plan.Root.Products = plan.Cost, plan.Products
	for _, f := range p.Factors {
		plan.Bytes += valueBytes * p.placesOf(f.vars())
	}
	return plan
}

// packedCall is the cost of a call that multiplies small matrices of many variables.
const packedCall = 2000

// largest returns the access of the factor with the most places.
func (p *Problem) largest() Access {
	return slices.MaxFunc(p.Factors, func(f, g Factor) int {
		return int(math.Log2(p.placesOf(f.vars()))*1e3) - int(math.Log2(p.placesOf(g.vars()))*1e3)
	}).Accesses[0]
}

// stored returns the variables of an access in storage order.
func (a Access) stored() (vars []string) {
	for _, mode := range a.Tensor.Format.Order {
		vars = append(vars, a.Vars[mode])
	}
	return vars
}

// roles returns the contraction of two dense items as a product of matrices, and the variables of
// the loops around it. The product is nil if it would have no rows, columns or sums.
func (p *Problem) roles() (g *Gemm, batch []string) {
	if p.Gemm == nil || len(p.Factors) != 2 {
		return nil, nil
	}
	g = &Gemm{}
	second := p.Factors[1].vars()
	for _, v := range p.factorVars() {
		first := slices.Contains(p.Factors[0].Accesses[0].Vars, v)
		both, kept := first && slices.Contains(second, v), slices.Contains(p.Left, v)
		switch {
		case both && kept:
			batch = append(batch, v)
		case both:
			g.Sums = append(g.Sums, v)
		case !kept:
			return nil, nil
		case first:
			g.Rows = append(g.Rows, v)
		default:
			g.Cols = append(g.Cols, v)
		}
	}
	if len(g.Rows) == 0 || len(g.Cols) == 0 || len(g.Sums) == 0 {
		return nil, nil
	}
	return g, batch
}
