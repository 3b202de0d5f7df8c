package schedule

import (
	"slices"
	"strconv"

	"distaff/codegen/cin"
)

// A product is computed where all of its factors are present, and a quotient where its numerator is
// present. Elsewhere no integers are divided, so a divisor of 0 is harmless there. A workspace is
// filled before it is known which of its values will be read.

// refuseDivision returns an error if the precomputation of r's expression could divide an integer
// by 0 where the original statement does not. This division would stop the program with an error.
// It can happen at coordinates where x, the expression that contains r's expression, is not
// evaluated. loops are the loops around x over variables that do not occur in r's expression.
func (r *recipe) refuseDivision(x cin.Expr, loops []*cin.Forall) error {
	if !r.state.problem.Compute.IsInt() || !mayDivideByZero(r.expr) {
		return nil
	}
	for _, y := range r.coFactors(x) {
		if !r.isEverywhere(y) {
			return r.state.refuse(0,
				"%s divides integers, but %s needs the quotient only where %s is present; "+
					"elsewhere a divisor of 0 would be an error",
				r.state.cmd.Args[0].Text, cin.ExprString(x), cin.ExprString(y))
		}
	}
	for _, f := range loops {
		for _, v := range r.state.g.RootsOf(f.Var) {
			if r.state.problem.Size(v) == 0 {
				return r.state.refuse(0,
					"%s divides integers, but %s has size 0, so that nothing needs the "+
						"quotient; a divisor of 0 would be an error", r.state.cmd.Args[0].Text, v)
			}
		}
	}
	return nil
}

// coFactors lists the expressions in x that are multiplied with r's expression or divided by it:
// the factors next to r's expression and, if r's expression is in a denominator, the numerator.
func (r *recipe) coFactors(x cin.Expr) (list []cin.Expr) {
	if _, rest, ok := r.split(x); ok {
		return rest
	}
	switch x := x.(type) {
	case *cin.Neg:
		return r.coFactors(x.X)
	case *cin.Binary:
		inside, other := x.X, x.Y
		if _, ok := r.without(x.X); !ok {
			inside, other = x.Y, x.X
		}
		list = r.coFactors(inside)
		if x.Op == '*' || x.Op == '/' && inside == x.Y {
			list = append(list, other)
		}
	}
	return list
}

// isEverywhere reports whether x is present at all coordinates, whatever its operands store.
func (r *recipe) isEverywhere(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Lit:
		return true
	case *cin.Access:
		f, ok := r.state.problem.Formats[x.Name]
		return ok && f.AllDense()
	case *cin.Call:
		if x.Func.NeedsAll {
			return !slices.ContainsFunc(x.Args, func(y cin.Expr) bool { return !r.isEverywhere(y) })
		}
		return !x.Func.KeepsZero || slices.ContainsFunc(x.Args, r.isEverywhere)
	case *cin.Neg:
		return r.isEverywhere(x.X)
	case *cin.Binary:
		switch x.Op {
		case '*':
			return r.isEverywhere(x.X) && r.isEverywhere(x.Y)
		case '/':
			return r.isEverywhere(x.X)
		}
		return r.isEverywhere(x.X) || r.isEverywhere(x.Y)
	}
	return false
}

// mayDivideByZero reports whether x contains a division by an expression that may be zero. Only a
// nonzero integer literal that fits in 32 bits is known not to be zero.
func mayDivideByZero(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Call:
		return slices.ContainsFunc(x.Args, mayDivideByZero)
	case *cin.Neg:
		return mayDivideByZero(x.X)
	case *cin.Binary:
		if x.Op == '/' {
			by, ok := positive(x.Y).(*cin.Lit)
			if !ok {
				return true
			}
			n, err := strconv.ParseInt(by.Text, 10, 32)
			return err != nil || n == 0 || mayDivideByZero(x.X)
		}
		return mayDivideByZero(x.X) || mayDivideByZero(x.Y)
	}
	return false
}
