package codegen

import (
	"fmt"
	"slices"

	"distaff/codegen/cin"
)

// hoistedSum is a sum that factoring took out of a term: its temporary is a factor of the
// term instead.
type hoistedSum struct {
	k      int         // it is computed where the loop over order[k] would begin
	at     *cin.Access // the temporary, without a name until the nest is built
	letter string      // its name begins with
	body   []*term
}

// hasPart tells whether a part of x is computed at order[k].
func (t *term) hasPart(k int) bool {
	return slices.ContainsFunc(t.parts, func(p *hoistedSum) bool { return p.k == k })
}

// whole is the term with its parts multiplied out again: the factors in another order.
func (t *term) whole() *term {
	if len(t.parts) == 0 {
		return t
	}
	c := *t
	c.parts, c.factors, c.sums = nil, nil, slices.Clone(t.sums)
	for _, f := range t.factors {
		k := slices.IndexFunc(t.parts, func(p *hoistedSum) bool { return f == cin.Expr(p.at) })
		if k < 0 {
			c.factors = append(c.factors, f)
			continue
		}
		inner := t.parts[k].body[0].whole()
		c.factors = append(c.factors, inner.factors...)
		c.sums = append(c.sums, inner.sums...)
	}
	return &c
}

// factor takes sums out of the statement's terms, so that factors which hold no summed
// variable are multiplied once, with the sum: in integer arithmetic, where the sum is a
// scalar; and where it pays, a row of the target at a time. Floats are not rearranged to
// scalars, since inf*(x-x) is not inf*x - inf*x. It goes the way that the loops take.
func (n *nest) factor() {
	if n.perfect() == nil {
		n.terms = n.factored(n.terms, 0, 0, n.target)
	}
}

// factored are terms, on their way at order[k], without what is taken out of them; the
// loops around are those over order[:bound].
func (n *nest) factored(terms []*term, k, bound int, t target) []*term {
	for ; k < len(n.order); k++ {
		v := n.order[k]
		if slices.Contains(t.left, v) {
			if len(t.ordered) > 0 && t.ordered[0] != v || (len(t.ordered) > 0 || n.rounds) && n.apart(terms, k) != nil {
				t.ordered, t.temp = nil, true // the terms go to a workspace
			}
			t, bound = t.without(v), k+1
			continue
		}
		if slices.ContainsFunc(terms, func(x *term) bool { return slices.Contains(x.sums, v) }) {
			return n.hoistedSum(terms, k, bound, t)
		}
	}
	return terms
}

// hoistedSum is factored for terms some of which sum order[k].
func (n *nest) hoistedSum(terms []*term, k, bound int, t target) []*term {
	if len(t.left) > 0 && len(t.ordered) > 0 {
		t.ordered, t.temp = nil, true
	}
	out := slices.Clone(terms)
	if len(t.left) == 0 {
		for i, x := range terms {
			outer, inner := n.split(x, bound)
			if n.exact && len(x.sums) > 0 && len(outer) > 0 && len(inner) > 0 {
				out[i] = x.without(&hoistedSum{k: k, at: &cin.Access{}, letter: "t", body: []*term{{factors: inner, sums: x.sums}}}, outer)
			}
		}
		return out
	}
	if len(terms) == 1 && !n.plain {
		if x := n.row(terms[0], k, bound, t); x != nil {
			return []*term{x}
		}
	}
	v := n.order[k]
	index := map[*term]int{}
	for i, x := range terms {
		index[x] = i
	}
	for _, group := range n.groups(terms, v) {
		if !slices.Contains(group[0].sums, v) {
			for i, y := range n.factored(group, k+1, bound, t) {
				out[index[group[i]]] = y
			}
			continue
		}
		inner := make([]*term, len(group))
		for i, x := range group {
			c := *x
			c.sums = remove(x.sums, v)
			inner[i] = &c
		}
		for i, y := range n.factored(inner, k+1, k+1, t) {
			if y != inner[i] {
				y.sums = append(slices.Clone(y.sums), v)
				out[index[group[i]]] = y
			}
		}
	}
	return out
}

// without is the term with a part in the place of all but its outer factors.
func (t *term) without(p *hoistedSum, outer []cin.Expr) *term {
	c := *t
	c.factors = append(slices.Clone(outer), p.at)
	c.sums = nil
	c.parts = append(slices.Clone(t.parts), p)
	return &c
}

// split parts a term's factors into those that hold none of the variables that
// it has yet to sum, and the others. One that waits for a sum inside the loops over
// order[:bound] stays whole.
func (n *nest) split(x *term, bound int) (outer, inner []cin.Expr) {
	if slices.ContainsFunc(x.pending, func(p *pending) bool { return !n.bound(p.free, bound) }) {
		return nil, x.factors
	}
	for _, f := range x.factors {
		if divides(f) {
			return nil, x.factors // it may fail, but not where another factor is absent
		}
		if holds(f, x.sums) {
			inner = append(inner, f)
		} else {
			outer = append(outer, f)
		}
	}
	return outer, inner
}

// divides tells whether there is a quotient in x.
func divides(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return divides(x.X)
	case *cin.Binary:
		return x.Op == '/' || divides(x.X) || divides(x.Y)
	}
	return false
}

// holds tells whether x has one of the variables.
func holds(x cin.Expr, vars []string) bool {
	found := false
	cin.ExprAccesses(x, func(a *cin.Access) {
		for _, v := range a.Vars {
			found = found || slices.Contains(vars, v)
		}
	})
	return found
}

// Rows shorter than this are not worth a workspace of their own, nor are sums
// over fewer entries.
const (
	minRow   = 4
	minFiber = 2
)

// row takes the sum over order[k] out of a term, into a workspace over the last variable
// left, where the factors that hold the variable and none that is summed multiply it:
// w(l) += B(i,j,k)*D(k,l), then A(i,l) += w(l)*C(j,l). It returns nil where there are none,
// or where it is not known to pay.
func (n *nest) row(x *term, k, bound int, t target) *term {
	if len(t.left) != 1 {
		return nil
	}
	l := t.left[0]
	outer, inner := n.split(x, bound)
	along := slices.ContainsFunc(outer, func(f cin.Expr) bool { return holds(f, t.left) })
	if !along || len(inner) == 0 || !slices.ContainsFunc(inner, func(f cin.Expr) bool { return holds(f, t.left) }) ||
		n.sizes(l) < minRow || !n.runsAlong(x, l, t) || !n.long(inner, n.order[k]) {
		return nil
	}
	p := &hoistedSum{k: k, at: &cin.Access{Vars: []string{l}}, letter: "w"}
	t.temp = true
	p.body = n.hoistedSum([]*term{{factors: inner, sums: x.sums}}, k, bound, t)
	return x.without(p, outer)
}

// runsAlong tells whether l is the last, dense, level of all that has it.
func (n *nest) runsAlong(x *term, l string, t target) bool {
	ok := true
	last := func(vars []string, order []int, dense bool) {
		for level, mode := range order {
			if vars[mode] == l && (level != len(order)-1 || !dense) {
				ok = false
			}
		}
	}
	cin.ExprAccesses(n.x(x), func(a *cin.Access) {
		if f, known := n.formats[a.Name]; known && len(f.Levels) > 0 {
			last(a.Vars, f.Order, f.Levels[len(f.Levels)-1].Caps().Locate)
		}
	})
	if !t.temp {
		f := n.result
		last(t.lhs.Vars, f.Order, f.Levels[len(f.Levels)-1].Caps().Locate)
	}
	return ok
}

// long tells whether the sum over v is known to have several entries.
func (n *nest) long(factors []cin.Expr, v string) bool {
	known, few := false, false
	for _, x := range factors {
		cin.ExprAccesses(x, func(a *cin.Access) {
			counts := n.counts[a.Name]
			for level, mode := range n.formats[a.Name].Order {
				if a.Vars[mode] == v && level > 0 && counts != nil && !n.formats[a.Name].Levels[level].Caps().Locate {
					known = true
					few = few || counts[level] < minFiber*counts[level-1]
				}
			}
		})
	}
	return known && !few
}

// verifyFactors checks that factors and sums are those that the terms had.
func verifyFactors(before, after []*term) error {
	if len(before) != len(after) {
		return fmt.Errorf("%d terms of %d", len(after), len(before))
	}
	for k, x := range before {
		y := after[k].whole()
		if got, want := sortedKeys(y), sortedKeys(x); !slices.Equal(got, want) || x.neg != y.neg {
			return fmt.Errorf("%s, which is not %s", after[k], x)
		}
	}
	return nil
}

// sortedKeys are the texts of a term's factors, and the variables that it sums.
func sortedKeys(x *term) []string {
	keys := slices.Clone(x.sums)
	for _, f := range x.factors {
		keys = append(keys, cin.ExprString(f))
	}
	slices.Sort(keys)
	return keys
}
