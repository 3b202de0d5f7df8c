package notation

import (
	"fmt"
	"maps"
	"slices"

	"distaff/io/tensor"
)

// Normalize returns the normal form of a statement that Check accepts. It folds signs, gives each
// bound variable a name of its own, lists for each term the variables that it sums, and multiplies
// out each product of sums whose addends sum over different variables. Any other sum in a product
// becomes a Group, because multiplying it out would lose accuracy: (x-y)*(x-y) would cancel badly,
// and (1-2)*inf would be inf-inf.
//
// The numerator and the denominator of a quotient and the arguments of a call are not multiplied
// out. A quotient or a call is summed over each of its variables that the left side of the
// assignment does not have.
//
// An explicit sum() is linear, so it is distributed over the terms of its body. If the sum() is a
// whole additive term, its variables join the term's Sum, even if the term does not contain them:
// sum(j, B(i,j) + c(i)) adds c(i) once for each j. If the sum() is a factor of a product or part of
// a quotient, it becomes one or several Reductions. Any other reduction becomes one Reduction.
// count(j, x) is the sum of 1 where x is not 0.
//
// Indices that are not variables are expanded first (Expand).
func Normalize(s *Stmt) *Normal {
	s = Expand(s)
	r := newRenamer(s)
	rhs := r.rename(s.RHS, nil)
	n := &Normal{Src: s.Src, LHS: s.LHS, Accumulate: s.Accumulate, Source: r.source}

	left := vars{}
	var all varList
	for _, v := range s.LHS.Vars {
		left[v] = true
		all.add(v)
	}
	n.Terms = left.expand(rhs)
	for _, t := range n.Terms {
		var sum varList
		for _, v := range t.FreeVars() {
			if !left[v] {
				sum.add(v)
			}
		}
		for _, v := range t.Sum {
			sum.add(v)
		}
		t.Sum = sum.list
		for _, v := range t.Sum {
			all.add(v)
		}
		WalkTerm(t, func(e Expr) bool {
			if x, ok := e.(*ReductionExpr); ok {
				addBound(&all, x.Reduction)
			}
			return true
		})
	}
	n.Vars = all.list
	return n
}

// addBound adds to the list all variables that r and the terms of its body sum over.
func addBound(list *varList, r *Reduction) {
	for _, v := range r.Vars {
		list.add(v)
	}
	for _, t := range r.Body {
		for _, v := range t.Sum {
			list.add(v)
		}
	}
}

// renamer gives the variables of each sum() names that nothing else in the statement has. If a name
// is not free anywhere in the statement, the first sum() over the name keeps it.
type renamer struct {
	taken  map[string]bool // every name in the statement, which a new variable must avoid
	owned  map[string]bool // variables that are free somewhere or already bound
	source map[string]string
}

func newRenamer(s *Stmt) *renamer {
	r := &renamer{taken: map[string]bool{}, owned: map[string]bool{}, source: map[string]string{}}
	note := func(names ...string) {
		for _, name := range names {
			r.taken[name] = true
		}
	}
	note(s.LHS.Name)
	note(s.LHS.Vars...)
	Walk(s.RHS, func(e Expr) bool {
		switch e := e.(type) {
		case *Access:
			note(e.Name)
			note(e.Vars...)
		case *Sum:
			note(e.Vars...)
		}
		return true
	})
	for _, v := range append(slices.Clone(s.LHS.Vars), FreeVars(s.RHS)...) {
		r.owned[v] = true
	}
	return r
}

func (r *renamer) fresh(name string) string {
	if !r.owned[name] {
		r.owned[name] = true
		return name
	}
	for k := 1; ; k++ {
		if c := fmt.Sprintf("%s_%d", name, k); !r.taken[c] {
			r.taken[c], r.owned[c] = true, true
			r.source[c] = name
			return c
		}
	}
}

// rename returns a copy of e with new names of variables. If scope has an entry for a variable, the
// variable gets the name in this entry. The variables of inner sums get fresh names (see renamer).
func (r *renamer) rename(e Expr, scope map[string]string) Expr {
	switch e := e.(type) {
	case *Access:
		c := *e
		c.Vars = slices.Clone(e.Vars)
		for k, v := range c.Vars {
			if to, ok := scope[v]; ok {
				c.Vars[k] = to
			}
		}
		return &c
	case *Neg:
		return &Neg{X: r.rename(e.X, scope), At: e.At}
	case *Binary:
		return &Binary{Op: e.Op, X: r.rename(e.X, scope), Y: r.rename(e.Y, scope)}
	case *Sum:
		inner := map[string]string{}
		for from, to := range scope {
			inner[from] = to
		}
		c := &Sum{Op: e.Op, VarAt: e.VarAt, At: e.At}
		for _, v := range e.Vars {
			inner[v] = r.fresh(v)
			c.Vars = append(c.Vars, inner[v])
		}
		c.X = r.rename(e.X, inner)
		if call, ok := c.X.(*Call); e.Op != nil && e.Op.Each != nil && !(ok && call.Func == e.Op.Each) {
			c.X = &Call{Func: e.Op.Each, Args: []Expr{c.X}, At: e.At}
		}
		return c
	case *Call:
		return e.MapArgs(func(x Expr) Expr { return r.rename(x, scope) })
	}
	return e // a Number
}

// vars is a set of variables. In its methods, the receiver is the set of the left side's variables.
type vars map[string]bool

// expand multiplies e out and returns the terms. The Sum of a returned term has only the variables
// of explicit sums.
func (left vars) expand(e Expr) []*Term {
	switch e := e.(type) {
	case *Access:
		return []*Term{{Factors: []Factor{e}}}
	case *Number:
		return []*Term{{Factors: []Factor{e}}}
	case *Neg:
		return negated(left.expand(e.X))
	case *Sum:
		if !e.Op.IsSum() {
			return []*Term{{Factors: []Factor{left.reduction(e)}}}
		}
		terms := left.expand(e.X)
		for _, t := range terms {
			t.Sum = append(slices.Clone(e.Vars), t.Sum...)
		}
		return terms
	case *Binary:
		switch e.Op {
		case '+':
			return append(left.expand(e.X), left.expand(e.Y)...)
		case '-':
			return append(left.expand(e.X), negated(left.expand(e.Y))...)
		case '*':
			return left.product(e)
		case '/':
			q := &Quotient{Num: left.keepWhole(e.X), Den: left.keepWhole(e.Y)}
			return []*Term{{Factors: []Factor{q}}}
		}
	case *Call:
		return []*Term{{Factors: []Factor{&Group{X: left.keepWhole(e)}}}}
	}
	panic("BUG: notation cannot normalize this expression")
}

// reduction returns e, which is not linear, as a Reduction.
func (left vars) reduction(e *Sum) *Reduction {
	op, x := e.Op, e.X
	if op.Stored != nil {
		if y := whereStored(x, real(op.Start(tensor.Float64).C)); y != nil {
			op, x = op.Stored, y
		}
	}
	body := left.expand(x)
	if len(body) != 1 || body[0].Negative || len(body[0].Sum) > 0 {
		body = []*Term{{Factors: []Factor{&Group{X: left.keepWhole(x)}}}}
	}
	return &Reduction{Op: op, Vars: e.Vars, Body: body}
}

func negated(terms []*Term) []*Term {
	for _, t := range terms {
		t.Negative = !t.Negative
	}
	return terms
}

// product returns the terms of the product e. The receiver left has the variables of the left side.
// product multiplies out a factor that is a sum, unless all addends of the sum are summed over the
// same variables. Such a factor stays whole, as a Group.
//
// An addend is summed over its own variables and the variables of the factors that are not sums.
// The variables of the left side are excepted.
func (left vars) product(e *Binary) []*Term {
	chain := factors(e, nil)
	parts := make([][]*Term, len(chain))
	var plain varList
	for k, f := range chain {
		parts[k] = asUnits(left.expand(f))
		if len(parts[k]) == 1 {
			plain.freeFactors(parts[k][0], nil)
		}
	}
	out := []*Term{{}}
	for k, f := range chain {
		if len(parts[k]) > 1 && left.sumSameVars(parts[k], plain.list) {
			t := &Term{}
			for n, ok := f.(*Neg); ok; n, ok = f.(*Neg) {
				f, t.Negative = n.X, !t.Negative
			}
			t.Factors = []Factor{&Group{X: left.keepWhole(f)}}
			parts[k] = []*Term{t}
		}
		out = multiply(out, parts[k])
	}
	return out
}

// factors appends the factors of a product to list.
func factors(e Expr, list []Expr) []Expr {
	if b, ok := e.(*Binary); ok && b.Op == '*' {
		return factors(b.Y, factors(b.X, list))
	}
	return append(list, e)
}

// sumSameVars reports whether all terms would sum over the same variables after they are multiplied
// by other factors. others lists the variables of these factors. The receiver left has the
// variables of the left side, which are not summed.
func (left vars) sumSameVars(terms []*Term, others []string) bool {
	sums := func(t *Term) vars {
		held := vars{}
		for _, v := range append(t.FreeVars(), others...) {
			if !left[v] {
				held[v] = true
			}
		}
		return held
	}
	first := sums(terms[0])
	for _, t := range terms[1:] {
		if !maps.Equal(first, sums(t)) {
			return false
		}
	}
	return true
}

// multiply returns every term of xs times every term of ys. The results share factors with their
// arguments, so a normal form must not be changed in place.
func multiply(xs, ys []*Term) []*Term {
	var out []*Term
	for _, x := range xs {
		for _, y := range ys {
			out = append(out, &Term{
				Negative: x.Negative != y.Negative,
				Factors:  append(slices.Clone(x.Factors), y.Factors...),
			})
		}
	}
	return out
}

// asUnits prepares terms for a multiplication by other factors. Each term inside an explicit sum()
// becomes a Reduction, because the complete sum must be multiplied.
func asUnits(terms []*Term) []*Term {
	out := make([]*Term, len(terms))
	for k, t := range terms {
		out[k] = t
		if len(t.Sum) > 0 {
			r := &Reduction{Vars: t.Sum, Body: []*Term{{Factors: t.Factors}}}
			out[k] = &Term{Negative: t.Negative, Factors: []Factor{r}}
		}
	}
	return out
}

// keepWhole returns e with each sum() as a ReductionExpr. It multiplies out only the bodies of the
// sums.
func (left vars) keepWhole(e Expr) Expr {
	switch e := e.(type) {
	case *Neg:
		return &Neg{X: left.keepWhole(e.X), At: e.At}
	case *Binary:
		return &Binary{Op: e.Op, X: left.keepWhole(e.X), Y: left.keepWhole(e.Y)}
	case *Sum:
		if !e.Op.IsSum() {
			return &ReductionExpr{Reduction: left.reduction(e), At: e.At}
		}
		return &ReductionExpr{Reduction: &Reduction{Vars: e.Vars, Body: left.expand(e.X)}, At: e.At}
	case *Call:
		return e.MapArgs(left.keepWhole)
	}
	return e
}
