package assemble

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/partition"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// A part that is a piece by itself becomes the piece: it is the same memory, and nothing is
// allocated.
func TestPartThatIsAPieceStays(t *testing.T) {
	for _, kinds := range []string{"dd", "ds", "ss"} {
		like := transfer.Like{Name: "A",
			Layout: tensor.Layout{Dims: []int64{4, 3}, Type: tensor.Float64,
				Format: tensor.FormatOf(kinds, []int{0, 1})}}
		region := Region{Box: [][2]int64{{1, 3}, {0, 3}}, From: []int64{1, 0}, To: []int64{3, 0}}
		in := &list{dims: like.Layout.Dims, typ: like.Layout.Type, at: [][]int64{{1, 0}, {2, 2}},
			vals: make([]byte, 16)}
		part, err := coo.Assemble(in,
			coo.Spec{Format: tensor.FormatOf(kinds, like.Layout.Format.Order), Dims: like.Layout.Dims,
				Type: like.Layout.Type,
				Box:  region.Box},
			coo.Config{})
		if err != nil {
			t.Fatal(err)
		}
		at := part.Vals.Ptr
		s := &Sum{Like: like, Parts: []Piece{{0, region}}, Pieces: []Piece{{0, Region{Box: region.Box}}}}
		c, end := local.Alone(context.Background())
		none := func(n int64, what string) (*tcs.Memory, error) {
			return nil, fmt.Errorf("%d bytes are taken for %s", n, what)
		}
		pieces, err := s.Run(c, map[partition.Piece]*tcs.Tensor{0: part}, Options{Alloc: none})
		end()
		if err != nil {
			t.Fatalf("%s: %v", kinds, err)
		}
		if pieces[0].Vals.Ptr != at {
			t.Errorf("%s: the piece is a copy", kinds)
		}
		pieces[0].Close()
	}
}

// A view between keys that shows exactly a piece's entries is the piece, if its segments end where
// the view ends.
func TestViewThatIsAPieceStays(t *testing.T) {
	like := transfer.Like{Name: "A",
		Layout: tensor.Layout{Dims: []int64{3, 4}, Type: tensor.Float64,
			Format: tensor.FormatOf("ds", []int{0, 1})}}
	key := []int64{1, 2} // in the midst of a row
	for _, test := range []struct {
		rows     [2]int64
		from, to []int64
		first, n int64
		pos      []int64
		cut      bool // to the entries that are shown
		stays    bool
	}{
		{[2]int64{0, 2}, nil, key, 0, 2, []int64{0, 1, 2}, true, true},
		{[2]int64{1, 3}, key, nil, 2, 3, []int64{2, 4, 5}, true, true},
		{[2]int64{0, 2}, nil, key, 0, 2, []int64{0, 1, 2}, false, false},
		{[2]int64{1, 3}, key, nil, 2, 3, []int64{0, 2, 3}, false, false},
	} {
		in := &list{dims: like.Layout.Dims, typ: like.Layout.Type,
			at: [][]int64{{0, 1}, {1, 0}, {1, 2}, {1, 3}, {2, 2}}, vals: make([]byte, 40)}
		whole, err := coo.Assemble(in,
			coo.Spec{Format: like.Layout.Format, Dims: like.Layout.Dims, Type: like.Layout.Type},
			coo.Config{})
		if err != nil {
			t.Fatal(err)
		}
		region := Region{Box: [][2]int64{test.rows, {0, 4}}, From: test.from, To: test.to}
		part, err := whole.View(tcs.Block{Box: region.Box, From: test.from, To: test.to})
		if err != nil {
			t.Fatal(err)
		}
		if test.cut {
			err = part.OwnEdges(nil)
		}
		at := part.Vals
		if test.cut && (at.First != test.first || at.Len != test.n) {
			t.Fatalf("the view shows %d values from %d on, want %d from %d", at.Len, at.First, test.n,
				test.first)
		}
		s := &Sum{Like: like, Parts: []Piece{{0, region}}, Pieces: []Piece{{0, region}}}
		c, end := local.Alone(context.Background())
		shape := &reduce.Shape{Name: "A", Layout: like.Layout,
			PosWidth: []uint8{8, 8}, CrdWidth: []uint8{8, 8}}
		pieces, runErr := s.Run(c, map[partition.Piece]*tcs.Tensor{0: part},
			Options{Alloc: poisoned(nil), Shape: shape, Threads: 1})
		end()
		if err != nil || runErr != nil {
			t.Fatal(err, runErr)
		}
		piece := pieces[0]
		var pos []int64
		for k := range piece.Levels[1].Pos.Len {
			pos = append(pos, piece.Levels[1].Pos.Int(k))
		}
		if stays := piece.Vals.Ptr == at.Ptr; stays != test.stays || !slices.Equal(pos, test.pos) {
			t.Errorf("rows %v: the view stays: %v, with pos %v; want %v, %v", test.rows, stays, pos,
				test.stays, test.pos)
		}
		piece.Close()
		whole.Close()
	}
}

// TestRowsStayInTheirPart checks two parts with a common row. Each rank's piece stays in its part's
// memory if the part comes first, and the other part's row is added there. A piece that is a small
// overlap of its part is copied, so that the part can be freed.
func TestRowsStayInTheirPart(t *testing.T) {
	const n, wide = 32, 3
	like := transfer.Like{Name: "A",
		Layout: tensor.Layout{Dims: []int64{n, wide}, Type: tensor.Float64,
			Format: tensor.FormatOf("dd", []int{0, 1})}}
	rows := func(rank int, lo,
		hi int64) Piece {
		return Piece{rank, Region{Box: [][2]int64{{lo, hi}, {0, wide}}}}
	}
	for _, test := range []struct {
		cut   int64 // where the pieces meet
		stays [2]bool
	}{{17, [2]bool{true, true}}, {16, [2]bool{true, false}}, {3, [2]bool{false, false}}} {
		s := &Sum{Like: like, Parts: []Piece{rows(0, 0, 17), rows(1, 16, n)},
			Pieces: []Piece{rows(0, 0, test.cut), rows(1, test.cut, n)}}
		err := local.Run(context.Background(), 2, func(c comm.Comm) error {
			me := c.Rank()
			part, err := newDense(like, s.Parts[me].Region.Box, transfer.Pages(nil))
			if err != nil {
				return err
			}
			first, last := part.Vals.Ptr, part.Vals.Len
			for k := range tcs.Values[float64](part) {
				tcs.Values[float64](part)[k] = float64(int64(k) + wide*s.Parts[me].Region.Box[0][0])
			}
			pieces, err := s.Run(c, map[partition.Piece]*tcs.Tensor{partition.Piece(me): part},
				Options{Alloc: transfer.Pages(nil)})
			if err != nil {
				return err
			}
			got := pieces[partition.Piece(me)]
			defer got.Close()
			off := int64(uintptr(got.Vals.Ptr)-uintptr(first)) / 8
			if stays := off >= 0 && off < last; stays != test.stays[me] {
				return fmt.Errorf("the piece lies in the part's memory: %v", stays)
			}
			for k, v := range tcs.Values[float64](got) {
				at := int64(k) + wide*s.Pieces[me].Region.Box[0][0]
				want := float64(at)
				if at >= wide*16 && at < wide*17 {
					want *= 2
				}
				if v != want {
					return fmt.Errorf("value %d is %v, want %v", at, v, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("pieces meet at row %d: %v", test.cut, err)
		}
	}
}
