package petsc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

// testdata is made by PETSc's PetscBinaryIO.py: see make.py.
func TestRead(t *testing.T) {
	const a = "[[0 0]:(1.5+0i) [0 3]:(-2+0i) [1 2]:(3+0i) [3 0]:(4+0i) [3 4]:(0.25+0i)]"
	const z = "[[0 0]:(1.5+3i) [0 3]:(-2-4i) [1 2]:(3+6i) [3 0]:(4+8i) [3 4]:(0.25+0.5i)]"
	const x = "[[0]:(1+0i) [2]:(-2.5+0i)]"
	for _, c := range []struct {
		file       string
		typ        tensor.Type
		dims, want string
	}{
		{"double.petsc", tensor.Float64, "[4 5]", a}, {"double.petsc:2", tensor.Float64, "[3]", x},
		{"double.petsc:3", tensor.Float64, "[0]", "[]"},
		{"wide.petsc", tensor.Float64, "[4 5]", a}, {"wide.petsc:2", tensor.Float64, "[3]", x},
		{"single.petsc", tensor.Float32, "[4 5]", a}, {"single.petsc:2", tensor.Float32, "[3]", x},
		{"complex.petsc", tensor.Complex128, "[4 5]", z},
		{"complex.petsc:2", tensor.Complex128, "[3]", "[[0]:(1+2i) [2]:(-2.5-5i)]"},
		{"double.petsc:4", tensor.Int32, "[3]", "[[0]:(3+0i) [2]:(7+0i)]"},
		{"wide.petsc:4", tensor.Int64, "[3]", "[[0]:(3+0i) [2]:(7+0i)]"},
		{"dense.petsc", tensor.Float64, "[4 5]", a},
	} {
		s, err := Open("testdata/"+c.file, coo.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		for range 2 {
			es, err := readertest.Collect(s)
			readertest.Sort(es)
			if dims, _ := s.Dims(); err != nil || fmt.Sprint(dims) != c.dims ||
				fmt.Sprint(es) != c.want || s.Type() != c.typ {
				t.Errorf("%s: got %v of %v, %v, %v; want %v of %v, %v", c.file, dims, s.Type(), es, err,
					c.dims, c.typ, c.want)
			}
			s.Rewind()
		}
		s.Close()
	}
}

// changed returns the path of a copy of double.petsc with other bytes at offset at.
func changed(t *testing.T, at int, to ...byte) string {
	t.Helper()
	b, err := os.ReadFile("testdata/double.petsc")
	if err != nil {
		t.Fatal(err)
	}
	copy(b[at:], to)
	return readertest.Write(t, "x.petsc", string(b))
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		path string
		opt  coo.Options
		exit int
		want string
	}{
		{"testdata/double.petsc:5", coo.Options{}, 2,
			"testdata/double.petsc: the file has 4 objects, want object 5"},
		{"testdata/double.petsc:x", coo.Options{}, 2, `got "x", want the number of an object`},
		{"testdata/complex.petsc", coo.Options{Type: tensor.Float64}, 2,
			"the file's values are complex128, but the type asked for is float64"},
		{"testdata/double.petsc", coo.Options{Order: 3}, 2, "want 3"},
		{readertest.Write(t, "x.dat", "1 2 3\n4 5 6\n"), coo.Options{}, 3, `x.dat: got "1 2 3\n4 " at ` +
			"the start, want a matrix (1211216) or a vector (1211214) of PETSc"},
		{readertest.Write(t, "x.dat", ""), coo.Options{}, 3, `got "" at the start`},
		{changed(t, 4, 0xff), coo.Options{}, 3, "want a whole number from 0"},
		{changed(t, 12, 0xff), coo.Options{}, 3, "entries"},
		{changed(t, 12, 0x7f), coo.Options{}, 3, "got 4 rows and 2130706437 entries, but the file has"},
		{changed(t, 12, 0, 0, 0, 6), coo.Options{}, 3, "got"},
		{changed(t, 16, 0, 0, 0, 1), coo.Options{}, 3,
			"x.petsc: row lengths: got 4 as its last element, want 5: the number of indices"},
		{changed(t, 16, 0, 0, 0, 9), coo.Options{}, 3, "row lengths: got 9 as element 1, want 0 to 5"},
		{changed(t, 16, 0xff), coo.Options{}, 3, "row lengths: got a row of -16777214 entries"},
		{changed(t, 32, 0, 0, 0, 5), coo.Options{}, 3, "columns: got 5 as element 0, want 0 to 4"},
	} {
		t.Run(c.want, func(t *testing.T) {
			readertest.Refused(t, Open, c.path, c.opt, c.exit, c.want)
		})
	}
}

func TestDamage(t *testing.T) {
	for _, name := range []string{"double.petsc", "wide.petsc", "dense.petsc"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		readertest.Damage(t, Open, name, "", b)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, typ := range []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
		tensor.Complex128, tensor.Complex64} {
		for _, dims := range [][]int64{{}, {50}, {30, 40}, {9000, 3}, {5, 1 << 40}, {0, 7}} {
			for _, dense := range []bool{false, true} {
				if len(dims) == 2 && dense && dims[1] > 1<<30 {
					continue
				}
				n := min(20, 1+19*len(dims))
				if len(dims) > 0 && dims[0] == 0 {
					n = 0
				}
				in := readertest.Random(dims, typ, n, 2)
				opt := coo.WriteOptions{Dense: dense, Threads: 3}
				var b bytes.Buffer
				if err := Write(&b, readertest.Ordered(t, in, nil), opt); err != nil {
					t.Fatal(err)
				}
				s, err := Open(readertest.Write(t, "x.petsc", b.String()), coo.Options{Type: typ})
				if err != nil {
					t.Fatalf("%v %v: %v", typ, dims, err)
				}
				es, err := readertest.Collect(s)
				s.Close()
				if err != nil {
					t.Fatalf("%v %v: %v", typ, dims, err)
				}
				if len(dims) == 0 {
					in.Entries[0].Coords = []int64{0}
				}
				var want []readertest.Entry
				for _, e := range in.Entries {
					if e.Val != 0 || isList(dims, opt) {
						want = append(want, e)
					}
				}
				readertest.Sort(es)
				readertest.Sort(want)
				if fmt.Sprint(es) != fmt.Sprint(want) {
					t.Errorf("%v %v, dense %v: got %v, want %v", typ, dims, dense, es, want)
				}
			}
		}
	}
}

// The bytes that PETSc writes for the same matrix and vector.
func TestAsPETSc(t *testing.T) {
	in, err := Open("testdata/double.petsc", coo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want, err := os.ReadFile("testdata/double.petsc")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, readertest.Ordered(t, in, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	x := &readertest.List{Sizes: []int64{3}, Of: tensor.Float64, Entries: []readertest.Entry{
		{Coords: []int64{2}, Val: -2.5}, {Coords: []int64{0}, Val: 1}}}
	if err := Write(&b, readertest.Ordered(t, x, nil), coo.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if want = want[:b.Len()]; !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got %q, want %q", b.Bytes(), want)
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.petsc")
	if err != nil || len(names) == 0 {
		f.Fatal("no files in testdata")
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "")
		f.Add(b, "2")
	}
	f.Fuzz(func(t *testing.T, b []byte, object string) {
		path := readertest.Write(t, "x.petsc", string(b))
		if object != "" && !strings.Contains(object, "\x00") {
			path += ":" + object
		}
		readertest.CheckRange(t, Open, path)
	})
}
