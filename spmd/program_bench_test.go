package spmd_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"distaff/spmd"
)

// BenchmarkProgram times prepared statements: a product of a vector and a matrix with 10 entries in
// a row, and steps of conjugate gradients of seven statements each.
func BenchmarkProgram(b *testing.B) {
	for _, size := range []struct {
		name  string
		n     int
		ranks int
	}{{"1k", 1000, 1}, {"100k", 100_000, 1}, {"1k, 2 ranks", 1000, 2}, {"1k, 4 ranks", 1000, 4}} {
		n := size.n
		rng := rand.New(rand.NewPCG(1, 2))
		pos, crd, values, right := []int32{0}, []int32{}, []float64{}, make([]float64, n)
		for i := range n {
			for d := -5; d <= 5; d++ {
				if j := i + d*max(n/100, 1); d != 0 && j >= 0 && j < n {
					crd, values = append(crd, int32(j)), append(values, -rng.Float64())
				} else if d == 0 {
					crd, values = append(crd, int32(i)), append(values, 12)
				}
			}
			pos, right[i] = append(pos, int32(len(crd))), rng.Float64()
		}
		start := func(b *testing.B, f func(p *spmd.Program) error) {
			err := spmd.Start(context.Background(), spmd.Options{Ranks: size.ranks},
				func(p *spmd.Program) error {
					A, err := spmd.CSR(int64(n), int64(n), pos, crd, values)
					if err != nil {
						return err
					}
					v, err := spmd.Dense(right, int64(n))
					if err != nil {
						return err
					}
					for name, in := range map[string]spmd.Input{"A": spmd.InMemory(A), "b": spmd.InMemory(v)} {
						if err := p.Set(name, in, spmd.Storage{}); err != nil {
							return err
						}
					}
					if err := p.Declare("x", spmd.Storage{Sizes: []int64{int64(n)}}); err != nil {
						return err
					}
					return f(p)
				})
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Run("SpMV "+size.name, func(b *testing.B) {
			start(b, func(p *spmd.Program) error {
				s, err := p.Prepare("y(i) = A(i,j) * b(j)", spmd.How{})
				if err != nil {
					return err
				}
				if err := s.Run(); err != nil {
					return err
				}
				if p.Rank() == 0 {
					b.ResetTimer()
				}
				for range b.N {
					if err := s.Run(); err != nil {
						return err
					}
				}
				return nil
			})
		})
		b.Run("CG "+size.name, func(b *testing.B) {
			start(b, func(p *spmd.Program) error {
				if err := conjugate(p, 2); err != nil {
					return err
				}
				if p.Rank() == 0 {
					b.ResetTimer()
				}
				return conjugate(p, b.N)
			})
		})
	}
}
