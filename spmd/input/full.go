package input

import (
	"slices"

	"distaff/codegen/notation"
)

// Full reports whether some term of the statement certainly has an entry at every coordinate of the
// result. False means that this could not be proved.
func (r *Reader) Full() bool {
	for _, n := range r.Sizes.Vars {
		if n == 0 {
			return false
		}
	}
	for _, t := range r.p.Norm.Terms {
		all := true
		for _, f := range t.Factors {
			all = all && r.fullFactor(f)
		}
		if all {
			return true
		}
	}
	return false
}

func (r *Reader) fullFactor(f notation.Factor) bool {
	switch f := f.(type) {
	case *notation.Access:
		return r.fullExpr(f)
	case *notation.Number:
		return true
	case *notation.Group:
		return r.fullExpr(f.X)
	case *notation.Quotient:
		return r.fullExpr(f.Num)
	}
	return false
}

func (r *Reader) fullExpr(e notation.Expr) bool {
	switch e := e.(type) {
	case *notation.Access:
		return r.Formats[e.Name].AllDense()
	case *notation.Number:
		return true
	case *notation.Call:
		if e.Func.NeedsAll {
			return !slices.ContainsFunc(e.Args, func(x notation.Expr) bool { return !r.fullExpr(x) })
		}
		return !e.Func.KeepsZero || slices.ContainsFunc(e.Args, r.fullExpr)
	case *notation.Neg:
		return r.fullExpr(e.X)
	case *notation.Binary:
		switch e.Op {
		case '*':
			return r.fullExpr(e.X) && r.fullExpr(e.Y)
		case '/':
			return r.fullExpr(e.X)
		}
		return r.fullExpr(e.X) || r.fullExpr(e.Y)
	}
	return false
}
