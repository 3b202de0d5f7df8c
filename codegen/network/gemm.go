package network

import (
	"math"
	"slices"

	"distaff/codegen/choice"
)

// Gemm is a matrix product that replaces the innermost loops of a contraction. Two items of the
// contraction are the operands of the matrix product. The first operand and the result have the
// variables Rows, the second operand and the result have the variables Cols, and both operands have
// the variables Sums.
type Gemm struct{ Rows, Cols, Sums []string }

// Vars returns all variables in the order of the loops. An intermediate that the product reads is
// stored in this order.
func (g *Gemm) Vars() []string { return slices.Concat(g.Sums, g.Rows, g.Cols) }

// IsGemm reports whether a contraction consists of one product of matrices, without loops around
// it.
func (c *Contraction) IsGemm() bool { return c.Gemm != nil && len(c.Gemm.Vars()) == len(c.Loops) }

// gemmAt looks for one matrix product that computes the rest of state x. It returns the variables
// of the product's rows, columns and sums. vars are the variables of all loops of x. ok is false if
// there is no such product. A product requires that exactly two items have unbound variables, that
// these variables belong to dense levels, and that each of these variables is a row, a column or a
// sum.
func (s *search) gemmAt(x state, vars set) (rows, cols, sums set, ok bool) {
	rest := vars &^ x.bound
	if s.model.problem.Gemm == nil || rest == 0 || !s.complete(x) ||
		s.model.fixed != nil && s.isRoot(x) || s.model.problem.Method == Pairwise && len(x.items) > 2 {
		return 0, 0, 0, false
	}
	var of []set
	for _, it := range x.items {
		has := s.model.holds(it) & rest
		if has == 0 {
			continue
		}
		if of = append(of, has); len(of) > 2 || !s.isMatrix(it, has) {
			return 0, 0, 0, false
		}
	}
	if len(of) != 2 {
		return 0, 0, 0, false
	}
	open := s.model.open(x.factors())
	if s.isRoot(x) {
		open = s.model.result
		for _, v := range s.model.ordered {
			if !x.bound.has(v) {
				return 0, 0, 0, false
			}
		}
	}
	rows, cols, sums = of[0]&^of[1], of[1]&^of[0], of[0]&of[1]
	if rows == 0 || cols == 0 || sums == 0 || (rows|cols)&^open != 0 || sums&open != 0 ||
		rest&^(rows|cols|sums) != 0 {
		return 0, 0, 0, false
	}
	return rows, cols, sums, true
}

// isMatrix reports whether an item can be a matrix with the variables vars. The variables must
// belong to dense levels, with only dense levels below them. If the item is a factor, the factor
// must also be a single access that has each of the variables once, and its values must have the
// type of the computation (Factor.Matrix).
func (s *search) isMatrix(it item, vars set) bool {
	if it.made {
		for v := vars; v != 0; v &= v - 1 {
			if !s.model.uniformAt(it.factors, v.first()) {
				return false
			}
		}
		return true
	}
	f := it.factors.first()
	if !s.model.problem.Factors[f].Matrix || len(s.model.levels[f]) != 1 ||
		!vars.within(s.model.uniform[f]) {
		return false
	}
	seen := set(0)
	for _, l := range s.model.levels[f][0] {
		if vars.has(l.v) && seen.has(l.v) {
			return false // its diagonal
		}
		seen |= 1 << l.v
	}
	return true
}

// gemmCost returns the cost of computing the rest of state x as one product of matrices. The cost
// is infinite if the rest is not a product of matrices. It is also infinite if Problem.Gemm says
// that loops are better for this product.
func (s *search) gemmCost(x state, vars set) float64 {
	rows, cols, sums, ok := s.gemmAt(x, vars)
	if !ok {
		return math.Inf(1)
	}
	each := s.model.problem.Gemm(s.model.places(rows), s.model.places(cols), s.model.places(sums))
	if math.IsInf(each, 1) {
		return each
	}
	for _, it := range x.items {
		if has := s.model.holds(it) &^ x.bound; has != 0 {
			each += s.model.places(has) * s.model.placeCost(s.model.layoutOf(it), rows, cols, sums, has)
		}
	}
	result := rows | cols
	if s.isRoot(x) {
		each += s.model.places(result) * s.model.placeCost(s.model.left(), rows, cols, sums, result)
	} else {
		each += s.model.places(result) * s.model.placeCost(nil, rows, cols, sums, result)
	}
	return s.model.iterations(x.items, x.bound) * each
}

// packedPlace and lonePlace are extra costs for each element of a matrix in a matrix product. The
// unit is a multiply-add of a scalar loop. packedPlace applies if the matrix must be copied
// (packed) before it is multiplied. lonePlace applies if the neighbours of an element in memory do
// not belong to the matrix.
const packedPlace, lonePlace = 2, 6

// placeCost returns the cost of reading or writing one element of a matrix that has the variables
// in vars. stored lists the variables of the matrix's tensor in storage order. It is nil if the
// tensor is an intermediate. rows, cols and sums are the variables of the matrix product.
func (m *model) placeCost(stored []int, rows, cols, sums, vars set) float64 {
	cost := transfer(m.places(vars)*valueBytes, 0, valueBytes)
	if stored == nil {
		return cost
	}
	if !vars.has(stored[len(stored)-1]) {
		return cost + lonePlace
	}
	sides, last := []set{}, -1
	for k, v := range stored {
		if !vars.has(v) {
			continue
		}
		side := rows
		for _, s := range []set{cols, sums} {
			if s.has(v) {
				side = s
			}
		}
		if len(sides) == 0 || sides[len(sides)-1] != side || last != k-1 {
			sides = append(sides, side)
		}
		last = k
	}
	if len(sides) > 2 {
		cost += packedPlace
	}
	return cost
}

// layoutOf returns the variables of a factor in its storage order. It returns nil if the item is
// an intermediate, which is stored as its reader needs it.
func (m *model) layoutOf(it item) (vars []int) {
	if !it.made {
		for _, l := range m.levels[it.factors.first()][0] {
			vars = append(vars, l.v)
		}
	}
	return vars
}

// left returns the variables of the result in its storage order.
func (m *model) left() (vars []int) {
	for _, v := range m.problem.Left {
		vars = append(vars, m.number(v))
	}
	return vars
}

// names returns the names of the variables in a set.
func (m *model) names(vars set) (list []string) {
	for ; vars != 0; vars &= vars - 1 {
		list = append(list, m.vars[vars.first()])
	}
	return list
}

// gemm completes contraction c with one matrix product, which replaces its innermost loops. x is
// the state that these loops begin with. vars is the set of all variables of the loops of x. share
// is the fraction of the points of the outer loops at which the product runs. gemm also adds the
// bytes that the product reads and writes to the plan.
func (b *builder) gemm(c *Contraction, x state, vars set, share float64) {
	rows, cols, sums, _ := b.search.gemmAt(x, vars)
	c.Gemm = &Gemm{Rows: b.search.model.names(rows), Cols: b.search.model.names(cols),
		Sums: b.search.model.names(sums)}
	for _, v := range c.Gemm.Vars() {
		c.Steps, c.Loops = append(c.Steps, Step{Var: v}), append(c.Loops, v)
	}
	m, n, k := b.search.model.places(rows), b.search.model.places(cols), b.search.model.places(sums)
	b.plan.Bytes += share * b.search.model.iterations(x.items,
		x.bound) * valueBytes * (m*k + k*n + m*n)
}

// useLoops replaces products of matrices by loops if one of their matrices is an intermediate that
// is neither an array nor a scalar.
func (c *Contraction) useLoops() {
	c.Each(func(y *Contraction) {
		for _, z := range y.Items {
			if z.Kind != Array && z.Kind != Scalar {
				z.Gemm, y.Gemm = nil, nil
			}
		}
	})
}

// maxPlaces returns the largest number of places of an intermediate that is an array:
// choice.MaxPlaces, or the number of entries of all operands if there are more.
func (m *model) maxPlaces() float64 { return max(choice.MaxPlaces, float64(m.entries)) }
