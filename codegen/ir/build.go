package ir

// Constructors of expressions. They fold constants and drop identities, and no
// more: what they return means exactly what the plain node would, in every bit
// (so x+0.0, which turns -0 into 0, stays; x*1.0 goes).

// Int is an Int64 literal.
func Int(i int64) *Lit { return &Lit{Typ: Int64, I: i} }

// Truth is a Bool literal.
func Truth(b bool) *Lit {
	if b {
		return &Lit{Typ: Bool, I: 1}
	}
	return &Lit{Typ: Bool}
}

// Number is c as a literal of a numeric type, rounded or truncated to it.
func Number(t Type, c complex128) *Lit {
	return convert(&Lit{Typ: Complex128, C: c}, t)
}

// Zero is the zero of a type (false for Bool).
func Zero(t Type) *Lit { return &Lit{Typ: t} }

// One is the one of a type (true for Bool).
func One(t Type) *Lit {
	if t == Bool || t.IsInt() {
		return &Lit{Typ: t, I: 1}
	}
	return &Lit{Typ: t, C: 1}
}

// NewVar is a fresh variable.
func NewVar(name string, t Type) *Var { return &Var{Name: name, Typ: t} }

// NewArray is a fresh array that may be stored to.
func NewArray(name string, elem Type) *Array { return &Array{Name: name, Elem: elem} }

// Plus is x + y.
func Plus(x, y Expr) Expr { return Bin(Add, x, y) }

// Minus is x - y.
func Minus(x, y Expr) Expr { return Bin(Sub, x, y) }

// Times is x * y.
func Times(x, y Expr) Expr { return Bin(Mul, x, y) }

// Over is x / y; of integers, truncated.
func Over(x, y Expr) Expr { return Bin(Div, x, y) }

// Modulo is the remainder of x / y, with x's sign.
func Modulo(x, y Expr) Expr { return Bin(Rem, x, y) }

// Least is the smaller of x and y.
func Least(x, y Expr) Expr { return Bin(Min, x, y) }

// Greatest is the larger of x and y.
func Greatest(x, y Expr) Expr { return Bin(Max, x, y) }

// Equal is x == y.
func Equal(x, y Expr) Expr { return Bin(Eq, x, y) }

// Unequal is x != y.
func Unequal(x, y Expr) Expr { return Bin(Ne, x, y) }

// Less is x < y.
func Less(x, y Expr) Expr { return Bin(Lt, x, y) }

// AtMost is x <= y.
func AtMost(x, y Expr) Expr { return Bin(Le, x, y) }

// Greater is x > y.
func Greater(x, y Expr) Expr { return Bin(Lt, y, x) }

// AtLeast is x >= y.
func AtLeast(x, y Expr) Expr { return Bin(Le, y, x) }

// Both is the conjunction of the operands, evaluated left to right as far as
// needed; true of none.
func Both(xs ...Expr) Expr { return chain(And, true, xs) }

// Either is the disjunction of the operands, evaluated left to right as far as
// needed; false of none.
func Either(xs ...Expr) Expr { return chain(Or, false, xs) }

func chain(op Op, unit bool, xs []Expr) Expr {
	var r Expr = Truth(unit)
	for _, x := range xs {
		r = Bin(op, r, x)
	}
	return r
}

// Negated is -x.
func Negated(x Expr) Expr {
	if l, ok := x.(*Lit); ok {
		return foldNeg(l)
	}
	if u, ok := x.(*Unary); ok && u.Op == Neg {
		return u.X
	}
	return &Unary{Op: Neg, X: x}
}

// Inverse is !x.
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

// At is A[i] with A's own element type.
func At(a *Array, i Expr) Expr { return &Load{A: a, Index: i} }

// Coord is A[i] of a pos or crd array of either width, as an Int64.
func Coord(a *Array, i Expr) Expr { return &Load{A: a, Index: i, Widen: true} }

// Convert is x as a value of type t; x itself where it is one.
func Convert(t Type, x Expr) Expr {
	if x.Type() == t {
		return x
	}
	if l, ok := x.(*Lit); ok {
		return convert(l, t)
	}
	return &Cast{Typ: t, X: x}
}

// Choose is x where cond holds, else y; only the chosen one is evaluated.
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

// Seq is a block of the statements; blocks among them are spliced in where they
// declare nothing, and nil ones are left out.
func Seq(list ...Stmt) *Block {
	b := &Block{}
	for _, s := range list {
		b.Append(s)
	}
	return b
}

// Append adds a statement at the block's end, as Seq does.
func (b *Block) Append(s Stmt) {
	switch s := s.(type) {
	case nil:
		return
	case *Block:
		if s == nil {
			return
		}
		if !declares(s) {
			b.List = append(b.List, s.List...)
			return
		}
	}
	b.List = append(b.List, s)
}

func declares(b *Block) bool {
	for _, s := range b.List {
		if _, ok := s.(*Declare); ok {
			return true
		}
	}
	return false
}
