package load_test

import (
	"context"
	"io"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/plan"
)

// scattered yields every entry i of n with i%of == part, in no order.
type scattered struct {
	dims         []int64
	n, of, part  int64
	at           int64
	repeats, all bool // every 100th coordinate repeats; all coordinates have entries
}

func (s *scattered) Dims() ([]int64, bool) { return s.dims, true }
func (s *scattered) Type() tensor.Type     { return tensor.Float64 }
func (s *scattered) Rewind() error         { s.at = 0; return nil }
func (s *scattered) Close() error          { return nil }
func (s *scattered) Next(b *coo.Batch) error {
	space := s.dims[0] * s.dims[1]
	b.Resize(2, coo.BatchSize, 8)
	k := 0
	for ; k < b.N && s.at < s.n; s.at++ {
		if s.at%s.of != s.part {
			continue
		}
		i := s.at
		if s.repeats && i%100 == 99 {
			i--
		}
		c := i
		if !s.all {
			c = i * (space / s.n)
		}
		c = c * 7919 % space // a prime
		b.Coords[0][k], b.Coords[1][k] = c/s.dims[1], c%s.dims[1]
		b.Vals[8*k+7], b.Vals[8*k+6], b.Vals[8*k] = 0x3f, byte(i), byte(s.at)
		k++
	}
	if k == 0 {
		return io.EOF
	}
	b.Resize(2, k, 8)
	return nil
}

// TestMemoryOfUnorderedInput checks that a rank that loads unordered entries needs at most 1.5
// times its share of the tensor.
func TestMemoryOfUnorderedInput(t *testing.T) {
	const n = 900_000
	for _, c := range []struct {
		kinds        string
		dims         []int64
		repeats, all bool
		alone        bool // rank 0 reads everything
	}{
		{kinds: "ds", dims: []int64{60000, 50000}},
		{kinds: "ds", dims: []int64{60000, 50000}, alone: true},
		{kinds: "ss", dims: []int64{60000, 50000}, repeats: true},
		{kinds: "uq", dims: []int64{60000, 50000}},
		{kinds: "dd", dims: []int64{900, 1000}, all: true},
		{kinds: "dd", dims: []int64{900, 1000}, all: true, alone: true},
	} {
		for _, ranks := range []int{1, 2, 4} {
			rows := make([]int64, ranks+1)
			for r := range rows {
				rows[r] = c.dims[0] * int64(r) / int64(ranks)
			}
			part := schedule(ranks, [][]int64{rows}, []int{0, -1})
			peaks, bytes := make([]int64, ranks), make([]int64, ranks)
			err := local.Run(context.Background(), ranks, func(k comm.Comm) error {
				limit := tcs.NewLimit(0)
				in := &scattered{dims: c.dims, n: n, of: int64(ranks), part: int64(k.Rank()),
					repeats: c.repeats, all: c.all}
				if c.alone {
					in.of, in.part = 1, 0
					if k.Rank() > 0 {
						in.n = 0
					}
				}
				g := &load.Target{Partition: part, Cfg: coo.Config{Limit: limit, Threads: 1},
					Spec: coo.Spec{Format: tensor.FormatOf(c.kinds, []int{0, 1}), Dims: c.dims,
						Type: tensor.Float64, Name: "T"}}
				own, err := g.Scatter(k, in)
				if err != nil {
					return err
				}
				for _, x := range own {
					bytes[k.Rank()] += x.Bytes()
					x.Close()
				}
				peaks[k.Rank()] = limit.Peak()
				if limit.Used() != 0 {
					t.Errorf("%s, %d ranks: %d bytes stay counted", c.kinds, ranks, limit.Used())
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			g := &load.Target{Partition: part,
				Spec: coo.Spec{Format: tensor.FormatOf(c.kinds, []int{0, 1}), Dims: c.dims,
					Type: tensor.Float64}}
			buffers := g.Cost(load.Input{Entries: n}, func(plan.Block) plan.Size { return plan.Size{} },
				ranks, 0).Buffers
			for r, peak := range peaks {
				if want := bytes[r]*3/2 + buffers; peak > want {
					t.Errorf("%s, alone %v, rank %d of %d: took %d bytes for %d, want at most %d", c.kinds,
						c.alone, r, ranks, peak, bytes[r], want)
				}
				if bytes[r] < 4*n/int64(ranks) {
					t.Fatalf("%s: rank %d has %d bytes", c.kinds, r, bytes[r])
				}
			}
		}
	}
}
