package tcsfile

import (
	"bytes"
	"fmt"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

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
			if err := Verify(back); err != nil {
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
func rows(t *testing.T, n int64, wide bool) *tcs.Tensor {
	t.Helper()
	shape := &tcs.Shape{Header: tcs.Header{Dims: []int64{2, n + 2, 3}, Type: tensor.Float64},
		Format: tensor.FormatOf("dsp", []int{0, 1, 2}), Counts: []int64{0, n, 0}, Wide: wide}
	x, err := tcs.New(shape, nil, "")
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
			tcs.Values[float64](x)[i] = float64(i)
		}
	}
	if err := x.Validate(); err != nil {
		t.Fatal(err)
	}
	return x
}
