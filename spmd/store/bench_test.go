package store

import (
	"context"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// BenchmarkColumns stores a matrix from two blocks of columns at two ranks, so that every row is
// merged.
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
		m, err := coo.Assemble(&ones{dims: dims, entries: parts[k]},
			coo.Spec{Format: tensor.FormatOf("ds", []int{0, 1}), Box: box}, coo.Config{})
		if err != nil {
			b.Fatal(err)
		}
		ms[k] = m
	}
	benchmarkStore(b, dims, "ds", ms[:])
}

// BenchmarkFibers stores a tensor with few entries in a row from two blocks of its last mode.
func BenchmarkFibers(b *testing.B) {
	const n = 5000000
	dims := []int64{50000, 20000, 5000}
	var ms []*tcs.Tensor
	for k := range int64(2) {
		box := [][2]int64{{0, dims[0]}, {0, dims[1]}, {k * dims[2] / 2, (k + 1) * dims[2] / 2}}
		s := &scattered{dims: dims, box: box, n: n / 2, seed: uint64(k)}
		m, err := coo.Assemble(s, coo.Spec{Format: tensor.FormatOf("sss", []int{0, 1, 2}), Box: box},
			coo.Config{})
		if err != nil {
			b.Fatal(err)
		}
		ms = append(ms, m)
	}
	benchmarkStore(b, dims, "sss", ms)
}

// scattered is a stream of n random entries of a box.
type scattered struct {
	none
	dims  []int64
	box   [][2]int64
	n, at int
	seed  uint64
}

func (s *scattered) Dims() ([]int64, bool) { return s.dims, true }
func (s *scattered) Type() tensor.Type     { return tensor.Float64 }
func (s *scattered) Rewind() error         { s.at = 0; return nil }
func (s *scattered) Next(b *coo.Batch) error {
	n := min(s.n-s.at, coo.BatchSize)
	if n == 0 {
		return io.EOF
	}
	r := rand.New(rand.NewPCG(s.seed, uint64(s.at)))
	b.Resize(len(s.box), n, 8)
	for k := range n {
		for m, x := range s.box {
			b.Coords[m][k] = x[0] + r.Int64N(x[1]-x[0])
		}
	}
	s.at += n
	return nil
}

// benchmarkStore stores a tensor from a block at each rank.
func benchmarkStore(b *testing.B, dims []int64, kinds string, blocks []*tcs.Tensor) {
	modes, bytes := tensor.Identity(len(dims)), int64(0)
	for _, m := range blocks {
		bytes += m.Bytes()
	}
	path := filepath.Join(b.TempDir(), "x.tcs")
	b.SetBytes(bytes)
	b.ResetTimer()
	for range b.N {
		f, err := outfile.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		err = local.Run(context.Background(), len(blocks), func(c comm.Comm) error {
			bl := &Blocks{Layout: tensor.Layout{Dims: dims, Type: tensor.Float64,
				Format: tensor.FormatOf(kinds, modes)},
				Own: map[int]*tcs.Tensor{c.Rank(): blocks[c.Rank()]}}
			for k, m := range blocks {
				bl.Owners, bl.Boxes = append(bl.Owners, k), append(bl.Boxes, m.Header.Box)
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
