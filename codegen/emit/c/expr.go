package c

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// expr returns x in C. It adds parentheses if x binds less tightly than prec.
func (f *cfunc) expr(x ir.Expr, prec int) string { return clike.Expr(f, x, prec) }

// The following methods make cfunc a clike.Dialect.

func (f *cfunc) Type(t tensor.Type) string { return ctype(t) }
func (f *cfunc) Long() string              { return "L" }
func (f *cfunc) Inf(t tensor.Type) string  { return "__builtin_inf" + floatSuffix(t) + "()" }
func (f *cfunc) NaN(t tensor.Type) string  { return "__builtin_nan" + floatSuffix(t) + `("")` }

func floatSuffix(t tensor.Type) string {
	if t == tensor.Float32 {
		return "f"
	}
	return ""
}

// Helper adds a helper to the file and returns the name of the helper.
func (f *cfunc) Helper(name string, t tensor.Type) string {
	if name == "div" && t.IsComplex() {
		name += "_" + clike.Suffix(t)
		f.leaf.file.need(name)
		return "dst_" + name
	}
	return f.leaf.file.helper(name, t)
}

// Special prints expressions that have a special form in C: numbers that are read from the
// environment, floating-point sums with a product, selections between a floating-point variable and
// a literal, negations of computed numbers (isComputed), and the real part of a complex number. The
// second result is false for other expressions.
func (f *cfunc) Special(x ir.Expr, prec int) (string, bool) {
	switch x := x.(type) {
	case *ir.Lit:
		return f.numbers.name(x)
	case *ir.Binary:
		if x.Type().IsFloat() && (x.Op == ir.Add || x.Op == ir.Sub) {
			return f.fused(x.X, x.Y, x.Op == ir.Sub)
		}
	case *ir.Select:
		if _, v := x.X.(*ir.Var); v && clike.IsLit(x.Y) && x.Type().IsFloat() {
			// Compilers would branch for a choice between floating-point numbers.
			name := "select"
			if f.inScalarLoop {
				name = "select_one"
			}
			return fmt.Sprintf("%s(%s, %s, %s)", f.leaf.file.helper(name, x.Type()), f.expr(x.Cond, 0),
				f.expr(x.X, 0), f.expr(x.Y, 0)), true
		}
	case *ir.Unary:
		if x.Op == ir.Neg && isComputed(x.X, f.leaf.computed) {
			name := "neg"
			if x.Type().IsComplex() {
				name = "neg_complex"
			}
			return f.leaf.file.helper(name, x.Type()) + "(" + f.expr(x.X, 0) + ")", true
		}
	case *ir.Cast:
		from, to := x.X.Type(), x.Typ
		if !from.IsComplex() || !to.IsFloat() {
			break
		}
		s := "__real__ " + f.expr(x.X, clike.PrecUnary)
		if clike.Component(from) != to {
			s = "(" + ctype(to) + ")" + s
		}
		return clike.Paren(s, clike.PrecUnary, prec), true
	}
	return "", false
}

// isComputed reports whether x is a floating-point or complex number that an operation computed,
// and not a literal or a loaded value. If so, -x is printed as a call of a helper (prelude/neg.h).
// Without the helper, a C compiler might combine the minus sign with a sum in x, which can change
// the result. vars has the variables whose values are computed.
func isComputed(x ir.Expr, vars map[*ir.Var]bool) bool {
	switch x := x.(type) {
	case *ir.Load, *ir.Lit:
		return false
	case *ir.Var:
		return vars[x]
	}
	return x.Type().IsFloat() || x.Type().IsComplex()
}

// computedVars returns the variables of a body that are set to a computed number, or to which a
// computed number is added (see isComputed).
func computedVars(body *ir.Block) map[*ir.Var]bool {
	vars := map[*ir.Var]bool{}
	for more := true; more; {
		more = false
		set := func(v *ir.Var, x ir.Expr) {
			if x != nil && !vars[v] && isComputed(x, vars) {
				vars[v], more = true, true
			}
		}
		ir.Walk(body, func(s ir.Stmt) {
			switch s := s.(type) {
			case *ir.Declare:
				set(s.V, s.Init)
			case *ir.Assign:
				set(s.V, s.X)
			}
		})
	}
	return vars
}

// fused returns x + y, or x - y if minus is set, as one fused operation. Such an operation
// multiplies and adds, and rounds once. The second result is false if neither x nor y is a product.
// Outside of DST_FUSED functions, the C compiler itself fuses nothing (see Flags), so the bits of a
// sum do not depend on optimization.
func (f *cfunc) fused(x, y ir.Expr, minus bool) (string, bool) {
	a, b, negative, ok := factors(x)
	rest := signed(y, minus)
	if !ok {
		if a, b, negative, ok = factors(y); !ok {
			return "", false
		}
		negative, rest = negative != minus, x
	}
	return f.fma(a, b, negative, f.expr(rest, 0)), true
}

// fma prints a*b + c, or c - a*b if negative is set, as one operation that rounds once.
func (f *cfunc) fma(a, b ir.Expr, negative bool, c string) string {
	return fmt.Sprintf("%s(%s, %s, %s)", f.leaf.file.helper("fma", a.Type()),
		f.expr(signed(a, negative), 0), f.expr(b, 0), c)
}

// signed returns x, or -x if negative is set.
func signed(x ir.Expr, negative bool) ir.Expr {
	if negative {
		return &ir.Unary{Op: ir.Neg, X: x}
	}
	return x
}

// factors returns the factors of a product of floating-point numbers. negative says that the
// product is negated. ok is false if x is not a product, or if both factors are literals.
func factors(x ir.Expr) (a, b ir.Expr, negative, ok bool) {
	switch x := x.(type) {
	case *ir.Unary:
		if a, b, negative, ok = factors(x.X); ok && x.Op == ir.Neg {
			return a, b, !negative, true
		}
	case *ir.Binary:
		if x.Op == ir.Mul && x.Type().IsFloat() && !(clike.IsLit(x.X) && clike.IsLit(x.Y)) {
			return x.X, x.Y, false, true
		}
	}
	return nil, nil, false, false
}
