package coo

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"distaff/io/tensor"
)

// columns is a stream of entries that are stored in columns, for benchmarks.
type columns struct {
	dims   []int64
	coords [][]int64
	vals   []float64
	at     int
}

func (s *columns) Dims() ([]int64, bool) { return s.dims, true }
func (s *columns) Type() tensor.Type     { return tensor.Float64 }
func (s *columns) Rewind() error         { s.at = 0; return nil }
func (s *columns) Close() error          { return nil }
func (s *columns) Next(b *Batch) error {
	n := min(BatchSize, len(s.vals)-s.at)
	if n == 0 {
		return io.EOF
	}
	b.Coords = make([][]int64, len(s.dims))
	for m := range b.Coords {
		b.Coords[m] = s.coords[m][s.at : s.at+n]
	}
	b.Vals = unsafe.Slice((*byte)(unsafe.Pointer(&s.vals[s.at])), 8*n)
	b.N = n
	s.at += n
	return nil
}

func uniform(dims []int64, n int, sorted bool) *columns {
	r := rand.New(rand.NewPCG(1, 1))
	s := &columns{dims: dims, vals: make([]float64, n)}
	keys := make([][]int64, n)
	flat := make([]int64, n*len(dims))
	for i := range keys {
		keys[i] = flat[i*len(dims) : (i+1)*len(dims)]
		for m, d := range dims {
			keys[i][m] = r.Int64N(d)
		}
	}
	if sorted {
		slices.SortFunc(keys, slices.Compare[[]int64])
	}
	for m := range dims {
		col := make([]int64, n)
		for i := range col {
			col[i] = keys[i][m]
		}
		s.coords = append(s.coords, col)
	}
	return s
}

func BenchmarkAssemble(b *testing.B) {
	const n = 2_000_000
	for _, c := range []struct {
		name, kinds string
		dims        []int64
		sorted      bool
	}{
		{"csr/sorted", "ds", []int64{400_000, 400_000}, true},
		{"csr/unsorted", "ds", []int64{400_000, 400_000}, false},
		{"csf/sorted", "sss", []int64{50_000, 20_000, 5_000}, true},
		{"csf/unsorted", "sss", []int64{50_000, 20_000, 5_000}, false},
		{"wide/unsorted", "sss", []int64{1 << 40, 1 << 40, 1 << 40}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := uniform(c.dims, n, c.sorted)
			b.SetBytes(n)
			b.ResetTimer()
			for range b.N {
				in.Rewind()
				t, err := Assemble(in, Spec{Format: tensor.FormatOf(c.kinds, nil)}, Config{})
				if err != nil {
					b.Fatal(err)
				}
				t.Close()
			}
		})
	}
	b.Run("csr to csc", func(b *testing.B) {
		t, err := Assemble(uniform([]int64{400_000, 400_000}, n, true),
			Spec{Format: tensor.FormatOf("ds", nil)}, Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
		b.ResetTimer()
		for range b.N {
			u, err := Repack(t, tensor.FormatOf("ds", []int{1, 0}), KeepAll, Config{})
			if err != nil {
				b.Fatal(err)
			}
			u.Close()
		}
	})
	b.Run("csr to coo", func(b *testing.B) {
		t, err := Assemble(uniform([]int64{400_000, 400_000}, n, true),
			Spec{Format: tensor.FormatOf("ds", nil)}, Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
		b.ResetTimer()
		for range b.N {
			u, err := Repack(t, tensor.FormatOf("uq", nil), KeepAll, Config{})
			if err != nil {
				b.Fatal(err)
			}
			u.Close()
		}
	})
}
