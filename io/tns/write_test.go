package tns

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

var types = []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
	tensor.Complex128,
	tensor.Complex64}

func TestRoundTrip(t *testing.T) {
	for _, typ := range types {
		for _, dims := range [][]int64{{}, {50}, {30, 40}, {1 << 40, 3, 1 << 35}, {3, 4, 5, 6, 7}} {
			n := 1
			if len(dims) > 0 {
				n = 20
			}
			if len(dims) == 3 && typ == tensor.Float64 {
				n = 40000 // several pieces
			}
			in := readertest.Random(dims, typ, n, 1)
			var b bytes.Buffer
			if err := Write(&b, readertest.Ordered(t, in, nil),
				coo.WriteOptions{Threads: 3}); err != nil {
				t.Fatal(err)
			}
			s, err := Open(write(t, b.String()), coo.Options{Dims: dims, Type: typ})
			if err != nil {
				t.Fatalf("%v %v: %v", typ, dims, err)
			}
			got, err := readertest.Collect(s)
			if err != nil {
				t.Fatalf("%v %v: %v", typ, dims, err)
			}
			readertest.Sort(in.Entries)
			if fmt.Sprint(got) != fmt.Sprint(in.Entries) {
				t.Errorf("%v %v: what was written reads otherwise", typ, dims)
			}
			s.Close()
		}
	}
}

func TestWritten(t *testing.T) {
	in := &readertest.List{Sizes: []int64{3, 3}, Of: tensor.Float64, Entries: []readertest.Entry{
		{Coords: []int64{2, 0}, Val: 0}, {Coords: []int64{0, 1}, Val: 1e6},
		{Coords: []int64{0, 0}, Val: complex(math.Inf(-1), 0)},
		{Coords: []int64{1, 2}, Val: 0.1}}}
	var b bytes.Buffer
	if err := Write(&b, readertest.Ordered(t, in, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "1 1 -inf\n1 2 1000000\n2 3 0.1\n3 1 0\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	b.Reset()
	z := &readertest.List{Sizes: []int64{3}, Of: tensor.Complex128,
		Entries: []readertest.Entry{{Coords: []int64{2}, Val: complex(1, -0.5)}}}
	if err := Write(&b, readertest.Ordered(t, z, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := ComplexMark + "\n3 1 -0.5\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

type failing struct{ left int }

var errFull = errors.New("no space left")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterFails(t *testing.T) {
	in := readertest.Random([]int64{1 << 30, 1 << 30}, tensor.Float64, 50000, 1)
	for _, left := range []int{0, 100, 500000} {
		in.Rewind()
		if err := Write(&failing{left}, readertest.Ordered(t, in, nil),
			coo.WriteOptions{Threads: 2}); !errors.Is(err, errFull) {
			t.Errorf("got %v, want %v", err, errFull)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"1 2 3\n", "# c\n1 2.5\n", "2\n3 3\n1 1 1\n",
		ComplexMark + "\n1 1 2\n", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd\x24",
		"1 9223372036854775807 1e999\n", "3\n", "+1 1\n", "1 0x1p-2\n1 .e1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Open(write(t, in), coo.Options{Threads: 1})
		if err != nil {
			return
		}
		defer s.Close()
		es, err := readertest.Collect(s)
		dims, _ := s.Dims()
		for _, e := range es {
			for m, c := range e.Coords {
				if c < 0 || err == nil && c >= dims[m] {
					t.Fatalf("coordinate %d of mode %d is outside %v", c, m, dims)
				}
			}
		}
		if err != nil || len(dims) > tcs.MaxOrder {
			return
		}
		// What was read is written and reads as the same.
		var b bytes.Buffer
		l := &readertest.List{Sizes: dims, Of: s.Type(), Entries: es}
		o, err := coo.Sort(l, coo.Spec{}, coo.Config{})
		if err != nil {
			return
		}
		defer o.Close()
		want, err := readertest.Collect(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Rewind()
		if err := Write(&b, o, coo.WriteOptions{Threads: 1}); err != nil {
			t.Fatal(err)
		}
		if dims == nil {
			dims = []int64{}
		}
		again, err := Open(write(t, b.String()), coo.Options{Dims: dims, Threads: 1})
		if err != nil {
			t.Fatalf("%v: %s", err, strings.TrimSpace(b.String()))
		}
		defer again.Close()
		if got, err := readertest.Collect(again); err != nil ||
			fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	})
}
