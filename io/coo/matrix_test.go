package coo

import (
	"math"
	"math/rand/v2"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// TestMatrix computes bandwidth, diagonal and symmetry of matrices with entries in any order, with
// repeats, in memory and on disk.
func TestMatrix(t *testing.T) {
	nan := complex(math.NaN(), 0)
	for _, c := range []struct {
		name string
		typ  tensor.Type
		dims []int64
		at   [][]int64
		vals []complex128
		m    Matrix
		s    Symmetry
	}{
		{"empty", tensor.Float64, []int64{3, 3}, nil, nil, Matrix{0, 0, 0, 3, true},
			Symmetry{1, 1, true, true, false}},
		{"identity", tensor.Float64, []int64{2, 2}, [][]int64{{1, 1}, {0, 0}}, []complex128{1, 1},
			Matrix{0, 0, 2, 2, true}, Symmetry{1, 1, true, false, false}},
		{"wide", tensor.Float64, []int64{2, 5}, [][]int64{{0, 4}, {1, 0}, {1, 1}}, []complex128{1, 1, 1},
			Matrix{1, 4, 1, 2, true}, Symmetry{}},
		{"a part", tensor.Float64, []int64{4, 4},
			[][]int64{{0, 1}, {1, 0}, {2, 0}, {0, 2}, {3, 0}, {0, 0}},
			[]complex128{1, 1, 2, 3, 4, 5},
			Matrix{3, 2, 1, 4, true}, Symmetry{0.8, 0.4, false, false, false}},
		{"skew", tensor.Int64, []int64{3, 3}, [][]int64{{0, 1}, {1, 0}}, []complex128{7, -7},
			Matrix{1, 1, 0, 3, true}, Symmetry{1, 0, false, true, false}},
		{"an integer without a negative", tensor.Int64, []int64{2, 2}, [][]int64{{0, 1}, {1, 0}},
			[]complex128{math.MinInt64, math.MinInt64}, Matrix{1, 1, 0, 2, true},
			Symmetry{1, 1, true, false, false}},
		{"skew but for the diagonal", tensor.Int64, []int64{3, 3}, [][]int64{{0, 1}, {1, 0}, {2, 2}},
			[]complex128{7, -7, 1}, Matrix{1, 1, 1, 3, true}, Symmetry{1, 0, false, false, false}},
		{"repeats", tensor.Float64, []int64{3, 3}, [][]int64{{2, 0}, {0, 2}, {2, 0}, {1, 1}, {1, 1}},
			[]complex128{1, 3, 2, 1, 1}, Matrix{2, 2, 1, 3, true}, Symmetry{1, 1, true, false, false}},
		{"Hermitian", tensor.Complex128, []int64{2, 2}, [][]int64{{0, 1}, {1, 0}, {0, 0}},
			[]complex128{1 + 2i, 1 - 2i, 4}, Matrix{1, 1, 1, 2, true}, Symmetry{1, 0, false, false, true}},
		{"a complex diagonal", tensor.Complex128, []int64{2, 2}, [][]int64{{0, 1}, {1, 0}, {0, 0}},
			[]complex128{1 + 2i, 1 - 2i, 4i}, Matrix{1, 1, 1, 2, true}, Symmetry{1, 0, false, false, false}},
		{"complex symmetric", tensor.Complex64, []int64{2, 2}, [][]int64{{0, 1}, {1, 0}},
			[]complex128{1 + 2i, 1 + 2i}, Matrix{1, 1, 0, 2, true}, Symmetry{1, 1, true, false, false}},
		{"NaN", tensor.Float32, []int64{2, 2}, [][]int64{{0, 1}, {1, 0}}, []complex128{nan, nan},
			Matrix{1, 1, 0, 2, true}, Symmetry{1, 1, true, true, false}},
		{"NaN on the diagonal", tensor.Float64, []int64{2, 2}, [][]int64{{0, 0}, {0, 1}, {1, 0}},
			[]complex128{nan, 1, -1}, Matrix{1, 1, 1, 2, true}, Symmetry{1, 0, false, false, false}},
		{"zero on the diagonal", tensor.Float64, []int64{2, 2}, [][]int64{{0, 0}, {0, 1}, {1, 0}},
			[]complex128{0, 1, -1}, Matrix{1, 1, 1, 2, true}, Symmetry{1, 0, false, true, false}},
		{"NaN on a Hermitian diagonal", tensor.Complex128, []int64{2, 2},
			[][]int64{{0, 0}, {0, 1}, {1, 0}},
			[]complex128{nan, 1i, -1i}, Matrix{1, 1, 1, 2, true}, Symmetry{1, 0, false, false, true}},
		{"an imaginary NaN on the diagonal", tensor.Complex128, []int64{2, 2},
			[][]int64{{0, 0}, {0, 1}, {1, 0}}, []complex128{complex(1, math.NaN()), 1i, -1i},
			Matrix{1, 1, 1, 2, true}, Symmetry{1, 0, false, false, false}},
		{"zeros are stored", tensor.Float64, []int64{2, 2}, [][]int64{{0, 1}, {1, 0}}, []complex128{0, 0},
			Matrix{1, 1, 0, 2, true}, Symmetry{1, 1, true, true, false}},
	} {
		s := &memStream{dims: c.dims, exact: true, typ: c.typ, batch: 2, coords: c.at}
		for _, v := range c.vals {
			s.vals = append(s.vals, tensor.Value{Type: c.typ, C: v, I: int64(real(v))})
		}
		v, err := SurveyOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if *v.Matrix != c.m {
			t.Errorf("%s: got %+v, want %+v", c.name, *v.Matrix, c.m)
		}
		if c.dims[0] != c.dims[1] {
			continue
		}
		s.Rewind()
		got, err := CompareTransposed(s, Config{Tmp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if *got != c.s {
			t.Errorf("%s: got %+v, want %+v", c.name, *got, c.s)
		}
	}
}

// TestLongDiagonal checks that a diagonal that is too long is reported as not counted.
func TestLongDiagonal(t *testing.T) {
	n := int64(1) << 40
	s := &memStream{dims: []int64{n, n}, exact: true, typ: tensor.Float64, batch: 2,
		coords: [][]int64{{5, 5}, {n - 1, n - 1}, {0, 9}},
		vals:   []tensor.Value{{Type: tensor.Float64}, {Type: tensor.Float64}, {Type: tensor.Float64}}}
	v, err := SurveyOf(s)
	if err != nil {
		t.Fatal(err)
	}
	if v.Matrix.DiagonalKnown || v.Matrix.Diagonal != 0 || v.Matrix.Upper != 9 {
		t.Errorf("got %+v", *v.Matrix)
	}
}

// TestSymmetryInLittleMemory sorts entries that exceed the memory limit by way of files.
func TestSymmetryInLittleMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 300
	s := random(r, []int64{n, n}, 40000, tensor.Int64)
	sums := map[[2]int64]int64{}
	for k, at := range s.coords {
		sums[[2]int64{at[0], at[1]}] += s.vals[k].I
	}
	var off, stored, equal float64
	for at, v := range sums {
		if at[0] == at[1] {
			continue
		}
		off++
		if w, ok := sums[[2]int64{at[1], at[0]}]; ok {
			stored++
			if v == w {
				equal++
			}
		}
	}
	if stored == 0 || equal == 0 || equal == stored || stored == off {
		t.Fatalf("%v, %v and %v entries: nothing to tell apart", off, stored, equal)
	}
	for _, limit := range []*tcs.Limit{nil, tcs.NewLimit(1 << 20)} {
		s.Rewind()
		got, err := CompareTransposed(s, Config{Limit: limit, Tmp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got.Pattern != stored/off || got.Values != equal/off || got.Symmetric || got.Skew ||
			got.Hermitian {
			t.Errorf("got %+v, want %v and %v", *got, stored/off, equal/off)
		}
		if limit != nil && limit.Used() != 0 {
			t.Errorf("%d bytes are still counted", limit.Used())
		}
	}
}
