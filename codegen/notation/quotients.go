package notation

import (
	"slices"
	"strings"
)

// SummedQuotient is a quotient that is summed over Vars without an explicit sum(). Vars are
// variables of the quotient's divisor. In the term of the quotient, only divisors have these
// variables. For example, A(i,j)/A(i,k) sums quotients over k, but users often mean A(i,j) divided
// by the sum over k.
type SummedQuotient struct {
	Binary *Binary
	Vars   []string
}

// SummedQuotients lists the quotients of the statement that are summed, without an explicit sum(),
// over a variable that only divisors have. A quotient inside an explicit sum() over this variable
// is left out, because the user has then written what the statement means.
func SummedQuotients(s *Stmt) []SummedQuotient {
	w := quotientWalk{known: vars{}}
	for _, v := range s.LHS.Vars {
		w.known[v] = true
	}
	w.terms(s.RHS)
	return w.found
}

// String explains what the quotient means and how to write the other meaning.
func (q SummedQuotient) String() string {
	over, text, divisor := strings.Join(q.Vars, ","), ExprString(q.Binary), ExprString(q.Binary.Y)
	other := ExprString(&Binary{Op: '/', X: q.Binary.X, Y: &Sum{Vars: q.Vars, X: q.Binary.Y}})
	return "the quotient " + text + " is summed over " + over + ", as in sum(" + over + ", " + text +
		"); to divide by the sum of " + divisor + " instead, write " + other
}

// quotientWalk searches a statement for summed quotients. known has variables that are not summed
// implicitly at the visited expression. Such a variable occurs on the left side, in an explicit
// sum() around the expression, or in another operand of a product or quotient that contains the
// expression.
type quotientWalk struct {
	known vars
	found []SummedQuotient
}

// terms walks an additive expression.
func (w *quotientWalk) terms(e Expr) {
	switch e := e.(type) {
	case *Neg:
		w.terms(e.X)
	case *Call:
		for _, x := range e.Args {
			w.terms(x)
		}
	case *Sum:
		w.within(e.Vars, func() { w.terms(e.X) })
	case *Binary:
		if e.Op == '+' || e.Op == '-' {
			w.terms(e.X)
			w.terms(e.Y)
			return
		}
		w.product(e)
	}
}

// chained is one operand of a chain of products and quotients. vars are its free variables.
type chained struct {
	x        Expr
	quotient *Binary // the quotient whose divisor is x, or nil
	vars     []string
}

// product walks a chain of products and quotients.
func (w *quotientWalk) product(e *Binary) {
	var chain []chained
	add := func(x Expr, quotient *Binary) { chain = append(chain, chained{x, quotient, FreeVars(x)}) }
	at := e
	for {
		if at.Op == '/' {
			add(at.Y, at)
		} else {
			add(at.Y, nil)
		}
		left, ok := at.X.(*Binary)
		if !ok || left.Op == '+' || left.Op == '-' {
			add(at.X, nil)
			break
		}
		at = left
	}
	// count is the number of operands that contain each variable. factors contains the variables of
	// operands that are not divisors.
	count, factors := map[string]int{}, vars{}
	for _, c := range chain {
		for _, v := range c.vars {
			count[v]++
			if c.quotient == nil {
				factors[v] = true
			}
		}
	}
	for _, c := range chain {
		if c.quotient != nil {
			var summed []string
			for _, v := range c.vars {
				if !w.known[v] && !factors[v] {
					summed = append(summed, v)
					factors[v] = true // report the variable only once
				}
			}
			if len(summed) > 0 {
				w.found = append(w.found, SummedQuotient{c.quotient, summed})
			}
		}
		switch c.x.(type) {
		case *Access, *Number:
			continue
		}
		var around []string
		for v, n := range count {
			if n > 1 || !slices.Contains(c.vars, v) {
				around = append(around, v)
			}
		}
		w.within(around, func() { w.terms(c.x) })
	}
}

// within adds the variables in names to w.known, calls f, and then removes them again. Variables
// that were in w.known before stay there.
func (w *quotientWalk) within(names []string, f func()) {
	var added []string
	for _, v := range names {
		if !w.known[v] {
			w.known[v] = true
			added = append(added, v)
		}
	}
	f()
	for _, v := range added {
		delete(w.known, v)
	}
}
