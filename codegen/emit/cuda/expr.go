package cuda

import (
	"fmt"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// expr returns x in CUDA, in parentheses if it binds less than prec.
func (k *kernel) expr(x ir.Expr, prec int) string { return clike.Expr(k, x, prec) }

// Type returns the name of a type. It adds the type's helpers to the file.
func (k *kernel) Type(t tensor.Type) string {
	if t.IsComplex() {
		k.need("complex:" + t.String())
	}
	return ctype(t)
}

// Long returns the suffix of long long literals.
func (k *kernel) Long() string { return "LL" }

// Inf returns an infinity, given by its bits, because NVRTC has no macro for infinities.
func (k *kernel) Inf(t tensor.Type) string {
	if t == tensor.Float32 {
		return "__int_as_float(0x7f800000)"
	}
	return "__longlong_as_double(0x7ff0000000000000LL)"
}

// NaN returns a quiet NaN, given by its bits.
func (k *kernel) NaN(t tensor.Type) string {
	if t == tensor.Float32 {
		return "__int_as_float(0x7fc00000)"
	}
	return "__longlong_as_double(0x7ff8000000000000LL)"
}

// Helper adds a helper to the file and returns the helper's name.
func (k *kernel) Helper(name string, t tensor.Type) string {
	switch {
	case name == "make":
		return k.typed("complex", name, t)
	case name == "div" && t.IsComplex():
		name += "_" + clike.Suffix(t)
		k.need(name)
		return "dst_" + name
	}
	return k.typed(name, name, t)
}

// Special returns the text of an expression that CUDA needs in another form than C. The second
// result is false for other expressions. Sums, differences, products and negations of some integers
// (see isValue) are special because they must wrap around, but signed integers of CUDA do not.
// Casts from and to complex numbers are special because complex numbers are structs. Loads of
// elements that are read once have a function of their own (see streams).
func (k *kernel) Special(x ir.Expr, prec int) (string, bool) {
	switch x := x.(type) {
	case *ir.Binary:
		name := map[ir.Op]string{ir.Add: "add", ir.Sub: "sub", ir.Mul: "mul"}[x.Op]
		if name != "" && isValue(x, k.file.values) {
			return fmt.Sprintf("%s(%s, %s)", k.typed("wrap", name, x.Type()), k.expr(x.X, 0),
				k.expr(x.Y, 0)), true
		}
	case *ir.Unary:
		if x.Op == ir.Neg && isValue(x, k.file.values) {
			return fmt.Sprintf("%s(0, %s)", k.typed("wrap", "sub", x.Type()), k.expr(x.X, 0)), true
		}
	case *ir.Cast:
		return k.castComplex(x, prec)
	case *ir.Load:
		if k.streamed[x] {
			return fmt.Sprintf("%s(&%s[%s])", k.typed("stream", "stream", x.A.Elem), k.Array(x.A),
				k.expr(x.Index, 0)), true
		}
	}
	return "", false
}

func (k *kernel) castComplex(x *ir.Cast, prec int) (string, bool) {
	from, to := x.X.Type(), x.Typ
	switch {
	case from == to:
		return "", false
	case from.IsComplex() && to.IsComplex():
		k.need("cast")
		name := map[tensor.Type]string{tensor.Complex128: "dst_widen", tensor.Complex64: "dst_narrow"}[to]
		return name + "(" + k.expr(x.X, 0) + ")", true
	case to.IsComplex():
		part := clike.Component(to)
		return fmt.Sprintf("%s(%s, 0)", k.Helper("make", to), k.expr(&ir.Cast{Typ: part, X: x.X}, 0)),
			true
	case from.IsComplex() && to == tensor.Bool:
		zero := k.Helper("make", from) + "(0, 0)"
		return clike.Paren(k.expr(x.X, clike.PrecSum)+" != "+zero, clike.PrecEqual, prec), true
	case from.IsComplex():
		s := k.expr(x.X, clike.PrecPrimary) + ".re"
		if clike.Component(from) == to {
			return s, true
		}
		return clike.Paren("("+ctype(to)+")"+s, clike.PrecUnary, prec), true
	}
	return "", false
}
