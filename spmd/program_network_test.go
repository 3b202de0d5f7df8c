package spmd_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"distaff/codegen/diag"
	"distaff/spmd"
)

// TestProgramNetworks checks that a statement of a program is contracted as How says, on one and on
// several ranks, with the result of one loop nest. A How that is not allowed is refused, and leaves
// the program unchanged.
func TestProgramNetworks(t *testing.T) {
	const text = "y(i) = B(i,j) * C(j,k) * x(k)"
	for _, ranks := range []int{1, 2} {
		o := spmd.Options{Ranks: ranks, Threads: 1, Target: spmd.Interpreter}
		err := spmd.Start(context.Background(), o, func(p *spmd.Program) error {
			for name, in := range map[string]struct{ kind, format string }{"B": {"uniform:60:int", "ds"},
				"C": {"uniform:60:int", "ds"}, "x": {"dense:int", "d"}} {
				sizes := []int64{20, 20}[:len(in.format)]
				if err := p.Set(name, spmd.Generated(in.kind),
					spmd.Storage{Format: in.format, Sizes: sizes}); err != nil {
					return err
				}
			}
			var want []float64
			for _, how := range []spmd.How{{Network: "direct"}, {}, {Network: "pairwise"},
				{Network: "B*(C*x)"}, {Network: "(B*C)*x", IntermediateOrder: 1}} {
				s, err := p.Prepare(text, how)
				if err != nil {
					return err
				}
				if err := s.Run(); err != nil {
					return err
				}
				y, err := p.Tensor("y")
				if err != nil {
					return err
				}
				if y == nil { // the result is at rank 0
					continue
				}
				got, err := spmd.Values[float64](y)
				if err != nil {
					return err
				}
				if want == nil {
					want = slices.Clone(got)
				} else if !slices.Equal(got, want) {
					t.Errorf("%d ranks, %+v: %v, want %v", ranks, how, got, want)
				}
				y.Close()
			}
			type wrong struct {
				how  spmd.How
				code diag.Code
			}
			list := []wrong{{spmd.How{Network: "B*(C*"}, diag.NetworkSyntax},
				{spmd.How{IntermediateOrder: -1}, ""}}
			if ranks == 1 { // an error of compiling ends a program of several
				list = append(list, wrong{spmd.How{Network: "B*(C*z)"}, diag.NetworkRefused},
					wrong{spmd.How{Network: "pairwise", Schedule: []string{"reorder(i,k,j)"}},
						diag.NetworkRefused})
			}
			for _, c := range list {
				_, err := p.Prepare(text, c.how)
				var d *diag.Error
				if err == nil || errors.As(err, &d) != (c.code != "") || d != nil && d.Code != c.code {
					t.Errorf("%d ranks, %+v: got %v, want an error of code %q", ranks, c.how, err, c.code)
				}
			}
			return p.Do("z(i) = y(i)")
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}
