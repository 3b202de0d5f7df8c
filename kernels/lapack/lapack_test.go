package lapack

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	_ "distaff/kernels/verified"
)

// random returns a matrix of random values. If complex is set, the values are complex. If definite
// is set, the matrix is Hermitian and positive definite.
func random(g *rand.Rand, rows, cols int, isComplex, definite bool) Array {
	m := newMatrix[complex128](rows, cols)
	for k := range m.data {
		m.data[k] = complex(g.NormFloat64(), 0)
		if isComplex {
			m.data[k] += complex(0, g.NormFloat64())
		}
	}
	if definite {
		m = m.times(m.adjoint())
		for k := range rows {
			m.data[k*cols+k] += 1
		}
	}
	if isComplex {
		return m.array()
	}
	a := Array{Dims: []int{rows, cols}, Real: []float64{}}
	for _, x := range m.data {
		a.Real = append(a.Real, real(x))
	}
	return a
}

// operands returns random operands of a function, with sizes m and n where they may differ.
func operands(g *rand.Rand, name string, m, n int, isComplex bool) []Array {
	switch name {
	case "solve":
		b := random(g, m, n, isComplex, false)
		if n == 1 {
			b.Dims = b.Dims[:1]
		}
		return []Array{random(g, m, m, isComplex, false), b}
	case "inv", "det":
		return []Array{random(g, m, m, isComplex, false)}
	case "eigh", "cholesky":
		return []Array{random(g, m, m, isComplex, true)}
	}
	return []Array{random(g, m, n, isComplex, false)}
}

// TestResiduals calls every function with each backend, with matrices of several shapes.
func TestResiduals(t *testing.T) {
	g := rand.New(rand.NewSource(1))
	if len(Names()) != 8 {
		t.Errorf("got functions %v, want 8", Names())
	}
	_, hasLibrary := found[float64]()
	for _, name := range Names() {
		for _, m := range []int{0, 1, 2, 3, 7, 40} {
			for _, n := range []int{0, 1, 2, 5, 60} {
				in := operands(g, name, m, n, false)
				where := fmt.Sprintf("%s of %d and %d", name, m, n)
				checkCall(t, where+" by gonum", name, in, func() ([]Array, error) {
					return functions[float64]()[name](gonumBackend{}, []matrix[float64]{
						matrixOf[float64](in[0]), matrixOf[float64](in[len(in)-1])}[:len(in)])
				})
				if !hasLibrary {
					continue
				}
				checkCall(t, where, name, in, func() ([]Array, error) { return Call(name, in) })
				z := operands(g, name, m, n, true)
				checkCall(t, where+", complex", name, z, func() ([]Array, error) {
					return Call(name, z)
				})
			}
		}
	}
	if !hasLibrary {
		t.Skip("no BLAS library with LAPACK is found")
	}
}

func checkCall(t *testing.T, where, name string, in []Array, call func() ([]Array, error)) {
	t.Helper()
	var before []float64
	for _, a := range in {
		before = append(before, a.Real...)
	}
	out, err := call()
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if r := Residual(name, in, out); !(r < 1e-12) {
		t.Errorf("%s: the residual is %g", where, r)
	}
	var after []float64
	for _, a := range in {
		after = append(after, a.Real...)
	}
	if !slices.Equal(before, after) {
		t.Errorf("%s changes its operands", where)
	}
}

// TestResidualOfWrong checks that a wrong result has a large residual.
func TestResidualOfWrong(t *testing.T) {
	g := rand.New(rand.NewSource(2))
	for _, name := range Names() {
		in := operands(g, name, 5, 4, false)
		out, err := Call(name, in)
		if err != nil {
			t.Fatal(err)
		}
		for k := range out {
			old := slices.Clone(out[k].Real)
			out[k].Real[0] += 0.01
			if r := Residual(name, in, out); !(r > 1e-9) {
				t.Errorf("%s: the residual of a wrong result %d is %g", name, k, r)
			}
			out[k].Real = old
		}
	}
}

// TestValues compares results with known ones.
func TestValues(t *testing.T) {
	matrix := func(rows, cols int, values ...float64) Array {
		return Array{Dims: []int{rows, cols}, Real: values}
	}
	for _, c := range []struct {
		name string
		in   []Array
		want string
	}{
		{"det", []Array{matrix(2, 2, 1, 2, 3, 4)}, "[] [-2]"},
		{"det", []Array{matrix(2, 2, 0, 1, 1, 0)}, "[] [-1]"},
		{"det", []Array{matrix(2, 2, 1, 2, 2, 4)}, "[] [0]"},
		{"det", []Array{matrix(0, 0)}, "[] [1]"},
		{"inv", []Array{matrix(2, 2, 0, 2, 4, 0)}, "[2 2] [0 0.25 0.5 0]"},
		{"solve", []Array{matrix(2, 2, 2, 0, 0, 4), {Dims: []int{2}, Real: []float64{2, 2}}},
			"[2] [1 0.5]"},
		{"cholesky", []Array{matrix(2, 2, 4, 99, 2, 5)}, "[2 2] [2 0 1 2]"},
		{"pinv", []Array{matrix(2, 3, 2, 0, 0, 0, 0, 0)}, "[3 2] [0.5 0 0 0 0 0]"},
	} {
		out, err := Call(c.name, c.in)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for k := range out[0].Real {
			out[0].Real[k] = math.Round(out[0].Real[k]*1e12)/1e12 + 0
		}
		if got := fmt.Sprint(out[0].Dims, " ", out[0].Real); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestNoResult checks the errors of matrices without a result.
func TestNoResult(t *testing.T) {
	singular := Array{Dims: []int{2, 2}, Real: []float64{1, 2, 2, 4}}
	nan := Array{Dims: []int{2, 2}, Real: []float64{1, math.NaN(), 2, 4}}
	for name, want := range map[string]string{"inv": "singular", "solve": "singular",
		"cholesky": "not positive definite"} {
		_, err := Call(name, []Array{singular, singular}[:1+strings.Count(name, "solve")])
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.ExitCode() != 3 {
			t.Errorf("%s: got %v, want an error with %q", name, err, want)
		}
	}
	for _, name := range []string{"svd", "eigh", "pinv"} {
		if _, err := Call(name, []Array{nan}); err == nil ||
			!strings.Contains(err.Error(), "not finite") {
			t.Errorf("%s of NaN: got %v", name, err)
		}
	}
	if _, err := Call("inv", []Array{{Dims: []int{MaxSize + 1, MaxSize + 1}}}); err == nil {
		t.Error("got no error for a matrix that is too large")
	}
}
