package coo

import (
	"math"
	"testing"

	"distaff/io/tensor"
)

func order(t *testing.T, typ tensor.Type, dims []int64, coords [][]int64,
	vals ...float64) *Ordered {
	t.Helper()
	s := &memStream{dims: dims, exact: true, typ: typ, coords: coords, batch: 2}
	for _, v := range vals {
		x := tensor.Value{Type: typ, C: complex(v, 0)}
		if typ.IsInt() {
			x = tensor.Value{Type: typ, I: int64(v)}
		}
		s.vals = append(s.vals, x)
	}
	o, err := Sort(s, Spec{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDiff(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	dims := []int64{5, 5}
	at := [][]int64{{0, 1}, {2, 3}, {4, 4}}
	for _, c := range []struct {
		a, b       []float64
		rtol, atol float64
		differ     int64
		abs        float64
	}{
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, 0, 0, 0, 0},
		{[]float64{1, 2, 3}, []float64{1, 2.5, 3}, 0, 0, 1, 0.5},
		{[]float64{1, 2, 3}, []float64{1, 2.5, 3}, 0.3, 0, 0, 0.5},
		{[]float64{1, 2, 3}, []float64{1, 2.5, 3}, 0, 0.5, 0, 0.5},
		{[]float64{nan, inf, -inf}, []float64{nan, inf, -inf}, 0, 0, 0, 0},
		{[]float64{1, inf, 3}, []float64{1, -inf, 3}, 1, 1, 1, inf},
		{[]float64{1, 0, 3}, []float64{1, math.Copysign(0, -1), 3}, 0, 0, 0, 0},
	} {
		d, err := Diff(order(t, tensor.Float64, dims, at, c.a...),
			order(t, tensor.Float64, dims, at, c.b...),
			c.rtol, c.atol, 10)
		if err != nil || d.Differ != c.differ || d.MaxAbs != c.abs || len(d.First) != int(c.differ) ||
			d.Compared != 3 {
			t.Errorf("%v against %v: got %+v, %v", c.a, c.b, d, err)
		}
	}
	// A missing entry is zero. A NaN differs from a number.
	a := order(t, tensor.Float64, dims, [][]int64{{0, 0}, {1, 1}, {3, 3}}, 0, 7, 1)
	b := order(t, tensor.Int64, dims, [][]int64{{1, 1}, {2, 2}, {3, 3}}, 7, 5, 1)
	d, err := Diff(a, b, 0, 0, 10)
	if err != nil || d.Differ != 1 || d.Compared != 4 || d.First[0].Coords[0] != 2 ||
		d.First[0].B.I != 5 {
		t.Errorf("got %+v, %v", d, err)
	}
	d, _ = Diff(order(t, tensor.Float64, dims, at, 1, nan, 1),
		order(t, tensor.Float64, dims, at, 1, 1, 1),
		1, 1, 0)
	if d.Differ != 1 || !math.IsNaN(d.MaxAbs) {
		t.Errorf("NaN against 1: %+v", d)
	}
	big := float64(1 << 62)
	d, _ = Diff(order(t, tensor.Int64, dims, at, 1, big, 1),
		order(t, tensor.Int64, dims, at, 1, -big, 1), 0,
		0, 0)
	if d.Differ != 1 || d.MaxAbs != 2*big {
		t.Errorf("integers: %+v", d)
	}
	if _, err := Diff(a, order(t, tensor.Float64, []int64{5, 6}, at, 1, 2, 3), 0, 0, 0); err == nil {
		t.Error("sizes differ and nobody says so")
	}
}

func TestLook(t *testing.T) {
	s := &memStream{dims: []int64{4, 100}, exact: true, typ: tensor.Float64, batch: 2,
		coords: [][]int64{{0, 5}, {0, 99}, {1, 5}, {3, 5}}, vals: make([]tensor.Value, 4)}
	for i := range s.vals {
		s.vals[i].Type = tensor.Float64
	}
	v, err := SurveyOf(s)
	if err != nil {
		t.Fatal(err)
	}
	want := ModeSurvey{Filled: 3, Empty: 1, Most: 2, Mean: 1, Skew: 2, Gini: 0.375, Known: true}
	if v.Entries != 4 || !v.Sorted || v.Modes[0] != want || v.Modes[1].Filled != 2 ||
		v.Modes[1].Most != 3 {
		t.Errorf("got %+v", v)
	}
	s.coords[3] = []int64{1, 5}
	s.Rewind()
	if v, _ := SurveyOf(s); v.Sorted {
		t.Error("a coordinate comes twice and the stream counts as sorted")
	}
	scalar := &memStream{exact: true, typ: tensor.Float64, batch: 2, coords: [][]int64{{}},
		vals: []tensor.Value{{Type: tensor.Float64}}}
	if v, err := SurveyOf(scalar); err != nil || !v.Sorted {
		t.Errorf("a scalar: got %+v, %v", v, err)
	}
	s.coords = [][]int64{{1, 5}, {3, 5}, {0, 7}, {1, 7}}
	s.Rewind()
	if v, _ := SurveyOf(s); v.Sorted || !v.Reversed {
		t.Errorf("entries by columns: got sorted %v, reversed %v", v.Sorted, v.Reversed)
	}
	s.coords = [][]int64{{1, 5}, {3, 5}, {3, 5}, {1, 7}}
	s.Rewind()
	if v, _ := SurveyOf(s); v.Sorted || v.Reversed {
		t.Errorf("repeated entries: got sorted %v, reversed %v", v.Sorted, v.Reversed)
	}
}
