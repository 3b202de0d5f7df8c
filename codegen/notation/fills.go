package notation

import "distaff/codegen/algebra"

// WithFills returns the statement as text, with the fills of tensors written into it: where an
// operand is absent, its value is its fill. fills has the fill of each tensor as the text of a
// number. WithFills returns the error of Parse if the statement or a fill does not parse.
func WithFills(src string, fills map[string]string) (string, error) {
	s, err := Parse(src)
	if err != nil {
		return "", err
	}
	numbers := map[string]Expr{}
	for name, text := range fills {
		if numbers[name], err = ParseExprIn(text, Span{0, len(text)}); err != nil {
			return "", err
		}
	}
	s.RHS = MapExpr(s.RHS, func(a *Access) Expr {
		if f := numbers[a.Name]; f != nil {
			return &Call{Func: algebra.Find("fill"), Args: []Expr{a, f}}
		}
		return a
	})
	return s.String(), nil
}

// whereStored returns an expression that is present only where e may differ from start, an infinity.
// There both are equal. It returns nil if it knows no such expression that is absent somewhere.
//
// A fill that is start is such a value. So is a sum with start as an addend: an infinite start
// absorbs all other addends. An access with indices that are not variables becomes a sum, which is
// present everywhere. whereStored returns nil if a fill has such an access.
func whereStored(e Expr, start float64) Expr {
	switch e := e.(type) {
	case *Call:
		a, ok := e.Args[0].(*Access)
		if ok && a.Index == nil && e.Func.Fills && isNumber(e.Args[1], start) {
			return a
		}
	case *Binary:
		if e.Op != '+' {
			return nil
		}
		x, y := whereStored(e.X, start), whereStored(e.Y, start)
		if x == nil && y == nil {
			return nil
		}
		if x == nil {
			x = everywhere(e.X)
		}
		if y == nil {
			y = everywhere(e.Y)
		}
		return &Call{Func: algebra.Find("both"), Args: []Expr{x, y}}
	}
	return nil
}

// everywhere returns an expression that is present everywhere, with the values of e.
func everywhere(e Expr) Expr {
	return &Call{Func: algebra.Find("fill"), Args: []Expr{e, &Number{Text: "0", IsInt: true}}}
}

// isNumber reports whether e is the number x or, for a negative x, the negative of a number.
func isNumber(e Expr, x float64) bool {
	switch e := e.(type) {
	case *Number:
		return !e.IsInt && e.Float == x
	case *Neg:
		return isNumber(e.X, -x)
	}
	return false
}
