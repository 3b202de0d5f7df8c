package notation

import (
	"slices"
	"strings"
)

// SummedQuotient is a quotient whose divisor holds variables that are summed, and that
// no other factor of its term holds: A(i,j)/A(i,k), a sum over k of quotients, which is
// easily taken for a quotient by a sum.
type SummedQuotient struct {
	Binary *Binary
	Vars   []string
}

// SummedQuotients lists the statement's. Those that stand in a sum over the variable are
// not among them: the statement says there what it means.
func SummedQuotients(s *Stmt) []SummedQuotient {
	w := quotientWalk{known: vars{}}
	for _, v := range s.LHS.Vars {
		w.known[v] = true
	}
	w.terms(s.RHS)
	return w.found
}

// String says what the quotient means, and how the other meaning is written.
func (q SummedQuotient) String() string {
	over, text, divisor := strings.Join(q.Vars, ","), ExprString(q.Binary), ExprString(q.Binary.Y)
	other := ExprString(&Binary{Op: '/', X: q.Binary.X, Y: &Sum{Vars: q.Vars, X: q.Binary.Y}})
	return "the quotient " + text + " is summed over " + over + ", as sum(" + over + ", " + text +
		"); to divide by the sum of " + divisor + ", write " + other
}

// quotientWalk finds quotients. known are variables that the left side, an explicit sum
// or another factor around the place holds.
type quotientWalk struct {
	known vars
	found []SummedQuotient
}

// terms walks an additive expression.
func (w *quotientWalk) terms(e Expr) {
	switch e := e.(type) {
	case *Neg:
		w.terms(e.X)
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

// chained is an operand of a chain of products and quotients.
type chained struct {
	x        Expr
	quotient *Binary // that has it as its divisor, or nil
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
	// in how many operands each variable is; those of no divisor
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
					factors[v] = true // once
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

// within runs f where more variables are known.
func (w *quotientWalk) within(more []string, f func()) {
	var added []string
	for _, v := range more {
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
