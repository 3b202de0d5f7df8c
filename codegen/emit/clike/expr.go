// Package clike prints expressions of the IR in C and in similar languages. It is the common part
// of emit/c and emit/cuda. A Dialect describes the differences.
//
// # Files
//
//	expr.go     expressions
//	function.go a function's text and names
//	stmt.go     helpers for printers of statements: comments, stable bounds, assigned variables
//	names.go    names that differ from one another and from the names of languages and headers
//	prelude.go  the helpers that a file needs
package clike

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// Dialect is the interface through which this package prints expressions in C or CUDA. A Dialect
// belongs to one function that is being printed, because it knows the names in the function.
type Dialect interface {
	// Type returns the language's type of a value.
	Type(t tensor.Type) string
	// Variable and Array return the function's names for variables and arrays of the IR.
	Variable(v *ir.Var) string
	Array(a *ir.Array) string
	// Helper adds a function of the prelude, for operands of a type, to the file and returns its
	// name. The possible names are fn_ and the name of a function of package algebra, min, max,
	// make, mul and div for complex numbers, div and rem for integers, search and search_upper, and
	// trunc, for which t is the integer's type.
	Helper(name string, t tensor.Type) string
	// Long returns the suffix of an Int64 literal that does not fit an int.
	Long() string
	// Inf and NaN return expressions of a Float32 or Float64, with precedence PrecPrimary.
	Inf(t tensor.Type) string
	NaN(t tensor.Type) string
	// Special prints x if the language prints it in a special way, in parentheses if x binds less
	// tightly than prec. Otherwise the second result is false.
	Special(x ir.Expr, prec int) (string, bool)
}

// Precedences of the operators of C that are printed.
const (
	PrecOr      = 1
	PrecAnd     = 2
	PrecEqual   = 3
	PrecLess    = 4
	PrecSum     = 5
	PrecProduct = 6
	PrecUnary   = 7
	PrecPrimary = 8
)

func precedence(op ir.Op) int {
	switch op {
	case ir.Or:
		return PrecOr
	case ir.And:
		return PrecAnd
	case ir.Eq, ir.Ne:
		return PrecEqual
	case ir.Lt, ir.Le:
		return PrecLess
	case ir.Add, ir.Sub:
		return PrecSum
	}
	return PrecProduct
}

// Paren returns the text s of an expression, in parentheses if they are needed. own is the
// precedence of the expression, and prec is the precedence that its place needs. Parentheses are
// needed if own is lower than prec.
func Paren(s string, own, prec int) string {
	if own < prec {
		return "(" + s + ")"
	}
	return s
}

// Suffix returns the abbreviation of type t in names of the prelude, such as f64.
func Suffix(t tensor.Type) string {
	return map[tensor.Type]string{
		tensor.Bool: "b", tensor.Int8: "i8", tensor.Int16: "i16", tensor.Int32: "i32",
		tensor.Int64: "i64", tensor.Uint8: "u8", tensor.Uint16: "u16", tensor.Uint32: "u32",
		tensor.Uint64: "u64", tensor.Float32: "f32", tensor.Float64: "f64",
		tensor.Complex64: "c64", tensor.Complex128: "c128",
	}[t]
}

// Ints lists the integer types.
var Ints = []tensor.Type{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8,
	tensor.Uint16, tensor.Uint32, tensor.Uint64}

// Truncation returns the text of the helper trunc of an integer type. typ returns the language's
// name of a type, and long is the suffix of its literals of 64 bits.
func Truncation(head, long string, t tensor.Type, typ string) string {
	lo, hi := t.IntRange()
	least, most, end := "0", strconv.FormatUint(uint64(hi), 10), t.ExactMax()
	if t.Size() < 8 {
		end++
	}
	if lo < 0 {
		least = fmt.Sprintf("-%d%s - 1", hi, long)
	}
	if most += long; t.IsUnsigned() {
		most += "U"
	}
	return fmt.Sprintf(`/* x towards zero, saturating; 0 for NaN. */
%[1]s%[2]s dst_trunc_%[3]s(double x) {
    if (!(x < %.1[4]f))
        return x != x ? 0 : %[5]s;
    return x <= %.1[6]f ? %[7]s : (%[2]s)x;
}
`, head, typ, Suffix(t), end, most, float64(lo), least)
}

// Component returns the type of a complex number's components.
func Component(t tensor.Type) tensor.Type {
	if t == tensor.Complex64 {
		return tensor.Float32
	}
	return tensor.Float64
}

// Expr returns the text of x in the language d, in parentheses if x binds less tightly than prec.
func Expr(d Dialect, x ir.Expr, prec int) string {
	if s, ok := d.Special(x, prec); ok {
		return s
	}
	switch x := x.(type) {
	case *ir.Var:
		return d.Variable(x)
	case *ir.Lit:
		return literal(d, x, prec)
	case *ir.Binary:
		return binary(d, x, prec)
	case *ir.Unary:
		return unary(d, x, prec)
	case *ir.Load:
		return d.Array(x.A) + "[" + Expr(d, x.Index, 0) + "]"
	case *ir.Cast:
		return cast(d, x, prec)
	case *ir.Select:
		s := Expr(d, x.Cond, PrecOr+1) + " ? " + Expr(d, x.X, PrecOr) + " : " + Expr(d, x.Y, PrecOr)
		return Paren(s, 0, prec+1)
	case *ir.Apply:
		args := Expr(d, x.X, 0)
		if x.Y != nil {
			args += ", " + Expr(d, x.Y, 0)
		}
		return d.Helper("fn_"+x.Func.Name, x.Type()) + "(" + args + ")"
	case *ir.Search:
		name := "search"
		if x.Upper {
			name = "search_upper"
		}
		return fmt.Sprintf("%s(%s, %s, %s, %s)", d.Helper(name, x.A.Elem), d.Array(x.A),
			Expr(d, x.Lo, 0), Expr(d, x.Hi, 0), Expr(d, x.Key, 0))
	}
	panic(fmt.Sprintf("BUG: emit: expression %T", x))
}

// narrow reports whether x is an integer of 64 bits or a Uint32 whose printed expression has type
// int. Arithmetic of two such expressions must first widen one expression.
func narrow(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Lit:
		return (x.Typ.Size() == 8 || x.Typ == tensor.Uint32) && x.Typ.IsInt() &&
			x.I == int64(int32(x.I))
	case *ir.Load:
		return x.Widen && x.A.Elem == tensor.Int32
	case *ir.Select:
		return narrow(x.X) && narrow(x.Y)
	}
	return false
}

// Wide returns the text of x, widened if necessary so that its type is the type that x has in the
// IR.
func Wide(d Dialect, x ir.Expr, prec int) string {
	if narrow(x) {
		return Paren("("+d.Type(x.Type())+")"+Expr(d, x, PrecUnary), PrecUnary, prec)
	}
	return Expr(d, x, prec)
}

// wraps returns the text s of an arithmetic operation of type t as an expression of this type. C
// computes with integers of fewer than 32 bits as ints. own is the precedence of s.
func wraps(d Dialect, t tensor.Type, s string, own, prec int) string {
	if !t.IsInt() || t.Size() >= 4 {
		return Paren(s, own, prec)
	}
	return Paren("("+d.Type(t)+")("+s+")", PrecUnary, prec)
}

func binary(d Dialect, x *ir.Binary, prec int) string {
	t := x.X.Type()
	if folded := ir.Bin(x.Op, x.X, x.Y); IsLit(x.X) && IsLit(x.Y) && IsLit(folded) {
		return Expr(d, folded, prec)
	}
	call := func(name string) string {
		return fmt.Sprintf("%s(%s, %s)", d.Helper(name, t), Expr(d, x.X, 0), Expr(d, x.Y, 0))
	}
	switch {
	case x.Op == ir.Min:
		return call("min")
	case x.Op == ir.Max:
		return call("max")
	case x.Op == ir.Mul && t.IsComplex():
		return call("mul")
	case x.Op == ir.Div && t.IsComplex():
		return call("div")
	case x.Op == ir.Div && t.IsInt() && !t.IsUnsigned() && !plainDivisor(x.Y):
		return call("div")
	case x.Op == ir.Rem && !t.IsUnsigned() && !plainDivisor(x.Y):
		return call("rem")
	}
	own, op := precedence(x.Op), x.Op.String()
	left, right := own, own+1
	logic := t == tensor.Bool && (x.Op == ir.Add || x.Op == ir.Mul)
	if logic {
		op = map[ir.Op]string{ir.Add: "|", ir.Mul: "&"}[x.Op]
	}
	if logic || x.Op == ir.BitAnd { // C's precedence differs, and compilers warn without parentheses
		own, left, right = 0, PrecUnary, PrecUnary
		prec = max(prec, 1)
	}
	switch {
	case x.Op.IsLogic():
		left = operandOf(x.Op, x.X)
		right = PrecEqual
	case x.Op.IsCompare():
		left, right = PrecSum, PrecSum
	}
	lhs := Expr(d, x.X, left)
	switch {
	case !x.Op.IsCompare() && narrow(x.X) && narrow(x.Y):
		lhs = Wide(d, x.X, left)
	case t == tensor.Uint16 && x.Op == ir.Mul: // the product may exceed an int
		lhs = "(" + d.Type(tensor.Uint32) + ")" + Expr(d, x.X, PrecUnary)
	}
	s := lhs + " " + op + " " + Expr(d, x.Y, right)
	if x.Op.IsCompare() || x.Op.IsLogic() {
		return Paren(s, own, prec)
	}
	return wraps(d, t, s, own, prec)
}

// operandOf returns the precedence that x needs as the left operand of the logical operator op. A
// chain of one operator needs no parentheses, but a mixture of operators does.
func operandOf(op ir.Op, x ir.Expr) int {
	if b, ok := x.(*ir.Binary); ok && b.Op == op {
		return precedence(op)
	}
	return PrecEqual
}

// IsLit reports whether x is a literal.
func IsLit(x ir.Expr) bool {
	_, ok := x.(*ir.Lit)
	return ok
}

// plainDivisor reports whether x is a literal that C may divide by without a helper.
func plainDivisor(x ir.Expr) bool {
	l, ok := x.(*ir.Lit)
	return ok && l.I != 0 && l.I != -1
}

func unary(d Dialect, x *ir.Unary, prec int) string {
	operand := Wide(d, x.X, PrecUnary)
	if strings.HasPrefix(operand, "-") || strings.HasPrefix(operand, "!") {
		operand = "(" + operand + ")"
	}
	return wraps(d, x.Type(), x.Op.String()+operand, PrecUnary, prec)
}

func cast(d Dialect, x *ir.Cast, prec int) string {
	from, to := x.X.Type(), x.Typ
	switch {
	case from == to:
		return Expr(d, x.X, prec)
	case to == tensor.Bool:
		return Paren(Expr(d, x.X, PrecSum)+" != 0", PrecEqual, prec)
	case to.IsInt() && from.IsFloat():
		return d.Helper("trunc", to) + "(" + Expr(d, x.X, 0) + ")"
	}
	return Paren("("+d.Type(to)+")"+Expr(d, x.X, PrecUnary), PrecUnary, prec)
}

func literal(d Dialect, l *ir.Lit, prec int) string {
	switch l.Typ {
	case tensor.Bool:
		return strconv.FormatInt(l.I, 10)
	case tensor.Uint64, tensor.Uint32:
		if l.I == int64(int32(l.I)) {
			break
		}
		s := strconv.FormatUint(uint64(l.I), 10) + "U"
		if l.I != int64(uint32(l.I)) {
			s += d.Long()
		}
		return s
	case tensor.Float32, tensor.Float64:
		return float(d, real(l.C), l.Typ, prec)
	}
	if l.Typ.IsInt() {
		return Integer(d, l.I, prec)
	}
	part := Component(l.Typ)
	return fmt.Sprintf("%s(%s, %s)", d.Helper("make", l.Typ), float(d, real(l.C), part, 0),
		float(d, imag(l.C), part, 0))
}

// Integer returns the literal of an int if the value fits, or else of an Int64. C has no literals
// for the smallest int and Int64, so Integer returns expressions for both.
func Integer(d Dialect, i int64, prec int) string {
	switch {
	case i == math.MinInt64:
		return "(-9223372036854775807" + d.Long() + " - 1)"
	case i == math.MinInt32:
		return "(-2147483647 - 1)"
	case i != int64(int32(i)):
		return Paren(strconv.FormatInt(i, 10)+d.Long(), signed(i < 0), prec)
	}
	return Paren(strconv.FormatInt(i, 10), signed(i < 0), prec)
}

func signed(negative bool) int {
	if negative {
		return PrecUnary
	}
	return PrecPrimary
}

// float returns the shortest decimal that is read back as x.
func float(d Dialect, x float64, t tensor.Type, prec int) string {
	switch {
	case x != x:
		return d.NaN(t)
	case math.IsInf(x, 1):
		return d.Inf(t)
	case math.IsInf(x, -1):
		return Paren("-"+d.Inf(t), PrecUnary, prec)
	}
	bits, suffix := 64, ""
	if t == tensor.Float32 {
		bits, suffix = 32, "f"
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return Paren(s+suffix, signed(math.Signbit(x)), prec)
}
