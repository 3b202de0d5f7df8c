package cuda

import (
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// valued returns the variables and arrays that hold values of tensors, or results computed from
// such values. It finds all of them that are 64-bit integers. Sums and products of these integers
// may wrap around. Sums and products of coordinates and positions do not.
func valued(f *ir.Func) map[any]bool {
	values := map[any]bool{}
	for _, p := range f.Params {
		if p.A != nil && p.Slot.Field == ir.Vals {
			values[p.A] = true
		}
	}
	for more := true; more; {
		more = false
		set := func(to any, is bool) {
			if is && !values[to] {
				values[to], more = true, true
			}
		}
		ir.WalkRows(f.Body, func(_ ir.Stmt, r *ir.Row) {
			is := false
			for x, role := range r.Exprs() {
				is = is || role == ir.Values && isValue(x, values)
			}
			for a, role := range r.Arrays() {
				is = is || role == ir.Loads && values[a]
			}
			for a, role := range r.Arrays() {
				set(a, is && (role == ir.Stores || role == ir.Updates))
			}
			for v, role := range r.Vars() {
				set(v, is && role != ir.Sums)
			}
		})
	}
	return values
}

// isValue reports whether x is an integer whose arithmetic may wrap around: an Int32, a tensor's
// value, a truncated float, or a result computed from such integers.
func isValue(x ir.Expr, values map[any]bool) bool {
	if x.Type() != tensor.Int64 {
		return x.Type() == tensor.Int32
	}
	switch x := x.(type) {
	case *ir.Var:
		return values[x]
	case *ir.Load:
		return !x.Widen && values[x.A]
	case *ir.Cast:
		t := x.X.Type()
		return t != tensor.Bool && (t.Size() < 4 || t.IsUnsigned() || !t.IsInt() || isValue(x.X, values))
	case *ir.Unary:
		return isValue(x.X, values)
	case *ir.Binary:
		return isValue(x.X, values) || isValue(x.Y, values)
	case *ir.Select:
		return isValue(x.X, values) || isValue(x.Y, values)
	}
	return false
}
