package forecast_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"distaff/kernels/tune"
	"distaff/spmd"
)

// TestPlanByCounts checks that plans, like runs, choose contraction orders by the level counts in
// file headers. Of two tensors with equal sizes and numbers of entries, only the one with full
// fibers is multiplied fiber by fiber, on one rank and on several. Entries alone would suggest
// fibers of one entry.
func TestPlanByCounts(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	if err := tune.Keep(cache, known(tune.Message{Latency: 1e-6, Bandwidth: 1e9})); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		fiber int // entries of each
		want  string
	}{{20, "(B*D)*C"}, {1, "direct"}} {
		text, file := filepath.Join(dir, fmt.Sprintf("%d.tns", x.fiber)),
			filepath.Join(dir, fmt.Sprintf("%d.tcs", x.fiber))
		var lines []byte
		for n := range 4000 {
			fiber := n / x.fiber
			lines = fmt.Appendf(lines, "%d %d %d 1\n", fiber%100+1, fiber/100*7%500+1,
				n%x.fiber*11+fiber%100+1)
		}
		if err := os.WriteFile(text, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		sizes := map[string][]int64{"S": {100, 500, 400}}
		store := spmd.Job{Statement: "B(i,j,k) = S(i,j,k)",
			Formats: map[string]string{"S": "sss", "B": "sss"}, Sizes: sizes,
			Inputs:  map[string]spmd.Input{"S": spmd.File(text)},
			Outputs: []spmd.Output{{Tensor: "B", File: file}}}
		store.Target = spmd.Interpreter
		if _, err := store.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for ranks := 1; ranks <= 2; ranks++ {
			compute := func(network string) float64 {
				job := spmd.Job{Statement: "A(i,l,m) = B(i,j,k)*C(j,l)*D(k,m)",
					Sizes: map[string][]int64{"l": {16}, "m": {16}},
					Inputs: map[string]spmd.Input{"B": spmd.File(file), "C": spmd.Generated("dense"),
						"D": spmd.Generated("dense")}}
				job.Ranks, job.Threads, job.Network = ranks, 1, network
				p, err := job.Plan(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				return *p.Time.Compute
			}
			got, direct, tree := compute("auto"), compute("direct"), compute("(B*D)*C")
			if want := map[string]float64{"direct": direct, "(B*D)*C": tree}[x.want]; direct == tree ||
				got != want {
				t.Errorf(
					"%d entries a fiber, %d ranks: %v s by default, want %v, those of %s (%v of one nest, %v of the tree)", x.fiber, ranks, got, want, x.want, direct, tree)
			}
		}
	}
}
