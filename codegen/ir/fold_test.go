package ir

import (
	"distaff/io/tensor"
	"math"
	"testing"
)

func TestFold(t *testing.T) {
	x, y := NewVar("x", tensor.Int64), NewVar("y", tensor.Int64)
	f, g := NewVar("f", tensor.Float64), NewVar("g", tensor.Float32)
	z := NewVar("z", tensor.Complex128)
	a := NewArray("a", tensor.Int32)
	nan := Number(tensor.Float64, complex(math.NaN(), 0))
	negz := &Lit{Typ: tensor.Float64, C: complex(math.Copysign(0, -1), 0)}
	big := Int(math.MaxInt64)
	cases := []struct {
		got  Expr
		want string
	}{
		{Plus(x, Int(0)), "x"},
		{Plus(Int(0), x), "x"},
		{Plus(Int(2), x), "x + 2"},
		{Plus(Plus(x, Int(2)), Int(3)), "x + 5"},
		{Plus(Minus(x, Int(2)), Int(3)), "x + 1"},
		{Minus(Plus(x, Int(2)), Int(2)), "x"},
		{Minus(x, Int(-3)), "x + 3"},
		{Plus(x, Int(-3)), "x - 3"},
		{Minus(Plus(x, y), y), "x"},
		{Minus(Plus(x, y), x), "y"},
		{Plus(Minus(x, y), y), "x"},
		{Minus(x, x), "0"},
		{Times(x, Int(1)), "x"},
		{Times(Int(0), x), "0"},
		{Times(x, Int(0)), "0"},
		{Over(x, Int(1)), "x"},
		{Over(Int(7), Int(0)), "7 / 0"},
		{Modulo(Int(-7), Int(2)), "-1"},
		{Least(x, x), "x"},
		{Least(Least(x, y), y), "min(x, y)"},
		{Greatest(x, Int(0)), "max(x, 0)"},
		{Plus(big, Int(1)), "-9223372036854775808"},
		{Minus(x, Int(math.MinInt64)), "x - -9223372036854775808"},
		{Times(Number(tensor.Int32, 65536), Number(tensor.Int32, 65536)), "0i32"},
		{Plus(f, Number(tensor.Float64, 0)), "f + 0.0"},
		{Plus(f, negz), "f"},
		{Minus(f, Number(tensor.Float64, 0)), "f"},
		{Times(f, Number(tensor.Float64, 0)), "f * 0.0"},
		{Times(f, Number(tensor.Float64, 1)), "f"},
		{Minus(f, f), "f - f"},
		{Equal(f, f), "f == f"},
		{Equal(x, x), "true"},
		{Less(nan, nan), "false"},
		{Plus(Number(tensor.Float32, 0.1), Number(tensor.Float32, 0.2)), "0.3f"},
		{Plus(g, Number(tensor.Float32, 1)), "g + 1.0f"},
		{Times(z, One(tensor.Complex128)), "z * complex128(1.0, 0.0)"},
		{Over(One(tensor.Complex128), Number(tensor.Complex128, 2i)), "complex128(0.0, -0.5)"},
		{Both(), "true"},
		{Both(Less(x, y), Truth(true), Equal(x, Int(1))), "x < y && x == 1"},
		{Either(Less(x, y), Truth(true)), "true"},
		{Inverse(Less(x, y)), "y <= x"},
		{Inverse(Less(f, f)), "!(f < f)"},
		{Inverse(Inverse(Less(f, f))), "f < f"},
		{Choose(Less(x, y), x, x), "x"},
		{Choose(Truth(false), x, y), "y"},
		{Convert(tensor.Int64, x), "x"},
		{Convert(tensor.Float32, Number(tensor.Float64, 0.1)), "0.1f"},
		{Convert(tensor.Int32, Number(tensor.Float64, 1e30)), "2147483647i32"},
		{Convert(tensor.Float64, x), "float64(x)"},
		{Negated(Number(tensor.Float64, 0)), "-0.0"},
		{Negated(Negated(x)), "x"},
		{Minus(Coord(a, x), Coord(a, x)), "0"},
		{Minus(x, Minus(y, Int(1))), "x - (y - 1)"},
	}
	for _, c := range cases {
		if got := PrintExpr(c.got); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestDivComplex(t *testing.T) {
	inf := math.Inf(1)
	cases := []struct{ x, y, want complex128 }{
		{6 + 8i, 2, 3 + 4i},
		{6 + 8i, 2i, 4 - 3i},
		{5, 2 + 1i, 2 - 1i},
		{5i, 1 + 2i, 2 + 1i},
		{1e300 + 1e300i, 1e300 + 1e300i, 1},
		{1 - 2i, 0, complex(inf, -inf)},
	}
	for _, c := range cases {
		if got := DivComplex(c.x, c.y); got != c.want {
			t.Errorf("%v / %v: got %v, want %v", c.x, c.y, got, c.want)
		}
	}
}
