package ir

import (
	"distaff/io/tensor"
	"math"
)

// Bin returns the node x op y, folded if the folded expression has the same value in every bit.
func Bin(op Op, x, y Expr) Expr {
	lx, okx := x.(*Lit)
	ly, oky := y.(*Lit)
	if okx && oky {
		if l := foldLits(op, lx, ly); l != nil {
			return l
		}
		return &Binary{op, x, y}
	}
	var r Expr
	switch t := x.Type(); {
	case op.IsLogic():
		r = foldLogic(op, x, y, lx, ly)
	case t.IsInt():
		r = foldInt(op, x, y, lx, ly)
	case t.IsFloat():
		r = foldFloat(op, x, y, lx, ly)
	}
	if r != nil {
		return r
	}
	return &Binary{op, x, y}
}

func foldLogic(op Op, x, y Expr, lx, ly *Lit) Expr {
	absorbing := int64(0) // of And; of Or 1
	if op == Or {
		absorbing = 1
	}
	switch {
	case lx != nil && lx.I == absorbing:
		return x
	case lx != nil:
		return y
	case ly != nil && ly.I != absorbing:
		return x
	case ly != nil:
		return y // expressions are pure: x need not be evaluated
	case Same(x, y):
		return x
	}
	return nil
}

func isInt(l *Lit, i int64) bool { return l != nil && l.I == i }

func foldInt(op Op, x, y Expr, lx, ly *Lit) Expr {
	t := x.Type()
	switch op {
	case Add:
		return foldAdd(x, y, lx, ly)
	case Sub:
		return foldSub(x, y, ly)
	case Mul:
		switch {
		case isInt(lx, 0), isInt(ly, 1):
			return x
		case isInt(ly, 0), isInt(lx, 1):
			return y
		}
	case Div:
		if isInt(ly, 1) {
			return x
		}
	case Rem:
		if isInt(ly, 1) {
			return Zero(t)
		}
	case Min, Max:
		if Same(x, y) || hasOperand(op, x, y) {
			return x
		}
		if hasOperand(op, y, x) {
			return y
		}
	case Eq, Le:
		if Same(x, y) {
			return Truth(true)
		}
	case Ne, Lt:
		if Same(x, y) {
			return Truth(false)
		}
	}
	return nil
}

// hasOperand reports whether x is a Binary with the operator op and the operand y. op is the
// operator min or max.
func hasOperand(op Op, x, y Expr) bool {
	b, ok := x.(*Binary)
	return ok && b.Op == op && (Same(b.X, y) || Same(b.Y, y))
}

// foldAdd folds x + y. It moves constants to the right: (x + 2) + 3 becomes x + 5.
func foldAdd(x, y Expr, lx, ly *Lit) Expr {
	if lx != nil {
		return Bin(Add, y, x)
	}
	if isInt(ly, 0) {
		return x
	}
	if ly != nil && ly.I < 0 && !isLeast(ly) {
		return Bin(Sub, x, foldNeg(ly))
	}
	if b, ok := x.(*Binary); ok {
		if c, ok := b.Y.(*Lit); ok && ly != nil && (b.Op == Add || b.Op == Sub) {
			if b.Op == Add {
				return Bin(Add, b.X, foldLits(Add, c, ly))
			}
			return Bin(Add, b.X, foldLits(Sub, ly, c))
		}
		if b.Op == Sub && Same(b.Y, y) {
			return b.X
		}
	}
	if b, ok := y.(*Binary); ok && b.Op == Sub && Same(b.Y, x) {
		return b.X
	}
	return nil
}

func foldSub(x, y Expr, ly *Lit) Expr {
	if isInt(ly, 0) {
		return x
	}
	if Same(x, y) {
		return Zero(x.Type())
	}
	if ly != nil && ly.I < 0 && !isLeast(ly) {
		return Bin(Add, x, foldNeg(ly))
	}
	b, ok := x.(*Binary)
	if !ok {
		return nil
	}
	if c, ok := b.Y.(*Lit); ok && ly != nil && (b.Op == Add || b.Op == Sub) {
		if b.Op == Add {
			return Bin(Add, b.X, foldLits(Sub, c, ly))
		}
		return Bin(Sub, b.X, foldLits(Add, c, ly))
	}
	if b.Op == Add && Same(b.Y, y) {
		return b.X
	}
	if b.Op == Add && Same(b.X, y) {
		return b.Y
	}
	return nil
}

func foldFloat(op Op, x, y Expr, lx, ly *Lit) Expr {
	isOne := func(l *Lit) bool { return l != nil && real(l.C) == 1 }
	signedZero := func(l *Lit, negative bool) bool {
		return l != nil && real(l.C) == 0 && math.Signbit(real(l.C)) == negative
	}
	switch op {
	case Add:
		if signedZero(ly, true) {
			return x
		}
		if signedZero(lx, true) {
			return y
		}
	case Sub:
		if signedZero(ly, false) {
			return x
		}
	case Mul:
		if isOne(ly) {
			return x
		}
		if isOne(lx) {
			return y
		}
	case Div:
		if isOne(ly) {
			return x
		}
	case Min, Max:
		if Same(x, y) {
			return x
		}
	}
	return nil
}

// isLeast reports whether l is the smallest value of its integer type.
func isLeast(l *Lit) bool {
	lo, _ := l.Typ.IntRange()
	return l.I == lo
}

// rounded returns c rounded to the float or complex type t.
func rounded(t tensor.Type, c complex128) complex128 {
	switch t {
	case tensor.Float32:
		return complex(float64(float32(real(c))), 0)
	case tensor.Float64:
		return complex(real(c), 0)
	case tensor.Complex64:
		return complex128(complex64(c))
	}
	return c
}

// foldLits returns the value of x op y as a literal. It returns nil if the operation has no value
// that can be computed at compile time, for example an integer division by zero.
func foldLits(op Op, x, y *Lit) (folded *Lit) {
	switch t := x.Typ; {
	case t == tensor.Bool:
		folded = foldBools(op, x.I != 0, y.I != 0)
	case t.IsInt():
		folded = foldInts(op, t, x.I, y.I)
	case t.IsFloat():
		folded = foldFloats(op, t, real(x.C), real(y.C))
	default:
		folded = foldComplexes(op, t, x.C, y.C)
	}
	if folded != nil {
		folded.At = max(x.At, y.At)
	}
	return folded
}

func foldBools(op Op, x, y bool) *Lit {
	switch op {
	case And, Mul:
		return Truth(x && y)
	case Or, Add:
		return Truth(x || y)
	case Eq:
		return Truth(x == y)
	case Ne:
		return Truth(x != y)
	}
	return nil
}

func foldInts(op Op, t tensor.Type, x, y int64) *Lit {
	var r int64
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		r = x * y
	case Div, Rem:
		if y == 0 {
			return nil
		}
		switch {
		case op == Rem && t == tensor.Uint64:
			r = int64(uint64(x) % uint64(y))
		case op == Rem:
			r = x % y
		case t == tensor.Uint64:
			r = int64(uint64(x) / uint64(y))
		default:
			r = x / y
		}
	case BitAnd:
		r = x & y
	case Min, Max:
		if r = x; t.LessInt(x, y) == (op == Max) {
			r = y
		}
	default:
		if t == tensor.Uint64 { // the order of unsigned numbers
			x, y = x^math.MinInt64, y^math.MinInt64
		}
		return foldOrder(op, x, y)
	}
	return &Lit{Typ: t, I: t.Wrap(r)}
}

// foldOrder returns the value of the comparison x op y, or nil if op is not a comparison.
func foldOrder[T int64 | float64](op Op, x, y T) *Lit {
	if !op.IsCompare() {
		return nil
	}
	return Truth(Holds(op, x, y))
}

// Holds reports whether the comparison x op y is true. op must be a comparison.
func Holds[T int64 | float64](op Op, x, y T) bool {
	switch op {
	case Eq:
		return x == y
	case Ne:
		return x != y
	case Lt:
		return x < y
	}
	return x <= y
}

func foldFloats(op Op, t tensor.Type, x, y float64) *Lit {
	var r float64
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		r = x * y
	case Div:
		r = x / y
	case Min:
		r = x
		if y < x {
			r = y
		}
	case Max:
		r = x
		if x < y {
			r = y
		}
	default:
		return foldOrder(op, x, y)
	}
	// Rounding to float64 and then to float32 gives the same bits as rounding to float32 once.
	return &Lit{Typ: t, C: rounded(t, complex(r, 0))}
}

func foldComplexes(op Op, t tensor.Type, x, y complex128) *Lit {
	var r complex128
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		if t == tensor.Complex64 {
			return nil // its products round one by one
		}
		r = MulComplex(x, y)
	case Div:
		r = DivComplex(x, y)
	case Eq:
		return Truth(x == y)
	case Ne:
		return Truth(x != y)
	default:
		return nil
	}
	return &Lit{Typ: t, C: rounded(t, r)}
}

func foldNeg(l *Lit) *Lit {
	if l.Typ.IsInt() {
		return &Lit{Typ: l.Typ, I: l.Typ.Wrap(-l.I), At: l.At}
	}
	if l.Typ.IsFloat() {
		return &Lit{Typ: l.Typ, C: complex(-real(l.C), 0), At: l.At}
	}
	return &Lit{Typ: l.Typ, C: -l.C, At: l.At}
}

// convert returns the literal of type t that a Cast makes of l.
func convert(l *Lit, t tensor.Type) *Lit {
	if t == l.Typ {
		return l
	}
	to := &Lit{Typ: t, At: l.At}
	v := tensor.Value{Type: l.Typ, I: l.I, C: l.C}
	switch fromInt := l.Typ.HoldsInts(); {
	case t == tensor.Bool:
		to.I = Truth(l.I != 0 || l.C != 0).I
	case t.IsInt() && fromInt:
		to.I = t.Wrap(l.I)
	case t.IsInt():
		to.I = TruncateTo(t, real(l.C))
	case fromInt && l.Typ != tensor.Uint64 && (t == tensor.Float32 || t == tensor.Complex64):
		to.C = complex(float64(float32(l.I)), 0)
	case fromInt && (t == tensor.Float32 || t == tensor.Complex64):
		to.C = complex(float64(float32(uint64(l.I))), 0)
	default:
		to.C = rounded(t, v.Complex())
	}
	return to
}

// Same reports whether x and y are the same expression node by node. Two literals are the same if
// their bits are equal. Variables and arrays are compared by pointer.
func Same(x, y Expr) bool {
	switch a := x.(type) {
	case *Var:
		return x == y
	case *Lit:
		b, ok := y.(*Lit)
		return ok && a.Typ == b.Typ && a.I == b.I && sameBits(real(a.C), real(b.C)) &&
			sameBits(imag(a.C), imag(b.C))
	case *Binary:
		b, ok := y.(*Binary)
		return ok && a.Op == b.Op && Same(a.X, b.X) && Same(a.Y, b.Y)
	case *Unary:
		b, ok := y.(*Unary)
		return ok && a.Op == b.Op && Same(a.X, b.X)
	case *Load:
		b, ok := y.(*Load)
		return ok && a.A == b.A && a.Widen == b.Widen && Same(a.Index, b.Index)
	case *Cast:
		b, ok := y.(*Cast)
		return ok && a.Typ == b.Typ && Same(a.X, b.X)
	case *Select:
		b, ok := y.(*Select)
		return ok && Same(a.Cond, b.Cond) && Same(a.X, b.X) && Same(a.Y, b.Y)
	case *Apply:
		b, ok := y.(*Apply)
		return ok && a.Func == b.Func && Same(a.X, b.X) && (a.Y == nil || Same(a.Y, b.Y))
	case *Search:
		b, ok := y.(*Search)
		return ok && a.A == b.A && a.Upper == b.Upper && Same(a.Lo, b.Lo) && Same(a.Hi, b.Hi) &&
			Same(a.Key, b.Key)
	}
	return false
}

func sameBits(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
