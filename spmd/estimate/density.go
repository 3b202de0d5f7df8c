package estimate

import (
	"math"

	"distaff/codegen/notation"
)

// Densities estimates the densities of expressions: the share of coordinates at which
// they have an entry.
type Densities struct {
	Of   func(tensor string) float64 // of a tensor, by its name in the normal form
	Size map[string]int64            // of a variable
}

// Sum is the share of coordinates at which a sum of terms has an entry, after a sum
// over vars too.
func (x *Densities) Sum(terms []*notation.Term, vars []string) float64 {
	absent := 1.0
	for _, t := range terms {
		d := 1.0
		for _, f := range t.Factors {
			d *= x.factor(f)
		}
		absent *= 1 - x.summed(d, append(vars, t.Sum...))
	}
	return 1 - absent
}

// summed is the density after a sum over vars.
func (x *Densities) summed(d float64, vars []string) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(x.Size[v])
	}
	if d >= 1 {
		return 1
	}
	return -math.Expm1(n * math.Log1p(-d))
}

func (x *Densities) factor(f notation.Factor) float64 {
	switch f := f.(type) {
	case *notation.Access:
		return x.expr(f)
	case *notation.Group:
		return x.expr(f.X)
	case *notation.Quotient:
		return x.expr(f.Num)
	case *notation.Reduction:
		return x.Sum(f.Body, f.Vars)
	}
	return 1
}

func (x *Densities) expr(e notation.Expr) float64 {
	switch e := e.(type) {
	case *notation.Access:
		return x.Of(e.Name)
	case *notation.Neg:
		return x.expr(e.X)
	case *notation.Binary:
		a, b := x.expr(e.X), x.expr(e.Y)
		switch e.Op {
		case '*':
			return a * b
		case '/':
			return a
		}
		return 1 - (1-a)*(1-b)
	case *notation.ReductionExpr:
		return x.Sum(e.Body, e.Vars)
	}
	return 1
}
