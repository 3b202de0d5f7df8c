package mat

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/pythontest"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

// testdata is made by SciPy: see make.py.
func TestRead(t *testing.T) {
	const a = "[[0 0]:(1.5+0i) [0 3]:(-2+0i) [1 2]:(3+0i) [3 0]:(4+0i) [3 4]:(0.25+0i)]"
	const z = "[[0 0]:(1.5+3i) [0 3]:(-2-4i) [1 2]:(3+6i) [3 0]:(4+8i) [3 4]:(0.25+0.5i)]"
	const l = "[[0 0]:(1+0i) [0 3]:(1+0i) [1 2]:(1+0i) [3 0]:(1+0i) [3 4]:(1+0i)]"
	const p = "[[0 0]:(1.5-1.5i) [0 3]:(-2+2i) [1 2]:(3-3i) [3 0]:(4-4i) [3 4]:(0.25-0.25i)]"
	for _, c := range []struct {
		file, member string
		opt          coo.Options
		typ          tensor.Type
		dims, want   string
	}{
		{"one", "", coo.Options{}, tensor.Float64, "[4 5]", a},
		{"one", ":A", coo.Options{Type: tensor.Float32}, tensor.Float32, "[4 5]", a},
		{"many", ":A", coo.Options{}, tensor.Float64, "[4 5]", a},
		{"many", ":D", coo.Options{}, tensor.Float64, "[4 5]", a},
		{"many", ":Z", coo.Options{}, tensor.Complex128, "[4 5]", z},
		{"many", ":L", coo.Options{}, tensor.Bool, "[4 5]", l},
		{"many", ":i8", coo.Options{}, tensor.Int8, "[2 3]",
			"[[0 0]:(-3+0i) [0 1]:(-2+0i) [0 2]:(-1+0i) [1 1]:(1+0i) [1 2]:(2+0i)]"},
		{"many", ":u16", coo.Options{}, tensor.Uint16, "[1 3]", "[[0 1]:(7+0i) [0 2]:(65535+0i)]"},
		{"many", ":u16", coo.Options{Order: 1}, tensor.Uint16, "[3]", "[[1]:(7+0i) [2]:(65535+0i)]"},
		{"many", ":i64", coo.Options{}, tensor.Int64, "[1 1]", "[[0 0]:(9.007199254740992e+15+0i)]"},
		{"many", ":f4", coo.Options{}, tensor.Float32, "[1 3]", "[[0 1]:(0.5+0i) [0 2]:(-1+0i)]"},
		{"many", ":c8", coo.Options{}, tensor.Complex64, "[1 2]", "[[0 1]:(1+2i)]"},
		{"many", ":empty", coo.Options{}, tensor.Float64, "[0 3]", "[]"},
		{"many", ":b", coo.Options{}, tensor.Bool, "[1 3]", "[[0 0]:(1+0i) [0 2]:(1+0i)]"},
		{"many", ":S.A", coo.Options{}, tensor.Float64, "[4 5]", a},
		{"many", ":S.inner.v", coo.Options{}, tensor.Float64, "[1 2]",
			"[[0 0]:(1+0i) [0 1]:(2+0i)]"},
		{"problem", "", coo.Options{}, tensor.Complex128, "[4 5]", p},
		{"problem", ":Problem.aux.c", coo.Options{Order: 1}, tensor.Float64, "[3]",
			"[[0]:(1+0i) [1]:(1+0i) [2]:(1+0i)]"},
		{"big", "", coo.Options{}, tensor.Float64, "[4 5]", a},
	} {
		for _, suffix := range []string{".mat", "_packed.mat"} {
			if c.file == "big" && suffix != ".mat" {
				continue
			}
			s, err := Open("testdata/"+c.file+suffix+c.member, c.opt)
			if err != nil {
				t.Errorf("%s%s%s: %v", c.file, suffix, c.member, err)
				continue
			}
			for range 2 {
				es, err := readertest.Collect(s)
				readertest.Sort(es)
				if dims, _ := s.Dims(); err != nil || fmt.Sprint(dims) != c.dims ||
					fmt.Sprint(es) != c.want || s.Type() != c.typ {
					t.Errorf("%s%s%s: got %v of %v, %v, %v; want %v of %v, %v", c.file, suffix,
						c.member, dims, s.Type(), es, err, c.dims, c.typ, c.want)
				}
				s.Rewind()
			}
			s.Close()
		}
	}
}

// A tensor of three modes is stored with the first mode fastest.
func TestThreeModes(t *testing.T) {
	s, err := Open("testdata/many_packed.mat:T", coo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	es, err := readertest.Collect(s)
	if err != nil || len(es) != 23 {
		t.Fatalf("got %d entries, %v; want 23", len(es), err)
	}
	for _, e := range es {
		if want := 12*e.Coords[0] + 4*e.Coords[1] + e.Coords[2]; real(e.Val) != float64(want) {
			t.Errorf("got %v, want %d", e, want)
		}
	}
}

// changed returns the path of a copy of one.mat with other bytes at offset at.
func changed(t *testing.T, at int, to ...byte) string {
	t.Helper()
	b, err := os.ReadFile("testdata/one.mat")
	if err != nil {
		t.Fatal(err)
	}
	copy(b[at:], to)
	return readertest.Write(t, "x.mat", string(b))
}

func TestMalformed(t *testing.T) {
	const flags = headerSize + 16 // of the first variable
	for _, c := range []struct {
		path string
		opt  coo.Options
		exit int
		want string
	}{
		{"testdata/many.mat", coo.Options{}, 2, "testdata/many.mat: the file contains several " +
			"tensors; want FILE:NAME with one of the names A, D, Z, L, i8, u16, i64, f4, ..."},
		{"testdata/one.mat:note", coo.Options{}, 2,
			"testdata/one.mat: the file has no note; want FILE:NAME with one of the names A"},
		{"testdata/one.mat", coo.Options{Order: 3}, 2, "want 3"},
		{"testdata/many.mat:Z", coo.Options{Type: tensor.Float64}, 2, "complex128, but the type"},
		{readertest.Write(t, "x.mat", ""), coo.Options{}, 3, "want a MATLAB file of version 5"},
		{readertest.Write(t, "x.mat", strings.Repeat("x", 500)), coo.Options{}, 3,
			`x.mat: got "xxxx" at the end of the header of 128 bytes, want a MATLAB file`},
		{readertest.Write(t, "x.mat", strings.Repeat("\x00", 124)+"\x00\x01IM"), coo.Options{}, 3,
			"x.mat: the file contains no tensor"},
		{changed(t, headerSize+4, 0xff, 0xff), coo.Options{}, 3, "got a variable of 65535 bytes"},
		{changed(t, flags, 99), coo.Options{}, 3, "the file contains no tensor"},
		{changed(t, flags, classDouble), coo.Options{}, 3,
			"got 20 bytes of values, want 80 for the sizes [4 5]"},
	} {
		t.Run(c.want, func(t *testing.T) {
			readertest.Refused(t, Open, c.path, c.opt, c.exit, c.want)
		})
	}
}

func TestDamage(t *testing.T) {
	for _, name := range []string{"one.mat", "one_packed.mat", "big.mat"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		readertest.Damage(t, Open, name, "", b)
	}
}

// Changed bits of compressed data are found, by the checksum at the latest.
func TestChecksum(t *testing.T) {
	b, err := os.ReadFile("testdata/one_packed.mat")
	if err != nil {
		t.Fatal(err)
	}
	size := int(b[headerSize+4])
	for k := headerSize + 8; k < headerSize+8+size; k++ {
		damaged := bytes.Clone(b)
		damaged[k] ^= 4
		s, err := Open(readertest.Write(t, "x.mat", string(damaged)), coo.Options{})
		if err == nil {
			_, err = readertest.Collect(s)
			s.Close()
		}
		if err == nil {
			t.Errorf("byte %d of %d changed: got no error", k, size)
		}
	}
}

var types = tensor.ValueTypes

// write writes a random tensor and returns the path of the file.
func write(t *testing.T, in *readertest.List, opt coo.WriteOptions) string {
	t.Helper()
	var b bytes.Buffer
	o := readertest.Ordered(t, in, Modes(len(in.Sizes), opt))
	if err := Write(&b, o, opt); err != nil {
		t.Fatal(err)
	}
	return readertest.Write(t, "x.mat", b.String())
}

func TestRoundTrip(t *testing.T) {
	for _, typ := range types {
		for _, dims := range [][]int64{{}, {50}, {30, 40}, {1, 70000}, {9000, 3}, {0, 7}} {
			for _, dense := range []bool{false, true} {
				n := 20
				if len(dims) == 0 {
					n = 1
				} else if dims[0] == 0 {
					n = 0
				}
				in := readertest.Random(dims, typ, n, 2)
				path := write(t, in, coo.WriteOptions{Dense: dense, Threads: 3})
				s, err := Open(path, coo.Options{Order: len(dims), Type: typ})
				if err != nil {
					t.Fatal(err)
				}
				es, err := readertest.Collect(s)
				s.Close()
				if err != nil {
					t.Fatal(err)
				}
				if len(dims) == 0 {
					in.Entries[0].Coords = []int64{0, 0}
				}
				var want []readertest.Entry
				for _, e := range in.Entries {
					if !dense || e.Val != 0 {
						want = append(want, e)
					}
				}
				readertest.Sort(es)
				readertest.Sort(want)
				if fmt.Sprint(es) != fmt.Sprint(want) {
					t.Errorf("%v %v, dense %v: got %d entries, want %d", typ, dims, dense, len(es),
						len(want))
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, dims := range [][]int64{{1 << 31, 3}, {3, 1 << 31}, {1 << 15, 1 << 15}} {
		in := &readertest.List{Sizes: dims, Of: tensor.Float64}
		err := Write(&bytes.Buffer{}, readertest.Ordered(t, in, Modes(2, coo.WriteOptions{})),
			coo.WriteOptions{Dense: dims[0] == dims[1]})
		if err == nil || !strings.Contains(err.Error(), "less than 2 GiB") {
			t.Errorf("%v: got %v", dims, err)
		}
	}
}

// SciPy, if it is installed, reads the files that this package writes.
func TestSciPyReads(t *testing.T) {
	python := pythontest.Find(t, "import numpy, scipy.io, scipy.sparse")
	for _, typ := range types {
		for _, dense := range []bool{false, true} {
			in := readertest.Random([]int64{6, 7}, typ, 9, 4)
			path := write(t, in, coo.WriteOptions{Dense: dense})
			sum := complex(0, 0)
			for _, e := range in.Entries {
				sum += e.Val * complex(float64(10*e.Coords[0]+e.Coords[1]), 0)
			}
			out, err := exec.Command(python, "-c", `
import sys, numpy as np, scipy.io, scipy.sparse as sp
a = scipy.io.loadmat(sys.argv[1])["A"]
assert sp.issparse(a) == (sys.argv[2] == "false") and a.shape == (6, 7), a
if sp.issparse(a):
    a.check_format()
    a = a.toarray()
weights = 10 * np.arange(6)[:, None] + np.arange(7)
want = complex(sys.argv[3].replace("i", "j"))
assert abs((a * weights).sum() - want) <= 1e-6 * abs(want), (a, want)
`, path, fmt.Sprint(dense), strings.Trim(fmt.Sprint(sum), "()")).CombinedOutput()
			if err != nil {
				t.Errorf("%v, dense %v: %v: %s", typ, dense, err, out)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.mat")
	if err != nil || len(names) == 0 {
		f.Fatal("no files in testdata")
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "")
		f.Add(b, ":Z")
		f.Add(b, ":S.A")
	}
	f.Fuzz(func(t *testing.T, b []byte, member string) {
		if _, name, ok := strings.Cut(member, ":"); ok && !strings.ContainsAny(name, "/\x00") {
			readertest.CheckRange(t, Open, readertest.Write(t, "x.mat", string(b))+member)
		} else {
			readertest.CheckRange(t, Open, readertest.Write(t, "x.mat", string(b)))
		}
	})
}
