package coo

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

func TestSpill(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tmp := t.TempDir()
	for _, dims := range [][]int64{{50, 40, 30}, {1 << 40, 1 << 30, 1 << 35},
		{1 << 60, 1 << 60, 1 << 60}} {
		for _, exact := range []bool{true, false} {
			for _, typ := range []tensor.Type{tensor.Float64, tensor.Complex128} {
				in := random(r, dims, 40000, typ)
				in.exact = exact
				in.batch = 4096
				for k := range 1000 { // distant repeats, and repeats across runs
					in.coords[30000+k] = in.coords[k]
				}
				limit := tcs.NewLimit(4 << 20)
				a, err := Assemble(in, Spec{Format: tensor.FormatOf("sss", []int{1, 2, 0})},
					Config{Limit: limit, Tmp: tmp, Threads: 2})
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Check(); err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(meaning(a), in.sums()) {
					t.Fatalf("%v: wrong tensor", dims)
				}
				a.Close()
				if limit.Used() != 0 || limit.Peak() > 4<<20 {
					t.Errorf("limit: %d used after all is closed, peak %d", limit.Used(), limit.Peak())
				}
			}
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// TestLowLimit assembles entries that exceed their memory limit several times into a file, for
// several low limits.
func TestLowLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	in := random(r, []int64{1 << 40, 1 << 20, 1 << 35}, 60000, tensor.Float64) // 1.4 MB of records
	in.batch = 4096
	for _, max := range []int64{256 << 10, 512 << 10, 1 << 20, 2 << 20} {
		path := filepath.Join(t.TempDir(), "t.tcs")
		limit := tcs.NewLimit(max)
		if err := in.Rewind(); err != nil {
			t.Fatal(err)
		}
		if err := AssembleFile(path, in, Spec{Format: tensor.FormatOf("sss", []int{2, 0, 1})},
			Config{Limit: limit, Tmp: t.TempDir(), Threads: 2}); err != nil {
			t.Errorf("%d bytes: %v", max, err)
			continue
		}
		if limit.Used() != 0 || limit.Peak() > max {
			t.Errorf("%d bytes: %d used after all is closed, peak %d", max, limit.Used(), limit.Peak())
		}
		a, err := tcsfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(meaning(a), in.sums()) {
			t.Errorf("%d bytes: wrong tensor", max)
		}
		a.Close()
	}
}
