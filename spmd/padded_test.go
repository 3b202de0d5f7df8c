package spmd_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd"
)

// A dense level below a compressed level has an entry for each of its coordinates in a sparse
// result, however the work is cut.
func TestRoomOfDenseLevelsIsTheSameInBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, j := range []struct {
		statement, entries string
		formats            map[string]string
		sizes              map[string][]int64
		splits             []string
	}{
		{"C(i,j) = A(i,j)", "2 3 5\n", map[string]string{"A": "sd", "C": "ss"},
			map[string][]int64{"A": {3, 4}}, []string{"j:2"}},
		{"C(i,j) = A(i,j)", "2 3 5\n1 1 2\n", map[string]string{"A": "sd:1,0", "C": "ss"},
			map[string][]int64{"A": {3, 4}}, []string{"i:3", "j:4"}},
		{"C(b,c,i,j) = A(b,c,i,j) + A(c,b,i,j)", "1 2 1 2 7\n2 2 2 2 3\n",
			map[string]string{"A": "dsdd", "C": "ssss"}, map[string][]int64{"A": {2, 2, 2, 3}},
			[]string{"j:3", "i:2"}},
		{"y(i) = A(i,j) * A(j,i)", "2 3 5\n3 1 4\n", map[string]string{"A": "sd", "y": "s"},
			map[string][]int64{"A": {3, 3}}, []string{"j:3"}},
	} {
		in := filepath.Join(dir, "a.tns")
		if err := os.WriteFile(in, []byte(j.entries), 0o600); err != nil {
			t.Fatal(err)
		}
		// The same as a file of levels that are all compressed.
		access := "(" + strings.Join(strings.Split("ijkl"[:len(j.sizes["A"])], ""), ",") + ")"
		stored := filepath.Join(dir, "a.tcs")
		store := spmd.Job{Statement: "B" + access + " = A" + access, Sizes: j.sizes,
			Inputs:  map[string]spmd.Input{"A": {File: in}},
			Formats: map[string]string{"B": strings.Repeat("s", len(j.sizes["A"]))},
			Outputs: []spmd.Output{{Tensor: "B", File: stored}}}
		store.Target, store.Threads = spmd.Interpreter, 1
		if _, err := store.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		run := func(ranks int, splits []string, in string, unique bool) []byte {
			out := filepath.Join(dir, "out.tns")
			job := spmd.Job{Statement: j.statement, Formats: j.formats, Sizes: j.sizes,
				Inputs:  map[string]spmd.Input{"A": {File: in, NoDuplicates: unique}},
				Outputs: []spmd.Output{{Tensor: j.statement[:1], File: out}}}
			job.Target, job.Threads, job.Ranks, job.Splits = spmd.Interpreter, 1, ranks, splits
			if _, err := job.Run(context.Background()); err != nil {
				t.Fatalf("%s on %d ranks, %v: %v", j.statement, ranks, splits, err)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		want := run(1, nil, in, false)
		for ranks := 1; ranks <= 5; ranks++ {
			for _, splits := range [][]string{nil, j.splits, j.splits[:1]} {
				for _, file := range []string{in, stored} {
					for _, unique := range []bool{false, true} {
						if got := run(ranks, splits, file, unique); !bytes.Equal(got, want) {
							t.Errorf("%s of %s on %d ranks, %v, no duplicates %v: got\n%swant\n%s",
								fmt.Sprint(j.statement, j.formats), filepath.Base(file), ranks, splits, unique, got, want)
						}
					}
				}
			}
		}
	}
}

// A coordinate that a file stores with only zeros below it remains stored if its dense levels are
// extended to their whole size, if its type changes, and if the levels above are stored in another
// order.
func TestStoredZerosStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		dims              []int64
		entries, made, as string // made: the file's levels
		statement, result string
		splits            []string
	}{
		{[]int64{5, 6}, "2 3 0\n4 4 7\n5 3 0\n", "sd", "sd", "C(i,j) = A(i,j)", "ss", []string{"j:2"}},
		{[]int64{5, 6}, "2 3 0\n4 4 7\n5 3 0\n", "sd", "sd", "C(i,j) = A(i,j)", "ss",
			[]string{"i:2", "j:3"}},
		{[]int64{5, 6}, "1 1 0\n2 3 0\n", "sd", "sd", "C(i,j) = A(i,j)", "ss", []string{"j:3"}},
		{[]int64{3, 4, 5}, "1 2 3 0\n2 2 2 1\n3 4 4 0\n3 4 3 2\n", "ssd", "ssd", "C(i,j,k) = A(i,j,k)",
			"sss", []string{"k:3", "j:2"}},
		{[]int64{3, 4, 5}, "1 2 3 0\n2 2 2 1\n3 4 4 0\n3 4 3 2\n", "sdd", "sdd", "C(i,j,k) = A(i,j,k)",
			"sss", []string{"k:3", "j:2"}},
		{[]int64{3, 4, 5}, "1 2 3 0\n2 2 2 1\n3 4 4 0\n3 4 3 2\n", "sdd", "sdd:0,2,1",
			"C(i,j,k) = A(i,j,k)", "sss", []string{"k:3", "i:2"}},
		{[]int64{3, 4, 5}, "1 2 3 0\n2 2 2 1\n3 4 4 0\n3 4 3 2\n", "dsd", "sdd", "C(i,j,k) = A(i,j,k)",
			"sss", []string{"k:3", "i:2"}},
	} {
		text := filepath.Join(dir, "a.tns")
		if err := os.WriteFile(text, []byte(c.entries), 0o600); err != nil {
			t.Fatal(err)
		}
		sizes := map[string][]int64{"A": c.dims}
		run := func(in string, unique bool, typ string, ranks int, splits []string) string {
			t.Helper()
			out := filepath.Join(dir, "out.tns")
			job := spmd.Job{Statement: c.statement, Formats: map[string]string{"A": c.as, "C": c.result},
				Sizes:   sizes,
				Inputs:  map[string]spmd.Input{"A": {File: in, NoDuplicates: unique}},
				Outputs: []spmd.Output{{Tensor: "C", File: out}}}
			if typ != "" {
				job.Types = map[string]string{"A": typ}
			}
			job.Target, job.Threads, job.Ranks, job.Splits = spmd.Interpreter, 1, ranks, splits
			if _, err := job.Run(context.Background()); err != nil {
				t.Fatalf("%s as %s on %d ranks, %v: %v", c.made, c.as, ranks, splits, err)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		want := run(text, false, "", 1, nil)
		for _, fit := range []bool{false, true} {
			file, again := filepath.Join(dir, "a.tcs"), filepath.Join(dir, "b.tcs")
			opt := convert.Options{Format: tensor.FormatOf(c.made, nil), HasFormat: true, FitDense: fit,
				Read: coo.Options{Dims: c.dims}}
			if err := convert.File(text, file, opt); err != nil {
				t.Fatal(err)
			}
			a, err := tcsfile.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			if a.Header.Whole() == fit {
				t.Fatalf("%s: fit is %v, and whole is %v", c.made, fit, a.Header.Whole())
			}
			a.Close()
			// A file of a file keeps them too.
			if err := convert.File(file, again, convert.Options{FitDense: !fit}); err != nil {
				t.Fatal(err)
			}
			for n, in := range []string{file, again} {
				for ranks := 1; ranks <= 3; ranks++ {
					for _, splits := range [][]string{nil, c.splits, c.splits[:1]} {
						for _, typ := range []string{"", "float32"} {
							for _, unique := range []bool{false, true}[:2-n] {
								if got := run(in, unique, typ, ranks, splits); got != want {
									t.Fatalf("%s as %s, fit %v, %s, type %q, no duplicates %v, %d ranks, %v: got\n%swant\n%s",
										c.made, c.as, fit, filepath.Base(in), typ, unique, ranks, splits, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}
