package spmd_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"distaff/kernels/cc"
	"distaff/spmd"
)

// TestProductsOverRanks checks products that a BLAS computes at the ranks of a machine. Their
// pieces are moved in steps (SUMMA and Cannon's algorithm) or by a block schedule, and the results
// agree with the reference.
func TestProductsOverRanks(t *testing.T) {
	t.Parallel()
	const summa = "distribute({i,j},{io,jo},{ii,ji},M),divide(k,ko,ki,M.x),reorder(io,jo,ko,ii,ji,ki),communicate({A,B},ko),substitute({ii,ji,ki},gemm)"
	const cannon = "distribute({i,j},{io,jo},{ii,ji},M),divide(k,ko,ki,M.x),reorder(io,jo,ko,ii,ji,ki),rotate(ko,{io,jo},kr),communicate({A,B},kr),substitute({ii,ji,ki},gemm)"
	for _, x := range []struct {
		machine, schedule string
		splits            []string
		ranks             int
	}{
		{"2x2", summa, nil, 4},
		{"2x3", summa, nil, 6},
		{"2x2", cannon, nil, 4},
		{"", "substitute({i,j,k},gemm)", []string{"i:3", "k:2"}, 3},
		{"", "split(k,k0,k1,5),reorder(k0,i,j,k1),substitute({i,j,k1},gemm)", nil, 1},
	} {
		for _, target := range []string{spmd.Interpreter, ""} {
			j := &spmd.Job{Statement: "C(i,j) = A(i,k) * B(k,j)",
				Formats: map[string]string{"C": "dd", "A": "dd", "B": "dd:1,0"},
				Sizes:   map[string][]int64{"A": {17, 13}, "B": {13, 11}},
				Inputs:  map[string]spmd.Input{"A": spmd.Generated("dense"), "B": spmd.Generated("dense")}}
			j.Target, j.Ranks, j.Machine, j.Schedule, j.Splits, j.Check = target, x.ranks, x.machine,
				[]string{x.schedule}, x.splits, true
			report, err := j.Run(context.Background())
			switch {
			case errors.Is(err, cc.ErrNoCompiler):
				continue
			case err != nil:
				t.Errorf("%s on %d ranks: %v", x.schedule, x.ranks, err)
			case !strings.Contains(strings.Join(report.Lines, "\n"), "all 187 coordinates of C agree"):
				t.Errorf("%s on %d ranks: got %q", x.schedule, x.ranks, report.Lines)
			}
		}
	}
}
