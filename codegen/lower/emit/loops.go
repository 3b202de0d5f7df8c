package emit

import "distaff/codegen/ir"

// When emits the statements of f so that they run only if a condition is true.
func (b *Builder) When(cond ir.Expr, f func()) {
	switch {
	case ir.IsFalse(cond):
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

// Choose emits an if statement with the condition cond. It calls emitThen and emitElse, which emit
// the two branches. A branch may be empty.
func (b *Builder) Choose(cond ir.Expr, emitThen, emitElse func()) {
	s := &ir.If{Cond: cond, Then: b.Within(emitThen)}
	s.Else = b.Within(emitElse)
	b.Emit(s)
}

// Loop emits a serial loop over the values in [lo, hi) of a new variable.
func (b *Builder) Loop(name string, lo, hi ir.Expr, body func(v *ir.Var)) {
	v := b.Var(name)
	b.Emit(&ir.For{V: v, Lo: lo, Hi: hi, Step: 1, Body: b.Within(func() { body(v) })})
}

// Chunks emits a loop on threads over the values in [lo, hi) of a new variable. Each iteration
// has a scope of its own. A thread takes the next value when it is done with one.
func (b *Builder) Chunks(name string, lo, hi ir.Expr, body func(c *ir.Var)) {
	c := b.Var(name)
	b.Emit(&ir.For{V: c, Lo: lo, Hi: hi, Step: 1, Kind: ir.Parallel, Dynamic: true, Chunk: 1,
		Body: b.InScope(func() { body(c) })})
}

// Parallel emits a loop on threads over the values in [0, n) of a new variable, which are divided
// evenly. Each iteration has a scope of its own.
func (b *Builder) Parallel(name string, n ir.Expr, body func(k *ir.Var)) {
	k := b.Var(name)
	b.Emit(&ir.For{V: k, Lo: ir.Int(0), Hi: n, Step: 1, Kind: ir.Parallel,
		Body: b.InScope(func() { body(k) })})
}

// Bisect emits a binary search in the range from x up to y. isSmaller(mid) returns the condition
// that mid is smaller than the wanted number. After the search, x and y both equal the first number
// in the range that is not smaller. If all numbers in the range are smaller, both equal the initial
// value of y.
func (b *Builder) Bisect(x, y *ir.Var, isSmaller func(mid ir.Expr) ir.Expr) {
	b.While(ir.Less(x, y), func() {
		mid := b.Declare("mid", ir.Over(ir.Plus(x, y), ir.Int(2)))
		b.Choose(isSmaller(mid), func() { b.Set(x, ir.Plus(mid, ir.Int(1))) }, func() { b.Set(y, mid) })
	})
}

// Reserve emits code that grows array a if its capacity is less than need. The variable have has
// the capacity, and the code updates it.
func (b *Builder) Reserve(a *ir.Array, have *ir.Var, need ir.Expr) {
	b.When(ir.Less(have, need), func() { b.Emit(&ir.Grow{A: a, Cap: have, Need: need}) })
}
