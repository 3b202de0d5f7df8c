package c

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// expr is x in C, in parentheses if it binds less than prec.
func (f *cfunc) expr(x ir.Expr, prec int) string { return clike.Expr(f, x, prec) }

// cfunc is a clike.Dialect.

func (f *cfunc) Type(t ir.Type) string { return ctype(t) }
func (f *cfunc) Long() string          { return "L" }
func (f *cfunc) Inf(t ir.Type) string  { return "__builtin_inf" + floatSuffix(t) + "()" }
func (f *cfunc) NaN(t ir.Type) string  { return "__builtin_nan" + floatSuffix(t) + `("")` }

func floatSuffix(t ir.Type) string {
	if t == ir.Float32 {
		return "f"
	}
	return ""
}

// Helper is the name of a helper, which it asks for.
func (f *cfunc) Helper(name string, t ir.Type) string {
	if name == "trunc" || name == "div" && t.IsComplex() {
		name += "_" + clike.Suffix(t)
		f.need(name)
		return "dst_" + name
	}
	return f.helper(name, t)
}

// Special prints a choice of floating-point numbers, and the real part of a complex number.
func (f *cfunc) Special(x ir.Expr, prec int) (string, bool) {
	switch x := x.(type) {
	case *ir.Select:
		if _, v := x.X.(*ir.Var); v && clike.IsLit(x.Y) && x.Type().IsFloat() {
			// Compilers branch where a floating-point number is chosen.
			name := "select"
			if f.single {
				name = "select_one"
			}
			return fmt.Sprintf("%s(%s, %s, %s)", f.helper(name, x.Type()), f.expr(x.Cond, 0), f.expr(x.X, 0), f.expr(x.Y, 0)), true
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
