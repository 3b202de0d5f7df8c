package spmd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"distaff/spmd"
)

// A product whose result is far smaller than its operands suggest fits into the memory that it
// really needs.
func TestSmallProductsFitTheLimit(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	const n, entries = 2000, 60000
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	a, b := &bytes.Buffer{}, &bytes.Buffer{}
	for k := range entries { // the columns of A meet few rows of B
		fmt.Fprintf(a, "%d %d 1\n", 1+r.IntN(n), 1+r.IntN(n/4))
		fmt.Fprintf(b, "%d %d 2\n", 1+n/4+r.IntN(n*3/4), 1+r.IntN(n))
		if k%3000 == 0 {
			fmt.Fprintf(b, "%d %d 2\n", 1+r.IntN(n/4), 1+r.IntN(n))
		}
	}
	job := spmd.Job{Statement: "C(i,k) = A(i,j)*B(j,k)", Formats: map[string]string{"C": "ds"},
		Sizes: map[string][]int64{"A": {n, n}, "B": {n, n}}, Inputs: map[string]spmd.Input{}}
	for name, text := range map[string]*bytes.Buffer{"A": a, "B": b} {
		path := filepath.Join(dir, name+".tns")
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		job.Inputs[name] = spmd.File(path)
	}
	out := filepath.Join(dir, "c.tns")
	job.Outputs = []spmd.Output{{Tensor: "C", File: out}}
	var want []byte
	for _, limit := range []int64{0, 8 << 20} { // the first guess is 11 MB
		for ranks := 1; ranks <= 2; ranks++ {
			for threads := 1; threads <= 2; threads++ {
				job.MemoryLimit, job.Ranks, job.Threads = limit, ranks, threads
				if _, err := job.Run(context.Background()); err != nil {
					t.Fatalf("limit %d, %d ranks, %d threads: %v", limit, ranks, threads, err)
				}
				got, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Errorf("limit %d, %d ranks, %d threads: another result", limit, ranks, threads)
				}
			}
		}
	}
}

// The buffers that store a result stay within the memory limit, and the copy of an operand whose
// level arrays the result shares frees its values.
func TestTransposedResultsFitTheLimit(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	b, out := filepath.Join(dir, "b.tcs"), filepath.Join(dir, "a.tcs")
	made := spmd.Job{Statement: "B(i,j) = G(i,j)", Formats: map[string]string{"G": "ds", "B": "ds"},
		Sizes:   map[string][]int64{"G": {40000, 30000}},
		Inputs:  map[string]spmd.Input{"G": spmd.Generated("uniform:400000")},
		Outputs: []spmd.Output{{Tensor: "B", File: b}}}
	made.Target = spmd.Interpreter
	if _, err := made.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ stmt, format string }{{"A(i,j) = B(j,i)", "ds"},
		{"A(i,j) = B(i,j)", "ds:1,0"}} {
		var want []byte
		for ranks := 2; ranks <= 4; ranks++ {
			job := spmd.Job{Statement: c.stmt, Formats: map[string]string{"A": c.format, "B": "ds"},
				Inputs:  map[string]spmd.Input{"B": spmd.File(b)},
				Outputs: []spmd.Output{{Tensor: "A", File: out}}}
			job.Ranks, job.Threads = ranks, 1
			for _, share := range []int64{0, 400000*12/int64(ranks) + 40000*4} {
				job.MemoryLimit = share * 9 / 5
				report, err := job.Run(context.Background())
				if err != nil {
					t.Fatalf("%s, %d ranks, limit %d: %v", c.stmt, ranks, job.MemoryLimit, err)
				}
				got, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s, %d ranks, limit %d: another result", c.stmt, ranks, job.MemoryLimit)
				}
				t.Logf("%s, %d ranks, limit %d: allocated %v", c.stmt, ranks, job.MemoryLimit, report.Allocated)
			}
		}
	}
}

// With tight memory limits partial results are merged repeatedly while the steps run, and a second
// run adds to the merged results. The result stays the same.
func TestPartialsMergedEarly(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	out := filepath.Join(t.TempDir(), "c.tcs")
	job := spmd.Job{Statement: "C(i,k) = A(i,j)*B(j,k)",
		Formats: map[string]string{"A": "ds", "B": "ds", "C": "ds"},
		Sizes:   map[string][]int64{"A": {50, 60}, "B": {60, 3000}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:1000:int"),
			"B": spmd.Generated("uniform:30000:int")},
		Outputs: []spmd.Output{{Tensor: "C", File: out}}}
	job.Splits, job.Threads, job.Repeat = []string{"j:30"}, 1, 2
	for ranks := 1; ranks <= 2; ranks++ {
		var want []byte
		tight := 0
		var code interface{ ExitCode() int }
		job.Ranks, job.MemoryLimit = ranks, 0
		for {
			report, err := job.Run(context.Background())
			if err != nil && job.MemoryLimit > 0 && errors.As(err, &code) && code.ExitCode() == 5 {
				break
			}
			if err != nil {
				t.Fatalf("%d ranks, limit %d: %v", ranks, job.MemoryLimit, err)
			}
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			} else if tight++; !bytes.Equal(got, want) {
				t.Errorf("%d ranks, limit %d: another result", ranks, job.MemoryLimit)
			}
			job.MemoryLimit = slices.Max(report.Allocated) * 19 / 20
		}
		if tight < 2 {
			t.Errorf("%d ranks: %d limits below what the job took before, want several", ranks, tight)
		}
	}
}
