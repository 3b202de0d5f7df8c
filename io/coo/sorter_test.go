package coo

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// laneStream yields the lanes of a Sorter as one stream.
type laneStream struct {
	dims  []int64
	lanes []Batch
	at    int
}

func (s *laneStream) Dims() ([]int64, bool) { return s.dims, true }
func (s *laneStream) Type() tensor.Type     { return tensor.Float64 }
func (s *laneStream) Rewind() error         { s.at = 0; return nil }
func (s *laneStream) Close() error          { return nil }
func (s *laneStream) Next(b *Batch) error {
	if s.at == len(s.lanes) {
		return io.EOF
	}
	*b = s.lanes[s.at]
	s.at++
	return nil
}

// TestSorter adds entries in lanes, in random turns. The result must equal the assembly of one lane
// after another, to the last bit of sums, in memory and by way of files.
func TestSorter(t *testing.T) {
	files := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		dims := []int64{1 + rng.Int64N(300), 1 + rng.Int64N(40)}
		if seed%7 == 6 {
			dims[0] <<= 40 // keys with more words
			dims[1] <<= 40
		}
		s := &laneStream{dims: dims, lanes: make([]Batch, 1+rng.IntN(4))}
		most := 30
		if seed%3 == 2 {
			most = 40000 // exceeds the budget
		}
		for l := range s.lanes {
			b := &s.lanes[l]
			b.Resize(2, rng.IntN(most), 8)
			for k := range b.N {
				b.Coords[0][k], b.Coords[1][k] = rng.Int64N(dims[0]), rng.Int64N(dims[1])
				tensor.Float64.Store(unsafe.Pointer(&b.Vals[8*k]),
					tensor.Value{Type: tensor.Float64, C: complex(rng.NormFloat64(), 0)})
			}
		}
		kinds := []string{"ss", "ds", "uc", "dd"}[seed%4]
		if seed%7 == 6 {
			kinds = []string{"ss", "uc"}[seed%2]
		}
		spec := Spec{Format: tensor.FormatOf(kinds, []int{0, 1}), Dims: dims, Type: tensor.Float64,
			Name: "T"}
		want, err := Assemble(s, spec, Config{})
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Tmp: t.TempDir(), Threads: 1}
		if seed%3 == 2 {
			cfg.Limit = tcs.NewLimit(want.Bytes() + 3<<20)
		}
		b := NewSorter(spec, cfg, len(s.lanes), nil)
		at := make([]int, len(s.lanes))
		for _, l := range turns(rng, s.lanes) {
			lane := &s.lanes[l]
			n := min(50, lane.N-at[l])
			cols := [][]int64{lane.Coords[0][at[l]:], lane.Coords[1][at[l]:]}
			if err := b.Add(l, cols, lane.Vals[8*at[l]:], n); err != nil {
				t.Fatal(err)
			}
			at[l] += n
		}
		spilled := b.disk != nil
		if spilled {
			files++
		}
		got, err := b.Finish(false)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := got.Check(); err != nil {
			t.Fatal(err)
		}
		if !sameArrays(got, want) {
			t.Fatalf("seed %d, %s, %v, spilled %v: other arrays than Assemble's", seed, kinds, dims, spilled)
		}
		got.Close()
		want.Close()
		b.Close()
		if used := cfg.Limit.Used(); used != 0 {
			t.Errorf("seed %d: %d bytes stay reserved", seed, used)
		}
	}
	if files == 0 {
		t.Error("no case went by way of files")
	}
}

// turns lists each lane once for every fifty of its entries, shuffled.
func turns(rng *rand.Rand, lanes []Batch) []int {
	var list []int
	for l := range lanes {
		for range (lanes[l].N + 49) / 50 {
			list = append(list, l)
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func sameArrays(a, b *tcs.Tensor) bool {
	same := slices.Equal(a.Header.Dims, b.Header.Dims) && bytes.Equal(a.Vals.Bytes(), b.Vals.Bytes())
	for l := range a.Levels {
		same = same && bytes.Equal(a.Levels[l].Pos.Bytes(), b.Levels[l].Pos.Bytes()) &&
			bytes.Equal(a.Levels[l].Crd.Bytes(), b.Levels[l].Crd.Bytes())
	}
	return same
}
