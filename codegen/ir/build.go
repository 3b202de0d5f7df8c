package ir

import "distaff/io/tensor"

// The constructors of expressions fold constants and drop identities, and nothing
// more: the returned expression has the same value as the plain node in every bit
// (x*1.0 becomes x, but x+0.0 stays, because it turns -0 into 0).

// Int returns an Int64 literal.
func Int(i int64) *Lit { return &Lit{Typ: tensor.Int64, I: i} }

// Truth returns a Bool literal.
func Truth(b bool) *Lit {
	if b {
		return &Lit{Typ: tensor.Bool, I: 1}
	}
	return &Lit{Typ: tensor.Bool}
}

// Number returns c as a literal of the numeric type t, rounded or truncated to t.
func Number(t tensor.Type, c complex128) *Lit {
	return convert(&Lit{Typ: tensor.Complex128, C: c}, t)
}

// Literal returns v as a literal of v's type.
func Literal(v tensor.Value) *Lit {
	if v.Type.HoldsInts() {
		return &Lit{Typ: v.Type, I: v.I}
	}
	return &Lit{Typ: v.Type, C: v.C}
}

// Zero returns the literal 0 of type t. For Bool it is false.
func Zero(t tensor.Type) *Lit { return &Lit{Typ: t} }

// One returns the literal 1 of type t. For Bool it is true.
func One(t tensor.Type) *Lit {
	if t.HoldsInts() {
		return &Lit{Typ: t, I: 1}
	}
	return &Lit{Typ: t, C: 1}
}

// NewVar returns a new variable.
func NewVar(name string, t tensor.Type) *Var { return &Var{Name: name, Typ: t} }

// NewArray returns a new array that can be stored to.
func NewArray(name string, elem tensor.Type) *Array { return &Array{Name: name, Elem: elem} }

// Plus returns x + y.
func Plus(x, y Expr) Expr { return Bin(Add, x, y) }

// Minus returns x - y.
func Minus(x, y Expr) Expr { return Bin(Sub, x, y) }

// Times returns x * y.
func Times(x, y Expr) Expr { return Bin(Mul, x, y) }

// Over returns x / y. The quotient of integers is truncated.
func Over(x, y Expr) Expr { return Bin(Div, x, y) }

// Modulo returns the remainder of x / y, which has the sign of x.
func Modulo(x, y Expr) Expr { return Bin(Rem, x, y) }

// Least returns the minimum of x and y.
func Least(x, y Expr) Expr { return Bin(Min, x, y) }

// Greatest returns the maximum of x and y.
func Greatest(x, y Expr) Expr { return Bin(Max, x, y) }

// Equal returns x == y.
func Equal(x, y Expr) Expr { return Bin(Eq, x, y) }

// Unequal returns x != y.
func Unequal(x, y Expr) Expr { return Bin(Ne, x, y) }

// Less returns x < y.
func Less(x, y Expr) Expr { return Bin(Lt, x, y) }

// AtMost returns x <= y.
func AtMost(x, y Expr) Expr { return Bin(Le, x, y) }

// Greater returns x > y.
func Greater(x, y Expr) Expr { return Bin(Lt, y, x) }

// AtLeast returns x >= y.
func AtLeast(x, y Expr) Expr { return Bin(Le, y, x) }

// Both returns the conjunction of xs, with short-circuit evaluation from left to right. Without
// operands it is true.
func Both(xs ...Expr) Expr { return chain(And, true, xs) }

// Either returns the disjunction of xs, with short-circuit evaluation from left to right. Without
// operands it is false.
func Either(xs ...Expr) Expr { return chain(Or, false, xs) }

func chain(op Op, unit bool, xs []Expr) Expr {
	var r Expr = Truth(unit)
	for _, x := range xs {
		r = Bin(op, r, x)
	}
	return r
}

// Negated returns -x.
func Negated(x Expr) Expr {
	if l, ok := x.(*Lit); ok {
		return foldNeg(l)
	}
	if u, ok := x.(*Unary); ok && u.Op == Neg {
		return u.X
	}
	return &Unary{Op: Neg, X: x}
}

// Inverse returns !x.
func Inverse(x Expr) Expr {
	switch e := x.(type) {
	case *Lit:
		return Truth(e.I == 0)
	case *Unary:
		if e.Op == Not {
			return e.X
		}
	case *Binary:
		// Not so for Lt and Le of floats: a NaN makes both false.
		ordered := !e.X.Type().IsFloat()
		switch {
		case e.Op == Eq:
			return &Binary{Ne, e.X, e.Y}
		case e.Op == Ne:
			return &Binary{Eq, e.X, e.Y}
		case e.Op == Lt && ordered:
			return &Binary{Le, e.Y, e.X}
		case e.Op == Le && ordered:
			return &Binary{Lt, e.Y, e.X}
		}
	}
	return &Unary{Op: Not, X: x}
}

// At returns A[i], of A's element type.
func At(a *Array, i Expr) Expr { return &Load{A: a, Index: i} }

// Coord returns A[i] as an Int64, for a pos or crd array of either width.
func Coord(a *Array, i Expr) Expr { return &Load{A: a, Index: i, Widen: true} }

// Convert returns x as a value of type t, or x itself if it already has that type.
func Convert(t tensor.Type, x Expr) Expr {
	if x.Type() == t {
		return x
	}
	if l, ok := x.(*Lit); ok {
		return convert(l, t)
	}
	return &Cast{Typ: t, X: x}
}

// Choose returns an expression with the value of x if cond holds, and of y otherwise. Only the
// chosen operand is evaluated.
func Choose(cond, x, y Expr) Expr {
	if l, ok := cond.(*Lit); ok {
		if l.I != 0 {
			return x
		}
		return y
	}
	if Same(x, y) {
		return x
	}
	return &Select{Cond: cond, X: x, Y: y}
}

// Seq returns a block of the statements in list. A block in list that declares no variable is
// replaced by its statements. Nil statements are left out.
func Seq(list ...Stmt) *Block {
	b := &Block{}
	for _, s := range list {
		b.Append(s)
	}
	return b
}

// Append adds s at the end of b. If s is a block without declarations, its statements are added
// instead. A nil s adds nothing.
func (b *Block) Append(s Stmt) {
	switch s := s.(type) {
	case nil:
		return
	case *Block:
		if s == nil {
			return
		}
		if !hasDeclaration(s) {
			b.List = append(b.List, s.List...)
			return
		}
	}
	b.List = append(b.List, s)
}

func hasDeclaration(b *Block) bool {
	for _, s := range b.List {
		if _, ok := s.(*Declare); ok {
			return true
		}
	}
	return false
}

// Always reports whether x is a literal that is true.
func Always(x Expr) bool { l, ok := x.(*Lit); return ok && l.I != 0 }

// IsFalse reports whether x is a literal that is false.
func IsFalse(x Expr) bool { l, ok := x.(*Lit); return ok && l.I == 0 }

// Is reports whether x, an expression of an integer type, is the literal i.
func Is(x Expr, i int64) bool { l, ok := x.(*Lit); return ok && l.I == i }
