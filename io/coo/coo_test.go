package coo

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
)

// memStream is a stream of entries in memory, for tests.
type memStream struct {
	dims   []int64
	exact  bool
	typ    tensor.Type
	coords [][]int64 // by entry
	vals   []tensor.Value
	at     int
	reads  int
	batch  int
}

func (s *memStream) Dims() ([]int64, bool) {
	if s.exact {
		return s.dims, true
	}
	top := make([]int64, len(s.dims))
	for _, c := range s.coords[:s.at] {
		for m, x := range c {
			top[m] = max(top[m], x+1)
		}
	}
	return top, false
}

func (s *memStream) Type() tensor.Type { return s.typ }

func (s *memStream) Rewind() error { s.at = 0; s.reads++; return nil }

func (s *memStream) Close() error { return nil }

func (s *memStream) Next(b *Batch) error {
	if s.at == len(s.coords) {
		return io.EOF
	}
	n := min(len(s.coords)-s.at, max(s.batch, 1))
	b.Resize(len(s.dims), n, int(s.typ.Size()))
	for i := range n {
		for m := range s.dims {
			b.Coords[m][i] = s.coords[s.at+i][m]
		}
		s.typ.Store(unsafe.Pointer(&b.Vals[i*int(s.typ.Size())]), s.vals[s.at+i])
	}
	s.at += n
	return nil
}

// random returns a stream of n entries with integer values, some of which have equal coordinates.
func random(r *rand.Rand, dims []int64, n int, typ tensor.Type) *memStream {
	s := &memStream{dims: dims, exact: true, typ: typ, batch: 1 + r.IntN(100)}
	for range n {
		c := make([]int64, len(dims))
		for m := range c {
			if dims[m] == 0 {
				return s
			}
			c[m] = r.Int64N(dims[m])
		}
		s.coords = append(s.coords, c)
		v := int64(1 + r.IntN(9))
		s.vals = append(s.vals, tensor.Value{Type: typ, I: v, C: complex(float64(v), 0)})
		if !typ.IsInt() {
			s.vals[len(s.vals)-1].I = 0
		}
	}
	return s
}

// sums returns the sum of the stream's values at each coordinate.
func (s *memStream) sums() map[string]complex128 {
	out := map[string]complex128{}
	for i, c := range s.coords {
		out[fmt.Sprint(c)] += s.vals[i].Complex()
	}
	return out
}

// meaning returns the tensor's value at each coordinate, without zeros that only fill dense levels.
func meaning(t *tcs.Tensor) map[string]complex128 {
	out := map[string]complex128{}
	t.Entries(func(c []int64, i int64) bool {
		if v := t.Value(i); !v.IsZero() {
			out[fmt.Sprint(c)] += v.Complex()
		}
		return true
	})
	return out
}

func randomFormat(r *rand.Rand, n int) (string, []int) {
	k := make([]byte, n)
	for l := range k {
		k[l] = "ddsssuuqcp"[r.IntN(10)]
	}
	return string(k), r.Perm(n)
}

var types = []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
	tensor.Complex128,
	tensor.Complex64}

func randomDims(r *rand.Rand, n int) []int64 {
	d := make([]int64, n)
	for m := range d {
		d[m] = int64(1 + r.IntN(7))
		if r.IntN(40) == 0 {
			d[m] = 0
		}
	}
	return d
}

func TestAssembleRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	refused, right := 0, 0
	for round := range 1500 {
		n := r.IntN(5)
		dims := randomDims(r, n)
		in := random(r, dims, r.IntN(30), types[r.IntN(len(types))])
		kinds, modes := randomFormat(r, n)
		spec := Spec{Format: tensor.FormatOf(kinds, modes), Wide: r.IntN(4) == 0,
			FitDense: r.IntN(8) == 0}
		name := fmt.Sprintf("round %d: %s of %v with %d entries of %v", round,
			tensor.FormatOf(kinds, modes).String(), dims, len(in.coords), in.typ)
		a, err := Assemble(in, spec, Config{Threads: 2})
		if err != nil {
			if len(tensor.FormatOf(kinds, nil).Bound()) == 0 {
				t.Fatalf("%s: %v", name, err)
			}
			refused++
			continue
		}
		right++
		check := func(what string, a *tcs.Tensor) {
			t.Helper()
			if err := a.Check(); err != nil {
				t.Fatalf("%s: %s: %v", name, what, err)
			}
			if got, want := meaning(a), in.sums(); !maps.Equal(got, want) {
				t.Fatalf("%s: %s: got %v\nwant %v", name, what, got, want)
			}
		}
		check("assembled", a)
		if round%10 != 0 { // each file costs a flush to disk
			a.Close()
			continue
		}
		if tensor.FormatOf(kinds, nil).Repeats() {
			count := 0
			a.Entries(func([]int64, int64) bool { count++; return true })
			if count != len(in.coords) {
				t.Fatalf("%s: %d entries, want repeats kept", name, count)
			}
		}
		path := filepath.Join(dir, "a.tcs")
		if err := tcsfile.Write(path, a,
			tcsfile.WriteOptions{Compress: r.IntN(3) == 0, Wide: spec.Wide}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := tcsfile.Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := tcsfile.Verify(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check("read back", b)
		in.Rewind()
		spec.Duplicates = Sum
		if err := AssembleFile(path, in, spec, Config{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := tcsfile.Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := tcsfile.Verify(c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check("assembled in the file", c)
		bs, _ := tcsfile.Stats(b)
		cs, _ := tcsfile.Stats(c)
		if fmt.Sprint(bs) != fmt.Sprint(cs) {
			t.Fatalf("%s: statistics %v and %v", name, bs, cs)
		}
		kinds2, modes2 := randomFormat(r, n)
		d, err := Repack(b, tensor.FormatOf(kinds2, modes2), DropFill, Config{})
		if err == nil {
			check("repacked as "+tensor.FormatOf(kinds2, modes2).String(), d)
			d.Close()
		} else if len(tensor.FormatOf(kinds2, nil).Bound()) == 0 {
			t.Fatalf("%s: to %s: %v", name, kinds2, err)
		}
		for _, x := range []*tcs.Tensor{a, b, c} {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d right, %d refused for their singletons", right, refused)
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// TestWideKeys sorts by keys of eight words.
func TestWideKeys(t *testing.T) {
	const n = 1 << 60
	in := random(rand.New(rand.NewPCG(1, 2)), []int64{n, n, n, n, n, n, n, n}, 3000, tensor.Float32)
	in.coords[2999] = in.coords[0]
	a, err := Assemble(in, Spec{Format: tensor.FormatOf("ssssssss", []int{7, 3, 1, 0, 2, 4, 6, 5})},
		Config{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(meaning(a), in.sums()) || a.Vals.Len != 2999 {
		t.Error("wrong tensor")
	}
}

func TestSortedInputIsCounted(t *testing.T) {
	in := &memStream{dims: []int64{1000, 1000}, exact: true, typ: tensor.Float64, batch: 1000}
	for i := range 300000 {
		in.coords = append(in.coords, []int64{int64(i / 300), int64(i % 300 * 3)})
		in.vals = append(in.vals, tensor.Value{Type: tensor.Float64, C: complex(float64(i), 0)})
	}
	a, err := Assemble(in, Spec{Format: tensor.FormatOf("ds", nil)},
		Config{Limit: tcs.NewLimit(8 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	if in.reads != 1 || a.Vals.Len != 300000 {
		t.Errorf("read again %d times, %d values", in.reads, a.Vals.Len)
	}
	// The end is out of order, after entries were only counted: they are read again and sorted.
	in.coords[299999] = []int64{0, 1}
	in.Rewind()
	in.reads = 0
	b, err := Assemble(in, Spec{Format: tensor.FormatOf("ds", nil)},
		Config{Limit: tcs.NewLimit(16 << 20), Tmp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if v := b.Value(1); v.Float() != 299999 {
		t.Errorf("entry (0,1) is %v", v)
	}
}

func TestRefusals(t *testing.T) {
	one := func(dims []int64, coords ...[]int64) *memStream {
		s := &memStream{dims: dims, exact: true, typ: tensor.Float64, batch: 10, coords: coords}
		for i := range coords {
			s.vals = append(s.vals, tensor.Value{Type: tensor.Float64, C: complex(float64(i)+0.5, 0)})
		}
		return s
	}
	for _, c := range []struct {
		in   *memStream
		spec Spec
		exit int
		want string
	}{
		{one([]int64{3, 3}, []int64{0, 1}, []int64{0, 1}),
			Spec{Format: tensor.FormatOf("ds", nil), Duplicates: Refuse, Name: "b.tns"}, 3,
			"b.tns: got coordinate (1,2) more than once, want it once"},
		{one([]int64{3, 3}, []int64{0, 3}), Spec{Format: tensor.FormatOf("ds", nil)}, 3,
			"got coordinate 4 in mode 1, want at most 3, its size"},
		{one([]int64{3, 3}, []int64{0, -1}), Spec{Format: tensor.FormatOf("ds", nil)}, 3,
			"got coordinate -1 in mode 1, want at least 0"},
		{one([]int64{3, 3}, []int64{0, 1}, []int64{0, 2}), Spec{Format: tensor.FormatOf("dp", nil)}, 3,
			"entry (1,3) gives a position of level 1 (p) of format dp a second coordinate"},
		{one([]int64{3, 3}, []int64{0, 1}, []int64{0, 2}), Spec{Format: tensor.FormatOf("sq", nil)}, 3,
			"second coordinate: a c or u level above it"},
		{one([]int64{3, 3}, []int64{0, 1}), Spec{Format: tensor.FormatOf("dq", nil)}, 3,
			"has no coordinate, but q needs exactly one; want p, which also allows none"},
		{one([]int64{3, 3}, []int64{0, 1}), Spec{Format: tensor.FormatOf("ds", nil), Type: tensor.Int64},
			2,
			"value 0.5 does not fit type int64, at (1,2)"},
		{one([]int64{3, 3}, []int64{0, 1}), Spec{Format: tensor.FormatOf("dss", nil)}, 2,
			`format "dss" has 3 levels, but the tensor has 2 modes`},
		{one([]int64{1 << 40, 1 << 40}, []int64{0, 1}), Spec{Format: tensor.FormatOf("dd", nil)}, 5,
			"takes more than 2^62 bytes"},
		{one([]int64{1 << 30, 1 << 11}, []int64{0, 1}),
			Spec{Format: tensor.FormatOf("dd", nil), Name: "B"}, 5,
			"tensor B of sizes [1073741824 2048] as dd needs 16 TiB; 0 bytes are in use already, and the memory limit is 1 GiB (--memory-limit)"},
		{one([]int64{1 << 30, 1 << 11}, []int64{0, 1}),
			Spec{Format: tensor.FormatOf("ds", nil), Name: "B"}, 5,
			"tensor B of sizes [1073741824 2048] as ds needs 4 GiB; 0 bytes are in use already, and the memory limit is 1 GiB (--memory-limit); stored as ss (-f) it takes at most 264 bytes"},
		{one([]int64{1 << 30, 1 << 10}, []int64{0, 1}), Spec{Format: tensor.FormatOf("dd", nil)}, 5,
			"memory limit is 1 GiB"},
	} {
		_, err := Assemble(c.in, c.spec, Config{Limit: tcs.NewLimit(1 << 30)})
		e, ok := err.(interface{ ExitCode() int })
		if !ok || e.ExitCode() != c.exit || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want exit %d and %q", c.spec.Format.Levels, err, c.exit, c.want)
		}
	}
}

func TestRepackSortsByWhatChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	in := random(r, []int64{300, 200, 100}, 20000, tensor.Float64)
	a, err := Assemble(in, Spec{Format: tensor.FormatOf("sss", nil)}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, modes := range [][]int{{2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}, {0, 1, 2}} {
		b, err := Repack(a, tensor.FormatOf("sss", modes), KeepAll, Config{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(meaning(b), meaning(a)) {
			t.Fatalf("%v: wrong tensor", modes)
		}
	}
	if k := FromTensor(a, KeepAll).(orderedStream).sortLevels([]int{2, 0, 1}); k != 1 {
		t.Errorf("a rotation needs a sort by %d levels, want 1", k)
	}
}

func TestKeepAll(t *testing.T) {
	in := random(rand.New(rand.NewPCG(5, 6)), []int64{4, 5}, 3, tensor.Float64)
	a, err := Assemble(in, Spec{Format: tensor.FormatOf("sd", nil)}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Repack(a, tensor.FormatOf("ss", []int{1, 0}), KeepAll, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Vals.Len != a.Vals.Len {
		t.Errorf("%d entries of %d kept", b.Vals.Len, a.Vals.Len)
	}
}

func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, limit := range []int64{0, 3 << 20} {
		in := random(r, []int64{70, 60, 50}, 60000, tensor.Int64)
		want := in.sums()
		o, err := Sort(in, Spec{Format: tensor.Format{Order: []int{2, 0, 1}}},
			Config{Limit: tcs.NewLimit(limit), Tmp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if o.NNZ() != int64(len(want)) {
			t.Errorf("%d entries, want %d", o.NNZ(), len(want))
		}
		for range 2 {
			got := map[string]complex128{}
			var b Batch
			last := []int64{-1, -1, -1}
			for {
				if err := o.Next(&b); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				for i := range b.N {
					now := []int64{b.Coords[2][i], b.Coords[0][i], b.Coords[1][i]}
					if slices.Compare(last, now) >= 0 {
						t.Fatalf("%v after %v", now, last)
					}
					last = now
					got[fmt.Sprint([]int64{now[1], now[2], now[0]})] = tensor.Int64.Load(
						unsafe.Pointer(&b.Vals[8*i])).Complex()
				}
			}
			if !maps.Equal(got, want) {
				t.Error("wrong entries")
			}
			if err := o.Rewind(); err != nil {
				t.Fatal(err)
			}
		}
		o.Close()
	}
}
