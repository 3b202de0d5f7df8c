package codegen

import (
	"slices"

	"distaff/codegen/cin"
)

// scalar sums terms, some of which sum order[k], where the target has no
// variables left: into temporaries, which are then assigned. In integer
// arithmetic factors that hold no summed variable are multiplied once, with the sum;
// floats are not rearranged so, since inf*(x-x) is not inf*x - inf*x.
func (n *nest) scalar(terms []*term, k int, t target) cin.Stmt {
	var here, plain []*term
	var producers []cin.Stmt
	into := func(list []*term) *cin.Access {
		temp := &cin.Access{Name: n.fresh("t")}
		producers = append(producers, n.sum(list, k, target{lhs: temp, temp: true, accumulate: true}))
		return temp
	}
	for _, x := range terms {
		if len(x.sums) == 0 {
			here = append(here, x)
			continue
		}
		outer, inner := n.split(x)
		if !n.exact || len(outer) == 0 || len(inner) == 0 {
			plain = append(plain, x)
			continue
		}
		temp := into([]*term{{factors: inner, sums: x.sums}})
		here = append(here, &term{neg: x.neg, factors: append(outer, temp)})
	}
	if len(plain) > 0 {
		here = append(here, &term{factors: []cin.Expr{into(plain)}})
	}
	var s cin.Stmt = &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: n.sumOf(here)}
	for i := len(producers) - 1; i >= 0; i-- {
		s = &cin.Where{Consumer: s, Producer: producers[i]}
	}
	return s
}

// split parts a term's factors into those that hold none of the variables that
// it has yet to sum, and the others.
func (n *nest) split(x *term) (outer, inner []cin.Expr) {
	if len(x.pending) > 0 {
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

// row sums one term over order[k] into a workspace over the last variable
// left, and multiplies that by the factors that hold the variable and none that
// is summed: w(l) += B(i,j,k)*D(k,l), then A(i,l) += w(l)*C(j,l). It returns nil
// where there are none, or where it is not known to pay.
func (n *nest) row(terms []*term, k int, t target) cin.Stmt {
	if len(terms) != 1 || len(t.left) != 1 {
		return nil
	}
	x, l := terms[0], t.left[0]
	outer, inner := n.split(x)
	along := slices.ContainsFunc(outer, func(f cin.Expr) bool { return holds(f, t.left) })
	if !along || len(inner) == 0 || !slices.ContainsFunc(inner, func(f cin.Expr) bool { return holds(f, t.left) }) ||
		n.sizes(l) < minRow || !n.runsAlong(x, l, t) || !n.long(inner, n.order[k]) {
		return nil
	}
	w := &cin.Access{Name: n.fresh("w"), Vars: []string{l}}
	producer := n.sum([]*term{{factors: inner, sums: x.sums}}, k, target{lhs: w, left: t.left, temp: true, accumulate: true})
	rhs := n.x(&term{neg: x.neg, factors: append(outer, w)})
	return &cin.Where{Consumer: &cin.Forall{Var: l, Body: &cin.Assign{LHS: t.lhs, Accumulate: t.accumulate, RHS: rhs}}, Producer: producer}
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

func (n *nest) isSparse(a *cin.Access) bool {
	f, ok := n.formats[a.Name]
	return ok && !f.AllDense()
}

func (n *nest) sumOf(terms []*term) cin.Expr {
	var sum cin.Expr
	for _, t := range terms {
		switch {
		case sum == nil:
			sum = n.x(t)
		case t.neg:
			sum = &cin.Binary{Op: '-', X: sum, Y: n.x(&term{factors: t.factors})}
		default:
			sum = &cin.Binary{Op: '+', X: sum, Y: n.x(t)}
		}
	}
	return sum
}
