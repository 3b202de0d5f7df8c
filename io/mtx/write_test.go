package mtx

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

func TestRoundTrip(t *testing.T) {
	for _, typ := range []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
		tensor.Complex128,
		tensor.Complex64} {
		for _, dims := range [][]int64{{50}, {30, 40}, {400, 300}} {
			for _, dense := range []bool{false, true} {
				in := readertest.Random(dims, typ, 45, 1)
				opt := coo.WriteOptions{Dense: dense, Threads: 3}
				var b bytes.Buffer
				if err := Write(&b, readertest.Ordered(t, in, Modes(len(dims), opt)),
					opt); err != nil {
					t.Fatal(err)
				}
				s, err := Open(write(t, b.String()), coo.Options{Order: len(dims), Type: typ})
				if err != nil {
					t.Fatalf("%v %v: %v", typ, dims, err)
				}
				got, err := readertest.Collect(s)
				if err != nil {
					t.Fatalf("%v %v: %v", typ, dims, err)
				}
				have, _ := s.Dims()
				want := in.Entries
				if dense { // zeros in an array are not entries
					want = nil
					for _, e := range in.Entries {
						if e.Val != 0 {
							want = append(want, e)
						}
					}
				}
				readertest.Sort(got)
				readertest.Sort(want)
				if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(have) != fmt.Sprint(dims) {
					t.Errorf("%v %v dense %v: what was written reads otherwise", typ, dims, dense)
				}
				s.Close()
			}
		}
	}
}

func TestWritten(t *testing.T) {
	entry := func(v complex128, c ...int64) readertest.Entry {
		return readertest.Entry{Coords: c, Val: v, Int: int64(real(v))}
	}
	for _, c := range []struct {
		name string
		in   *readertest.List
		opt  coo.WriteOptions
		want string
	}{
		{"coordinate", &readertest.List{Sizes: []int64{2, 3}, Of: tensor.Float64,
			Entries: []readertest.Entry{entry(0, 1, 0), entry(2.5, 0, 2)}}, coo.WriteOptions{},
			"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 2.5\n2 1 0\n"},
		{"array", &readertest.List{Sizes: []int64{2, 3}, Of: tensor.Float64,
			Entries: []readertest.Entry{entry(7, 1, 0), entry(2.5, 0, 2), entry(1, 0, 2)}},
			coo.WriteOptions{Dense: true},
			"%%MatrixMarket matrix array real general\n2 3\n0\n7\n0\n0\n3.5\n0\n"},
		{"vector", &readertest.List{Sizes: []int64{3}, Of: tensor.Int32,
			Entries: []readertest.Entry{entry(7, 1)}}, coo.WriteOptions{},
			"%%MatrixMarket matrix coordinate integer general\n3 1 1\n2 1 7\n"},
		{"dense vector", &readertest.List{Sizes: []int64{3}, Of: tensor.Complex64,
			Entries: []readertest.Entry{entry(complex(7, -1), 1)}}, coo.WriteOptions{Dense: true},
			"%%MatrixMarket matrix array complex general\n3 1\n0 0\n7 -1\n0 0\n"},
		{"empty", &readertest.List{Sizes: []int64{0, 3}, Of: tensor.Float64},
			coo.WriteOptions{Dense: true}, "%%MatrixMarket matrix array real general\n0 3\n"},
		{"scalar", &readertest.List{Of: tensor.Float64, Entries: []readertest.Entry{entry(7)}},
			coo.WriteOptions{Dense: true}, "%%MatrixMarket matrix array real general\n1 1\n7\n"},
	} {
		var b bytes.Buffer
		if err := Write(&b, readertest.Ordered(t, c.in, Modes(len(c.in.Sizes), c.opt)),
			c.opt); err != nil || b.String() != c.want {
			t.Errorf("%s: got %v\n%swant\n%s", c.name, err, &b, c.want)
		}
	}
	three := &readertest.List{Sizes: []int64{2, 2, 2}, Of: tensor.Float64}
	if err := Write(&bytes.Buffer{}, readertest.Ordered(t, three, nil),
		coo.WriteOptions{}); err == nil || !strings.Contains(err.Error(),
		"got a tensor of 3 modes, want at most 2") {
		t.Errorf("got %v", err)
	}
}

// A wide gap is written in pieces.
func TestLongArray(t *testing.T) {
	in := &readertest.List{Sizes: []int64{1000, 500}, Of: tensor.Float64,
		Entries: []readertest.Entry{{Coords: []int64{1, 0}, Val: 3},
			{Coords: []int64{999, 498}, Val: 4}}}
	opt := coo.WriteOptions{Dense: true, Threads: 2}
	var b bytes.Buffer
	if err := Write(&b, readertest.Ordered(t, in, Modes(2, opt)), opt); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 2+500000+1 || lines[2+1] != "3" || lines[2+999+498*1000] != "4" ||
		strings.Count(b.String(), "\n0\n")+strings.Count(b.String(), "\n0\n0") == 0 {
		t.Errorf("got %d lines", len(lines))
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n",
		"%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n",
		"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n2 2 1\n2 1\n", "2 2 1\n1 1 1\n",
		"%%MatrixMarket tensor array integer general\n1 2 1\n1\n2\n",
		"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
		"%%MatrixMarket vector coordinate real general\n5 1\n2 1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Open(write(t, in), coo.Options{Threads: 1})
		if err != nil {
			return
		}
		defer s.Close()
		es, err := readertest.Collect(s)
		if err != nil {
			return
		}
		dims, exact := s.Dims()
		if !exact {
			t.Fatal("sizes are not exact")
		}
		for _, e := range es {
			for m, c := range e.Coords {
				if c < 0 || c >= dims[m] {
					t.Fatalf("coordinate %d of mode %d is outside %v", c, m, dims)
				}
			}
		}
	})
}
