package estimate

import (
	"math"
	"slices"
	"testing"

	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// cutInRows returns a matrix whose mode 0 is cut at points.
func cutInRows(points ...int64) *partition.Partition {
	part := partition.Whole(2)
	part.Axes = []partition.Axis{{Modes: []int{0}, Cuts: points}}
	return part
}

// about returns a size without its upper bounds.
func about(z plan.Size) plan.Size {
	z.MoreEntries, z.MoreBytes = 0, 0
	return z
}

// TestBlocks checks that sizes of dense blocks are exact, and that a sparse block gets its share of
// the entries and the arrays of its level kinds.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		kinds string
		want  plan.Size // of rows 0 to 25 of 100 x 40, of 1000 entries of 8 bytes
		fixed float64
	}{
		{"dd", plan.Size{Entries: 1000, Bytes: 8000, Arrays: 1}, 8000},
		{"ds", plan.Size{Entries: 250, Bytes: 26*4 + 250*4 + 250*8, Arrays: 3}, 4 * 26},
		{"uq", plan.Size{Entries: 250, Bytes: 2*4 + 2*250*4 + 250*8, Arrays: 4}, 4 * 2},
		{"dp", plan.Size{Entries: 25, Bytes: 25*4 + 25*8, Arrays: 2}, 4 * 26},
	} {
		x := &Tensor{Partition: cutInRows(0, 25, 100),
			Layout: tensor.Layout{Dims: []int64{100, 40}, Type: tensor.Float64,
				Format: tensor.FormatOf(c.kinds, []int{0, 1})}, Entries: 1000}
		if got := about(x.Block(0)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.kinds, got, c.want)
		}
		if got := x.Fixed(0); got != c.fixed {
			t.Errorf("%s: got %v fixed bytes, want %v", c.kinds, got, c.fixed)
		}
		if got := x.Exact(); got != (c.kinds == "dd") {
			t.Errorf("%s: exact is %v", c.kinds, got)
		}
	}
	// Two compressed levels: of 1000 entries over 100 rows all but a few have some.
	x := &Tensor{Partition: cutInRows(0, 100),
		Layout: tensor.Layout{Dims: []int64{100, 40}, Type: tensor.Float64,
			Format: tensor.FormatOf("ss", []int{0, 1})}, Entries: 50}
	if z := x.Block(0); z.Bytes != 2*4+39*4+40*4+50*4+50*8 || z.Entries != 50 {
		t.Errorf("ss of 50 entries: got %+v, want 39 rows", z)
	}
}

// A block of columns stores a position for each stored row if the rows are dense below their
// coordinates, even if the row's entries are in other columns.
func TestBlocksOfDenseRows(t *testing.T) {
	part := partition.Whole(2)
	part.Axes = []partition.Axis{{Modes: []int{1}, Cuts: []int64{0, 10, 40}}}
	x := &Tensor{Partition: part,
		Layout: tensor.Layout{Dims: []int64{100, 40}, Type: tensor.Float64,
			Format: tensor.FormatOf("sd", []int{0, 1})}, Entries: 50}
	for b, columns := range []int64{10, 30} {
		rows := 100 * -math.Expm1(-0.5) // of 50 entries over 100 rows
		values := Round(rows * float64(columns))
		if got, want := about(x.Block(plan.Block(b))),
			(plan.Size{Entries: values, Bytes: 2*4 + Round(rows)*4 + values*8, Arrays: 3}); got != want {
			t.Errorf("block %d: got %+v, want %+v", b, got, want)
		}
	}
}

// Densities of products and sums follow from independent patterns.
func TestDensities(t *testing.T) {
	tensor := func(kinds string, share float64, dims ...int64) *Tensor {
		return &Tensor{Layout: tensor.Layout{Dims: dims,
			Format: tensor.FormatOf(kinds, []int{0, 1}[:len(dims)])},
			Entries: share * Space(dims)}
	}
	size := map[string]int64{"i": 10, "j": 3, "k": 1000}
	of := map[string]*Tensor{"A": tensor("ss", 0.1, 10, 3), "B": tensor("ss", 0.5, 10, 3),
		"D": tensor("ss", 0.1, 10, 1000), "E": tensor("ss", 0.5, 1000, 3)}
	d := Densities{Of: func(name string) *Tensor { return of[name] }, Size: size}
	for src, want := range map[string]float64{
		"C(i,j) = A(i,j) * B(i,j)": 0.05,
		"C(i,j) = A(i,j) + B(i,j)": 1 - 0.9*0.5,
		"C(i,j) = A(i,j) * x(j)":   0.1,
		"y(i) = A(i,j) * x(j)":     1 - math.Pow(0.9, 3),
		"C(i,j) = D(i,k) * E(k,j)": 1 - math.Pow(0.95, 1000),
		// Over what dense tensors alone have nothing is summed that a pattern decides.
		"y(i) = A(i,j) * x(k)":                1 - math.Pow(0.9, 3),
		"y(i) = A(i,j) * B(i,k)":              (1 - math.Pow(0.9, 3)) * (1 - math.Pow(0.5, 3)),
		"y(i) = A(i,j) * B(i,j)":              1 - math.Pow(0.95, 3),
		"y(i) = D(i,k) * E(k,j)":              1 - math.Pow(1-0.1*(1-math.Pow(0.5, 3)), 1000),
		"C(i,j) = (A(i,j) + 0*B(i,j)) * x(j)": 1 - 0.9*0.5,
		"C(i,j) = A(i,j) / B(i,j)":            0.1,
		"C(i,j) = A(i,j) + 2":                 1,
		// Entries of one tensor at the same coordinates are the same.
		"C(i,j) = A(i,j) * B(i,j) * A(i,j)": 0.05,
		"y(i) = A(i,j) * A(i,j)":            1 - math.Pow(0.9, 3),
		"C(i,j) = (A(i,j)*A(i,j)) / B(i,j)": 0.1,
	} {
		s, err := notation.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Sum(notation.Normalize(s).Terms, nil); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", src, got, want)
		}
	}
}

// The positions of a whole tensor's levels are the known numbers, or estimates for evenly spread
// entries.
func TestPositions(t *testing.T) {
	for _, c := range []struct {
		kinds string
		want  []int64 // of 100 x 40, of 50 entries
	}{{"dd", []int64{100, 4000}}, {"ds", []int64{100, 50}}, {"ss", []int64{39, 50}},
		{"uq", []int64{50, 50}}} {
		x := &Tensor{Partition: cutInRows(0, 100),
			Layout: tensor.Layout{Dims: []int64{100, 40}, Type: tensor.Float64,
				Format: tensor.FormatOf(c.kinds, []int{0, 1})}, Entries: 50}
		if got := x.Positions(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v positions, want %v", c.kinds, got, c.want)
		}
		if got, want := x.Bytes(), x.Block(0).Bytes; got != want {
			t.Errorf("%s: got %d bytes, want %d", c.kinds, got, want)
		}
		x.levels = []float64{7, 9}
		if got := x.Positions(); !slices.Equal(got, []int64{7, 9}) {
			t.Errorf("%s, of levels that are known: got %v positions", c.kinds, got)
		}
	}
}

// fewRows returns a matrix of four rows, two of them empty, and one with five of its six entries.
func fewRows(t *testing.T) *tcs.Tensor {
	t.Helper()
	x,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{4, 10}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{4, 6}}, nil, "A")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	copy(tcs.Slice[int32](x.Levels[1].Pos), []int32{0, 1, 1, 6, 6})
	copy(tcs.Slice[int32](x.Levels[1].Crd), []int32{3, 0, 1, 2, 3, 4})
	return x
}

// A tensor in its own format knows its segments, and a copy in another format does not.
func TestSegments(t *testing.T) {
	x := fewRows(t)
	s := &Tensor{Partition: cutInRows(0, 4),
		Layout: tensor.Layout{Dims: []int64{4, 10}, Type: tensor.Float64,
			Format: tensor.FormatOf("ds", []int{0, 1})}, Entries: 6}
	if got := s.Segments(); got != nil {
		t.Errorf("of a tensor of which nothing is known: got %+v", got)
	}
	s.SetLevels(x)
	if got, want := s.Segments()[1], (tcs.LevelStats{Positions: 6, Empty: 2, Most: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := s.As(tensor.FormatOf("sd", []int{1, 0})).Segments(); got != nil {
		t.Errorf("of another format: got %+v", got)
	}
}
