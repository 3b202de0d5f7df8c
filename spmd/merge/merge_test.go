package merge_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/spmd/merge"
)

type sorted struct {
	at   int
	data [][3]int64 // coordinates and value, sorted by mode 1, then mode 0
	step int
}

func (s *sorted) Dims() ([]int64, bool) { return []int64{100, 100}, true }
func (s *sorted) Type() tensor.Type     { return tensor.Int64 }
func (s *sorted) Rewind() error         { s.at = 0; return nil }
func (s *sorted) Close() error          { return nil }
func (s *sorted) Next(b *coo.Batch) error {
	n := min(s.step, len(s.data)-s.at)
	if n == 0 {
		return io.EOF
	}
	b.Resize(2, n, 8)
	for k, e := range s.data[s.at : s.at+n] {
		b.Coords[0][k], b.Coords[1][k] = e[0], e[1]
		binary.NativeEndian.PutUint64(b.Vals[8*k:], uint64(e[2]))
	}
	s.at += n
	return nil
}

func byColumn(a, b [3]int64) int {
	if a[1] != b[1] {
		return int(a[1] - b[1])
	}
	return int(a[0] - b[0])
}

func TestMergeIsStableAndSorted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var in []coo.Stream
		var want [][3]int64
		for k := range 1 + rng.IntN(9) {
			s := &sorted{step: 1 + rng.IntN(7)}
			for e := range rng.IntN(30) {
				s.data = append(s.data, [3]int64{rng.Int64N(5), rng.Int64N(5), int64(k*1000 + e)})
			}
			slices.SortStableFunc(s.data, byColumn)
			in = append(in, s)
			want = append(want, s.data...)
		}
		slices.SortStableFunc(want, byColumn)
		m := merge.Streams(in, []int{1, 0})
		for range 2 {
			var got [][3]int64
			var b coo.Batch
			for {
				err := m.Next(&b)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for k := range b.N {
					got = append(got, [3]int64{b.Coords[0][k], b.Coords[1][k],
						int64(binary.NativeEndian.Uint64(b.Vals[8*k:]))})
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got %v\nwant %v", got, want)
			}
			if err := m.Rewind(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
