package tns

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

func TestReal(t *testing.T) {
	f := readertest.File
	readertest.ReadReal(t, Open, []readertest.Real{
		f("tensors/asv_book_chapter_word_3d.tns.gz", []int64{66, 150, 12307}, false, 260300,
			tensor.Float64),
		f("tensors/birdstrikes_5d.tns.gz", []int64{29, 46, 37, 7, 151}, false, 8884, tensor.Float64),
		f("tensors/coads_sst_3d.tns.gz", []int64{12, 86, 180}, false, 104778, tensor.Float64),
		f("tensors/codex_s.tns.gz", []int64{2034, 42, 2032}, false, 36543, tensor.Float64),
		f("tensors/eri_co2_p321_4d.tns.gz", []int64{27, 27, 27, 27}, false, 11263, tensor.Float64),
		f("tensors/flights20k_odth.tns.gz", []int64{223, 224, 90, 24}, false, 19956, tensor.Float64),
		f("tensors/flights20k_raw_dups_3d.tns.gz", []int64{223, 224, 24}, false, 20000,
			tensor.Float64),
		f("tensors/hiparti_3D_12031.tns.gz", []int64{100, 80, 60}, true, 12031, tensor.Float64),
		f("tensors/matmul_2-2-2.tns", []int64{4, 4, 4}, false, 8, tensor.Float64),
		f("tensors/matmul_4-4-4.tns", []int64{16, 16, 16}, false, 64, tensor.Float64),
		f("quirks/hiparti_4d_3_16.tns", []int64{3, 3, 3, 3}, false, 16, tensor.Float64),
		f("quirks/splatt_small.tns", []int64{2, 3, 2}, false, 6, tensor.Float64),
		f("quirks/splatt_small4.tns", []int64{2, 2, 3, 3}, false, 8, tensor.Float64),
		f("quirks/taco_3tensor.tns", []int64{1073, 1, 7}, false, 3, tensor.Float64),
	})
}

func write(t *testing.T, content string) string {
	t.Helper()
	return readertest.Write(t, "x.tns", content)
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, in string
		opt      coo.Options
		dims     string
		exact    bool
		want     string
	}{
		{"frostt", "# c\n1 2 3 1.5\n2 1 1 -2\n", coo.Options{}, "[2 2 3]", false,
			"[[0 1 2]:(1.5+0i) [1 0 0]:(-2+0i)]"},
		{"spaces", "\r\n \t#c\r\n\t1\t2   3\v1.5 # c\r\n\r\n\r\n2 1 1 -2", coo.Options{}, "[2 2 3]",
			false, "[[0 1 2]:(1.5+0i) [1 0 0]:(-2+0i)]"},
		{"byte order mark", "\xef\xbb\xbf# c\n1 1\n", coo.Options{}, "[1]", false, "[[0]:(1+0i)]"},
		{"byte order mark before entries", "\xef\xbb\xbf1 2 5\n", coo.Options{}, "[1 2]", false,
			"[[0 1]:(5+0i)]"},
		{"byte order mark before blanks", "\xef\xbb\xbf\r\n 1 2 5\r\n", coo.Options{}, "[1 2]",
			false, "[[0 1]:(5+0i)]"},
		{"byte order mark before ParTI's sizes", "\xef\xbb\xbf2\n1 2\n1 2 5\n", coo.Options{},
			"[1 2]", true, "[[0 1]:(5+0i)]"},
		{"whole numbers as MATLAB prints them", "1e+06 2.0 5\n2.50e1 1 1\n", coo.Options{},
			"[1000000 2]", false, "[[24 0]:(1+0i) [999999 1]:(5+0i)]"},
		{"ParTI's as MATLAB prints them", "2\n1e+06 3.0\n1e+06 2 5\n", coo.Options{}, "[1000000 3]",
			true, "[[999999 1]:(5+0i)]"},
		{"order 0, an integer and a real", "3\n4.0\n", coo.Options{}, "[]", true,
			"[[]:(3+0i) []:(4+0i)]"},
		{"no numbers", "1 -nan\n2 NaN\n3 +nan\n4 nan(0x8000000000000)\n5 -nan(ind)\n",
			coo.Options{}, "[5]", false,
			"[[0]:(NaN+0i) [1]:(NaN+0i) [2]:(NaN+0i) [3]:(NaN+0i) [4]:(NaN+0i)]"},
		{"an infinity of Windows", "1 1.#INF\n", coo.Options{}, "", false,
			`x.tns:1:3: got "1.#INF", want a number`},
		{"a comment behind a point", "1 3.#c\n", coo.Options{}, "[1]", false, "[[0]:(3+0i)]"},
		{"no NaN", "1 nanx\n", coo.Options{}, "", false, `x.tns:1:3: got "nanx", want a number`},
		{"no coordinate", "1.5 2\n", coo.Options{}, "", false,
			`x.tns:1:1: got "1.5", want coordinate 1 of 1: an integer of at least 1`},
		{"a NaN for a coordinate", "1 2 3\nnan 2 1\n", coo.Options{}, "", false,
			`x.tns:2:1: got "nan", want coordinate 1 of 2: an integer of at least 1`},
		{"zero based", "0 1 2 1.5\n", coo.Options{ZeroBased: true}, "[1 2 3]", false,
			"[[0 1 2]:(1.5+0i)]"},
		{"sizes given", "1 2 3 1.5\n", coo.Options{Dims: []int64{4, 5, 6}}, "[4 5 6]", true,
			"[[0 1 2]:(1.5+0i)]"},
		{"a size given", "1 2 3 1.5\n", coo.Options{Dims: []int64{-1, 5, -1}}, "[1 5 3]", false,
			"[[0 1 2]:(1.5+0i)]"},
		{"parti", "3\n4 5 6\n1 2 3 1.5\n", coo.Options{}, "[4 5 6]", true, "[[0 1 2]:(1.5+0i)]"},
		{"parti comments", "# c\n\n3 # c\n# c\n4 5 6\n\n1 2 3 1.5\n", coo.Options{}, "[4 5 6]",
			true, "[[0 1 2]:(1.5+0i)]"},
		{"parti empty", "3\n4 5 6\n", coo.Options{}, "[4 5 6]", true, "[]"},
		{"no size", "2\n4 5\n", coo.Options{Dims: []int64{0, 5}}, "[0 5]", true, "[]"},
		{"parti overridden", "3\n4 5 6\n9 2 3 1.5\n", coo.Options{Dims: []int64{10, -1, -1}},
			"[10 5 6]", true, "[[8 1 2]:(1.5+0i)]"},
		{"plus", "+3 +0001 +4\n1 2 +2\n", coo.Options{}, "[3 2]", false,
			"[[0 1]:(2+0i) [2 0]:(4+0i)]"},
		{"Fortran's exponents", "3 1.0D+03\n1 -2d-1\n", coo.Options{}, "[3]", false,
			"[[0]:(-0.2+0i) [2]:(1000+0i)]"},
		{"order 1", "3 4\n1 2\n", coo.Options{}, "[3]", false, "[[0]:(2+0i) [2]:(4+0i)]"},
		{"order 0", "2.5\n", coo.Options{}, "[]", true, "[[]:(2.5+0i)]"},
		{"order 0, whole", "3\n", coo.Options{}, "[]", true, "[[]:(3+0i)]"},
		{"order 0, twice", "3\n4\n", coo.Options{}, "[]", true, "[[]:(3+0i) []:(4+0i)]"},
		{"empty with sizes", "# none\n", coo.Options{Dims: []int64{4, 5}}, "[4 5]", true, "[]"},
		{"empty with order", "", coo.Options{Order: 2}, "[0 0]", false, "[]"},
		{"infinities", "1 inf\n2 -Inf\n3 +infinity\n4 1e999999999999999999e\n", coo.Options{}, "",
			false, "x.tns:4:3: got \"1e999999999999999999e\", want a number"},
		{"complex", ComplexMark + "\n1 2 1.5 -2\n2 1 0 1\n", coo.Options{}, "[2 2]", false,
			"[[0 1]:(1.5-2i) [1 0]:(0+1i)]"},
		{"no complex", "# complex\n1 2 1 2\n", coo.Options{}, "[1 2 1]", false, "[[0 1 0]:(2+0i)]"},
		{"as complex", "1 2 1.5\n", coo.Options{Type: tensor.Complex64}, "[1 2]", false,
			"[[0 1]:(1.5+0i)]"},
		{"as integers", "1 9007199254740993\n2 2.0\n", coo.Options{Type: tensor.Int64}, "[2]", false,
			"[[0]:(9.007199254740992e+15+0i) [1]:(2+0i)]"},
		{"as float32", "1 16777217.0000001\n", coo.Options{Type: tensor.Float32}, "[1]", false,
			"[[0]:(1.6777218e+07+0i)]"},
		{"Tensor Toolbox", "sptensor\n2\n4 5\n2\n1 2 3\n4 5 6\n", coo.Options{}, "[4 5]", true,
			"[[0 1]:(3+0i) [3 4]:(6+0i)]"},
		{"Tensor Toolbox, no entries", "# c\nsptensor\n2\n4 5\n0\n", coo.Options{}, "[4 5]", true, "[]"},
		{"Tensor Toolbox, one mode", "sptensor\n1\n4\n1\n2 3\n", coo.Options{}, "[4]", true,
			"[[1]:(3+0i)]"},
		{"Tensor Toolbox, dense", "tensor\n2\n2 3\n1\n0\n3\n4\n5\n6\n", coo.Options{}, "[2 3]", true,
			"[[0 0]:(1+0i) [0 1]:(3+0i) [0 2]:(5+0i) [1 1]:(4+0i) [1 2]:(6+0i)]"},
		{"MLIR", "# extended FROSTT format\n2 2\n4 5\n1 2 3\n4 5 6\n", coo.Options{}, "[4 5]", true,
			"[[0 1]:(3+0i) [3 4]:(6+0i)]"},
		{"MLIR's own comment", "; extended FROSTT format\n3 1\n4 5 6\n1 2 3 4\n", coo.Options{},
			"[4 5 6]", true, "[[0 1 2]:(4+0i)]"},
		{"MLIR, one mode", "1 2\n7\n1 2\n3 4\n", coo.Options{}, "[7]", true,
			"[[0]:(2+0i) [2]:(4+0i)]"},
		{"MLIR, no entries", "# extended FROSTT format\n2 0\n4 5\n", coo.Options{}, "[4 5]", true, "[]"},
		{"MLIR, complex", "# extended FROSTT format\n1 1\n4\n2 3 -1\n",
			coo.Options{Type: tensor.Complex128}, "[4]", true, "[[1]:(3-1i)]"},
		{"as MLIR, but without its comment", "2 0\n3 4\n", coo.Options{}, "[3]", false,
			"[[1]:(0+0i) [2]:(4+0i)]"},
		{"as MLIR, but with equal columns", "2 5\n3 4\n1 6\n", coo.Options{}, "[3]", false,
			"[[0]:(6+0i) [1]:(5+0i) [2]:(4+0i)]"},
		{"20 digits", "1 0.12345678901234567890\n", coo.Options{}, "[1]", false,
			"[[0]:(0.12345678901234568+0i)]"},
		{"large coordinates", "1000000000000000000 0000000000000000000000002 1\n", coo.Options{},
			"[1000000000000000000 2]", false, "[[999999999999999999 1]:(1+0i)]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				c.opt.Threads = threads
				s, err := Open(write(t, c.in), c.opt)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				es, err := readertest.Collect(s)
				if err != nil {
					if c.dims != "" || !strings.Contains(err.Error(), c.want) {
						t.Fatal(err)
					}
					continue
				}
				readertest.Sort(es)
				dims, exact := s.Dims()
				if fmt.Sprint(dims) != c.dims || exact != c.exact || fmt.Sprint(es) != c.want {
					t.Errorf("got %v (exact: %v) %v, want %v (%v) %v", dims, exact, es, c.dims,
						c.exact, c.want)
				}
			}
		})
	}
}

// An empty file that its name says is compressed was cut off.
func TestEmptyCompressed(t *testing.T) {
	for _, ending := range []string{".gz", ".zst"} {
		path := write(t, "") + ending
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		readertest.Refused(t, Open, path, coo.Options{Dims: []int64{2}}, 3,
			"x.tns"+ending+": got an empty file, want compressed data")
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name, in string
		opt      coo.Options
		exit     int
		want     string
	}{
		{"empty", "", coo.Options{}, 2,
			"x.tns: the file has no entries, so its sizes are not known; give them " +
				"with -d"},
		{"comments", "# c\n\n", coo.Options{}, 2, "the file has no entries"},
		{"no value", "1 1 1 2.0\n1 1 2\n", coo.Options{}, 3,
			"x.tns:2:6: got the end of the line, want a value: 3 coordinates and a value"},
		{"no coordinate", "1 1 1 2.0\n1 1\n", coo.Options{}, 3,
			"x.tns:2:4: got the end of the line, want coordinate 3 of 3"},
		{"one more", "1 1 1 2.0\n1 1 1 2 3\n", coo.Options{}, 3,
			`x.tns:2:9: got "3", want the end of the line after 3 coordinates and a value`},
		{"real coordinate", "1 1 1 2.0\n1 1.5 2 3\n", coo.Options{}, 3,
			`x.tns:2:3: got "1.5", want coordinate 2 of 3: an integer of at least 1`},
		{"coordinate 0", "0 1 1 2.0\n", coo.Options{}, 3,
			"x.tns:1:1: got coordinate 0 in mode 0, want at least 1 (--index-base=0 if it counts " +
				"from 0)"},
		{"negative", "1 -1 1 2.0\n", coo.Options{ZeroBased: true}, 3,
			"x.tns:1:3: got coordinate -1 in mode 1, want at least 0"},
		{"plus", "1 + 1 2.0\n", coo.Options{Dims: []int64{2, 2, 2}}, 3,
			`x.tns:1:3: got "+", want coordinate 2 of 3: an integer of at least 1`},
		{"plus minus", "1 +-1 1 2.0\n", coo.Options{}, 3,
			`x.tns:1:3: got "+-1", want coordinate 2 of 3`},
		{"plus past", "1 +3 1 2.0\n", coo.Options{Dims: []int64{2, 2, 2}}, 3,
			"x.tns:1:3: got coordinate +3 in mode 1, want at most 2"},
		{"too large", "1 9223372036854775808 1 2.0\n", coo.Options{}, 3,
			`x.tns:1:3: got coordinate "9223372036854775808" in mode 1, want at most 2305843009213693952: sizes are at most 2^61`},
		{"larger by one", "1 2305843009213693953 1 2.0\n", coo.Options{}, 3,
			`x.tns:1:3: got coordinate "2305843009213693953" in mode 1, want at most 2305843009213693952: sizes are at most 2^61`},
		{"ParTI, larger", "2\n3 2305843009213693953\n1 1 1\n", coo.Options{}, 3,
			`x.tns:2:3: got size 2305843009213693953, want a whole number from 0 to 2305843009213693952 (2^61)`},
		{"ParTI, larger than an int64", "2\n3 9223372036854775808\n1 1 1\n", coo.Options{}, 3,
			`x.tns:2:3: got size 9223372036854775808, want a whole number from 0 to 2305843009213693952 (2^61)`},
		{"past -d", "1 1 1\n1 4 1\n", coo.Options{Dims: []int64{-1, 3}}, 3,
			"x.tns:2:3: got coordinate 4 in mode 1, want at most 3: its size is 3"},
		{"past -d, zero based", "0 3 1\n", coo.Options{Dims: []int64{-1, 3}, ZeroBased: true}, 3,
			"x.tns:1:3: got coordinate 3 in mode 1, want at most 2: its size is 3"},
		{"past ParTI's", "2\n3 3\n1 1 1\n1 4 1\n", coo.Options{}, 3,
			"x.tns:4:3: got coordinate 4 in mode 1, want at most 3: its size is 3"},
		{"another format", "%%MatrixMarket matrix coordinate real general\n1 1 0\n", coo.Options{},
			3, "x.tns:1:1: got the banner of a Matrix Market file, want coordinates and a value; the name of such a file must end in .mtx (or -.mtx)"},
		{"ParTI, order", "2\n3 3\n1 1 1\n", coo.Options{Order: 3}, 2,
			"x.tns:1:1: the file has 2 modes, want 3"},
		{"order", "1 1 1 1\n", coo.Options{Order: 2}, 2,
			"x.tns:1:1: got 4 columns, want 3: 2 coordinates and a value"},
		{"order, all lines", "1 1\n2 2\n", coo.Options{Order: 2}, 2,
			"x.tns:1:1: got 2 columns, want 3: 2 coordinates and a value"},
		{"first line short", "1 1\n2 2 2\n", coo.Options{Order: 2}, 3,
			"x.tns:1:1: got 2 columns, want 3: 2 coordinates and a value"},
		{"first line words", "# c\nthis is no tensor\n", coo.Options{Order: 2}, 3,
			`x.tns:2:1: got "this", want a number: 2 coordinates and a value`},
		{"commas", "1,1,5\n", coo.Options{Order: 2}, 3, `x.tns:1:1: got "1,1,5", want a number`},
		{"value", "1 1 abc\n", coo.Options{}, 3, `x.tns:1:5: got "abc", want a number`},
		{"value range", "1 1 -1e999\n", coo.Options{}, 3,
			`x.tns:1:5: got "-1e999", want a number that float64 can hold`},
		{"underscore", "1 1 1_000\n", coo.Options{}, 3, `x.tns:1:5: got "1_000", want a number`},
		{"binary", "1 1 1\n\x00\x01\xff\n", coo.Options{}, 3,
			`x.tns:2:1: got "\x00\x01\xff", want coordinate 1 of 2`},
		{"complex one", ComplexMark + "\n1 1 1 1\n1 1 1\n", coo.Options{}, 3,
			"x.tns:3:6: got the end of the line, want the imaginary part"},
		{"complex none", ComplexMark + "\n1\n", coo.Options{}, 3,
			"x.tns:2:1: got 1 column, want the two parts of a complex value"},
		{"complex to real", ComplexMark + "\n1 1 1\n", coo.Options{Type: tensor.Float64}, 2,
			"the file's values are complex, but the type asked for is real"},
		{"to integer", "1 1 1.5\n", coo.Options{Type: tensor.Int32}, 2,
			`x.tns:1:5: got "1.5", want an integer: the type asked for is int32`},
		{"Tensor Toolbox, count", "sptensor\n1\n4\n2\n2 3\n", coo.Options{}, 3,
			"x.tns:4:1: the file announces 2 entries, but has 1"},
		{"Tensor Toolbox, no sizes", "sptensor\n2\n4\n", coo.Options{}, 3,
			"x.tns:3:1: got 1 number, want 2: the sizes"},
		{"Tensor Toolbox, cut", "sptensor\n2\n", coo.Options{}, 3,
			"x.tns:2:1: got the end of the file, want the sizes"},
		{"Tensor Toolbox, matrix", "matrix\n2\n1 1\n3\n", coo.Options{}, 3,
			"x.tns:1:1: got a matrix of the Tensor Toolbox"},
		{"Tensor Toolbox, too large", "tensor\n2\n1000000000 10000000000\n", coo.Options{}, 3, "x.tns:3:1: "},
		{"Tensor Toolbox, past a size", "sptensor\n1\n4\n1\n5 3\n", coo.Options{}, 3,
			"x.tns:5:1: got coordinate 5 in mode 0, want at most 4: its size is 4, by the file's first lines"},
		{"MLIR, count", "# extended FROSTT format\n1 2\n4\n2 3\n", coo.Options{}, 3,
			"x.tns:2:1: the file announces 2 entries, but has 1"},
		{"gzip cut", "\x1f\x8b\x08\x00\x00", coo.Options{}, 3,
			"x.tns: gzip: the compressed data end too early"},
		{"zstd cut", "\x28\xb5\x2f\xfd\x24", coo.Options{}, 3,
			"x.tns: zstd: the compressed data end too early"},
		{"zstd junk", "\x28\xb5\x2f\xfdjunkjunk", coo.Options{}, 3, "x.tns: zstd: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			readertest.Refused(t, Open, write(t, c.in), c.opt, c.exit, c.want)
		})
	}
}

// Many blocks: the same entries in file order at any number of threads, and
// the first error in the file whichever block is parsed first.
func TestParallel(t *testing.T) {
	var b strings.Builder
	const n = 60000
	for k := range n {
		fmt.Fprintf(&b, "%d %d %d.25\n", k%977+1, k%31+1, k)
	}
	good := write(t, b.String())
	for _, threads := range []int{1, 2, 5} {
		s, err := Open(good, coo.Options{Threads: threads, Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		es, err := readertest.Collect(s)
		if err != nil || len(es) != n {
			t.Fatalf("got %d entries, %v; want %d", len(es), err, n)
		}
		for k, e := range es {
			if e.Coords[0] != int64(k%977) || e.Coords[1] != int64(k%31) ||
				real(e.Val) != float64(k)+0.25 {
				t.Fatalf("entry %d is %v", k, e)
			}
		}
		s.Close()
	}
	lines := strings.SplitAfter(b.String(), "\n")
	lines[n/2] = "1 x 1\n"
	lines[n-2] = "y\n"
	bad := write(t, strings.Join(lines, ""))
	for range 5 {
		readertest.Refused(t, Open, bad, coo.Options{Threads: 4, Limit: 1 << 20}, 3,
			fmt.Sprintf("x.tns:%d:3: got \"x\"", n/2+1))
	}
}

// A stream that is closed in the middle stops its goroutines and can't hang.
func TestCloseEarly(t *testing.T) {
	path := write(t, strings.Repeat("1 1 1\n", 1<<18))
	for range 10 {
		s, err := Open(path, coo.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		var b coo.Batch
		if err := s.Next(&b); err != nil {
			t.Fatal(err)
		}
		if err := s.Rewind(); err != nil {
			t.Fatal(err)
		}
		if err := s.Next(&b); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCompressed(t *testing.T) {
	const in = "# c\n1 2 1.5\n2 1 -2\n"
	dir := t.TempDir()
	// the content tells, not the name
	gz, zs := filepath.Join(dir, "a.tns.gz"), filepath.Join(dir, "b.tns")
	f, _ := os.Create(gz)
	z := gzip.NewWriter(f)
	z.Write([]byte(in[:7]))
	z.Close()
	z.Reset(f) // a second member
	z.Write([]byte(in[7:]))
	z.Close()
	f.Close()
	e, _ := zstd.NewWriter(nil)
	os.WriteFile(zs, e.EncodeAll([]byte(in), nil), 0o666)
	for _, path := range []string{gz, zs} {
		s, err := Open(path, coo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if es, err := readertest.Collect(s); err != nil ||
				fmt.Sprint(es) != "[[0 1]:(1.5+0i) [1 0]:(-2+0i)]" {
				t.Errorf("%s: got %v, %v", path, es, err)
			}
			s.Rewind()
		}
		s.Close()
	}
}

// Sizes that are found elsewhere bound the second pass.
func TestSetDims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tns")
	if err := os.WriteFile(path, []byte("1 1 1\n2 5 2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, coo.Options{Order: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pass := func() error {
		var b coo.Batch
		for {
			if err := s.Next(&b); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	if err := pass(); err != nil {
		t.Fatal(err)
	}
	if dims, exact := s.Dims(); exact || dims[0] != 2 || dims[1] != 5 {
		t.Errorf("got sizes %v exact %v, want lower bounds 2 and 5", dims, exact)
	}
	s.(coo.Sizable).SetDims([]int64{3, 5}, nil)
	if err := pass(); err != nil {
		t.Errorf("sizes that fit: %v", err)
	}
	if dims, exact := s.Dims(); !exact || dims[0] != 3 {
		t.Errorf("got sizes %v exact %v, want 3 and 5", dims, exact)
	}
	s.(coo.Sizable).SetDims([]int64{3, 4}, []string{"", "mode 0 of D (d.npy)"})
	if err := pass(); err == nil || !strings.Contains(err.Error(), "a.tns:2:3") {
		t.Errorf("got %v, want an error at a.tns:2:3", err)
	}
}

// testdata has the files that pyttb.export_data writes.
func TestToolbox(t *testing.T) {
	for file, want := range map[string]string{
		"sptensor.tns": "[[0 0 0]:(0.5+0i) [1 2 1]:(2+0i) [3 1 0]:(-1.5+0i)]", "tensor.tns": ""} {
		s, err := Open("testdata/"+file, coo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			es, err := readertest.Collect(s)
			if err != nil {
				t.Fatal(err)
			}
			readertest.Sort(es)
			if want == "" { // the values are 0 to 23, the last mode fastest
				if len(es) != 23 || s.(coo.DenseReporter).Dense() != true {
					t.Errorf("%s: got %d entries, want 23 of a dense tensor", file, len(es))
				}
				for _, e := range es {
					if v := 6*e.Coords[0] + 2*e.Coords[1] + e.Coords[2]; real(e.Val) != float64(v) {
						t.Errorf("%s: got %v, want %d", file, e, v)
					}
				}
			} else if fmt.Sprint(es) != want {
				t.Errorf("%s: got %v, want %s", file, es, want)
			}
			s.Rewind()
		}
	}
}

// Parts of a file whose number of entries is announced find another number together.
func TestAnnouncedInParts(t *testing.T) {
	for announced, ok := range map[int]bool{40: true, 41: false} {
		path := write(t, fmt.Sprintf("sptensor\n1\n50\n%d\n", announced)+strings.Repeat("7 1\n", 40))
		whole, err := Open(path, coo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		head := whole.(*stream).Head()
		whole.Close()
		before := int64(0)
		for k := range 3 {
			p, err := OpenPart(path, head, k, 3, coo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := readertest.Collect(p); err != nil {
				t.Fatal(err)
			}
			if err := p.CheckCount(before, k == 2); (err == nil) != (ok || k < 2) {
				t.Errorf("%d announced, part %d: got %v", announced, k, err)
			}
			before += p.Seen()
			p.Close()
		}
	}
}
