package tcs

import (
	"bytes"
	"distaff/io/tensor"
	"fmt"
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

// TestWidthsOfFiles: the bytes of a file do not tell how wide the tensor's own arrays are, of
// one piece or of several; asked for, all are wide.
func TestWidthsOfFiles(t *testing.T) {
	for _, n := range []int64{0, 5, 1<<16 + 3, 1<<18 + 1} {
		narrow, wide := rows(t, n, false), rows(t, n, true)
		for _, o := range []WriteOptions{{}, {Compress: true}, {Wide: true},
			{Wide: true, Compress: true}} {
			what := fmt.Sprintf("%d entries, %+v", n, o)
			got := file(t, wide, o)
			if !bytes.Equal(got, file(t, narrow, o)) {
				t.Errorf("%s: other bytes of a tensor with wide arrays", what)
			}
			back, err := openBytes(t, got)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if err := back.Load(nil); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if err := back.Verify(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			want := uint8(4)
			if o.Wide {
				want = 8
			}
			pos, crd, slots := back.Levels[1].Pos.Width, back.Levels[1].Crd.Width,
				back.Levels[2].Crd.Width
			if pos != want || crd != want || slots != want {
				t.Errorf("%s: widths of %d, %d and %d bytes, want %d", what, pos, crd, slots, want)
			}
			back.Close()
		}
		narrow.Close()
		wide.Close()
	}
}

// rows is a tensor of two rows with n entries, some of them padding.
func rows(t *testing.T, n int64, wide bool) *Tensor {
	t.Helper()
	shape := &Shape{Header: Header{Dims: []int64{2, n + 2, 3}, Type: tensor.Float64},
		Format: tensor.FormatOf("dsp", []int{0, 1, 2}), Counts: []int64{0, n, 0}, Wide: wide}
	x, err := New(shape, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	pos, crd, slots := x.Levels[1].Pos, x.Levels[1].Crd, x.Levels[2].Crd
	pos.SetInt(1, n/3)
	pos.SetInt(2, n)
	for i := range n {
		crd.SetInt(i, i+2)
		slots.SetInt(i, i%4-1)
		if i%4 > 0 {
			Values[float64](x)[i] = float64(i)
		}
	}
	if err := x.Validate(); err != nil {
		t.Fatal(err)
	}
	return x
}
