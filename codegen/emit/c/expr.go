package c

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/codegen/ir"
)

// Precedences of C's operators, as far as expressions are printed by them.
const (
	precOr      = 1
	precAnd     = 2
	precEqual   = 3
	precLess    = 4
	precSum     = 5
	precProduct = 6
	precUnary   = 7
	precPrimary = 8
)

func precedence(op ir.Op) int {
	switch op {
	case ir.Or:
		return precOr
	case ir.And:
		return precAnd
	case ir.Eq, ir.Ne:
		return precEqual
	case ir.Lt, ir.Le:
		return precLess
	case ir.Add, ir.Sub:
		return precSum
	}
	return precProduct
}

// paren puts s, of precedence own, into parentheses where prec binds tighter.
func paren(s string, own, prec int) string {
	if own < prec {
		return "(" + s + ")"
	}
	return s
}

// expr is x in C, in parentheses if it binds less than prec.
func (f *cfunc) expr(x ir.Expr, prec int) string {
	switch x := x.(type) {
	case *ir.Var:
		return f.variable(x)
	case *ir.Lit:
		return f.literal(x, prec)
	case *ir.Binary:
		return f.binary(x, prec)
	case *ir.Unary:
		return f.unary(x, prec)
	case *ir.Load:
		return f.array(x.A) + "[" + f.expr(x.Index, 0) + "]"
	case *ir.Cast:
		return f.cast(x, prec)
	case *ir.Select:
		if _, v := x.X.(*ir.Var); v && isLit(x.Y) && x.Type().IsFloat() {
			// Compilers branch where a floating-point number is chosen.
			name := "select"
			if f.single {
				name = "select_one"
			}
			return fmt.Sprintf("%s(%s, %s, %s)", f.helper(name, x.Type()), f.expr(x.Cond, 0), f.expr(x.X, 0), f.expr(x.Y, 0))
		}
		s := f.expr(x.Cond, precOr+1) + " ? " + f.expr(x.X, precOr) + " : " + f.expr(x.Y, precOr)
		return paren(s, 0, prec+1)
	case *ir.Search:
		name := "search"
		if x.Upper {
			name = "search_upper"
		}
		return fmt.Sprintf("%s(%s, %s, %s, %s)", f.helper(name, x.A.Elem), f.array(x.A),
			f.expr(x.Lo, 0), f.expr(x.Hi, 0), f.expr(x.Key, 0))
	}
	panic(fmt.Sprintf("BUG: emit/c: expression %T", x))
}

// narrow reports an Int64 whose C expression has type int: arithmetic with
// another such one must be widened first.
func narrow(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Lit:
		return x.Typ == ir.Int64 && x.I == int64(int32(x.I)) && x.I != math.MinInt32
	case *ir.Load:
		return x.Widen && x.A.Elem == ir.Int32
	case *ir.Select:
		return narrow(x.X) && narrow(x.Y)
	}
	return false
}

// wide is x in C with the type that it has in the IR.
func (f *cfunc) wide(x ir.Expr, prec int) string {
	if narrow(x) {
		return paren("(int64_t)"+f.expr(x, precUnary), precUnary, prec)
	}
	return f.expr(x, prec)
}

func (f *cfunc) binary(x *ir.Binary, prec int) string {
	t := x.X.Type()
	if folded := ir.Bin(x.Op, x.X, x.Y); isLit(x.X) && isLit(x.Y) && isLit(folded) {
		return f.expr(folded, prec)
	}
	call := func(name string) string {
		return fmt.Sprintf("%s(%s, %s)", f.helper(name, t), f.expr(x.X, 0), f.expr(x.Y, 0))
	}
	switch {
	case x.Op == ir.Min:
		return call("min")
	case x.Op == ir.Max:
		return call("max")
	case x.Op == ir.Mul && t.IsComplex():
		return call("mul_c")
	case x.Op == ir.Div && t.IsComplex():
		f.need("div_" + suffix(t))
		return fmt.Sprintf("dst_div_%s(%s, %s)", suffix(t), f.expr(x.X, 0), f.expr(x.Y, 0))
	case x.Op == ir.Div && t.IsInt() && !plainDivisor(x.Y):
		return call("div")
	case x.Op == ir.Rem && !plainDivisor(x.Y):
		return call("rem")
	}
	own := precedence(x.Op)
	left, right := own, own+1
	switch {
	case x.Op.IsLogic():
		left = operandOf(x.Op, x.X)
		right = precEqual
	case x.Op.IsCompare():
		left, right = precSum, precSum
	}
	lhs := f.expr(x.X, left)
	if t == ir.Int64 && !x.Op.IsCompare() && narrow(x.X) && narrow(x.Y) {
		lhs = f.wide(x.X, left)
	}
	return paren(lhs+" "+x.Op.String()+" "+f.expr(x.Y, right), own, prec)
}

// operandOf is the precedence that the left operand of a logical operator
// needs: a chain of one operator has no parentheses, a mixture has.
func operandOf(op ir.Op, x ir.Expr) int {
	if b, ok := x.(*ir.Binary); ok && b.Op == op {
		return precedence(op)
	}
	return precEqual
}

func isLit(x ir.Expr) bool {
	_, ok := x.(*ir.Lit)
	return ok
}

// plainDivisor reports a literal by which C's division is defined.
func plainDivisor(x ir.Expr) bool {
	l, ok := x.(*ir.Lit)
	return ok && l.I != 0 && l.I != -1
}

func (f *cfunc) unary(x *ir.Unary, prec int) string {
	operand := f.wide(x.X, precUnary)
	if strings.HasPrefix(operand, "-") || strings.HasPrefix(operand, "!") {
		operand = "(" + operand + ")"
	}
	return paren(x.Op.String()+operand, precUnary, prec)
}

func (f *cfunc) cast(x *ir.Cast, prec int) string {
	from, to := x.X.Type(), x.Typ
	switch {
	case from == to:
		return f.expr(x.X, prec)
	case to == ir.Bool:
		return paren(f.expr(x.X, precSum)+" != 0", precEqual, prec)
	case to.IsInt() && from.IsFloat():
		name := "trunc_" + suffix(to)
		f.need(name)
		return "dst_" + name + "(" + f.expr(x.X, 0) + ")"
	case from.IsComplex() && to.IsFloat():
		s := "__real__ " + f.expr(x.X, precUnary)
		if component(from) != to {
			s = "(" + ctype(to) + ")" + s
		}
		return paren(s, precUnary, prec)
	}
	return paren("("+ctype(to)+")"+f.expr(x.X, precUnary), precUnary, prec)
}

func (f *cfunc) literal(l *ir.Lit, prec int) string {
	switch l.Typ {
	case ir.Bool:
		return strconv.FormatInt(l.I, 10)
	case ir.Int32, ir.Int64:
		return integer(l.I, prec)
	case ir.Float32:
		return float(real(l.C), 32, prec)
	case ir.Float64:
		return float(real(l.C), 64, prec)
	}
	bits := 64
	if l.Typ == ir.Complex64 {
		bits = 32
	}
	return fmt.Sprintf("%s(%s, %s)", f.helper("make_c", l.Typ), float(real(l.C), bits, 0), float(imag(l.C), bits, 0))
}

// integer is the value of an int where it fits, else of a long; C has no
// literal for the least of either.
func integer(i int64, prec int) string {
	switch {
	case i == math.MinInt64:
		return "(-9223372036854775807L - 1)"
	case i == math.MinInt32:
		return "(-2147483647 - 1)"
	case i != int64(int32(i)):
		return paren(strconv.FormatInt(i, 10)+"L", signed(i < 0), prec)
	}
	return paren(strconv.FormatInt(i, 10), signed(i < 0), prec)
}

func signed(negative bool) int {
	if negative {
		return precUnary
	}
	return precPrimary
}

// float is the shortest decimal that reads back as x.
func float(x float64, bits, prec int) string {
	suffix := ""
	if bits == 32 {
		suffix = "f"
	}
	switch {
	case x != x:
		return "__builtin_nan" + suffix + `("")`
	case math.IsInf(x, 1):
		return "__builtin_inf" + suffix + "()"
	case math.IsInf(x, -1):
		return paren("-__builtin_inf"+suffix+"()", precUnary, prec)
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return paren(s+suffix, signed(math.Signbit(x)), prec)
}
