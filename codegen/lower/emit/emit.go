// Package emit builds the code of a leaf. It provides fresh names, the block that statements are
// appended to, and scopes with memory of their own.
//
// The largest scope is the function. Loops on threads have a scope for each chunk. A scope's memory
// is allocated before its code and freed after it, and belongs to the thread that runs the scope.
//
//	emit.go     the builder: names, blocks, scopes
//	loops.go    loops and conditions
//	numbers.go  products and parts of numbers that do not overflow
package emit

import (
	"slices"
	"strconv"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// Builder builds the code of a function.
type Builder struct {
	names map[string]int
	blk   *ir.Block // the block that Emit appends to
	scope *scope
	start *ir.Block          // the code that runs first
	once  map[string]ir.Expr // the expressions that start computes, by key
}

// scope is a part of the function with its own memory.
type scope struct {
	before, after *ir.Block
	kept          map[string]any
}

// New returns a builder for an empty function.
func New() *Builder {
	return &Builder{names: map[string]int{}, start: &ir.Block{}, once: map[string]ir.Expr{}}
}

// Func returns the function's body: the code of AtStart, and then the statements that f emits in
// the function's scope.
func (b *Builder) Func(f func()) *ir.Block {
	body := b.InScope(f)
	body.List = slices.Concat(b.start.List, body.List)
	return body
}

// Fresh returns a name that has not been used in the function.
func (b *Builder) Fresh(name string) string {
	n := b.names[name]
	b.names[name] = n + 1
	if n == 0 {
		return name
	}
	return b.Fresh(name + "_" + strconv.Itoa(n))
}

// Var returns a new Int64 variable. It does not declare it.
func (b *Builder) Var(name string) *ir.Var { return ir.NewVar(b.Fresh(name), tensor.Int64) }

// Array returns a new array. It does not allocate it.
func (b *Builder) Array(name string, t tensor.Type) *ir.Array {
	return ir.NewArray(b.Fresh(name), t)
}

// Emit appends a statement to the current block.
func (b *Builder) Emit(s ir.Stmt) { b.blk.List = append(b.blk.List, s) }

// Append appends the statements of a block to the current block.
func (b *Builder) Append(x *ir.Block) { b.blk.List = append(b.blk.List, x.List...) }

// Alloc allocates a new array of n elements, which are 0 if zero is true.
func (b *Builder) Alloc(name string, t tensor.Type, n ir.Expr, zero bool) *ir.Array {
	a := b.Array(name, t)
	b.Emit(&ir.Alloc{A: a, Len: n, Zero: zero})
	return a
}

// Declare declares a new Int64 variable with initial value x.
func (b *Builder) Declare(name string, x ir.Expr) *ir.Var {
	v := b.Var(name)
	b.Emit(&ir.Declare{V: v, Init: x})
	return v
}

// Local declares a new variable with initial value x, and x's type.
func (b *Builder) Local(name string, x ir.Expr) *ir.Var {
	v := ir.NewVar(b.Fresh(name), x.Type())
	b.Emit(&ir.Declare{V: v, Init: x})
	return v
}

// Named returns x as an expression that costs nothing to repeat: x itself if it is a literal, or
// else a new local variable with the given name.
func (b *Builder) Named(name string, x ir.Expr) ir.Expr {
	if _, ok := x.(*ir.Lit); ok {
		return x
	}
	return b.Local(name, x)
}

// Set assigns x to v.
func (b *Builder) Set(v *ir.Var, x ir.Expr) { b.Emit(&ir.Assign{V: v, X: x}) }

// Incr adds x to v.
func (b *Builder) Incr(v *ir.Var, x ir.Expr) { b.Emit(&ir.Assign{V: v, Accumulate: true, X: x}) }

// Store stores x to a[i].
func (b *Builder) Store(a *ir.Array, i, x ir.Expr) { b.Emit(&ir.Store{A: a, Index: i, X: x}) }

// AddTo adds x to a[i].
func (b *Builder) AddTo(a *ir.Array, i, x ir.Expr) {
	b.Emit(&ir.Store{A: a, Index: i, Accumulate: true, X: x})
}

// Free frees an array.
func (b *Builder) Free(a *ir.Array) { b.Emit(&ir.Free{A: a}) }

// Within calls f, and returns a block with the statements that f emits.
func (b *Builder) Within(f func()) *ir.Block {
	outer := b.blk
	b.blk = &ir.Block{}
	f()
	x := b.blk
	b.blk = outer
	return x
}

// into calls f, and appends the statements that f emits to the block x.
func (b *Builder) into(x *ir.Block, f func()) {
	outer := b.blk
	b.blk = x
	f()
	b.blk = outer
}

// AtStart calls f, and appends the statements that f emits to the code at the function's start. The
// statements may use only the leaf's arguments and what the code at the start computes.
func (b *Builder) AtStart(f func()) { b.into(b.start, f) }

// OnceAtStart returns an expression that is computed once, at the start of the function. The first
// call with a key calls create, which emits the code and returns the expression. Later calls with
// the same key return the same expression.
func (b *Builder) OnceAtStart(key string, create func() ir.Expr) ir.Expr {
	if b.once[key] == nil {
		b.AtStart(func() { b.once[key] = create() })
	}
	return b.once[key]
}

// InScope opens a new scope, calls f and closes the scope. It returns a block with the statements
// that f emits, and with the code before and after the scope.
func (b *Builder) InScope(f func()) *ir.Block {
	outer := b.scope
	b.scope = &scope{before: &ir.Block{}, after: &ir.Block{}, kept: map[string]any{}}
	body := b.Within(f)
	all := &ir.Block{List: slices.Concat(b.scope.before.List, body.List, b.scope.after.List)}
	b.scope = outer
	return all
}

// BeforeScope calls f, and appends the statements that f emits to the code that runs before the
// current scope.
func (b *Builder) BeforeScope(f func()) { b.into(b.scope.before, f) }

// AllocInScope allocates n elements of an array for the whole current scope, and returns the array.
// The elements are 0 if zero is true.
func (b *Builder) AllocInScope(a *ir.Array, n ir.Expr, zero bool) *ir.Array {
	b.scope.before.Append(&ir.Alloc{A: a, Len: n, Zero: zero})
	b.scope.after.Append(&ir.Free{A: a})
	return a
}

// ScopeValue returns the value that the current scope stores under a key. If there is none, it
// stores the value that create returns.
func ScopeValue[T any](b *Builder, key string, create func() T) T {
	x, ok := b.scope.kept[key]
	if !ok {
		x = create()
		b.scope.kept[key] = x
	}
	return x.(T)
}

// Find returns the value that the current scope stores under a key, or nil.
func (b *Builder) Find(key string) any { return b.scope.kept[key] }
