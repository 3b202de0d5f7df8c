package reduce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// list is a coo.Stream of entries.
type list struct {
	dims []int64
	at   [][]int64
	vals []float64
	n    int
}

func (s *list) Dims() ([]int64, bool) { return s.dims, true }
func (s *list) Type() tensor.Type     { return tensor.Float64 }
func (s *list) Rewind() error         { s.n = 0; return nil }
func (s *list) Close() error          { return nil }

func (s *list) Next(b *coo.Batch) error {
	if s.n == len(s.at) {
		return io.EOF
	}
	b.Coords, b.N = make([][]int64, len(s.dims)), 0
	b.Vals = nil
	for ; s.n < len(s.at) && b.N < 100; s.n++ {
		for m, c := range s.at[s.n] {
			b.Coords[m] = append(b.Coords[m], c)
		}
		b.Vals = binary.NativeEndian.AppendUint64(b.Vals, math.Float64bits(s.vals[s.n]))
		b.N++
	}
	return nil
}

// random assembles a block of random entries, integers from 1 to 9.
func random(t *testing.T, r *rand.Rand, s *Shape, box [][2]int64, n int, wide bool) *tcs.Tensor {
	t.Helper()
	dims := s.Layout.Dims
	in := &list{dims: dims}
	for range n {
		at := make([]int64, len(dims))
		for m, b := range box {
			at[m] = b[0] + r.Int64N(b[1]-b[0])
		}
		in.at, in.vals = append(in.at, at), append(in.vals, float64(1+r.IntN(9)))
	}
	b, err := coo.Assemble(in,
		coo.Spec{Format: s.Layout.Format, Dims: dims, Type: tensor.Float64, Box: box}, coo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// entries returns the values that a block stores, by coordinates.
func entries(b *tcs.Tensor) map[string]float64 {
	out := map[string]float64{}
	v := tcs.Values[float64](b)
	b.Entries(func(c []int64, i int64) bool { out[fmt.Sprint(c)] = v[i]; return true })
	return out
}

func alloc(bytes int64, what string) (*tcs.Memory, error) {
	m, err := tcs.Alloc(nil, bytes, what)
	if err == nil {
		for i := range m.Slice() {
			m.Slice()[i] = 0x7f // memory must not be assumed to be 0
		}
	}
	return m, err
}

func TestUnion(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range []struct {
		kinds string
		modes []int
	}{{"s", []int{0}}, {"ds", []int{0, 1}}, {"ss", []int{1, 0}}, {"sd", []int{0, 1}},
		{"ssd", []int{0, 1, 2}}, {"sds", []int{2, 0, 1}}, {"dsd", []int{0, 1, 2}},
		{"dds", []int{0, 2, 1}}, {"sss", []int{0, 1, 2}}} {
		for trial := range 24 {
			s := &Shape{Name: "A", Layout: tensor.Layout{Type: tensor.Float64,
				Format: tensor.FormatOf(f.kinds, f.modes)}}
			box := [][2]int64{}
			for l := range f.kinds {
				size := []int64{3, 12, 400}[r.IntN(3)]
				if len(f.kinds) == 1 {
					size = 5000
				}
				lo := r.Int64N(size)
				s.Layout.Dims = append(s.Layout.Dims, size)
				box = append(box, [2]int64{lo, lo + 1 + r.Int64N(size-lo)})
				s.PosWidth, s.CrdWidth = append(s.PosWidth, 4), append(s.CrdWidth, 4)
				if trial%4 == 3 && f.kinds[l] == 's' {
					s.PosWidth[l], s.CrdWidth[l] = 8, 8
				}
			}
			var sources []*tcs.Tensor
			for range 1 + r.IntN(7) {
				sources = append(sources,
					random(t, r, s, box, r.IntN([]int{1, 4, 30, 300}[r.IntN(4)]+1), trial%4 == 3))
			}
			check(t, fmt.Sprintf("%s%v, trial %d", f.kinds, f.modes, trial), s, box, sources, int64(trial%3))
		}
	}
}

// check adds the sources over their union, starting with some of them, and compares the sum.
func check(t *testing.T, name string, s *Shape, box [][2]int64, sources []*tcs.Tensor,
	ahead int64) {
	t.Helper()
	want := map[string]float64{}
	for _, b := range sources {
		for c, v := range entries(b) {
			want[c] += v
		}
	}
	sum := func(sources []*tcs.Tensor) (*tcs.Tensor, []*tcs.Tensor) {
		p, maps, err := Union(s, box, sources, ahead, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := p.Block(alloc)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		for k, x := range sources {
			Add(b, x, maps[k], 1+k%2)
		}
		return b, maps
	}
	equal := func(how string, got *tcs.Tensor) {
		t.Helper()
		if err := got.Validate(); err != nil {
			t.Fatalf("%s, %s: %v", name, how, err)
		}
		if g := entries(got); len(g) != len(want) {
			t.Fatalf("%s, %s: %d entries, want %d", name, how, len(g), len(want))
		} else {
			for c, v := range want {
				if g[c] != v {
					t.Fatalf("%s, %s: %v at %s, want %v", name, how, g[c], c, v)
				}
			}
		}
	}
	whole, _ := sum(sources)
	equal("at once", whole)

	// First sum some of the sources, and then add the rest. The sources' maps are composed.
	part, early := sum(sources[:(len(sources)+1)/2])
	later, maps := sum(append([]*tcs.Tensor{part}, sources[(len(sources)+1)/2:]...))
	equal("in two", later)
	for _, m := range early {
		Compose(m, maps[0])
	}
	clear(tcs.Values[float64](later))
	for k, m := range append(early, maps[1:]...) {
		Add(later, sources[k], m, 1)
	}
	equal("composed", later)
}

func TestUnionCountsMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := &Shape{Name: "A", Layout: tensor.Layout{Dims: []int64{100000}, Type: tensor.Float64,
		Format: tensor.FormatOf("s", []int{0})},
		PosWidth: []uint8{4}, CrdWidth: []uint8{4}}
	box := [][2]int64{{0, 100000}}
	sources := []*tcs.Tensor{random(t, r, s, box, 50000, false), random(t, r, s, box, 50000, false)}
	limit := tcs.NewLimit(4 << 20)
	p, maps, err := Union(s, box, sources, 0, limit)
	if err != nil {
		t.Fatal(err)
	}
	if limit.Used() < 250000 {
		t.Errorf("%d bytes are counted", limit.Used())
	}
	p.Close()
	for _, m := range maps {
		m.Close()
	}
	if limit.Used() != 0 {
		t.Errorf("%d bytes are left", limit.Used())
	}
	var full *tcs.MemoryError
	small := tcs.NewLimit(300000)
	if _, _, err := Union(s, box, sources, 0, small); !errors.As(err, &full) {
		t.Errorf("got %v, want a *tcs.MemoryError", err)
	}
	if small.Used() != 0 {
		t.Errorf("%d bytes are left after the refusal", small.Used())
	}
}

// TestPartsOfABox checks that sources that cover only a part of a union's box, also in dense
// levels, are added to that part.
func TestPartsOfABox(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for trial := range 120 {
		kinds := []string{"ds", "dds", "ssd", "sdd", "dsd", "sds"}[trial%6]
		s := &Shape{Name: "A", Layout: tensor.Layout{Type: tensor.Float64,
			Format: tensor.FormatOf(kinds, nil)}}
		var box [][2]int64
		for range kinds {
			size := 2 + r.Int64N(5)
			s.Layout.Dims, box = append(s.Layout.Dims, size), append(box, [2]int64{0, size})
			s.PosWidth, s.CrdWidth = append(s.PosWidth, 4), append(s.CrdWidth, 4)
		}
		var sources []*tcs.Tensor
		want := map[string]float64{}
		for range 3 {
			part := [][2]int64{}
			for _, b := range box {
				lo := r.Int64N(b[1])
				part = append(part, [2]int64{lo, lo + 1 + r.Int64N(b[1]-lo)})
			}
			source := random(t, r, s, part, r.IntN(12), false)
			for at, v := range entries(source) {
				want[at] += v
			}
			sources = append(sources, source)
		}
		p, maps, err := Union(s, box, sources, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := p.Block(alloc)
		if err != nil {
			t.Fatal(err)
		}
		for k, source := range sources {
			Add(sum, source, maps[k], 1)
		}
		got := entries(sum)
		for at, v := range got {
			if v != want[at] { // 0 if no source has the coordinate of this position
				t.Fatalf("trial %d, %s: %v at %s, want %v", trial, kinds, v, at, want[at])
			}
		}
		for at := range want {
			if _, ok := got[at]; !ok {
				t.Fatalf("trial %d, %s: nothing at %s, want %v", trial, kinds, at, want[at])
			}
		}
	}
}

func TestAddDense(t *testing.T) {
	for _, threads := range []int{1, 3} {
		for typ, values := range map[tensor.Type]int{tensor.Float64: 300000, tensor.Float32: 10,
			tensor.Int64: 10,
			tensor.Int32: 200000, tensor.Complex128: 10, tensor.Complex64: 10} {
			mk := func() *tcs.Tensor {
				b,
					err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{int64(values)}, Type: typ},
					Format: tensor.FormatOf("d", []int{0})}, nil, "")
				if err != nil {
					t.Fatal(err)
				}
				for i := range int64(values) {
					b.SetValue(i, tensor.Value{Type: typ, I: 3, C: 3})
				}
				return b
			}
			a, b := mk(), mk()
			AddDense(a, b, threads)
			AddDense(a, b, threads)
			for i := range int64(values) {
				if v := a.Value(i).Complex(); v != 9 {
					t.Fatalf("%v on %d threads: a sum is %v, want 9", typ, threads, v)
				}
			}
		}
	}
}
