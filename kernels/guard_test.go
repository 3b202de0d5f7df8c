package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// TestShrink truncates a mapped file and reads it, from C and from Go.
func TestShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tcs")
	a, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{1 << 20}, Type: tensor.Float64},
		Format: tensor.FormatOf("d", []int{0})}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tcs.Values[float64](a) {
		tcs.Values[float64](a)[i] = 1
	}
	if err := tcsfile.Write(path, a, tcsfile.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"C", "Go"} {
		b, err := tcsfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Changed(); err != nil {
			t.Fatal(err)
		}
		n := b.Vals.Len * 8
		if got := touchC(b.Vals.Ptr, n); got == 0 && from == "C" {
			t.Log("the first bytes of 1.0 are zero: the sum says nothing")
		}
		if err := os.Truncate(path, 1<<20); err != nil {
			t.Fatal(err)
		}
		if from == "C" {
			touchC(b.Vals.Ptr, n)
		} else {
			sum := 0.0
			for _, x := range tcs.Values[float64](b) {
				sum += x
			}
			if sum < 1<<16 || sum >= 1<<18 {
				t.Errorf("sum of what is left: %v", sum)
			}
		}
		if err := b.Changed(); err == nil || !strings.Contains(err.Error(),
			"the file became shorter while it was in use") {
			t.Errorf("from %s: got %v", from, err)
		}
		b.Close()
		if err := tcsfile.Write(path, a, tcsfile.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
