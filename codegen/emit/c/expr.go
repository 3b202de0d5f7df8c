package c

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// expr is x in C, in parentheses if it binds less than prec.
func (f *cfunc) expr(x ir.Expr, prec int) string { return clike.Expr(f, x, prec) }

// cfunc is a clike.Dialect.

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

// Helper is the name of a helper, which it asks for.
func (f *cfunc) Helper(name string, t tensor.Type) string {
	if name == "trunc" || name == "div" && t.IsComplex() {
		name += "_" + clike.Suffix(t)
		f.leaf.file.need(name)
		return "dst_" + name
	}
	return f.leaf.file.helper(name, t)
}

// Special prints a choice of floating-point numbers, a sum with a product in it, and the real part
// of a complex number.
func (f *cfunc) Special(x ir.Expr, prec int) (string, bool) {
	switch x := x.(type) {
	case *ir.Lit:
		return f.value(x)
	case *ir.Binary:
		if x.Type().IsFloat() && (x.Op == ir.Add || x.Op == ir.Sub) {
			return f.fused(x.X, x.Y, x.Op == ir.Sub)
		}
	case *ir.Select:
		if _, v := x.X.(*ir.Var); v && clike.IsLit(x.Y) && x.Type().IsFloat() {
			// Compilers branch where a floating-point number is chosen.
			name := "select"
			if f.single {
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

// isComputed reports whether x is a floating-point or complex number that is computed, and not just
// loaded: compilers may see a sum in it that they fuse with a negation (see prelude/neg.h). vars
// are the variables for which it holds.
func isComputed(x ir.Expr, vars map[*ir.Var]bool) bool {
	switch x := x.(type) {
	case *ir.Load, *ir.Lit:
		return false
	case *ir.Var:
		return vars[x]
	}
	return x.Type().IsFloat() || x.Type().IsComplex()
}

// computedVars returns the variables of a body for which isComputed holds.
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

// fused prints x + y, or x - y if minus is set, where one of the two is a product: as one
// operation, which rounds once. It returns false where neither is a product. The C compiler itself
// fuses nothing (Flags), so that the bits of a sum do not depend on how much it optimizes.
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

// fma prints a*b + c, or c - a*b if negative is set, rounded once.
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

// factors returns the factors of a product of floating-point numbers, and whether its sign is
// changed. ok is false for what is not a product. One of two literals is the literal that it makes.
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
