package jobfile

import (
	"math"

	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tensor"
)

// Cond compares two scalar expressions.
type Cond struct {
	span
	Op         string // < <= > >= == !=
	X, Y       notation.Expr
	f          *File
	rawX, rawY notation.Expr // with the names of params
	opAt       notation.Span
}

// CondOf returns the condition of an item, or nil if it has none.
func CondOf(it Item) *Cond {
	switch it := it.(type) {
	case *Repeat:
		return it.Until
	case *If:
		return it.Cond
	case *Leave:
		return it.Cond
	}
	return nil
}

// MaxOperands is the maximum count of literals and scalars in a condition. It equals the maximum
// count of terms in a statement.
const MaxOperands = notation.MaxTerms

// operands counts the literals and scalars in condition c.
func (c *Cond) operands() int {
	n := 0
	for _, e := range []notation.Expr{c.X, c.Y} {
		notation.Walk(e, func(e notation.Expr) bool {
			switch e.(type) {
			case *notation.Number, *notation.Access:
				n++
			}
			return true
		})
	}
	return n
}

// cond parses a condition up to the end of r. word is the keyword before the condition.
func (p *parser) cond(r *reader, word string) *Cond {
	c := &Cond{f: p.f}
	if r.next() == 0 {
		r.got("a comparison of scalars, as in " + word + " rr < 1e-9")
	}
	x := r.until("<>=!")
	c.Op, c.opAt = r.comparison()
	y := r.until("<>=!")
	if r.err == nil && r.next() != 0 {
		op, at := r.comparison()
		r.fail(at, Syntax, "got a second comparison, %s, want only one", op)
	}
	c.span = span{Pos: x.Pos, End: y.End}
	x, r.err = p.expanded(x, r.err)
	y, r.err = p.expanded(y, r.err)
	c.rawX, c.rawY = r.expr(x), r.expr(y)
	for _, e := range []notation.Expr{c.rawX, c.rawY} {
		notation.Walk(e, func(e notation.Expr) bool {
			switch e := e.(type) {
			case *notation.Sum:
				r.fail(e.At, Syntax,
					"got sum(...) in a condition, want scalars: compute the sum in a "+
						"statement above")
			case *notation.Access:
				if len(e.Vars) > 0 {
					r.fail(e.At, Syntax, "got %s in a condition, want scalars only", e)
				}
			}
			return r.err == nil
		})
	}
	c.X, c.Y = c.rawX, c.rawY
	return c
}

// comparison parses an operator.
func (r *reader) comparison() (string, notation.Span) {
	from := r.at
	for _, op := range operators {
		if r.skip(op) {
			return op, notation.Span{Pos: r.at - len(op), End: r.at}
		}
	}
	switch {
	case r.err != nil:
	case r.next() == '=':
		r.got("< <= > >= == or != between two scalar expressions")
	default:
		r.fail(r.f.trimmed(notation.Span{Pos: from, End: r.end}), Syntax,
			"got a condition without a comparison, want < <= > >= == or != between two scalar expressions")
	}
	return "", notation.Span{Pos: r.at, End: r.at}
}

// Scalars returns the name of each scalar in c once.
func (c *Cond) Scalars() []string {
	var names []string
	seen := map[string]bool{}
	for _, a := range c.accesses() {
		if !seen[a.Name] {
			seen[a.Name] = true
			names = append(names, a.Name)
		}
	}
	return names
}

func (c *Cond) accesses() []*notation.Access {
	list := (&notation.Stmt{RHS: c.X}).Accesses()
	return append(list, (&notation.Stmt{RHS: c.Y}).Accesses()...)
}

// String returns c as in the file.
func (c *Cond) String() string {
	return notation.ExprString(c.rawX) + " " + c.Op + " " + notation.ExprString(c.rawY)
}

// Eval reports whether c is true. value returns the value of a scalar. Both sides are computed in
// the type that a statement over the same scalars and numbers would have, but with 64 bits in place
// of 32 bits. A comparison with NaN is false, except that != is true.
//
// Eval returns the errors of value. It also returns an error with a place in the file in three
// cases: complex numbers are compared by <, <=, > or >= (exit code 2), an integer is divided by
// zero (exit code 3), or an integer does not fit into 64 bits (exit code 3).
func (c *Cond) Eval(value func(scalar string) (tensor.Value, error)) (bool, error) {
	e := &condEval{f: c.f, values: map[string]tensor.Value{}}
	types := map[string]tensor.Type{}
	for _, name := range c.Scalars() {
		v, err := value(name)
		if err != nil {
			return false, err
		}
		e.values[name], types[name] = v, v.Type
	}
	if err := c.order(types); err != nil {
		return false, err
	}
	e.t = c.typ(types)
	x := e.eval(c.X)
	y := e.eval(c.Y)
	if e.err != nil {
		return false, e.err
	}
	less, equal := real(x.C) < real(y.C), x.C == y.C
	if e.t.HoldsInts() {
		less, equal = x.I < y.I, x.I == y.I
	}
	nan := math.IsNaN(real(x.C)) || math.IsNaN(real(y.C))
	switch c.Op {
	case "<":
		return less, nil
	case "<=":
		return less || equal, nil
	case ">":
		return !less && !equal && !nan, nil
	case ">=":
		return !less && !nan, nil
	case "==":
		return equal, nil
	}
	return !equal, nil
}

// typ returns the type that c is computed in. It is a type with 64-bit parts.
func (c *Cond) typ(types map[string]tensor.Type) tensor.Type {
	left := &notation.Access{Name: "(the condition)"} // not the name of a tensor
	t, _, err := notation.InferTypes(
		&notation.Stmt{LHS: left, RHS: &notation.Binary{Op: '-', X: c.X, Y: c.Y}}, types, tensor.None)
	switch {
	case err != nil || t.HoldsInts(): // a literal beyond 32 bits
		return tensor.Int64
	case t.IsComplex():
		return tensor.Complex128
	}
	return tensor.Float64
}

// order returns an error if c compares complex numbers by <, <=, > or >=, or has complex numbers
// and a function. types has the types that
// are known.
func (c *Cond) order(types map[string]tensor.Type) error {
	called := false
	for _, e := range []notation.Expr{c.X, c.Y} {
		notation.Walk(e, func(e notation.Expr) bool {
			_, is := e.(*notation.Call)
			called = called || is
			return true
		})
	}
	if (c.Op == "==" || c.Op == "!=") && !called {
		return nil
	}
	for _, a := range c.accesses() {
		if types[a.Name].IsComplex() && called {
			return c.f.Errorf(a.At, diag.LossyType, "got the complex scalar %s in a condition with "+
				"a function, want real scalars: functions have no complex values", a.Name)
		}
		if types[a.Name].IsComplex() {
			return c.f.Errorf(a.At, diag.LossyType,
				"got the complex scalar %s as an operand of %s, want real scalars: complex numbers have no order", a.Name,
				c.Op)
		}
	}
	return nil
}

type condEval struct {
	f      *File
	values map[string]tensor.Value
	t      tensor.Type
	err    error
}

func (v *condEval) fail(at notation.Span, code diag.Code, format string,
	args ...any) tensor.Value {
	if v.err == nil {
		d := v.f.Errorf(at, code, format, args...)
		d.Exit = diag.ExitData
		v.err = d
	}
	return tensor.Value{}
}

func (v *condEval) eval(e notation.Expr) tensor.Value {
	switch e := e.(type) {
	case *notation.Number:
		if v.t.HoldsInts() {
			return tensor.Value{I: e.Int}
		}
		return tensor.Value{C: complex(e.Float, 0)}
	case *notation.Access:
		s := v.values[e.Name]
		return reference.Convert(s, s.Type, v.t)
	case *notation.Call:
		var args [2]tensor.Value
		for k, x := range e.Args {
			args[k] = v.eval(x)
		}
		if v.t.HoldsInts() {
			return tensor.Value{I: e.Func.Int(v.t, args[0].I, args[1].I)}
		}
		return tensor.Value{C: complex(e.Func.Value(real(args[0].C), real(args[1].C)), 0)}
	case *notation.Neg:
		return v.binary(e, '-', tensor.Value{}, v.eval(e.X), true)
	case *notation.Binary:
		x, y := v.eval(e.X), v.eval(e.Y)
		return v.binary(e, e.Op, x, y, false)
	}
	panic("BUG: jobfile: a condition with what its parser refuses")
}

// binary returns x op y, or -y if negate is true. e is the expression with this value. If an
// integer result cannot be computed, binary records an error at the place of e.
func (v *condEval) binary(e notation.Expr, op byte, x, y tensor.Value,
	negate bool) tensor.Value {
	switch {
	case v.err != nil:
		return tensor.Value{}
	case v.t.HoldsInts():
		if op == '/' && y.I == 0 {
			return v.fail(spanOf(e), diag.DivideByZero, "got an integer division by zero")
		}
		n, ok := arith(op, x.I, y.I)
		if !ok {
			return v.fail(spanOf(e), BadNumber, "got an integer past 2^63")
		}
		return tensor.Value{I: n}
	case negate:
		return tensor.Value{C: -y.C}
	}
	return tensor.Value{C: complexArith(op, x.C, y.C, v.t)}
}

// spanOf returns the place in the file of an expression whose evaluation failed. For a negation it
// returns the place of the minus sign.
func spanOf(e notation.Expr) notation.Span {
	if e, ok := e.(*notation.Neg); ok {
		return e.At
	}
	return e.Span()
}

// complexArith returns x op y in type t, which is float64 or complex128.
func complexArith(op byte, x, y complex128, t tensor.Type) complex128 {
	switch {
	case op == '+':
		return x + y
	case op == '-':
		return x - y
	case op == '*' && t.IsComplex():
		return ir.MulComplex(x, y)
	case op == '/' && t.IsComplex():
		return ir.DivComplex(x, y)
	case op == '*':
		return complex(real(x)*real(y), 0)
	}
	return complex(real(x)/real(y), 0)
}

// operators lists the operators of conditions, longer ones first.
var operators = []string{"<=", ">=", "==", "!=", "<", ">"}
