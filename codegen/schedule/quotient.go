package schedule

import (
	"strconv"

	"distaff/codegen/cin"
)

// A product is computed where all of its factors are present, and a quotient where its numerator
// is: elsewhere no integer is divided, whatever the divisor is there. A workspace is filled before
// it is known where it will be read.

// divided refuses to compute r's expression, a part of x, first where it divides integers that x
// might not divide. The loops are those inside which x needs it, and that leave it as it is.
func (r *recipe) divided(x cin.Expr, loops []*cin.Forall) error {
	if !r.state.problem.Compute.IsInt() || !mayFail(r.expr) {
		return nil
	}
	for _, y := range r.beside(x) {
		if !r.everywhere(y) {
			return r.state.refuse(0,
				"%s divides integers, and %s divides them where %s is present alone: a divisor of 0 elsewhere is no error",
				r.state.cmd.Args[0].Text, cin.ExprString(x), cin.ExprString(y))
		}
	}
	for _, f := range loops {
		for _, v := range r.state.rootsOf(f.Var) {
			if r.state.problem.Size(v) == 0 {
				return r.state.refuse(0,
					"%s divides integers, and no coordinates of %s, of size 0, need it: a divisor of 0 is no error", r.state.cmd.Args[0].Text, v)
			}
		}
	}
	return nil
}

// beside are the parts of x without which r's expression is not needed: what it is multiplied by,
// and what is divided by it.
func (r *recipe) beside(x cin.Expr) (list []cin.Expr) {
	if _, rest, ok := r.split(x); ok {
		return rest
	}
	switch x := x.(type) {
	case *cin.Neg:
		return r.beside(x.X)
	case *cin.Binary:
		inside, other := x.X, x.Y
		if _, ok := r.without(x.X); !ok {
			inside, other = x.Y, x.X
		}
		list = r.beside(inside)
		if x.Op == '*' || x.Op == '/' && inside == x.Y {
			list = append(list, other)
		}
	}
	return list
}

// everywhere tells whether x is present at all coordinates, whatever is stored.
func (r *recipe) everywhere(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Lit:
		return true
	case *cin.Access:
		f, ok := r.state.problem.Formats[x.Name]
		return ok && f.AllDense()
	case *cin.Neg:
		return r.everywhere(x.X)
	case *cin.Binary:
		switch x.Op {
		case '*':
			return r.everywhere(x.X) && r.everywhere(x.Y)
		case '/':
			return r.everywhere(x.X)
		}
		return r.everywhere(x.X) || r.everywhere(x.Y)
	}
	return false
}

// mayFail tells whether x divides by anything but a number other than 0.
func mayFail(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Neg:
		return mayFail(x.X)
	case *cin.Binary:
		if x.Op == '/' {
			by, ok := positive(x.Y).(*cin.Lit)
			if !ok {
				return true
			}
			n, err := strconv.ParseInt(by.Text, 10, 32)
			return err != nil || n == 0 || mayFail(x.X)
		}
		return mayFail(x.X) || mayFail(x.Y)
	}
	return false
}
