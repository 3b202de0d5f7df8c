package spmd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"distaff/spmd"
)

// TestAddedSumsWithinPlan checks that ranks which add sparse blocks on several threads use no more
// memory than planned. The blocks have no, few or many entries, or two blocks have entries in
// different places, so that one piece of the sum has most of them. Operands are views of files, so
// loading needs no memory.
func TestAddedSumsWithinPlan(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(8, 9))
	const n = 400
	// stored writes a matrix with the given number of entries and columns to a file. If skewed is
	// true, the entries of the first rows are in the first columns only.
	stored := func(name string, entries int, columns int64, skewed bool) spmd.Input {
		var b bytes.Buffer
		for range entries {
			i, below := r.Int64N(n), columns
			if skewed && i < n/2 {
				below = 3
			}
			fmt.Fprintln(&b, 1+i, 1+r.Int64N(below), 1+r.IntN(9))
		}
		text, file := filepath.Join(dir, name+".tns"), filepath.Join(dir, name+".tcs")
		if err := os.WriteFile(text, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		job := spmd.Job{Statement: "T(i,j) = A(i,j)", Formats: map[string]string{"A": "ds", "T": "ds"},
			Inputs: map[string]spmd.Input{"A": spmd.File(text)},
			Sizes:  map[string][]int64{"A": {n, columns}}, Outputs: []spmd.Output{{Tensor: "T", File: file}}}
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return spmd.File(file)
	}
	b := stored("b", 900, n, false)
	for _, in := range []struct {
		what    string
		columns int64
		A       spmd.Input
	}{
		{"no entries of one column", 1, stored("none1", 0, 1, false)},
		{"no entries", n, stored("none", 0, n, false)},
		{"few of two columns", 2, stored("few2", 9, 2, false)},
		{"few", n, stored("few", 9, n, false)},
		{"many", n, stored("many", 30000, n, false)},
		{"skewed", n, stored("skewed", 30000, n, true)},
	} {
		for _, c := range []struct{ statement, format string }{
			{"C(j) = A(i,j)", "s"},
			{"C(j) = A(i,j)", "u"},
			{"C(j,k) = A(i,j)*b(i,k)", "ds"},
			{"C(j,k) = A(i,j)*b(i,k)", "ss"},
			{"C(j,k) = A(i,j)*b(i,k)", "uq"},
		} {
			for k := range 6 {
				threads, at := []int{1, 2, 6}[k/2], []string{"one rank", "two"}[k%2]
				job := spmd.Job{Statement: c.statement, Formats: map[string]string{"A": "ds", "C": c.format},
					Inputs: map[string]spmd.Input{"A": in.A}, Sizes: map[string][]int64{"A": {n, in.columns}}}
				if len(c.format) > 1 {
					job.Formats["b"], job.Inputs["b"], job.Sizes["b"] = "ds", b, []int64{n, n}
				}
				job.Ranks, job.Threads, job.Splits, job.Extend = 2, threads, []string{"i:2"}, []string{"i"}
				if at == "two" {
					job.Map = "i"
				}
				what := fmt.Sprintf("%s in %s at %s, %s, %d threads", c.statement, c.format, at, in.what,
					threads)
				withinPlan(t, what, &job)
			}
		}
	}
}

// TestJoinedPositionsWithinPlan checks that the pieces of chunks are joined in arrays with room for
// all positions below a dense level inside another level.
func TestJoinedPositionsWithinPlan(t *testing.T) {
	for _, threads := range []int{1, 2, 6} {
		job := spmd.Job{Statement: "A(l,i,m) = sum(l, B(l)) - C(l,i,m)",
			Formats: map[string]string{"A": "sds", "B": "d", "C": "dss"},
			Inputs:  map[string]spmd.Input{"B": spmd.Generated("dense"), "C": spmd.Generated("uniform:120")},
			Sizes:   map[string][]int64{"B": {1}, "C": {5, 900, 2}}}
		job.Ranks, job.Threads = 1, threads
		withinPlan(t, fmt.Sprintf("%d threads", threads), &job)
	}
}
