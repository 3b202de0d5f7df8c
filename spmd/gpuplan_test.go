package spmd_test

import (
	"slices"
	"testing"

	"distaff/spmd"
)

// TestPlannedGPUMemory checks that a plan for GPUs counts the blocks of a call, as the leaf reads
// them, and that a plan for CPUs has no GPU memory.
func TestPlannedGPUMemory(t *testing.T) {
	const n, nnz = 1000, 20000
	for _, c := range []struct {
		stmt    string
		formats map[string]string
		ranks   int
		target  string
		want    []int64
	}{
		// pos, crd and vals of A; x, and y.
		{"y(i) = A(i,j)*x(j)", map[string]string{"A": "ds"}, 1, spmd.CUDAOnly,
			[]int64{4*(n+1) + 12*nnz + 8*n + 8*n}},
		{"y(i) = A(i,j)*x(j)", map[string]string{"A": "ds"}, 2, spmd.CUDAOnly,
			slices.Repeat([]int64{4*(n/2+1) + 12*nnz/2 + 8*n + 8*n/2}, 2)},
		{"y(i) = A(i,j)*x(j)", map[string]string{"A": "ds"}, 1, "", nil},
		{"y(i) = A(i,j)*x(j)", map[string]string{"A": "dd"}, 1, spmd.CUDAOnly, []int64{8*n*n + 8*n + 8*n}},
	} {
		j := &spmd.Job{Statement: c.stmt, Formats: c.formats,
			Sizes: map[string][]int64{"A": {n, n}, "x": {n}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:20000"),
				"x": spmd.Generated("dense")}, Options: spmd.Options{Ranks: c.ranks, Target: c.target}}
		if c.formats["A"] == "dd" {
			j.Inputs["A"] = spmd.Generated("dense")
		}
		p, err := j.Plan(t.Context(), 0)
		if err != nil {
			t.Errorf("%s: %v", c.stmt, err)
			continue
		}
		if len(p.GPUMemory) != len(c.want) {
			t.Fatalf("%s: got %v, want %v", c.stmt, p.GPUMemory, c.want)
		}
		// The entries of blocks and the workspaces are estimates.
		for r, got := range p.GPUMemory {
			if w := c.want[r]; got < w || got > w+w/50+4096 {
				t.Errorf("%s on %d ranks: rank %d: got %d bytes, want about %d", c.stmt, c.ranks, r, got, w)
			}
		}
	}
}
