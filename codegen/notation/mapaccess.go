package notation

// MapAccesses returns a copy of t, with f(a) in place of each access a.
func MapAccesses(t *Term, f func(*Access) *Access) *Term {
	out := *t
	out.Factors = make([]Factor, len(t.Factors))
	for k, x := range t.Factors {
		switch x := x.(type) {
		case *Access:
			out.Factors[k] = f(x)
		case *Group:
			out.Factors[k] = &Group{X: mapExpr(x.X, f)}
		case *Quotient:
			out.Factors[k] = &Quotient{Num: mapExpr(x.Num, f), Den: mapExpr(x.Den, f)}
		case *Reduction:
			out.Factors[k] = mapReduction(x, f)
		default:
			out.Factors[k] = x
		}
	}
	return &out
}

func mapReduction(r *Reduction, f func(*Access) *Access) *Reduction {
	out := &Reduction{Op: r.Op, Vars: r.Vars}
	for _, t := range r.Body {
		out.Body = append(out.Body, MapAccesses(t, f))
	}
	return out
}

// MapArgs returns a copy of the call with f(x) in place of each argument x.
func (e *Call) MapArgs(f func(Expr) Expr) *Call {
	c := &Call{Func: e.Func, At: e.At}
	for _, x := range e.Args {
		c.Args = append(c.Args, f(x))
	}
	return c
}

func mapExpr(e Expr, f func(*Access) *Access) Expr {
	switch e := e.(type) {
	case *Access:
		return f(e)
	case *Neg:
		return &Neg{X: mapExpr(e.X, f), At: e.At}
	case *Binary:
		return &Binary{Op: e.Op, X: mapExpr(e.X, f), Y: mapExpr(e.Y, f)}
	case *Call:
		return e.MapArgs(func(x Expr) Expr { return mapExpr(x, f) })
	case *ReductionExpr:
		return &ReductionExpr{Reduction: mapReduction(e.Reduction, f), At: e.At}
	case *Number:
		return e
	}
	panic("BUG: notation: an expression that no normal form has")
}
