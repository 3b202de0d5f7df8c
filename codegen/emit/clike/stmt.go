package clike

import (
	"strings"

	"distaff/codegen/ir"
)

// Comment returns s as text that a // comment can contain: without control characters and line
// continuations.
func Comment(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return ' '
		case r == '\\':
			return '/'
		}
		return r
	}, s)
	return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "??", "? ?")
}

// Stable reports whether a loop may evaluate its bound x before every iteration. The value of x
// must not change in the body, and computing it must be cheap: x has no load from an array that is
// not Const, no search, no select and no division.
func Stable(x ir.Expr, body *ir.Block) bool {
	assigned := Assigned(body)
	ok := true
	ir.WalkExpr(x, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Var:
			ok = ok && !assigned[x]
		case *ir.Load:
			ok = ok && x.A.Const
		case *ir.Search, *ir.Select, *ir.Apply:
			ok = false
		case *ir.Binary:
			ok = ok && x.Op != ir.Div && x.Op != ir.Rem
		}
	})
	return ok
}

// Assigned returns the variables that statements change after their declaration.
func Assigned(s ir.Stmt) map[*ir.Var]bool {
	assigned := map[*ir.Var]bool{}
	ir.WalkRows(s, func(_ ir.Stmt, r *ir.Row) {
		for v, role := range r.Vars() {
			if role == ir.Sets {
				assigned[v] = true
			}
		}
	})
	return assigned
}

// Trips returns the number of iterations of a loop. ok is false if it is not known.
func Trips(s *ir.For) (n int64, ok bool) {
	lo, okl := s.Lo.(*ir.Lit)
	hi, okh := s.Hi.(*ir.Lit)
	if !okl || !okh {
		return 0, false
	}
	return max(0, (hi.I-lo.I+s.Step-1)/s.Step), true
}
