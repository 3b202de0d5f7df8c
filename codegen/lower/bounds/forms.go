package bounds

import (
	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/scope"
	"distaff/codegen/provenance"
)

// exprSymbol is an IR expression that is an unknown in a formula of package provenance.
type exprSymbol struct{ ir.Expr }

func (c exprSymbol) String() string { return ir.PrintExpr(c.Expr) }

// Form returns an IR expression as a symbolic integer of package provenance.
func Form(x ir.Expr) provenance.Form {
	if c, ok := x.(*ir.Lit); ok {
		return provenance.Const(c.I)
	}
	return provenance.Of(exprSymbol{x})
}

var codeOps = [...]ir.Op{provenance.Add: ir.Add, provenance.Sub: ir.Sub, provenance.Mul: ir.Mul,
	provenance.Div: ir.Div,
	provenance.Rem: ir.Rem, provenance.Min: ir.Min, provenance.Max: ir.Max}

// Code returns a symbolic integer of package provenance as an IR expression.
func Code(f provenance.Form) ir.Expr {
	return provenance.Fold(f, provenance.Arith[ir.Expr]{
		Const:  func(n int64) ir.Expr { return ir.Int(n) },
		Symbol: func(s provenance.Symbol) ir.Expr { return s.(exprSymbol).Expr },
		Binary: func(op provenance.Op, x, y ir.Expr) ir.Expr { return ir.Bin(codeOps[op], x, y) },
	})
}

// NameForm returns a function that declares a local variable with the value of a form, and returns
// the variable as a form. The function returns a constant form without a variable.
func NameForm(b *emit.Builder) func(name string, f provenance.Form) provenance.Form {
	return func(name string, f provenance.Form) provenance.Form { return Form(b.Named(name, Code(f))) }
}

// spanForm returns the range of a variable as forms.
func spanForm(e *scope.Env, v string) provenance.Range {

	s := e.RangeOf(v)
	return provenance.Range{Lo: Form(s.Lo), Hi: Form(s.Hi), Size: -1}
}

func spanForms(e *scope.Env, vars []string) []provenance.Range {

	out := make([]provenance.Range, len(vars))
	for k, v := range vars {
		out[k] = spanForm(e, v)
	}
	return out
}
