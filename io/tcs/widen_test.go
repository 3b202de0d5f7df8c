package tcs

import (
	"distaff/io/tensor"
	"testing"
)

func TestWiden(t *testing.T) {
	shape := &Shape{Header: Header{Dims: []int64{2, 3}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{0, 2}}
	x, err := New(shape, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i, p := range []int64{0, 1, 2} {
		x.Levels[1].Pos.SetInt(int64(i), p)
	}
	x.Levels[1].Crd.SetInt(1, 2)
	limit := NewLimit(1 << 20)
	if err := x.Widen([]uint8{0, 8}, []uint8{0, 4}, limit); err != nil {
		t.Fatal(err)
	}
	pos, crd := x.Levels[1].Pos, x.Levels[1].Crd
	if pos.Width != 8 || crd.Width != 4 || pos.Len != 3 || pos.Int(2) != 2 || crd.Int(1) != 2 ||
		limit.Used() == 0 {
		t.Errorf("got pos %d bytes %v, crd %d bytes", pos.Width, pos.Int64s(), crd.Width)
	}
	if err := x.Validate(); err != nil {
		t.Error(err)
	}
}

func TestNarrow(t *testing.T) {
	shape := &Shape{Header: Header{Dims: []int64{3, 9}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{0, 4}, Wide: true}
	x, err := New(shape, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	lev := &x.Levels[1]
	set := func(last int64) {
		lev.Pos.Width = 8
		for i, p := range []int64{0, 1, 1, last} {
			lev.Pos.SetInt(int64(i), p)
		}
	}
	for i, c := range []int64{8, 0, 3, 5} {
		lev.Crd.SetInt(int64(i), c)
	}
	set(1 << 31)
	x.Narrow()
	if lev.Pos.Width != 8 || lev.Pos.Int(3) != 1<<31 {
		t.Errorf("2^31 positions: got %d bytes, %v", lev.Pos.Width, lev.Pos.Int64s())
	}
	set(4)
	x.Narrow()
	if lev.Pos.Width != 4 || lev.Pos.Len != 4 || lev.Pos.Int(1) != 1 || lev.Pos.Int(3) != 4 {
		t.Errorf("4 positions: got %d bytes, %v", lev.Pos.Width, lev.Pos.Int64s())
	}
	if err := x.Validate(); err != nil {
		t.Error(err)
	}
}
