package spmd_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/spmd"
)

// A dense level below a compressed one makes room for all its coordinates, and a
// sparse result has an entry for each, however the work is cut.
func TestRoomOfDenseLevelsIsTheSameInBlocks(t *testing.T) {
	dir := t.TempDir()
	for _, j := range []struct {
		statement, entries string
		formats            map[string]string
		sizes              map[string][]int64
		splits             []string
	}{
		{"C(i,j) = A(i,j)", "2 3 5\n", map[string]string{"A": "sd", "C": "ss"}, map[string][]int64{"A": {3, 4}}, []string{"j:2"}},
		{"C(i,j) = A(i,j)", "2 3 5\n1 1 2\n", map[string]string{"A": "sd:1,0", "C": "ss"}, map[string][]int64{"A": {3, 4}}, []string{"i:3", "j:4"}},
		{"C(b,c,i,j) = A(b,c,i,j) + A(c,b,i,j)", "1 2 1 2 7\n2 2 2 2 3\n", map[string]string{"A": "dsdd", "C": "ssss"}, map[string][]int64{"A": {2, 2, 2, 3}}, []string{"j:3", "i:2"}},
		{"y(i) = A(i,j) * A(j,i)", "2 3 5\n3 1 4\n", map[string]string{"A": "sd", "y": "s"}, map[string][]int64{"A": {3, 3}}, []string{"j:3"}},
	} {
		in := filepath.Join(dir, "a.tns")
		if err := os.WriteFile(in, []byte(j.entries), 0o600); err != nil {
			t.Fatal(err)
		}
		// The same as a file of levels that are all compressed.
		access := "(" + strings.Join(strings.Split("ijkl"[:len(j.sizes["A"])], ""), ",") + ")"
		stored := filepath.Join(dir, "a.tcs")
		store := spmd.Job{Statement: "B" + access + " = A" + access, Sizes: j.sizes, Inputs: map[string]spmd.Input{"A": {File: in}},
			Formats: map[string]string{"B": strings.Repeat("s", len(j.sizes["A"]))}, Outputs: []spmd.Output{{Tensor: "B", File: stored}}}
		store.Interpret, store.Threads = true, 1
		if _, err := store.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		run := func(ranks int, splits []string, in string) []byte {
			out := filepath.Join(dir, "out.tns")
			job := spmd.Job{Statement: j.statement, Formats: j.formats, Sizes: j.sizes, Inputs: map[string]spmd.Input{"A": {File: in}},
				Outputs: []spmd.Output{{Tensor: j.statement[:1], File: out}}}
			job.Interpret, job.Threads, job.Ranks, job.Splits = true, 1, ranks, splits
			if _, err := job.Run(context.Background()); err != nil {
				t.Fatalf("%s on %d ranks, %v: %v", j.statement, ranks, splits, err)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		want := run(1, nil, in)
		for ranks := 1; ranks <= 5; ranks++ {
			for _, splits := range [][]string{nil, j.splits, j.splits[:1]} {
				for _, file := range []string{in, stored} {
					if got := run(ranks, splits, file); !bytes.Equal(got, want) {
						t.Errorf("%s of %s on %d ranks, %v: got\n%swant\n%s", fmt.Sprint(j.statement, j.formats), filepath.Base(file), ranks, splits, got, want)
					}
				}
			}
		}
	}
}
