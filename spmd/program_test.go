package spmd_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"distaff/spmd"
)

// poisson returns the matrix of the five-point stencil on a square of k x k points, and a
// right-hand side.
func poisson(k int) (n int64, pos, crd []int32, values, b []float64) {
	n = int64(k * k)
	rng := rand.New(rand.NewPCG(1, 2))
	pos = append(pos, 0)
	for y := range k {
		for x := range k {
			for _, d := range [][3]int{{0, -1, -1}, {-1, 0, -1}, {0, 0, 4}, {1, 0, -1}, {0, 1, -1}} {
				if u, v := x+d[0], y+d[1]; u >= 0 && u < k && v >= 0 && v < k {
					crd, values = append(crd, int32(v*k+u)), append(values, float64(d[2]))
				}
			}
			pos = append(pos, int32(len(crd)))
			b = append(b, rng.Float64())
		}
	}
	return n, pos, crd, values, b
}

// conjugate runs the conjugate gradients of testdata/jobs/cg.dst.
func conjugate(p *spmd.Program, steps int) error {
	for _, text := range []string{"x(i) = 0", "r(i) = b(i)", "p(i) = b(i)", "rr = r(i) * r(i)"} {
		if err := p.Do(text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	for range steps {
		for _, text := range []string{"q(i) = A(i,j) * p(j)", "pq = p(i) * q(i)",
			"x(i) += rr / pq * p(i)", "r(i) = r(i) - rr / pq * q(i)",
			"old = rr", "rr = r(i) * r(i)", "p(i) = r(i) + rr / old * p(i)"} {
			if err := p.Do(text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
	}
	return nil
}

func TestConjugateGradients(t *testing.T) {
	n, pos, crd, values, b := poisson(12)
	for _, ranks := range []int{1, 2, 3, 4} {
		var mu sync.Mutex
		var x []float64
		var rr float64
		err := spmd.Start(context.Background(), spmd.Options{Ranks: ranks}, func(p *spmd.Program) error {
			A, err := spmd.CSR(n, n, pos, crd, values)
			if err != nil {
				return err
			}
			defer A.Close()
			right, err := spmd.Dense(b, n)
			if err != nil {
				return err
			}
			defer right.Close()
			for name, in := range map[string]spmd.Input{"A": spmd.InMemory(A), "b": spmd.InMemory(right)} {
				if err := p.Set(name, in, spmd.Storage{}); err != nil {
					return err
				}
			}
			if err := p.Declare("x", spmd.Storage{Sizes: []int64{n}}); err != nil {
				return err
			}
			if err := conjugate(p, 60); err != nil {
				return err
			}
			v, err := p.Value("rr")
			if err != nil {
				return err
			}
			whole, err := p.Tensor("x")
			if err != nil || whole == nil {
				return err
			}
			defer whole.Close()
			got, err := spmd.Values[float64](whole)
			mu.Lock()
			defer mu.Unlock()
			x, rr = slices.Clone(got), real(v.C)
			return err
		})
		if err != nil {
			t.Fatalf("%d ranks: %v", ranks, err)
		}
		worst := 0.0
		for i := range n {
			sum := b[i]
			for q := pos[i]; q < pos[i+1]; q++ {
				sum -= values[q] * x[crd[q]]
			}
			worst = max(worst, math.Abs(sum))
		}
		if !(worst < 1e-8 && rr < 1e-16) {
			t.Errorf("%d ranks: the largest residual is %g, and rr %g", ranks, worst, rr)
		}
	}
}

// TestProgramErrors checks the errors of wrong calls, and that a program of one rank can continue
// after them.
func TestProgramErrors(t *testing.T) {
	err := spmd.Start(context.Background(), spmd.Options{}, func(p *spmd.Program) error {
		wants := func(err error, text string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %s", err, text)
			}
		}
		wants(p.Do("y(i) = A(i,j) * x(j)"), "A has no value; none has a value yet")
		wants(p.Do("y(i) ="), "")
		if err := p.Set("n", spmd.Scalar(int64(6)), spmd.Storage{}); err != nil {
			return err
		}
		if err := p.Set("m", spmd.Scalar(int64(0)), spmd.Storage{}); err != nil {
			return err
		}
		wants(p.Do("d = n / m"), "zero")
		wants(p.Do("e = d + 1"), "d has no value, because d = n / m failed while writing it")
		wants(p.Place("d", -1), "d has no value, because d = n / m failed while writing it")
		if err := p.Do("d = n + 1"); err != nil {
			return err
		}
		if err := p.Do("d = d * n + d"); err != nil {
			return err
		}
		v, err := p.Value("d")
		if err != nil || v.I != 49 {
			t.Errorf("got %v, %v, want 49", v, err)
		}
		wants(p.Do("d = n / m"), "zero")
		if err := p.Do("d = n + 1"); err != nil { // over the memory that d had
			return err
		}
		if v, err = p.Value("d"); err != nil || v.I != 7 {
			t.Errorf("got %v, %v, want 7", v, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
