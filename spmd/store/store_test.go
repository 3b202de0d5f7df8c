// Package store_test takes random tensors apart into blocks over ranks and puts
// them together again: load's three ways, then store.
package store_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// list reads a whole stream as lines of text.
func list(s coo.Stream) ([]string, error) {
	var out []string
	var b coo.Batch
	for {
		err := s.Next(&b)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for k := range b.N {
			var line strings.Builder
			for _, col := range b.Coords {
				fmt.Fprintf(&line, "%d ", col[k])
			}
			fmt.Fprintf(&line, "%x", b.Vals[8*k:8*k+8])
			out = append(out, line.String())
		}
	}
}

// random makes a tensor of order 3 in a random format.
func random(t *testing.T, rng *rand.Rand) *tcs.Tensor {
	dims := []int64{1 + rng.Int64N(9), 1 + rng.Int64N(7), 1 + rng.Int64N(8)}
	var cells []int64
	for c := range dims[0] * dims[1] * dims[2] {
		if rng.IntN(3) == 0 {
			cells = append(cells, c)
		}
	}
	s := &cellStream{dims: dims, cells: cells}
	formats := []string{"sss", "dss", "ddd", "ucq", "sds", "dds"}
	modes := rng.Perm(3)
	out, err := coo.Assemble(s,
		coo.Spec{Format: tensor.FormatOf(formats[rng.IntN(len(formats))], modes), Name: "T"},
		coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type cellStream struct {
	dims, cells []int64
	done        bool
}

func (s *cellStream) Dims() ([]int64, bool) { return s.dims, true }
func (s *cellStream) Type() tensor.Type     { return tensor.Float64 }
func (s *cellStream) Rewind() error         { s.done = false; return nil }
func (s *cellStream) Close() error          { return nil }
func (s *cellStream) Next(b *coo.Batch) error {
	if s.done || len(s.cells) == 0 {
		return io.EOF
	}
	s.done = true
	b.Resize(3, len(s.cells), 8)
	for k, c := range s.cells {
		b.Coords[0][k], b.Coords[1][k], b.Coords[2][k] = c/(s.dims[1]*s.dims[2]), c/s.dims[2]%s.dims[1],
			c%s.dims[2]
		tensor.Float64.Store(ptr(b.Vals[8*k:]),
			tensor.Value{Type: tensor.Float64, C: complex(float64(c+1), 0)})
	}
	return nil
}

// problem cuts the modes at random, some of them by one variable.
func problem(rng *rand.Rand, dims []int64, ranks int, outermost int) *partition.Partition {
	b := &place.Blocking{}
	cuts := make([]int, len(dims))
	for m := range cuts {
		cuts[m] = -1
		if outermost >= 0 && m != outermost || rng.IntN(2) == 0 && m != outermost {
			continue
		}
		n := 1 + rng.Int64N(4)
		points := make([]int64, n+1)
		for k := range n - 1 {
			points[k+1] = rng.Int64N(dims[m] + 1)
		}
		points[n] = dims[m]
		slices.Sort(points)
		cuts[m] = len(b.Vars)
		b.Vars = append(b.Vars, place.BlockVar{Name: fmt.Sprint("v", m), Cuts: points})
		b.Map = append(b.Map, cuts[m])
	}
	part, _ := (&plan.Problem{Blocking: b, Ranks: ranks}).Partition(cuts)
	return part
}

func TestBlocksComeBackWhole(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 1))
		whole := random(t, rng)
		ranks := []int{1, 2, 3, 4, 6, 8}[rng.IntN(6)]
		way := rng.IntN(2)
		outermost := -1
		if way == 1 {
			outermost = whole.Levels[0].Mode
		}
		part := problem(rng, whole.Header.Dims, ranks, outermost)
		order := rng.Perm(3)
		sorted, err := coo.Sort(coo.FromTensor(whole, coo.DropFill),
			coo.Spec{Format: tensor.Format{Order: order}}, coo.Config{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := list(sorted)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = local.Run(context.Background(), ranks, func(c comm.Comm) error {
			g := &load.Target{Partition: part,
				Spec: coo.Spec{Format: whole.Format(), Dims: whole.Header.Dims, Name: "T"}}
			own, err := blocks(c, g, whole, way)
			if err != nil {
				return err
			}
			b := &store.Blocks{Layout: tensor.Layout{Dims: whole.Header.Dims, Type: whole.Header.Type,
				Format: whole.Format()},
				Own: map[int]*tcs.Tensor{}}
			for k := range plan.Block(part.Pieces()) {
				b.Owners = append(b.Owners, part.OwnerOf(k))
				b.Boxes = append(b.Boxes, part.Box(k, whole.Header.Dims))
			}
			for k, t := range own {
				b.Own[int(k)] = t
				defer t.Close()
			}
			return store.Gather(c, b, order, coo.DropFill, coo.Config{}, func(s coo.Stream) error {
				if got, err = list(s); err != nil {
					return err
				}
				if err := s.Rewind(); err != nil {
					return err
				}
				again, err := list(s)
				if err == nil && !slices.Equal(got, again) {
					err = fmt.Errorf("a second pass gave other entries")
				}
				return err
			})
		})
		if err != nil {
			t.Fatalf("seed %d, way %d, %d ranks, %s: %v", seed, way, ranks, whole.Format().String(), err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, way %d, %d ranks, %s by %v:\ngot  %v\nwant %v", seed, way, ranks,
				whole.Format().String(), order, got, want)
		}
		whole.Close()
	}
}

func blocks(c comm.Comm, g *load.Target, whole *tcs.Tensor, way int) (map[plan.Block]*tcs.Tensor,
	error) {
	if way == 0 {
		piece, err := load.Piece(whole, c.Rank(), c.Size())
		if err != nil {
			return nil, err
		}
		defer piece.Close()
		return g.Scatter(c, coo.FromTensor(piece, coo.DropFill))
	}
	if !g.Viewable(whole) {
		return nil, fmt.Errorf("axes %v of %s are not viewable", g.Partition.Axes,
			whole.Format().String())
	}
	return g.Views(c.Rank(), whole)
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

type blocking = place.Blocking

var errEOF = io.EOF

// blockVar cuts a mode of the given size into n equal ranges.
func blockVar(m int, size, n int64) place.BlockVar {
	return place.BlockVar{Name: fmt.Sprint("v", m), Cuts: place.EvenCuts(size, n)}
}
