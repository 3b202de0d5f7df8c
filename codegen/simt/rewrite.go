package simt

import "distaff/codegen/ir"

// view says where a launch stores one of the leaf's arrays: the elements begin at index base of
// array a.
type view struct {
	a    *ir.Array
	base ir.Expr
}

// rewriter replaces variables and arrays.
type rewriter struct {
	vars  map[*ir.Var]*ir.Var
	views map[*ir.Array]view
}

func newRewriter() rewriter {
	return rewriter{vars: map[*ir.Var]*ir.Var{}, views: map[*ir.Array]view{}}
}

// variable returns the replacement of v, or v.
func (r *rewriter) variable(v *ir.Var) *ir.Var {
	if w := r.vars[v]; w != nil {
		return w
	}
	return v
}

// array returns the place of a.
func (r *rewriter) array(a *ir.Array) view {
	if v, ok := r.views[a]; ok {
		return v
	}
	return view{a, ir.Int(0)}
}

// place returns the array and the index where the launch stores element i of array a. They differ
// from a and i if array a was replaced with a part of another array.
func (r *rewriter) place(a *ir.Array, i ir.Expr) (*ir.Array, ir.Expr) {
	v := r.array(a)
	return v.a, ir.Plus(v.base, r.expr(i))
}

// expr returns x with all variables and arrays replaced.
func (r *rewriter) expr(x ir.Expr) ir.Expr {
	switch x := x.(type) {
	case *ir.Var:
		return r.variable(x)
	case *ir.Load:
		a, i := r.place(x.A, x.Index)
		return &ir.Load{A: a, Index: i, Widen: x.Widen}
	case *ir.Search:
		v := r.array(x.A)
		at := func(i ir.Expr) ir.Expr { return ir.Plus(v.base, r.expr(i)) }
		found := &ir.Search{A: v.a, Lo: at(x.Lo), Hi: at(x.Hi), Key: r.expr(x.Key), Upper: x.Upper}
		return ir.Minus(found, v.base)
	}
	return ir.Rebuild(x, r.expr)
}

func (r *rewriter) exprs(list []ir.Expr) []ir.Expr {
	var out []ir.Expr
	for _, x := range list {
		out = append(out, r.expr(x))
	}
	return out
}
