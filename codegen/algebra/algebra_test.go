package algebra_test

import (
	"math"
	"slices"
	"testing"

	"distaff/codegen/algebra"
	"distaff/io/tensor"
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

// TestReductions checks every reduction against its definition: starting from Start, and in any
// order. NaN stays NaN.
func TestReductions(t *testing.T) {
	nan := math.NaN()
	for _, r := range algebra.Reductions {
		if algebra.FindReduction(r.Name) != r {
			t.Errorf("%s is not the only reduction of its name", r.Name)
		}
		combine := func(x, y float64) float64 { return x + y }
		if !r.IsSum() {
			combine = r.Combine.Value
		}
		start := r.Start(tensor.Float64)
		for _, x := range []float64{-2, 0, 1, 3, math.Inf(1), nan} {
			if r.Each != nil {
				x = r.Each.Value(x, 0)
			}
			if got := combine(real(start.C), x); got != x && !math.IsNaN(x) {
				t.Errorf("%s of %g alone = %g", r.Name, x, got)
			}
			if r.Each == nil && !math.IsNaN(combine(nan, x)) && !math.IsNaN(combine(x, nan)) {
				t.Errorf("%s of NaN and %g is a number", r.Name, x)
			}
		}
	}
	for name, want := range map[string][2]int64{"min": {math.MaxInt32, math.MaxInt64},
		"max": {math.MinInt32, math.MinInt64}, "prod": {1, 1}, "all": {1, 1}, "any": {0, 0}} {
		start := algebra.FindReduction(name).Start
		got := [2]int64{start(tensor.Int32).I, start(tensor.Int64).I}
		if got != want {
			t.Errorf("%s of no integers: got %v, want %v", name, got, want)
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
		if f.KeepsZero != (zero == 0 && !f.Fills) || f.KeepsZero && math.Signbit(zero) {
			t.Errorf("%s(0, 0) = %g, but KeepsZero is %t", f.Name, zero, f.KeepsZero)
		}
		for x := int64(-3); x <= 3 && f.Int != nil; x++ {
			for y := int64(-3); y <= 3; y++ {
				got, want := f.Int(tensor.Int64, x, y), f.Value(float64(x), float64(y))
				if float64(got) != want {
					t.Errorf("%s(%d, %d) = %d of integers, %g of floats", f.Name, x, y, got, want)
				}
			}
		}
		if f.Folds && f.Args != 2 || (f.C == "") == (f.Library == "") || f.Work == 0 {
			t.Errorf("%s has an incomplete row", f.Name)
		}
	}
	if algebra.Find("erf") != nil || slices.Contains(algebra.Names(), "nonzero") ||
		!slices.Contains(algebra.Names(), "pow") {
		t.Error("Find or Names is wrong")
	}
}
