package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
	"slices"
)

// expr checks an expression, operands first.
func (v *verifier) expr(x Expr) error {
	list, n := operands(x)
	for _, y := range list[:n] {
		if err := v.expr(y); err != nil {
			return err
		}
	}
	switch x := x.(type) {
	case nil:
		return errors.New("a nil expression")
	case *Var:
		return v.variable(x)
	case *Lit:
		return verifyLit(x)
	case *Binary:
		return verifyBinary(x)
	case *Unary:
		return verifyUnary(x)
	case *Load:
		if err := want(tensor.Int64, x.Index, "index"); err != nil {
			return err
		}
		if x.Widen {
			return v.integers(x.A, "cannot be widened to int64")
		}
		return v.known(x.A)
	case *Cast:
		return verifyCast(x)
	case *Select:
		if err := want(tensor.Bool, x.Cond, "condition"); err != nil {
			return err
		}
		return want(x.X.Type(), x.Y, "value")
	case *Apply:
		if !x.Type().IsFloat() {
			return fmt.Errorf("%s has an argument of type %s, want a float", x, x.Type())
		}
		for _, y := range list[:n] {
			if err := want(x.Type(), y, "argument"); err != nil {
				return err
			}
		}
		return nil
	case *Search:
		for _, y := range list {
			if err := want(tensor.Int64, y, "operand of search"); err != nil {
				return err
			}
		}
		return v.integers(x.A, "only integers are searched")
	}
	return fmt.Errorf("unknown expression %T", x)
}

// integers returns an error if the array a is not known or its elements are not integers. In the
// second case the error ends with the text reason.
func (v *verifier) integers(a *Array, reason string) error {
	if err := v.known(a); err != nil {
		return err
	}
	if !a.Elem.IsInt() {
		return fmt.Errorf("%s holds %s, and %s", a.Name, a.Elem, reason)
	}
	return nil
}

func (v *verifier) variable(x *Var) error {
	if x == nil {
		return errors.New("a nil variable")
	}
	if _, ok := v.visible[x]; !ok {
		return fmt.Errorf("%s is not declared here", x.Name)
	}
	for _, l := range v.loops {
		if l.guarded() && slices.Contains(l.reduce, x) {
			return fmt.Errorf("%s must not be read in the %s, which reduces it", x.Name, l)
		}
	}
	return nil
}

func verifyLit(l *Lit) error {
	switch t := l.Typ; {
	case t == tensor.Bool:
		if l.I != 0 && l.I != 1 || l.C != 0 {
			return fmt.Errorf("a bool literal of %d", l.I)
		}
	case t.IsInt():
		if l.C != 0 || t.Wrap(l.I) != l.I {
			return fmt.Errorf("%d is no %s literal", l.I, t)
		}
	case t.IsFloat() || t.IsComplex():
		r := rounded(t, l.C)
		exact := sameValue(real(r), real(l.C)) && sameValue(imag(r), imag(l.C))
		if l.I != 0 || !exact {
			return fmt.Errorf("%v is no %s literal", l.C, t)
		}
	default:
		return errors.New("a literal without a type")
	}
	return nil
}

func sameValue(x, y float64) bool { return x == y || x != x && y != y }

func verifyBinary(x *Binary) error {
	t := x.X.Type()
	if u := x.Y.Type(); u != t {
		return fmt.Errorf("the operands of %s have the types %s and %s, want equal types", x, t, u)
	}
	ok := false
	switch x.Op {
	case Add, Mul:
		ok = t.IsValue()
	case Sub, Div:
		ok = t.IsNumber()
	case Rem, BitAnd:
		ok = t.IsInt()
	case Min, Max, Lt, Le:
		ok = t.IsInt() || t.IsFloat()
	case And, Or:
		ok = t == tensor.Bool
	case Eq, Ne:
		ok = true
	}
	if !ok {
		return fmt.Errorf("in %[3]s: the type %[1]s has no operator %[2]s", t, x.Op, x)
	}
	return nil
}

func verifyUnary(x *Unary) error {
	t := x.X.Type()
	if x.Op == Neg && t.IsNumber() || x.Op == Not && t == tensor.Bool {
		return nil
	}
	return fmt.Errorf("%s has no unary operator %s: %s", t, x.Op, x)
}

func verifyCast(x *Cast) error {
	from := x.X.Type()
	if x.Typ == tensor.None || x.Typ.Size() == 0 || from.IsComplex() && x.Typ.IsInt() {
		return fmt.Errorf("cannot convert a value from %s to %s", from, x.Typ)
	}
	return nil
}
