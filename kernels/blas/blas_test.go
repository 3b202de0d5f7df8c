package blas

import (
	"fmt"
	"testing"
)

// integers returns n small integers, whose sums do not depend on the order of additions.
func integers[T Scalar](n int, seed int) []T {
	s := make([]T, n)
	for i := range s {
		v := (i*7+seed*13)%11 - 5
		switch p := any(&s[i]).(type) {
		case *float32:
			*p = float32(v)
		case *float64:
			*p = float64(v)
		case *complex64:
			*p = complex(float32(v), float32(v%3))
		case *complex128:
			*p = complex(float64(v), float64(v%3))
		}
	}
	return s
}

func matrix[T Scalar](rows, cols, pad, seed int) Matrix[T] {
	stride := cols + pad
	return Matrix[T]{rows, cols, max(stride, 1), integers[T](rows*stride, seed)}
}

func (m Matrix[T]) at(i, j int, transposed bool) T {
	if transposed {
		i, j = j, i
	}
	return m.Data[i*m.Stride+j]
}

func testType[T Scalar](t *testing.T) {
	sizes := []int{0, 1, 2, 5, 17, 70}
	for _, m := range sizes {
		for _, n := range sizes {
			for _, k := range sizes {
				for flags := range 4 {
					testGemm[T](t, m, n, k, flags&1 != 0, flags&2 != 0, (m+n+k)%3)
				}
			}
		}
	}
}

func testGemm[T Scalar](t *testing.T, m, n, k int, tA, tB bool, pad int) {
	ar, ac, br, bc := m, k, k, n
	if tA {
		ar, ac = k, m
	}
	if tB {
		br, bc = n, k
	}
	a, b, c := matrix[T](ar, ac, pad, 1), matrix[T](br, bc, pad, 2), matrix[T](m, n, pad, 3)
	want := append([]T(nil), c.Data...)
	for i := range m {
		for j := range n {
			sum := T(0)
			for l := range k {
				sum += a.at(i, l, tA) * b.at(l, j, tB)
			}
			want[i*c.Stride+j] = 2*sum + 3*want[i*c.Stride+j]
		}
	}
	Gemm(tA, tB, 2, a, b, 3, c)
	for i, v := range c.Data {
		if v != want[i] {
			t.Fatalf("%T: %dx%dx%d, transposed %v %v: element %d is %v, want %v", v, m, n, k, tA,
				tB, i, v, want[i])
		}
	}
}

func TestFloat32(t *testing.T)    { testType[float32](t) }
func TestFloat64(t *testing.T)    { testType[float64](t) }
func TestComplex64(t *testing.T)  { testType[complex64](t) }
func TestComplex128(t *testing.T) { testType[complex128](t) }

func TestShapesThatDoNotFit(t *testing.T) {
	good := matrix[float64](2, 3, 0, 1)
	for name, f := range map[string]func(){
		"Gemm": func() { Gemm(false, false, 1, good, good, 0, good) },
		"short": func() {
			Gemm(false, true, 1, good, good, 0,
				Matrix[float64]{2, 2, 2, make([]float64, 3)})
		},
		"stride": func() {
			Gemm(false, true, 1, Matrix[float64]{2, 3, 2, good.Data}, good, 0,
				good)
		},
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); len(r) < 5 || r[:5] != "BUG: " {
					t.Errorf("%s: got %q, want a BUG", name, r)
				}
			}()
			f()
		}()
	}
}
