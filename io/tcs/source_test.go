package tcs

import (
	"errors"
	"slices"
	"testing"

	"distaff/io/tensor"
)

// recorder is a Demand that records which elements of pos and crd are read, and has no element
// at or after end.
type recorder struct {
	read map[ArrayKind][]int64
	end  int64
	err  error
}

func (r *recorder) Need(level int, array ArrayKind, lo, hi int64) error {
	if hi > r.end {
		r.err = errors.New("past the end")
		return r.err
	}
	for i := lo; i < hi; i++ {
		if !slices.Contains(r.read[array], i) {
			r.read[array] = append(r.read[array], i)
		}
	}
	return nil
}

func (r *recorder) Err() error { return r.err }

// TestDemand checks that a view of a tensor that is read on demand reads its own elements only,
// needs no reader afterwards, and returns the reader's error.
func TestDemand(t *testing.T) {
	const rows = 64
	pos, crd := make([]int32, rows+1), make([]int32, rows)
	for i := range pos {
		pos[i] = int32(i)
	}
	x := &Tensor{Header: Header{Dims: []int64{rows, 4}, Type: tensor.Float64},
		Vals:   Of(make([]float64, rows)),
		Levels: []Level{{Kind: 'd', Size: rows}, {Kind: 's', Mode: 1, Size: 4, Pos: Of(pos), Crd: Of(crd)}}}
	r := &recorder{read: map[ArrayKind][]int64{}, end: 20}
	x.SetSource(nil, r)
	v, err := x.View(Block{Box: [][2]int64{{5, 8}, {0, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[ArrayKind][]int64{PosArray: {5, 6, 7, 8}, CrdArray: {5, 6, 7},
		ValsArray: {5, 6, 7}} {
		got := slices.Sorted(slices.Values(r.read[kind]))
		if !slices.Equal(got, want) {
			t.Errorf("%v: elements %v were read, want %v", kind, got, want)
		}
	}
	if _, d := v.Source(); d != nil {
		t.Error("the view has a reader")
	}
	if _, err := x.View(Block{Box: [][2]int64{{15, 40}, {0, 4}}}); err != r.err || err == nil {
		t.Errorf("got error %v, want the reader's", err)
	}
}
