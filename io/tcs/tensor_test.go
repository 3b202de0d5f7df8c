package tcs

import (
	"errors"
	"testing"
	"unsafe"

	"distaff/io/tensor"
)

func TestLimit(t *testing.T) {
	l := NewLimit(10 << 20)
	m, err := Alloc(l, 6<<20, "a thing")
	if err != nil {
		t.Fatal(err)
	}
	if uintptr(m.Ptr)%hugePage != 0 {
		t.Error("a large piece is not aligned for huge pages")
	}
	_, err = Alloc(l, 6<<20, "another thing")
	var e *MemoryError
	if !errors.As(err, &e) || e.ExitCode() != 5 ||
		err.Error() != "another thing needs 6 MiB; 6 MiB are in use already, and the memory limit "+
			"is 10 MiB (--memory-limit)" {
		t.Errorf("got %v", err)
	}
	m.Retain()
	m.Release()
	if l.Used() != 6<<20 {
		t.Error("freed while held")
	}
	m.Release()
	if l.Used() != 0 || l.Peak() != 6<<20 {
		t.Errorf("used %d, peak %d", l.Used(), l.Peak())
	}
}

func TestLongestSegment(t *testing.T) {
	segments := Level{Kind: tensor.Compressed, Pos: Of([]int32{0, 3, 3, 8, 9})}
	wide := Level{Kind: tensor.Compressed, Pos: Of([]int64{0, 1, 3})}
	for want, levels := range map[int64][]Level{0: nil, 5: {{Size: 4}, segments}, 2: {segments, wide}} {
		if got := (&Tensor{Levels: levels}).LongestSegment(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if got := (&Tensor{Levels: []Level{segments, {Size: 4}}}).LongestSegment(); got != 0 {
		t.Errorf("the last level is dense: got %d, want 0", got)
	}
}

func TestTypes(t *testing.T) {
	convert := func(to tensor.Type, v tensor.Value) (tensor.Value, error) {
		src, dst := make([]byte, 16), make([]byte, 16)
		v.Type.Store(ptr(src), v)
		_, err := ConvertValues(dst, to, src, v.Type, 1)
		return to.Load(ptr(dst)), err
	}
	f := func(x float64) tensor.Value { return tensor.Value{Type: tensor.Float64, C: complex(x, 0)} }
	n := func(x int64) tensor.Value { return tensor.Value{Type: tensor.Int64, I: x} }
	for _, c := range []struct {
		v    tensor.Value
		to   tensor.Type
		want string
	}{
		{f(3), tensor.Int64, "3"}, {f(-3), tensor.Int32, "-3"}, {f(2.5), tensor.Int64, "!"},
		{f(1e10), tensor.Int32, "!"},
		{f(1 << 63), tensor.Int64, "!"},
		{n(1<<62 + 1), tensor.Int64, "4611686018427387905"}, {n(1 << 40), tensor.Int32, "!"},
		{n(7), tensor.Complex64, "7+0i"}, {f(0.1), tensor.Float32, "0.1"},
		{tensor.Value{Type: tensor.Complex128, C: 1}, tensor.Float64, "!"},
		{f(1.5), tensor.Complex128, "1.5+0i"},
	} {
		got, err := convert(c.to, c.v)
		if s := got.String(); err == nil && s != c.want || (err != nil) != (c.want == "!") {
			t.Errorf("%v to %v: got %s, %v, want %s", c.v, c.to, s, err, c.want)
		}
	}
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

// The address of a part without elements is inside the array, not after it, where other memory
// may begin.
func TestEmptyPartOfArray(t *testing.T) {
	a := Of([]float64{1, 2, 3})
	for lo := range a.Len + 1 {
		if s := a.Sub(lo, lo); uintptr(s.Ptr) < uintptr(a.Ptr) ||
			uintptr(s.Ptr) >= uintptr(a.Ptr)+24 || s.First != lo {
			t.Errorf("the part [%d,%d) is at byte %d and begins at %d", lo, lo,
				uintptr(s.Ptr)-uintptr(a.Ptr), s.First)
		}
	}
}

// An error about one element has its place.
func TestPlaceOfError(t *testing.T) {
	matrix := func(pos []int32, crd []int64) *Tensor {
		return &Tensor{Header: Header{Dims: []int64{3, 4}, Type: tensor.Float64},
			Vals: Of(make([]float64, len(crd))),
			Levels: []Level{{Kind: 'd', Size: 3},
				{Kind: 's', Mode: 1, Size: 4, Pos: Of(pos), Crd: Of(crd)}}}
	}
	for _, c := range []struct {
		t    *Tensor
		want Place
	}{
		{matrix([]int32{0, 3, 2, 3}, []int64{0, 1, 2}), Place{1, PosArray, 2}},
		{matrix([]int32{0, 1, 2, 3}, []int64{0, 4, 2}), Place{1, CrdArray, 1}},
		{matrix([]int32{0, 1, 1, 3}, []int64{0, 3, 3}), Place{1, CrdArray, 2}},
	} {
		var e *Error
		if err := c.t.Validate(); !errors.As(err, &e) || e.Place == nil || *e.Place != c.want {
			t.Errorf("got %v, want an error at %v", err, c.want)
		}
	}
}
