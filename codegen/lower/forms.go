package lower

import (
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// exprSymbol is an expression that is used as a symbol of a form.
type exprSymbol struct{ ir.Expr }

func (c exprSymbol) String() string { return ir.PrintExpr(c.Expr) }

// form converts an expression to a form.
func form(x ir.Expr) provenance.Form {
	if c, ok := x.(*ir.Lit); ok {
		return provenance.Const(c.I)
	}
	return provenance.Of(exprSymbol{x})
}

var codeOps = [...]ir.Op{provenance.Add: ir.Add, provenance.Sub: ir.Sub, provenance.Mul: ir.Mul,
	provenance.Div: ir.Div,
	provenance.Rem: ir.Rem, provenance.Min: ir.Min, provenance.Max: ir.Max}

// code converts a form to an expression.
func code(f provenance.Form) ir.Expr {
	return provenance.Fold(f, provenance.Arith[ir.Expr]{
		Const:  func(n int64) ir.Expr { return ir.Int(n) },
		Symbol: func(s provenance.Symbol) ir.Expr { return s.(exprSymbol).Expr },
		Binary: func(op provenance.Op, x, y ir.Expr) ir.Expr { return ir.Bin(codeOps[op], x, y) },
	})
}

// nameForm declares a local variable with the value of a form, and returns the variable as a form.
func (l *lowerer) nameForm(name string, f provenance.Form) provenance.Form {
	return form(l.b.Named(name, code(f)))
}

// spanForm returns the range of a variable as forms.
func (l *lowerer) spanForm(e *env, v string) provenance.Range {
	s := l.rangeOf(e, v)
	return provenance.Range{Lo: form(s.Lo), Hi: form(s.Hi), Size: -1}
}

func (l *lowerer) spanForms(e *env, vars []string) []provenance.Range {
	out := make([]provenance.Range, len(vars))
	for k, v := range vars {
		out[k] = l.spanForm(e, v)
	}
	return out
}
