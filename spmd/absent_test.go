package spmd_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"distaff/io/tcs"
	"distaff/kernels"
	_ "distaff/kernels/verified"
	"distaff/spmd"
)

// TestAbsentIntermediate checks a rank whose part of a sum's range is empty: its intermediate has
// no value, so the result is 0 at the positions of an operand that it stores.
func TestAbsentIntermediate(t *testing.T) {
	kernels.Poisoned.Store(true)
	defer kernels.Poisoned.Store(false)
	j := &spmd.Job{
		Statement: "A(j,l,i) = C(k,i)*B(j,l)*D(k,j)",
		Formats:   map[string]string{"A": "ssd", "B": "ss", "C": "dd", "D": "dd"},
		Sizes:     map[string][]int64{"B": {8, 3}, "C": {4, 3}, "D": {4, 8}},
		Inputs:    map[string]spmd.Input{},
	}
	for name, text := range map[string]string{
		"B": "2 2 1\n2 3 1\n3 1 1\n3 2 1\n4 1 1\n4 2 1\n7 2 1\n7 3 1\n8 1 1\n8 2 1\n8 3 1\n",
		"C": "1 1 2\n", "D": "1 3 1\n3 8 1\n"} {
		path := filepath.Join(t.TempDir(), name+".tns")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j.Inputs[name] = spmd.Input{File: path}
	}
	j.Ranks, j.Threads, j.Target, j.Keep = 2, 1, spmd.Interpreter, true
	j.Splits, j.Map, j.Network = []string{"k:2,4,"}, "k", "B*(C*D)"
	report, err := j.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer report.Result.Close()
	for k, x := range tcs.Values[float64](report.Result) {
		if x < 0 || x > 2 {
			t.Errorf("value %d is %v, want a sum of products of 0, 1 and 2", k, x)
		}
	}
}
