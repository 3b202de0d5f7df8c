package spmd_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"distaff/spmd"
)

// A rank's balance counts each block that the rank computes with once, wherever the block is stored
// and however many steps read it. A run and a plan agree.
func TestBalanceCountsWhatRanksComputeWith(t *testing.T) {
	for _, c := range []struct {
		name    string
		job     spmd.Job
		ranks   int
		largest string
		want    []int64
	}{
		{"blocks of A live at every second rank",
			spmd.Job{Statement: "C(i,j) = A(i,k)*B(k,j)",
				Sizes:   map[string][]int64{"A": {12, 4}, "B": {4, 6}},
				Options: spmd.Options{Splits: []string{"i:3", "j:2"}}}, 6, "A",
			[]int64{16, 16, 16, 16, 16, 16}},
		{"a broadcast operand", spmd.Job{Statement: "C(i,j) = a(i)*b(j)",
			Sizes:   map[string][]int64{"a": {6}, "b": {20}},
			Options: spmd.Options{Splits: []string{"i:3"}}}, 3, "b", []int64{20, 20, 20}},
		{"two steps a rank read one block",
			spmd.Job{Statement: "C(i,j) = A(i,k)*B(k,j)",
				Sizes:   map[string][]int64{"A": {12, 4}, "B": {4, 6}},
				Options: spmd.Options{Splits: []string{"i:3", "j:2"}, Map: "i"}}, 3, "A", []int64{16, 16, 16}},
		{"more ranks than blocks",
			spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {2, 5}},
				Options: spmd.Options{Splits: []string{"i:2"}}},
			3, "A", []int64{5, 5, 0}},
		{"the left side does not count",
			spmd.Job{Statement: "C(i,j) += a(i)*b(j)", Sizes: map[string][]int64{"a": {6}, "b": {4}}}, 2,
			"a", []int64{3, 3}},
	} {
		job := c.job
		job.Inputs = map[string]spmd.Input{}
		for _, name := range []string{"A", "B", "C", "a", "b", "x"} {
			if containsTensor(job.Statement+" ", name) && (name != "C" || c.largest == "a") {
				job.Inputs[name] = spmd.Generated("dense:int")
			}
		}
		job.Target, job.Threads, job.Ranks = spmd.Interpreter, 1, c.ranks
		p, report := plannedRun(t, c.name, &job)
		if got := report.Stats.Balance.Nonzeros; !slices.Equal(got, c.want) {
			t.Errorf("%s: the run counts %v, want %v", c.name, got, c.want)
		}
		if got := p.Balance.Nonzeros; !slices.Equal(got, c.want) || p.Largest != c.largest {
			t.Errorf("%s: the plan counts %v of %s, want %v of %s", c.name, got, p.Largest, c.want,
				c.largest)
		}
	}
}

// A plan estimates the entries of a text file whose sizes are given, compressed or not.
func TestEstimatesOfTextFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	const lines = 150000
	var text, packed bytes.Buffer
	for k := range lines {
		fmt.Fprintf(&text, "%d %d %.16g\n", k/15+1, r.IntN(10000)+1, r.Float64())
	}
	z := gzip.NewWriter(&packed)
	z.Write(text.Bytes())
	z.Close()
	for name, b := range map[string][]byte{"a.tns": text.Bytes(), "a.tns.gz": packed.Bytes()} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		job := spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {10000, 10000}},
			Inputs:  map[string]spmd.Input{"A": spmd.File(file), "x": spmd.Generated("dense")},
			Options: spmd.Options{Ranks: 2}}
		p, err := job.Plan(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if a := p.Tensors[0]; a.Counted || a.Entries < lines*9/10 || a.Entries > lines*11/10 {
			t.Errorf("%s: %d entries, counted %v; there are %d", name, a.Entries, a.Counted, lines)
		}
	}
}
