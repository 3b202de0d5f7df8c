package jobs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
)

// byNonzeros lists the job files whose loops run over chunks of a tensor's entries, with their
// results. All ranks except one send at most the given number of bytes each: their part of one row
// or entry of the result that another rank also has a part of.
var byNonzeros = []struct {
	name, result string
	bytes        int64
}{
	{"spmv-nonzeros", "a", 8}, {"spmm-nonzeros", "A", 8 * 8}, {"sddmm-nonzeros", "A", 0},
	{"spttv-nonzeros", "A", 32}, {"spmttkrp-nonzeros", "A", 8 * 8},
}

// TestNonzeros checks that the result on several ranks is the result of one rank, and that ranks
// send only parts of rows that are cut.
func TestNonzeros(t *testing.T) {
	for _, c := range byNonzeros {
		var want []byte
		for _, ranks := range []int{1, 2, 3, 6, 9} {
			j, _ := algorithm{name: c.name}.job(t, sized{ranks, nil})
			stored := filepath.Join(t.TempDir(), "result.tns")
			j.Outputs = map[string]string{c.result: stored}
			comm := j.checked(t)
			got, err := os.ReadFile(stored)
			if err != nil {
				t.Fatal(err)
			}
			if ranks == 1 {
				want = got
			}
			if len(got) == 0 || !bytes.Equal(got, want) {
				t.Errorf("%s on %d ranks has another result than on one", c.name, ranks)
			}
			received := int64(0)
			for _, n := range comm.BytesReceived {
				received += n
			}
			if most := c.bytes * int64(ranks-1); received > most {
				t.Errorf("%s on %d ranks: %d bytes are received, want at most %d", c.name, ranks, received,
					most)
			}
		}
	}
}

// TestNonzerosOfOneRow checks a matrix with all entries in one row, and with fewer entries than
// ranks.
func TestNonzerosOfOneRow(t *testing.T) {
	for _, entries := range []int{0, 1, 4, 11} {
		in := filepath.Join(t.TempDir(), "B.tns")
		var text strings.Builder
		for j := range entries {
			fmt.Fprintf(&text, "3 %d %d\n", j+1, j+2)
		}
		if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		want := ""
		for ranks := 1; ranks <= 9; ranks++ {
			out := filepath.Join(t.TempDir(), "a.npy")
			j := &spmd.Job{Statement: "a(i) = B(i,j) * c(j)", Formats: map[string]string{"B": "ds"},
				Sizes:   map[string][]int64{"B": {5, 11}},
				Inputs:  map[string]spmd.Input{"B": spmd.File(in), "c": {Generate: "dense:int"}},
				Outputs: []spmd.Output{{Tensor: "a", File: out}},
				Options: spmd.Options{Ranks: ranks, Threads: 1, Target: spmd.Interpreter, Check: true,
					Schedule: []string{"fuse(i,j,f), pos(f,fp,B), divide(fp,fpo,fpi,M.x), distribute(fpo)"}}}
			if _, err := j.Run(context.Background()); err != nil {
				t.Fatalf("%d entries on %d ranks: %v", entries, ranks, err)
			}
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if ranks == 1 {
				want = string(got)
			}
			if string(got) != want {
				t.Errorf("%d entries on %d ranks give another result than on one", entries, ranks)
			}
		}
	}
}

// TestNonzerosRefused checks that a sum of several tensors cannot be distributed by the positions
// of one of them.
func TestNonzerosRefused(t *testing.T) {
	j := &spmd.Job{Statement: "A(i,j) = B(i,j) + C(i,j) + D(i,j)",
		Sizes:   map[string][]int64{"B": {5, 5}},
		Formats: map[string]string{"A": "ds", "B": "ds", "C": "ds", "D": "ds"},
		Inputs: map[string]spmd.Input{"B": {Generate: "uniform:9"}, "C": {Generate: "uniform:9"},
			"D": {Generate: "uniform:9"}},
		Options: spmd.Options{Ranks: 2, Threads: 1, Target: spmd.Interpreter,
			Schedule: []string{"fuse(i,j,f), pos(f,fp,B), divide(fp,fpo,fpi,M.x), distribute(fpo)"}}}
	_, err := j.Run(context.Background())
	want :=
		"pos: the ranks would visit only the stored entries of B(i,j), but the term C(i,j) of the statement also has values elsewhere"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFileAddsByEntries checks statements in a repeat that add to a tensor by the entries of a
// matrix. Each must add once for each of its runs.
func TestFileAddsByEntries(t *testing.T) {
	const text = `machine M(p)
tensor B(40, 40): ds place (x,y) -> M(~(x,y)) from uniform:200:int
tensor c(40) from dense:int
tensor a(40) place (x) -> M(x) from dense:int
tensor d(40): s from uniform:9:int
s = 3
repeat 3 {
  a(i) += B(i,j) * c(j)
    COMMANDS
  s += B(i,j) * c(j)
    COMMANDS
  d(j) += B(i,j) * c(i)
    COMMANDS
}
print s
print a
print d
`
	var first []string
	for _, ranks := range []int{1, 2, 3, 7} {
		w := job(t, t.TempDir(),
			strings.ReplaceAll(text, "COMMANDS",
				"fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo)"), nil)
		w.Ranks, w.Check = ranks, true
		w.run(t)
		said := slices.DeleteFunc(w.said,
			func(line string) bool { return strings.Contains(line, "check:") })
		if first == nil {
			first = said
		}
		if len(said) != 3 || !slices.Equal(said, first) {
			t.Errorf("%d ranks: got %q, want %q", ranks, said, first)
		}
		if _, err := w.Plan(context.Background(), 0); err != nil {
			t.Errorf("%d ranks: plan: %v", ranks, err)
		}
	}
}

// TestFileWritesOverScalar checks that a statement of one block that overwrites a scalar gives
// every rank the new value.
func TestFileWritesOverScalar(t *testing.T) {
	const text = `tensor A(3, 3): dd from dense:int
tensor B(3, 2): dd from dense:int
a = 4 * B(i,j)
a = a * B(k,j)
  split k:1
X(j) = A(i,j) * a
print a
print X
`
	var first []string
	for _, ranks := range []int{1, 2, 3} {
		w := job(t, t.TempDir(), text, nil)
		w.Ranks = ranks
		w.run(t)
		said := w.said
		if first == nil {
			first = said
		}
		if len(said) != 2 || !slices.Equal(said, first) {
			t.Errorf("%d ranks: got %q, want %q", ranks, said, first)
		}
	}
}
