package spmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/tcsfile"
	"distaff/spmd"
)

// TestScheduledJobsWithinPlan checks that ranks use no more memory than planned if their chunks
// have few entries at random places, if each iteration of a scheduled loop makes a piece of the
// result, and if many parts of the result are empty.
func TestScheduledJobsWithinPlan(t *testing.T) {
	dir := t.TempDir()
	held := func(name, text, format string, sizes ...int64) spmd.Input {
		from, to := filepath.Join(dir, name+".tns"), filepath.Join(dir, name+".tcs")
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		vars := strings.Join(strings.Split("ijk"[:len(sizes)], ""), ",")
		job := spmd.Job{Statement: fmt.Sprintf("T(%[1]s) = B(%[1]s)", vars),
			Formats: map[string]string{"B": format, "T": format},
			Inputs:  map[string]spmd.Input{"B": spmd.File(from)},
			Sizes:   map[string][]int64{"B": sizes}, Outputs: []spmd.Output{{Tensor: "T", File: to}}}
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		x, err := tcsfile.Open(to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return spmd.InMemory(x)
	}
	far := held("far", "# distaff: complex values, real and imaginary part\n354 2 -4\n750 0 8\n", "s",
		846)
	none := held("none", "", "d", 1)
	noSlices, noVector := held("slices", "", "sdd", 3, 43, 2), held("vector", "", "d", 4)
	for _, c := range []struct {
		what      string
		statement string
		ranks     int
		machine   string
		schedule  string
		place     []string
		inputs    map[string]spmd.Input
		formats   map[string]string
		sizes     map[string][]int64
	}{
		{"chunks of entries", "A(i) = B(i)", 3, "3",
			"pos(i,posn,B(i)), divide(posn,posno0,posni0,M.0), distribute(posno0)", []string{"A(u) -> M(*)"},
			map[string]spmd.Input{"B": far}, map[string]string{"A": "d", "B": "s"},
			map[string][]int64{"B": {846}}},
		{"pieces of iterations", "A(j) = B(j)", 2, "3",
			"distribute({j},{jo1},{ji1},M), bound(ji1,x0,1,MaxConstraint), bound(x0,x2,5001,MaxConstraint), parallelize(x2,CPUThread,NoRaces)", nil,
			map[string]spmd.Input{"B": none}, map[string]string{"A": "s", "B": "d"},
			map[string][]int64{"B": {1}}},
		{"parts without entries", "A(k,j,l) = C(i)*B(l,j,k)", 3, "nodes=1x2;gpus=3",
			"pos(l,posn,B(l,j,k)), divide(posn,posno0,posni0,2), reorder(posno0,j,k,posni0,i), distribute({j,posno0}), communicate({A},j), communicate({C},posno0), communicate({B},j)",
			[]string{"A(u,v,w) -> nodes(u,w); (u,v,w) -> gpus(w)"},
			map[string]spmd.Input{"B": noSlices, "C": noVector},
			map[string]string{"A": "sdd:2,1,0", "B": "sdd"}, map[string][]int64{"B": {3, 43, 2}, "C": {4}}},
	} {
		job := spmd.Job{Statement: c.statement, Formats: c.formats, Inputs: c.inputs, Sizes: c.sizes}
		job.Ranks, job.Threads, job.Machine, job.Schedule, job.Placements = c.ranks, 1, c.machine,
			[]string{c.schedule}, c.place
		withinPlan(t, c.what, &job)
	}
}
