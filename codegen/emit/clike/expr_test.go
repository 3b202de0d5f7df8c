package clike

import (
	"math"
	"testing"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// plain is a dialect without special rules.
type plain struct{}

func (plain) Type(t tensor.Type) string                { return t.String() }
func (plain) Variable(v *ir.Var) string                { return v.Name }
func (plain) Array(a *ir.Array) string                 { return a.Name }
func (plain) Helper(name string, t tensor.Type) string { return name + "_" + t.String() }
func (plain) Long() string                             { return "LL" }
func (plain) Inf(tensor.Type) string                   { return "INF" }
func (plain) NaN(tensor.Type) string                   { return "NAN" }
func (plain) Special(ir.Expr, int) (string, bool)      { return "", false }

// TestExpr checks that C expressions keep the structure and the types that they have in the IR.
func TestExpr(t *testing.T) {
	i, j, n := &ir.Var{Name: "i", Typ: tensor.Int64}, &ir.Var{Name: "j", Typ: tensor.Int64},
		&ir.Var{Name: "n", Typ: tensor.Int32}
	x, z := &ir.Var{Name: "x", Typ: tensor.Float64}, &ir.Var{Name: "z", Typ: tensor.Complex128}
	crd := &ir.Array{Name: "crd", Elem: tensor.Int32}
	at := &ir.Load{A: crd, Index: i, Widen: true}
	b := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y} }
	num := func(k int64) ir.Expr { return &ir.Lit{Typ: tensor.Int64, I: k} }
	float := func(v float64, typ tensor.Type) ir.Expr { return &ir.Lit{Typ: typ, C: complex(v, 0)} }
	less := b(ir.Lt, i, j)
	for _, c := range []struct {
		x    ir.Expr
		want string
	}{
		{b(ir.Mul, b(ir.Add, i, j), i), "(i + j) * i"},
		{b(ir.Sub, i, b(ir.Sub, j, i)), "i - (j - i)"},
		{b(ir.Sub, b(ir.Sub, i, j), i), "i - j - i"},
		{b(ir.Or, b(ir.And, less, less), less), "(i < j && i < j) || i < j"},
		{b(ir.And, b(ir.And, less, less), less), "i < j && i < j && i < j"},
		{b(ir.Div, i, j), "div_int64(i, j)"}, {b(ir.Div, i, num(2)), "i / 2"},
		{b(ir.Rem, i, num(-1)), "rem_int64(i, -1)"},
		{b(ir.Div, x, x), "x / x"}, {b(ir.Mul, z, z), "mul_complex128(z, z)"},
		{b(ir.Max, i, j), "max_int64(i, j)"},
		{b(ir.Add, at, at), "(int64)crd[i] + crd[i]"}, // the sum of two int values could overflow
		{b(ir.Add, at, num(math.MinInt32)), "(int64)crd[i] + (-2147483647 - 1)"},
		{b(ir.Add, at, i), "crd[i] + i"}, {b(ir.Lt, at, at), "crd[i] < crd[i]"},
		{&ir.Unary{Op: ir.Neg, X: &ir.Unary{Op: ir.Neg, X: x}}, "-(-x)"},
		{&ir.Unary{Op: ir.Neg, X: num(-3)}, "-(int64)-3"},
		{b(ir.Add, &ir.Select{Cond: less, X: i, Y: j}, i), "(i < j ? i : j) + i"},
		{&ir.Cast{Typ: tensor.Int32, X: x}, "trunc_int32(x)"},
		{&ir.Cast{Typ: tensor.Float64, X: n}, "(float64)n"}, {&ir.Cast{Typ: tensor.Bool, X: i}, "i != 0"},
		{&ir.Search{A: crd, Lo: i, Hi: j, Key: num(5), Upper: true}, "search_upper_int32(crd, i, j, 5)"},
		{num(math.MinInt32), "(-2147483647 - 1)"}, {num(math.MinInt64), "(-9223372036854775807LL - 1)"},
		{num(1 << 31), "2147483648LL"},
		{float(0.1, tensor.Float64), "0.1"}, {float(2, tensor.Float32), "2.0f"},
		{float(1e300, tensor.Float64), "1e+300"}, {float(math.Copysign(0, -1), tensor.Float64), "-0.0"},
		{float(math.Inf(-1), tensor.Float64), "-INF"}, {float(math.NaN(), tensor.Float32), "NAN"},
		{&ir.Lit{Typ: tensor.Complex128, C: complex(1, -2)}, "make_complex128(1.0, -2.0)"},
	} {
		if got := Expr(plain{}, c.x, 0); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := Expr(plain{}, num(-3), PrecPrimary); got != "(-3)" {
		t.Errorf("a negative number as an operand: got %s", got)
	}
}

// TestStable checks that a bound is stable if nothing in the body changes what it reads.
func TestStable(t *testing.T) {
	i, n := &ir.Var{Name: "i", Typ: tensor.Int64}, &ir.Var{Name: "n", Typ: tensor.Int64}
	pos, own := &ir.Array{Name: "pos", Elem: tensor.Int64, Const: true},
		&ir.Array{Name: "own", Elem: tensor.Int64}
	body := &ir.Block{List: []ir.Stmt{
		&ir.For{V: i, Lo: n, Hi: n, Step: 1, Body: &ir.Block{List: []ir.Stmt{&ir.Assign{V: n, X: i}}}}}}
	for _, c := range []struct {
		x    ir.Expr
		want bool
	}{{i, true}, {n, false}, {&ir.Binary{Op: ir.Add, X: i, Y: i}, true},
		{&ir.Binary{Op: ir.Div, X: i, Y: i}, false},
		{&ir.Load{A: pos, Index: i}, true}, {&ir.Load{A: own, Index: i}, false},
		{&ir.Load{A: pos, Index: n}, false}} {
		if got := Stable(c.x, body); got != c.want {
			t.Errorf("%s: got %v, want %v", Expr(plain{}, c.x, 0), got, c.want)
		}
	}
	lit := func(k int64) ir.Expr { return &ir.Lit{Typ: tensor.Int64, I: k} }
	for _, c := range []struct {
		lo, hi ir.Expr
		step   int64
		n      int64
		ok     bool
	}{{lit(0), lit(7), 2, 4, true}, {lit(3), lit(3), 1, 0, true}, {lit(5), lit(3), 1, 0, true},
		{lit(0), n, 1, 0, false}} {
		if got, ok := Trips(&ir.For{Lo: c.lo, Hi: c.hi, Step: c.step}); got != c.n || ok != c.ok {
			t.Errorf("got %d, %v, want %d, %v", got, ok, c.n, c.ok)
		}
	}
}
