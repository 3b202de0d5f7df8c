package spmd_test

import (
	"os"
	"path/filepath"
	"testing"

	"distaff/io/tcs"
	"distaff/spmd"
)

// TestScheduledJobsWithinPlan: ranks take no more memory than their plan says where they have chunks of few entries, which lie
// as they happen to, and where each iteration of a loop that a schedule made gives a piece of the result.
func TestScheduledJobsWithinPlan(t *testing.T) {
	dir := t.TempDir()
	held := func(name, text, format string, size int64) spmd.Input {
		from, to := filepath.Join(dir, name+".tns"), filepath.Join(dir, name+".tcs")
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		job := spmd.Job{Statement: "T(i) = B(i)", Formats: map[string]string{"B": format, "T": format}, Inputs: map[string]spmd.Input{"B": spmd.File(from)},
			Sizes: map[string][]int64{"B": {size}}, Outputs: []spmd.Output{{Tensor: "T", File: to}}}
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		x, err := tcs.Open(to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return spmd.InMemory(x)
	}
	far := held("far", "# distaff: complex values, real and imaginary part\n354 2 -4\n750 0 8\n", "s", 846)
	none := held("none", "", "d", 1)
	for _, c := range []struct {
		what      string
		statement string
		ranks     int
		schedule  string
		place     []string
		input     spmd.Input
		formats   map[string]string
		sizes     []int64 // of B
	}{
		{"chunks of entries", "A(i) = B(i)", 3, "pos(i,posn,B(i)), divide(posn,posno0,posni0,M.0), distribute(posno0)", []string{"A(u) -> M(*)"},
			far, map[string]string{"A": "d", "B": "s"}, []int64{846}},
		{"pieces of iterations", "A(j) = B(j)", 2, "distribute({j},{jo1},{ji1},M), bound(ji1,x0,1,MaxConstraint), bound(x0,x2,5001,MaxConstraint), parallelize(x2,CPUThread,NoRaces)", nil,
			none, map[string]string{"A": "s", "B": "d"}, []int64{1}},
	} {
		job := spmd.Job{Statement: c.statement, Formats: c.formats, Inputs: map[string]spmd.Input{"B": c.input}, Sizes: map[string][]int64{"B": c.sizes}}
		job.Ranks, job.Threads, job.Machine, job.Schedule, job.Placements = c.ranks, 1, "3", []string{c.schedule}, c.place
		withinPlan(t, c.what, &job)
	}
}
