package emit

import "distaff/codegen/ir"

// When emits the statements of f so that they run only if a condition is true.
func (b *Builder) When(cond ir.Expr, f func()) {
	switch {
	case ir.Never(cond):
	case ir.Always(cond):
		f()
	default:
		if x := b.Within(f); len(x.List) > 0 {
			b.Emit(&ir.If{Cond: cond, Then: x})
		}
	}
}

// While emits a loop that runs f's statements while a condition is true.
func (b *Builder) While(cond ir.Expr, f func()) {
	b.Emit(&ir.While{Cond: cond, Body: b.Within(f)})
}

// Choose emits a conditional statement. then and other emit its branches, which may be empty.
func (b *Builder) Choose(cond ir.Expr, then, other func()) {
	s := &ir.If{Cond: cond, Then: b.Within(then)}
	s.Else = b.Within(other)
	b.Emit(s)
}

// Loop emits a serial loop over the values from lo to hi of a new variable.
func (b *Builder) Loop(name string, lo, hi ir.Expr, body func(v *ir.Var)) {
	v := b.Var(name)
	b.Emit(&ir.For{V: v, Lo: lo, Hi: hi, Step: 1, Body: b.Within(func() { body(v) })})
}
