package store

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// BenchmarkColumns stores a matrix from two blocks of columns at two ranks: every
// row is merged.
func BenchmarkColumns(b *testing.B) {
	const n = 300000
	dims := []int64{n, n}
	rng := rand.New(rand.NewPCG(1, 1))
	var parts [2][][2]int64
	for i := range int64(n) {
		for k := range 2 {
			var js []int64
			for range 5 {
				js = append(js, rng.Int64N(n/2)+int64(k)*n/2)
			}
			slices.Sort(js)
			for _, j := range slices.Compact(js) {
				parts[k] = append(parts[k], [2]int64{i, j})
			}
		}
	}
	var ms [2]*tcs.Tensor
	for k := range 2 {
		box := [][2]int64{{0, n}, {int64(k) * n / 2, int64(k+1) * n / 2}}
		m, err := coo.Assemble(&ones{dims: dims, entries: parts[k]}, coo.Spec{Kinds: "ds", Modes: []int{0, 1}, Box: box}, coo.Config{})
		if err != nil {
			b.Fatal(err)
		}
		ms[k] = m
	}
	path := filepath.Join(b.TempDir(), "x.tcs")
	b.SetBytes(int64(len(parts[0])+len(parts[1])) * 12)
	b.ResetTimer()
	for range b.N {
		f, err := outfile.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		err = local.Run(context.Background(), 2, func(c comm.Comm) error {
			bl := &Blocks{Dims: dims, Type: tcs.Float64, Kinds: "ds", Modes: []int{0, 1}, Owners: []int{0, 1}, Own: map[int]*tcs.Tensor{c.Rank(): ms[c.Rank()]}}
			for k := range 2 {
				bl.Boxes = append(bl.Boxes, ms[k].Box)
			}
			var g *outfile.File
			if c.Rank() == 0 {
				g = f
			}
			return Write(c, bl, g, "x.tcs", Auto, coo.Config{Threads: 1})
		})
		if err != nil {
			b.Fatal(err)
		}
		f.Abort()
	}
}
