package spmd_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/spmd"
)

// TestRealData runs a product on every real file, and compares the whole result with the reference.
func TestRealData(t *testing.T) {
	byOrder := map[int]struct{ stmt, format string }{
		2: {"y(i) = B(i,j)*c(j)", "ds"},
		3: {"A(i,l) = B(i,j,k)*c(j,l)*d(k,l)", "sss"},
		4: {"A(i,l) = B(i,j,k,m)*c(j,l)*d(k,l)*e(m,l)", "ssss"},
		5: {"A(i,j,k,m) = B(i,j,k,m,n)*c(n)", "sssss"},
	}
	files := readertest.Files(t, "matrices", "tensors")
	if len(files) < 25 {
		t.Fatalf("found %d files in %v, want 25 or more", len(files), readertest.Roots(t))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := convert.Open(file, coo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			dims, _ := in.Dims()
			in.Close()
			c, ok := byOrder[len(dims)]
			if !ok {
				t.Fatalf("no statement for %d modes", len(dims))
			}
			for _, ranks := range []int{1, 3} {
				j := &spmd.Job{Statement: c.stmt, Formats: map[string]string{"B": c.format},
					Inputs: map[string]spmd.Input{"B": spmd.File(file)}, Sizes: map[string][]int64{"l": {8}}}
				if !strings.Contains(c.stmt, "l)") {
					j.Sizes = nil
				}
				if strings.HasPrefix(c.stmt, "A(i,j,k") {
					j.Formats["A"] = "ssss"
				}
				for _, name := range []string{"c", "d", "e"} {
					if strings.Contains(c.stmt, name+"(") {
						j.Inputs[name] = spmd.Generated("dense")
					}
				}
				j.Check, j.Ranks, j.Threads = true, ranks, 2/ranks+1
				report, err := j.Run(context.Background())
				if err != nil {
					t.Fatalf("%d ranks: %v", ranks, err)
				}
				if len(report.Lines) == 0 || !strings.HasPrefix(report.Lines[0], "check: all ") {
					t.Errorf("%d ranks: got %q, want every coordinate checked", ranks, report.Lines)
				}
			}
		})
	}
}
