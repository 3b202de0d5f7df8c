package algebra_test

import (
	"math"
	"testing"

	"distaff/codegen/algebra"
)

// TestValues checks values at special numbers. They are the values of NumPy 2.
func TestValues(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name       string
		x, y, want float64
	}{
		{"abs", -2, 0, 2}, {"abs", -inf, 0, inf}, {"sign", nan, 0, nan}, {"sign", -0.5, 0, -1},
		{"min", nan, 1, nan}, {"min", 1, nan, nan}, {"min", 2, 1, 1}, {"max", 1, nan, nan},
		{"max", -inf, -1, -1}, {"round", 0.5, 0, 0}, {"round", 1.5, 0, 2}, {"round", -2.5, 0, -2},
		{"trunc", -1.7, 0, -1}, {"floor", -1.2, 0, -2}, {"ceil", -1.2, 0, -1}, {"sqrt", -1, 0, nan},
		{"sqrt", 9, 0, 3}, {"log", 0, 0, -inf}, {"log", -1, 0, nan}, {"exp", -inf, 0, 0},
		{"exp", 1000, 0, inf}, {"pow", 0, 0, 1}, {"pow", 2, -1, 0.5}, {"pow", nan, 0, 1},
		{"pow", -8, 1.0 / 3, nan}, {"atan2", 0, -1, math.Pi}, {"atan2", 1, 0, math.Pi / 2},
		{"cbrt", -8, 0, -2}, {"log1p", -1, 0, -inf}, {"expm1", 0, 0, 0}, {"asin", 2, 0, nan},
		{"tanh", inf, 0, 1}, {"log2", 8, 0, 3}, {"log10", 1000, 0, 3},
	} {
		got := algebra.Find(c.name).Value(c.x, c.y)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s(%g, %g) = %g, want %g", c.name, c.x, c.y, got, c.want)
		}
	}
}

// TestRows checks the properties of every function against its value.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range algebra.Functions {
		if seen[f.Name] || algebra.Find(f.Name) != f {
			t.Errorf("%s is not the only function of its name", f.Name)
		}
		seen[f.Name] = true
		zero := f.Value(0, 0)
		if f.KeepsZero != (zero == 0) || f.KeepsZero && math.Signbit(zero) {
			t.Errorf("%s(0, 0) = %g, but KeepsZero is %t", f.Name, zero, f.KeepsZero)
		}
		for x := int64(-3); x <= 3 && f.Int != nil; x++ {
			for y := int64(-3); y <= 3; y++ {
				got, want := f.Int(x, y), f.Value(float64(x), float64(y))
				if float64(got) != want {
					t.Errorf("%s(%d, %d) = %d of integers, %g of floats", f.Name, x, y, got, want)
				}
			}
		}
		if f.Folds && f.Args != 2 || (f.C == "") == (f.Library == "") || f.Work == 0 {
			t.Errorf("%s has an incomplete row", f.Name)
		}
	}
	if algebra.Find("erf") != nil || len(algebra.Names()) != len(algebra.Functions) {
		t.Error("Find or Names is wrong")
	}
}
