package coo

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// drawn returns n random entries of a tensor with sizes dims. Some coordinates repeat, and many
// entries are at a few coordinates of the first mode.
func drawn(r *rand.Rand, dims []int64, typ tensor.Type, n int) (cols [][]int64, vals []byte) {
	crowd := r.IntN(3) == 0
	for m, d := range dims {
		col := make([]int64, n)
		for i := range col {
			if col[i] = r.Int64N(d); crowd && m == 0 {
				col[i] %= min(d, 5)
			}
		}
		cols = append(cols, col)
	}
	return cols, make([]byte, n*int(typ.Size()))
}

// draw draws the sizes of three modes, the level kinds and the type.
func draw(r *rand.Rand) Spec {
	s := Spec{Format: tensor.FormatOf([]string{"sss", "dss", "dds", "ucq"}[r.IntN(4)], nil),
		Type: []tensor.Type{tensor.Float32, tensor.Float64, tensor.Complex128}[r.IntN(3)]}
	s.Dims = []int64{1 + r.Int64N(300), 1 + r.Int64N(1000),
		1 + r.Int64N(1<<[]int{8, 20, 60}[r.IntN(3)])}
	return s
}

// sizesOf returns the sizes of the levels' modes.
func sizesOf(s Spec) (sizes []int64) {
	for _, m := range s.Format.Order {
		sizes = append(sizes, s.Dims[m])
	}
	return sizes
}

// TestBuildBytes checks that Sorters of several blocks, with entries in many lanes, need no more
// memory than SortCost.BuildBytes returns.
func TestBuildBytes(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		spec, lanes, blocks, threads := draw(r), 1+r.IntN(9), 1+r.IntN(12), 1+r.IntN(4)
		limit := tcs.NewLimit(0)
		cfg := Config{Limit: limit, Threads: threads, Tmp: t.TempDir()}
		pool := NewPool(limit)
		var makers []*Sorter
		var told []BlockCost
		for range blocks {
			b := NewSorter(spec, cfg, lanes, pool)
			all := 0
			for range r.IntN(40) {
				n := 1 + r.IntN([]int{3, 500, 4000}[r.IntN(3)])
				if seed%4 == 0 {
					n *= 5
				}
				cols, vals := drawn(r, spec.Dims, spec.Type, n)
				if err := b.Add(r.IntN(lanes), cols, vals, n); err != nil {
					t.Fatal(err)
				}
				all += n
			}
			makers, told = append(makers, b), append(told, BlockCost{Entries: int64(all)})
		}
		for k, b := range makers {
			made, err := b.Finish(false)
			if err != nil {
				t.Fatal(err)
			}
			defer made.Close()
			told[k].Bytes = made.Bytes() + int64(2*len(made.Levels)+1)*tcs.Align
		}
		c := NewSortCost(sizesOf(spec), spec.Type, threads)
		if took, most := limit.Peak(), c.BuildBytes(told, int64(lanes), 0); took > most {
			t.Errorf("seed %d: %d lanes, %d blocks, %d threads of %+v: took %d, foretold %d", seed, lanes,
				blocks, threads, spec, took, most)
		} else if took > 0 {
			t.Logf("seed %d: took %d, foretold %d (%.2f times)", seed, took, most,
				float64(most)/float64(took))
		}
	}
}

// TestAssembleBytes checks SortCost.AssembleBytes for a tensor that is assembled from one stream.
func TestAssembleBytes(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		spec, threads := draw(r), 1+r.IntN(4)
		n := 1 + r.IntN([]int{10, 3000, 300000}[seed%3])
		cols, vals := drawn(r, spec.Dims, spec.Type, n)
		limit := tcs.NewLimit(0)
		made, err := Assemble(&listed{spec: spec, cols: cols, vals: vals}, spec,
			Config{Limit: limit, Threads: threads, Tmp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		bytes := made.Bytes() + int64(2*len(made.Levels)+1)*tcs.Align
		made.Close()
		c := NewSortCost(sizesOf(spec), spec.Type, threads)
		if took, most := limit.Peak(), bytes+c.AssembleBytes(int64(n), bytes, 0); took > most {
			t.Errorf("seed %d: %d entries, %d threads of %+v: took %d, foretold %d", seed, n, threads, spec,
				took, most)
		}
	}
}

// listed is a stream of entries in memory.
type listed struct {
	spec Spec
	cols [][]int64
	vals []byte
	at   int
}

func (l *listed) Dims() ([]int64, bool) { return l.spec.Dims, true }
func (l *listed) Type() tensor.Type     { return l.spec.Type }
func (l *listed) Rewind() error         { l.at = 0; return nil }
func (l *listed) Close() error          { return nil }

func (l *listed) Next(b *Batch) error {
	n := min(len(l.cols[0])-l.at, BatchSize)
	if n == 0 {
		return io.EOF
	}
	b.Coords = nil
	for _, col := range l.cols {
		b.Coords = append(b.Coords, slices.Clone(col[l.at:l.at+n]))
	}
	size := int(l.spec.Type.Size())
	b.Vals, b.N = l.vals[l.at*size:(l.at+n)*size], n
	l.at += n
	return nil
}
