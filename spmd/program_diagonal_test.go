package spmd_test

import (
	"context"
	"fmt"
	"testing"

	"distaff/spmd"
)

// TestProgramDiagonal checks that a statement that reads only a tensor's diagonal keeps the whole
// tensor for later statements, whatever else it reads, and wherever the tensor comes from.
func TestProgramDiagonal(t *testing.T) {
	const n = 6
	for _, in := range []spmd.Input{spmd.Generated("dense:int"), spmd.Generated("uniform:20:int")} {
		for _, first := range []string{"d = A(i,i)", "d(i) = A(i,i)", "d(i) = A(i,i) + A(i,j)",
			"d(i) = A(i,i) * A(j,i)"} {
			t.Run(fmt.Sprint(in.Generate, " ", first), func(t *testing.T) {
				want := ""
				for ranks := 1; ranks <= 4; ranks++ {
					got := ""
					err := spmd.Start(context.Background(),
						spmd.Options{Ranks: ranks, Threads: 1, Target: spmd.Interpreter},
						func(p *spmd.Program) error {
							if err := p.Set("A", in, spmd.Storage{Format: "ds", Sizes: []int64{n, n}}); err != nil {
								return err
							}
							for _, text := range []string{first, "y(i) = A(i,j)", first} {
								if err := p.Do(text); err != nil {
									return err
								}
							}
							for _, name := range []string{"A", "d", "y"} {
								line, err := p.Summary(name)
								if err != nil {
									return err
								}
								if p.Rank() == 0 {
									got += line + "\n"
								}
							}
							return nil
						})
					if err != nil {
						t.Fatalf("%d ranks: %v", ranks, err)
					}
					if ranks == 1 {
						want = got
					} else if got != want {
						t.Errorf("%d ranks: got\n%swant\n%s", ranks, got, want)
					}
				}
			})
		}
	}
}
