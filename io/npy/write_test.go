package npy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"distaff/io/coo"
	"distaff/io/pythontest"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

var types = tensor.ValueTypes

func save(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	for _, typ := range types {
		for _, dims := range [][]int64{{}, {50}, {30, 40}, {70, 50, 40}, {2, 3, 4, 2, 3, 2},
			{3, 0, 2}} {
			n := 20
			if len(dims) == 0 {
				n = 1
			} else if dims[len(dims)-1] == 2 && dims[0] == 3 {
				n = 0
			}
			in := readertest.Random(dims, typ, n, 2)
			var b bytes.Buffer
			if err := Write(&b, readertest.Ordered(t, in, nil),
				coo.WriteOptions{Threads: 3}); err != nil {
				t.Fatal(err)
			}
			check(t, save(t, "x.npy", b.Bytes()), in, true)
		}
	}
}

func TestNpzRoundTrip(t *testing.T) {
	for _, typ := range types {
		for _, column := range []bool{false, true} {
			for _, dims := range [][]int64{{30, 40}, {1, 1}, {5, 1 << 40}, {0, 7}} {
				if column && dims[1] > 1<<30 {
					dims = []int64{dims[1], dims[0]} // indptr has an element a segment
				}
				n := int(min(20, dims[0]*dims[1]))
				in := readertest.Random(dims, typ, n, 3)
				opt := coo.WriteOptions{ColumnMajor: column}
				var b bytes.Buffer
				if err := WriteNpz(&b, readertest.Ordered(t, in, NpzModes(2, opt)),
					opt); err != nil {
					t.Fatal(err)
				}
				check(t, save(t, "x.npz", b.Bytes()), in, false)
			}
		}
	}
}

func TestPointsRoundTrip(t *testing.T) {
	for _, typ := range types {
		for _, dims := range [][]int64{{}, {50}, {70, 50, 40}, {1 << 40, 3, 1 << 50},
			{2, 3, 4, 2, 3, 2}, {3, 0, 2}} {
			n := 20
			if len(dims) == 0 {
				n = 1
			} else if dims[len(dims)-1] == 2 && dims[0] == 3 {
				n = 0
			}
			in := readertest.Random(dims, typ, n, 5)
			var b bytes.Buffer
			if err := WriteNpz(&b, readertest.Ordered(t, in,
				NpzModes(len(dims), coo.WriteOptions{})), coo.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			check(t, save(t, "x.npz", b.Bytes()), in, false)
		}
	}
}

// More entries than a reader takes at once, of a file that NumPy may have written in
// either order.
func TestManyPoints(t *testing.T) {
	in := readertest.Random([]int64{70, 50, 40}, tensor.Int64, 3*4096+7, 6)
	var b bytes.Buffer
	if err := WriteNpz(&b, readertest.Ordered(t, in, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	check(t, save(t, "x.npz", b.Bytes()), in, false)
}

func check(t *testing.T, path string, in *readertest.List, dense bool) {
	t.Helper()
	s, err := open(path, coo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := readertest.Collect(s)
	if err != nil {
		t.Fatal(err)
	}
	var want []readertest.Entry
	for _, e := range in.Entries {
		if e.Val != 0 || !dense || len(in.Sizes) == 0 {
			want = append(want, e)
		}
	}
	readertest.Sort(got)
	readertest.Sort(want)
	if dims, _ := s.Dims(); fmt.Sprint(got) != fmt.Sprint(want) ||
		fmt.Sprint(dims) != fmt.Sprint(in.Sizes) || s.Type() != in.Of {
		t.Errorf("%v %v: what was written reads otherwise: sizes %v, %d entries of %v", in.Of,
			in.Sizes, dims, len(got), s.Type())
	}
}

// The bytes that NumPy writes for the same array.
func TestAsNumPy(t *testing.T) {
	in := &readertest.List{Sizes: []int64{2, 3}, Of: tensor.Float64, Entries: []readertest.Entry{
		{Coords: []int64{1, 2}, Val: 4}, {Coords: []int64{0, 0}, Val: 1},
		{Coords: []int64{1, 1}, Val: -3}, {Coords: []int64{0, 2}, Val: 2}}}
	want, err := os.ReadFile("testdata/f8.npy")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, readertest.Ordered(t, in, nil), coo.WriteOptions{}); err != nil ||
		!bytes.Equal(b.Bytes(), want) {
		t.Errorf("got %v %q, want %q", err, b.Bytes(), want)
	}
}

func TestRefused(t *testing.T) {
	huge := &readertest.List{Sizes: []int64{1 << 40, 1 << 40}, Of: tensor.Float64}
	if err := Write(&bytes.Buffer{}, readertest.Ordered(t, huge, nil),
		coo.WriteOptions{}); err == nil {
		t.Error("an array of 2^80 elements was written")
	}
}

// SciPy and pydata/sparse read tensors of every order that are written here, and what
// they write of them again reads the same.
func TestPythonReadsPoints(t *testing.T) {
	for _, lib := range []struct{ name, imports, load, same string }{
		{"scipy", "import numpy as np, scipy.sparse as lib; lib.coo_array((2, 2, 2))", "x.coords",
			"len(x.shape) > 0"},
		{"sparse", "import numpy as np, sparse as lib", "x.coords",
			"x.fill_value == 0 and (np.diff(x.linear_loc()) > 0).all()"},
	} {
		t.Run(lib.name, func(t *testing.T) {
			python := pythontest.Find(t, lib.imports)
			for k, dims := range [][]int64{{50}, {70, 50, 40}, {1 << 33, 1 << 20, 3},
				{7, 3, 4, 2, 3}, {3, 0, 2}} {
				typ := types[k]
				n := 20
				if dims[0] == 3 {
					n = 0
				}
				in := readertest.Random(dims, typ, n, 7)
				var b bytes.Buffer
				if err := WriteNpz(&b, readertest.Ordered(t, in, nil),
					coo.WriteOptions{}); err != nil {
					t.Fatal(err)
				}
				path := save(t, "x.npz", b.Bytes())
				again := filepath.Join(filepath.Dir(path), "again.npz")
				out, err := exec.Command(python, "-c", lib.imports+`
import sys
x = lib.load_npz(sys.argv[1])
assert `+lib.same+`, x
lib.save_npz(sys.argv[2], x)
print(list(x.shape), x.dtype, len(x.data), int(sum(sum(int(c) for c in m) for m in x.coords)))
`, path, again).CombinedOutput()
				sum := int64(0)
				for _, e := range in.Entries {
					for _, c := range e.Coords {
						sum += c
					}
				}
				want := fmt.Sprintf("%s %v %d %d\n",
					strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), typ, n, sum)
				if err != nil || string(out) != want {
					t.Fatalf("%v: got %v, %q, want %q", dims, err, out, want)
				}
				check(t, again, in, false)
			}
		})
	}
}

// SciPy, if it is installed, reads the files that this package writes.
func TestSciPyReads(t *testing.T) {
	python := pythontest.Find(t, "import numpy, scipy.sparse")
	dir := t.TempDir()
	in := readertest.Random([]int64{60, 70}, tensor.Float64, 200, 4)
	for name, column := range map[string]bool{"csr.npz": false, "csc.npz": true} {
		in.Rewind()
		var b bytes.Buffer
		opt := coo.WriteOptions{ColumnMajor: column}
		if err := WriteNpz(&b, readertest.Ordered(t, in, NpzModes(2, opt)), opt); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in.Rewind()
	var b bytes.Buffer
	if err := Write(&b, readertest.Ordered(t, in, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dense.npy"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `
import sys, numpy as np, scipy.sparse as sp
d = np.load(sys.argv[1] + "/dense.npy", allow_pickle=False)
assert d.shape == (60, 70) and d.dtype == np.float64, (d.shape, d.dtype)
for f in ("csr", "csc"):
    m = sp.load_npz(sys.argv[1] + "/" + f + ".npz")
    assert m.format == f and m.has_sorted_indices and m.indices.dtype == np.int32, (m.format, m.indices.dtype)
    assert (m.toarray() == d).all()
`, dir).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.np[yz]")
	if err != nil || len(names) == 0 {
		f.Fatal("no files in testdata")
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, n[len(n)-1] == 'z')
	}
	f.Fuzz(func(t *testing.T, b []byte, archive bool) {
		name := "x.npy"
		if archive {
			name = "x.npz"
		}
		s, err := open(save(t, name, b), coo.Options{})
		if err != nil {
			return
		}
		defer s.Close()
		es, err := readertest.Collect(s)
		if err != nil {
			return
		}
		dims, _ := s.Dims()
		for _, e := range es {
			for m, c := range e.Coords {
				if c < 0 || c >= dims[m] {
					t.Fatalf("coordinate %d of mode %d is outside %v", c, m, dims)
				}
			}
		}
	})
}

// small is a disk of n bytes.
type small struct{ n int }

func (s *small) Write(b []byte) (int, error) {
	if len(b) > s.n {
		return 0, syscall.ENOSPC
	}
	s.n -= len(b)
	return len(b), nil
}

// If a writer fails, WriteNpz returns its error. It does not count pointers of a trillion rows
// after the failure.
func TestNpzOnAFullDisk(t *testing.T) {
	in := &readertest.List{Sizes: []int64{1 << 40, 5}, Of: tensor.Float64, Entries: []readertest.Entry{
		{Coords: []int64{3, 1}, Val: 1}, {Coords: []int64{1 << 39, 4}, Val: 2}}}
	for _, room := range []int{0, 1 << 10, 1 << 20} {
		in.Rewind()
		if err := WriteNpz(&small{room}, readertest.Ordered(t, in, nil),
			coo.WriteOptions{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with room for %d bytes: got %v, want %v", room, err, syscall.ENOSPC)
		}
	}
	few := readertest.Random([]int64{300, 400}, tensor.Float64, 5000, 2)
	var whole bytes.Buffer
	if err := WriteNpz(&whole, readertest.Ordered(t, few, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for room := 0; room < whole.Len(); room += whole.Len()/50 + 1 {
		few.Rewind()
		if err := WriteNpz(&small{room}, readertest.Ordered(t, few, nil),
			coo.WriteOptions{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("with room for %d of %d bytes: got %v, want %v", room, whole.Len(), err,
				syscall.ENOSPC)
		}
	}
	huge := &readertest.List{Sizes: []int64{1 << 61, 2}, Of: tensor.Float64}
	if err := WriteNpz(&bytes.Buffer{}, readertest.Ordered(t, huge, nil),
		coo.WriteOptions{}); err == nil {
		t.Error("2^61 row pointers were written")
	}
}
