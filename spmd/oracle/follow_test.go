package oracle

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// following draws a statement whose sparse result has the pattern of an operand's outer levels,
// such as A(i,j,k) = B(i,j,l)*C(k,l). The runtime sums blocks of a reduction variable in place for
// statements of this shape. It stores the formats that the shape requires in g.formats.
func (g *generator) following() *notation.Stmt {
	g.pool = []string{"i", "j", "k", "l"}
	order := 2 + g.rand.IntN(2)
	perm := g.rand.Perm(len(g.pool))
	var outer, rest []string // variables of the result's pattern, and those left
	for k, p := range perm {
		if k < order {
			outer = append(outer, g.pool[p])
		} else {
			rest = append(rest, g.pool[p])
		}
	}
	kinds := make([]byte, order)
	for k := range kinds {
		kinds[k] = "dsss"[g.rand.IntN(4)]
	}
	kinds[g.rand.IntN(order-1)] = 's' // in the result too
	b := &notation.Access{Name: "B"}
	g.formats = map[string]tensor.Format{}
	sum := rest[0] // indexes the other factors only
	if g.chance(0.7) {
		sum = outer[order-1]
	}
	g.formats["B"], b.Vars = g.formatOf(outer, kinds)
	if sum == outer[order-1] {
		outer, kinds = outer[:order-1], kinds[:order-1]
	}
	dense := []string{sum}
	// The result has one more mode, which is dense.
	if extra := rest[len(rest)-1]; extra != sum && g.chance(0.4) {
		outer, kinds = append(slices.Clone(outer), extra), append(slices.Clone(kinds), 'd')
		dense = append(dense, extra)
	}
	left := &notation.Access{Name: "A"}
	g.formats["A"], left.Vars = g.formatOf(outer, kinds)
	var e notation.Expr = b
	for k := range 1 + g.rand.IntN(2) {
		a := &notation.Access{Name: string(rune('C' + k)), Vars: slices.Clone(dense)}
		if k > 0 {
			a.Vars = []string{dense[0], outer[g.rand.IntN(len(outer))]}
		}
		g.rand.Shuffle(len(a.Vars), func(x, y int) { a.Vars[x], a.Vars[y] = a.Vars[y], a.Vars[x] })
		if g.chance(0.7) {
			g.formats[a.Name] = tensor.DenseOf(len(a.Vars))
		}
		if g.chance(0.5) {
			e = &notation.Binary{Op: '*', X: e, Y: a}
		} else {
			e = &notation.Binary{Op: '*', X: a, Y: e}
		}
	}
	if g.chance(0.2) {
		other := &notation.Access{Name: "E", Vars: slices.Clone(left.Vars)}
		g.formats["E"] = g.formats["A"]
		e = &notation.Binary{Op: "+-"[g.rand.IntN(2)], X: e, Y: other}
	}
	return &notation.Stmt{LHS: left, RHS: e, Accumulate: g.chance(0.15)}
}

// product draws a product of two sparse matrices with long rows and a sparse result. Each block of
// its reduction variable has a partial result with a different pattern.
func (g *generator) product() *notation.Stmt {
	g.pool = []string{"i", "j", "k"}
	g.long, g.sum = "k", "j"
	g.formats = map[string]tensor.Format{}
	kinds := func() []byte { return []byte{"ds"[g.rand.IntN(2)], 's'} }
	operand := func(name string, vars ...string) *notation.Access {
		a := &notation.Access{Name: name}
		g.formats[name], a.Vars = g.formatOf(vars, kinds())
		return a
	}
	left := operand("A", "i", "k")
	b, c := operand("B", "i", "j"), operand("C", "j", "k")
	return &notation.Stmt{LHS: left, RHS: &notation.Binary{Op: '*', X: b, Y: c},
		Accumulate: g.chance(0.15)}
}

// productPlusTerms draws a sum of a product and of terms that have the result's variables, such as
// y(i) += A(i,j)*x(j) - z(i). Schedules can compute each term in a loop of its own. Most results
// are dense.
func (g *generator) productPlusTerms() *notation.Stmt {
	g.pool = []string{"i", "j", "k", "l"}[:2+g.rand.IntN(3)]
	left := &notation.Access{Name: "A", Vars: slices.Clone(g.pool[:1+g.rand.IntN(len(g.pool)-1)])}
	g.rand.Shuffle(len(left.Vars),
		func(x, y int) { left.Vars[x], left.Vars[y] = left.Vars[y], left.Vars[x] })
	g.formats = map[string]tensor.Format{}
	if g.chance(0.8) {
		g.formats["A"] = tensor.DenseOf(len(left.Vars))
	}
	var e notation.Expr = &notation.Access{Name: "B", Vars: slices.Clone(g.pool)}
	g.used = append(g.used, e.(*notation.Access))
	add := func(x notation.Expr) { e = &notation.Binary{Op: "+-"[g.rand.IntN(2)], X: e, Y: x} }
	for range g.rand.IntN(3) {
		e = &notation.Binary{Op: '*', X: e, Y: g.leaf()}
	}
	accumulate := g.chance(0.6)
	for k := range 2 {
		if k == 0 && accumulate || g.chance(0.5) {
			continue
		}
		a := &notation.Access{Name: string(rune('Y' + k)), Vars: slices.Clone(left.Vars)}
		if g.chance(0.7) {
			g.formats[a.Name] = tensor.DenseOf(len(a.Vars))
		}
		add(a)
	}
	if g.chance(0.2) {
		add(g.leaf())
	}
	return &notation.Stmt{LHS: left, RHS: e, Accumulate: accumulate}
}

// formatOf returns a format whose level l has the kind kinds[l] and stores vars[l], and the
// variables in the order of the modes.
func (g *generator) formatOf(vars []string, kinds []byte) (tensor.Format, []string) {
	perm := make([]int, len(vars))
	for m := range perm {
		perm[m] = m
	}
	if g.chance(0.3) {
		perm = g.rand.Perm(len(vars))
	}
	modes, order := make([]string, len(vars)), make([]string, len(vars))
	for l, m := range perm {
		modes[m], order[l] = vars[l], strconv.Itoa(m)
	}
	f, err := notation.ParseFormat(string(kinds) + ":" + strings.Join(order, ","))
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	return f, modes
}

// zeroSum draws a statement for operands with the values 0, -0 and -1. The sign of a zero in its
// result depends on how the terms of the sum are grouped.
func (g *generator) zeroSum() *notation.Stmt {
	texts := []string{
		"A(i,j) = B(i,j) + C(i,k)*D(k,j)", "A(i,j) = B(i,j) - c(i)*D(k,j)", "A(i,j) = -B(i,j,k)",
		"A(i,j) = b(i)*C(i,j,k)", "A(i,j) += B(i,j)",
		"A(i,j) += b(j)*C(i,k)", "A(i,j) = b(i)*c(j) + D(i,j,k)", "A(i,j,k) = B(i,j,k) + C(i,l)*D(l,j,k)",
		"A(i,j,k) += b(k)*C(i,j,l)", "A(i) = b(i) + C(i,j)*d(j)",
		"A(i) = b(i)*C(j,i)", "A(i,j) = B(i,j) + C(i,j)", "A(i,j) = b(i)*C(i,j)",
	}
	s, err := notation.Parse(texts[g.rand.IntN(len(texts))])
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	g.formats = map[string]tensor.Format{}
	for _, u := range s.Tensors() {
		g.formats[u.Name] = g.format(u.Order, "dss", true)
	}
	return s
}
