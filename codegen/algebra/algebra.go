// Package algebra has the functions of numbers that expressions may call, and the reductions. Each
// of them is a row of a table. The row of a function has the function's value, its text in C and
// CUDA, and the properties that the compiler asks for. The row of a reduction is in reduction.go.
package algebra

import (
	"math"
	"slices"

	"distaff/io/tensor"
)

// Function is a function of one or two real numbers. Its values are NumPy's.
type Function struct {
	Name string
	// Args is the number of arguments. A call of a function with Folds set may have more: f(a, b, c)
	// is f(f(a, b), c).
	Args  int
	Folds bool
	// KeepsZero is true if the value at zeros is 0. A call is then absent wherever all its arguments
	// are absent. Any other call has a value at every coordinate.
	KeepsZero bool
	// Value returns the value at numbers of type float64. y is 0 if the function has one argument.
	Value func(x, y float64) float64
	// Int returns the value at integers of type t, or at bools, which then has this type. The caller
	// wraps it around. If Int is nil, integers are converted to float64.
	Int func(t tensor.Type, x, y int64) int64
	// Exact is true if Value rounds nothing. Other functions differ between libraries in their last
	// bits.
	Exact bool
	// Library is the name of the function in the C library and in CUDA. If it is "", C is an
	// expression of x and y in both languages.
	Library, C string
	// Work is the time of a call as a number of multiplications. It is a rough estimate.
	Work float64
	// Internal is true if only the compiler makes calls of the function.
	Internal bool
	// Fills is true for a function whose value is the first argument if it is present, and otherwise
	// the second argument.
	Fills bool
	// NeedsAll is true if a call is absent wherever one of its arguments is absent.
	NeedsAll bool
}

// Find returns the function with a name, or nil.
func Find(name string) *Function {
	k := slices.IndexFunc(Functions, func(f *Function) bool { return f.Name == name })
	if k < 0 {
		return nil
	}
	return Functions[k]
}

// Names lists the names of the functions that statements may call.
func Names() (list []string) {
	for _, f := range Functions {
		if !f.Internal {
			list = append(list, f.Name)
		}
	}
	return list
}

// Functions lists all functions.
var Functions = []*Function{
	{Name: "abs", Args: 1, KeepsZero: true, Exact: true, Work: 1, Library: "fabs",
		Value: one(math.Abs), Int: func(t tensor.Type, x, _ int64) int64 {
			if t.LessInt(x, 0) {
				return -x
			}
			return x
		}},
	{Name: "sign", Args: 1, KeepsZero: true, Exact: true, Work: 1,
		C:     "x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x",
		Value: one(sign), Int: func(t tensor.Type, x, _ int64) int64 {
			switch {
			case x == 0:
				return 0
			case t.LessInt(x, 0):
				return -1
			}
			return 1
		}},
	{Name: "min", Args: 2, Folds: true, KeepsZero: true, Exact: true, Work: 1,
		C: "x <= y || x != x ? x : y", Value: least,
		Int: func(t tensor.Type, x, y int64) int64 {
			if t.LessInt(y, x) {
				return y
			}
			return x
		}},
	{Name: "max", Args: 2, Folds: true, KeepsZero: true, Exact: true, Work: 1,
		C: "x >= y || x != x ? x : y", Value: greatest,
		Int: func(t tensor.Type, x, y int64) int64 {
			if t.LessInt(x, y) {
				return y
			}
			return x
		}},
	{Name: "floor", Args: 1, KeepsZero: true, Exact: true, Work: 1, Library: "floor",
		Value: one(math.Floor), Int: same},
	{Name: "ceil", Args: 1, KeepsZero: true, Exact: true, Work: 1, Library: "ceil",
		Value: one(math.Ceil), Int: same},
	{Name: "trunc", Args: 1, KeepsZero: true, Exact: true, Work: 1, Library: "trunc",
		Value: one(math.Trunc), Int: same},
	// Halves are rounded to even numbers.
	{Name: "round", Args: 1, KeepsZero: true, Exact: true, Work: 1, Library: "rint",
		Value: one(math.RoundToEven), Int: same},
	{Name: "sqrt", Args: 1, KeepsZero: true, Work: 5, Library: "sqrt", Value: one(math.Sqrt)},
	library("cbrt", true, math.Cbrt),
	library("exp", false, math.Exp),
	library("expm1", true, math.Expm1),
	library("log", false, math.Log),
	library("log1p", true, math.Log1p),
	library("log2", false, math.Log2),
	library("log10", false, math.Log10),
	library("sin", true, math.Sin),
	library("cos", false, math.Cos),
	library("tan", true, math.Tan),
	library("asin", true, math.Asin),
	library("acos", false, math.Acos),
	library("atan", true, math.Atan),
	library("sinh", true, math.Sinh),
	library("cosh", false, math.Cosh),
	library("tanh", true, math.Tanh),
	{Name: "atan2", Args: 2, KeepsZero: true, Work: 40, Library: "atan2", Value: math.Atan2},
	{Name: "pow", Args: 2, Work: 40, Library: "pow", Value: math.Pow},
	{Name: "nonzero", Args: 1, KeepsZero: true, Exact: true, Work: 1, Internal: true,
		C: "x != 0 ? 1 : 0", Value: one(nonzero),
		Int: func(_ tensor.Type, x, _ int64) int64 { return int64(nonzero(float64(x))) }},
	{Name: "times", Args: 2, KeepsZero: true, Exact: true, Work: 1, Internal: true, C: "x * y",
		Value: func(x, y float64) float64 { return x * y },
		Int:   func(_ tensor.Type, x, y int64) int64 { return x * y }},
	{Name: "fill", Args: 2, Exact: true, Work: 1, Internal: true, Fills: true, C: "x",
		Value: func(x, _ float64) float64 { return x }, Int: same},
	// The sum of two numbers where both are present.
	{Name: "both", Args: 2, KeepsZero: true, Exact: true, Work: 1, Internal: true, NeedsAll: true,
		C: "x + y", Value: func(x, y float64) float64 { return x + y },
		Int: func(_ tensor.Type, x, y int64) int64 { return x + y }},
}

// library returns a function of one argument that the C library has under the same name.
func library(name string, keepsZero bool, value func(float64) float64) *Function {
	return &Function{Name: name, Args: 1, KeepsZero: keepsZero, Work: 20,
		Library: name, Value: one(value)}
}

func one(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

func same(_ tensor.Type, x, _ int64) int64 { return x }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case x == 0:
		return 0
	}
	return x
}

// nonzero returns 0 if x is 0, and otherwise 1.
func nonzero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return 1
}

// least returns the smaller number, x if both are equal, and NaN if one is NaN.
func least(x, y float64) float64 {
	if x <= y || x != x {
		return x
	}
	return y
}

// greatest returns the larger number, x if both are equal, and NaN if one is NaN.
func greatest(x, y float64) float64 {
	if x >= y || x != x {
		return x
	}
	return y
}
