package npy

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

// testdata is made by NumPy and SciPy: see make.py.
func open(path string, opt coo.Options) (coo.Stream, error) {
	if strings.Contains(path, ".npz") {
		return OpenNpz(path, opt)
	}
	return Open(path, opt)
}

func TestReadArray(t *testing.T) {
	const plain = "[[0 0]:(1+0i) [0 2]:(2+0i) [1 1]:(-3+0i) [1 2]:(4+0i)]"
	const abs = "[[0 0]:(1+0i) [0 2]:(2+0i) [1 1]:(3+0i) [1 2]:(4+0i)]"
	for _, c := range []struct {
		file string
		typ  tensor.Type
		dims string
		want string
	}{
		{"f8", tensor.Float64, "[2 3]", plain}, {"f4", tensor.Float32, "[2 3]", plain},
		{"f2", tensor.Float32, "[2 3]", plain},
		{"i8", tensor.Int64, "[2 3]", plain}, {"i4", tensor.Int32, "[2 3]", plain},
		{"i2", tensor.Int16, "[2 3]", plain}, {"i1", tensor.Int8, "[2 3]", plain},
		{"u8", tensor.Uint64, "[2 3]", abs}, {"u4", tensor.Uint32, "[2 3]", abs},
		{"u2", tensor.Uint16, "[2 3]", abs}, {"u1", tensor.Uint8, "[2 3]", abs},
		{"b1", tensor.Bool, "[2 3]", "[[0 0]:(1+0i) [0 2]:(1+0i) [1 1]:(1+0i) [1 2]:(1+0i)]"},
		{"c16", tensor.Complex128, "[2 3]", plain}, {"c8", tensor.Complex64, "[2 3]", plain},
		{"big_f8", tensor.Float64, "[2 3]", abs}, {"big_i4", tensor.Int32, "[2 3]", abs},
		{"big_c16", tensor.Complex128, "[2 3]", abs},
		{"big_f2", tensor.Float32, "[2 3]", abs}, {"big_u8", tensor.Uint64, "[2 3]", abs},
		{"big_i2", tensor.Int16, "[2 3]", abs},
		{"order0", tensor.Float64, "[]", "[[]:(2.5+0i)]"},
		{"order0_zero", tensor.Float64, "[]", "[[]:(0+0i)]"},
		{"order1", tensor.Float64, "[3]", "[[1]:(1+0i) [2]:(2+0i)]"},
		{"version2", tensor.Float64, "[3]", "[[1]:(1+0i) [2]:(2+0i)]"},
		{"version3", tensor.Float64, "[3]", "[[1]:(1+0i) [2]:(2+0i)]"},
		{"empty", tensor.Float64, "[3 0]", "[]"},
		{"special", tensor.Float64, "[4]", "[[0]:(-0+0i) [2]:(+Inf+0i) [3]:(NaN+0i)]"},
		{"halves", tensor.Float32, "[5]",
			"[[0]:(6.097555160522461e-05+0i) [1]:(5.960464477539063e-08+0i) [2]:(65504+0i) " +
				"[3]:(+Inf+0i) [4]:(-1.5+0i)]"},
	} {
		t.Run(c.file, func(t *testing.T) {
			s, err := Open("testdata/"+c.file+".npy", coo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 2 {
				es, err := readertest.Collect(s)
				if err != nil {
					t.Fatal(err)
				}
				dims, exact := s.Dims()
				if fmt.Sprint(dims) != c.dims || !exact || fmt.Sprint(es) != c.want ||
					s.Type() != c.typ {
					t.Errorf("got %v %v of %v, want %v %v of %v", dims, es, s.Type(), c.dims,
						c.want, c.typ)
				}
				s.Rewind()
			}
		})
	}
}

// Element k of these arrays is k.
func TestOrders(t *testing.T) {
	for file, n := range map[string]int{"fortran": 24, "order8": 256} {
		s, err := Open("testdata/"+file+".npy", coo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		es, err := readertest.Collect(s)
		if err != nil || len(es) != n-1 {
			t.Fatalf("%s: got %d entries, %v; want %d", file, len(es), err, n-1)
		}
		dims, _ := s.Dims()
		for _, e := range es {
			at := int64(0)
			for m, c := range e.Coords {
				at = at*dims[m] + c
			}
			if real(e.Val) != float64(at) {
				t.Errorf("%s: got %v, want %d there", file, e, at)
			}
		}
	}
}

func TestReadSparse(t *testing.T) {
	const want = "[[0 1]:(1.5+0i) [2 0]:(0+0i) [2 3]:(-3+0i) [3 3]:(4+0i)]"
	const full = "[[0 1]:(1.5+0i) [2 0]:(2+0i) [2 3]:(-3+0i) [3 3]:(4+0i)]"
	const three = "[[0 2 3]:(1.5+0i) [1 0 3]:(0+0i) [1 1 0]:(-3+0i)]"
	for _, c := range []struct {
		file string
		typ  tensor.Type
		dims string
		want string
	}{
		{"csr", tensor.Float64, "[4 4]", want}, {"csc", tensor.Float64, "[4 4]", want},
		{"coo", tensor.Float64, "[4 4]", want},
		{"csr_deflated", tensor.Float64, "[4 4]", want}, {"csc_deflated", tensor.Float64, "[4 4]", want},
		{"coo_deflated", tensor.Float64, "[4 4]", want},
		{"bsr", tensor.Float64, "[4 4]", full}, {"dia", tensor.Float64, "[4 4]", full},
		{"bsr_deflated", tensor.Float64, "[4 4]", full},
		{"dia_deflated", tensor.Float64, "[4 4]", full},
		{"array_csr", tensor.Float64, "[4 4]", want}, {"wide", tensor.Float64, "[4 4]", full},
		{"int", tensor.Int64, "[4 4]", strings.Replace(full, "1.5", "1", 1)},
		{"complex", tensor.Complex128, "[4 4]",
			"[[0 1]:(1.5+3i) [2 0]:(2+4i) [2 3]:(-3-6i) [3 3]:(4+8i)]"},
		{"dia_wide", tensor.Float64, "[3 5]", "[[0 1]:(2+0i) [1 2]:(3+0i) [2 0]:(6+0i) [2 3]:(4+0i)]"},
		{"dia_fortran", tensor.Float64, "[3 5]",
			"[[0 1]:(2+0i) [1 2]:(3+0i) [2 0]:(6+0i) [2 3]:(4+0i)]"},
		{"coo3", tensor.Float64, "[2 3 4]", three}, {"coo_old", tensor.Float64, "[2 3 4]", three},
		{"coo_fortran", tensor.Float64, "[2 3 4]", three},
		{"sparse3", tensor.Float64, "[2 3 4]", three},
		{"coo3_stored", tensor.Complex64, "[2 3 4]", three},
		{"coo1", tensor.Int32, "[6]", "[[0]:(2+0i) [4]:(1+0i)]"},
		{"coo1_row", tensor.Int32, "[6]", "[[0]:(2+0i) [4]:(1+0i)]"},
		{"csr1", tensor.Int32, "[6]", "[[0]:(2+0i) [4]:(1+0i)]"},
		{"csr_float", tensor.Float64, "[4 4]", want}, {"coo_float", tensor.Float64, "[4 4]", want},
		{"coo3_float", tensor.Float64, "[2 3 4]", three},
		{"sparse2", tensor.Float64, "[2 3]", "[[0 2]:(1.5+0i) [1 0]:(2+0i) [1 1]:(-3+0i)]"},
		{"sparse0", tensor.Float64, "[]", "[[]:(2.5+0i)]"}, {"sparse_empty", tensor.Float64, "[5]", "[]"},
		{"format_string", tensor.Float64, "[2 3]", "[[1 2]:(5+0i)]"},
		{"one", tensor.Int64, "[2 3]",
			"[[0 1]:(1+0i) [0 2]:(2+0i) [1 0]:(3+0i) [1 1]:(4+0i) [1 2]:(5+0i)]"},
	} {
		t.Run(c.file, func(t *testing.T) {
			s, err := OpenNpz("testdata/"+c.file+".npz", coo.Options{})
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
				dims, exact := s.Dims()
				if fmt.Sprint(dims) != c.dims || !exact || fmt.Sprint(es) != c.want ||
					s.Type() != c.typ {
					t.Errorf("got %v %v of %v, want %v %v of %v", dims, es, s.Type(), c.dims,
						c.want, c.typ)
				}
				s.Rewind()
			}
		})
	}
}

func TestOptions(t *testing.T) {
	// the matrix of TestNpz in blocks of 2x2
	const blocks = "[[0 0 0 1]:(1.5+0i) [1 0 0 0]:(2+0i) [1 1 0 1]:(-3+0i) [1 1 1 1]:(4+0i)]"
	for _, c := range []struct {
		file string
		opt  coo.Options
		dims string
		want string
	}{
		{"f8.npy", coo.Options{Type: tensor.Int32}, "[2 3]",
			"[[0 0]:(1+0i) [0 2]:(2+0i) [1 1]:(-3+0i) [1 2]:(4+0i)]"},
		{"i8.npy", coo.Options{Type: tensor.Complex64}, "[2 3]",
			"[[0 0]:(1+0i) [0 2]:(2+0i) [1 1]:(-3+0i) [1 2]:(4+0i)]"},
		{"csr.npz", coo.Options{Type: tensor.Float32, Dims: []int64{-1, 4}}, "[4 4]",
			"[[0 1]:(1.5+0i) [2 0]:(0+0i) [2 3]:(-3+0i) [3 3]:(4+0i)]"},
		{"two.npz:b", coo.Options{}, "[3]", "[[1]:(1+0i) [2]:(2+0i)]"},
		{"one.npz:arr_0.npy", coo.Options{}, "[2 3]",
			"[[0 1]:(1+0i) [0 2]:(2+0i) [1 0]:(3+0i) [1 1]:(4+0i) [1 2]:(5+0i)]"},
		{"csr.npz:indptr", coo.Options{}, "[5]", "[[1]:(1+0i) [2]:(1+0i) [3]:(3+0i) [4]:(4+0i)]"},
		{"bsr.npz:blocks", coo.Options{}, "[2 2 2 2]", blocks},
		{"bsr_deflated.npz", coo.Options{Order: 4, Dims: []int64{-1, 2, -1, 2}}, "[2 2 2 2]", blocks},
		{"order1.npy", coo.Options{Order: 1, Dims: []int64{3}}, "[3]", "[[1]:(1+0i) [2]:(2+0i)]"},
	} {
		s, err := open("testdata/"+c.file, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		es, err := readertest.Collect(s)
		readertest.Sort(es)
		if dims, _ := s.Dims(); err != nil || fmt.Sprint(dims) != c.dims ||
			fmt.Sprint(es) != c.want || s.Type() != c.opt.Type && c.opt.Type != 0 {
			t.Errorf("%s: got %v %v, %v; want %v %v", c.file, dims, es, err, c.dims, c.want)
		}
	}
}

// header makes a file of version 1.
func header1(dict string, data ...byte) string {
	return magic + "\x01\x00" + string([]byte{byte(len(dict)), byte(len(dict) >> 8)}) + dict +
		string(data)
}

func TestMalformed(t *testing.T) {
	eight := []byte{0, 0, 0, 0, 0, 0, 240, 63}
	made := map[string]string{
		"foreign.npy": "PK\x03\x04 not an array", "short.npy": "\x93NUM",
		"version9.npy": magic + "\x09\x00\x00\x00",
		"cut.npy":      magic + "\x01\x00\x80\x00{'descr'",
		"long.npy":     magic + "\x02\x00\xff\xff\xff\xff",
		"dict.npy":     header1("{'descr': '<f8', 'shape': (1,)}", eight...),
		"junk.npy": header1("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x",
			eight...),
		"twice.npy": header1(
			"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", eight...),
		"neg.npy": header1("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", eight...),
		"huge.npy": header1("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, "+
			"4294967296)}", eight...),
		"big.npy": header1("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}",
			eight...),
		"many.npy": header1("{'descr': '<f8', 'fortran_order': False, 'shape': (" +
			strings.Repeat("1,", 65) + ")}"),
		"tail.npy": header1("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
			append(eight, 1)...),
		"few.npy":  header1("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", eight...),
		"long.npz": "no zip", "few.npy.gz": "",
		"bool.npy": header1("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", 2),
		"f16.npy":  header1("{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", 2),
	}
	delete(made, "few.npy.gz")
	dir := t.TempDir()
	for name, content := range made {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file string
		opt  coo.Options
		exit int
		want string
	}{
		{"foreign.npy", coo.Options{}, 3, "as in every .npy file"},
		{"short.npy", coo.Options{}, 3, "got 4 bytes, want the header of a .npy file, which starts with"},
		{"version9.npy", coo.Options{}, 3, "got version 9.0 of the format, want 1, 2 or 3"},
		{"cut.npy", coo.Options{}, 3, "got a header that ends too early"},
		{"long.npy", coo.Options{}, 3, "got a header of 4294967295 bytes, want at most"},
		{"dict.npy", coo.Options{}, 3, "in the header, want a dictionary with 'descr', 'fortran_order' and 'shape'"},
		{"junk.npy", coo.Options{}, 3, `got "x" in the header`},
		{"twice.npy", coo.Options{}, 3, "in the header"},
		{"neg.npy", coo.Options{}, 3, "in the header"},
		{"huge.npy", coo.Options{}, 3, "bytes for each element, want less than 2^62 bytes"},
		{"big.npy", coo.Options{}, 3, "got a file of"},
		{"many.npy", coo.Options{}, 3, "got an array of 65 dimensions"},
		{"tail.npy", coo.Options{}, 3, "got a file of"},
		{"few.npy", coo.Options{}, 3, "got a file of"},
		{"bool.npy", coo.Options{}, 3, "got the byte 2 for a bool, want 0 or 1"},
		{"f16.npy", coo.Options{}, 3, `got elements of type "<f16"`},
		{"testdata/objects.npy", coo.Options{}, 3, "got an array of Python objects, want numbers"},
		{"testdata/strings.npy", coo.Options{}, 3, "got an array of strings, want numbers"},
		{"testdata/records.npy", coo.Options{}, 3, "got an array of records, want numbers"},
		{"testdata/dates.npy", coo.Options{}, 3, `got elements of type "<M8[D]"`},
		{"testdata/huge_uint.npy", coo.Options{Type: tensor.Int64}, 2,
			"value 9223372036854775808 does not fit type int64"},
		{"testdata/objects.npz", coo.Options{}, 3,
			"objects.npz: data: got an array of Python objects"},
		{"testdata/bad_row.npz", coo.Options{}, 3,
			"bad_row.npz: row: got 2 as element 1, want 0 to 1"},
		{"testdata/bad_count.npz", coo.Options{}, 3,
			"got 2 elements in row, 1 in col and 2 in data"},
		{"testdata/bad_indptr.npz", coo.Options{}, 3,
			"bad_indptr.npz: indptr: got 1 as element 2, want 2 to 2"},
		{"testdata/bad_indptr_len.npz", coo.Options{}, 3, "indptr: got 2 elements, want 3"},
		{"testdata/bad_indptr_first.npz", coo.Options{}, 3,
			"indptr: got 1 as element 0, want 0 to 0"},
		{"testdata/bad_indptr_last.npz", coo.Options{}, 3,
			"indptr: got 1 as its last element, want 2"},
		{"testdata/bad_index.npz", coo.Options{}, 3,
			"indices: got -1 as element 1, want 0 to 1"},
		{"testdata/bad_data.npz", coo.Options{}, 3, "data: got 1 element, want 2"},
		{"testdata/bad_shape.npz", coo.Options{}, 3, "shape: got 3 sizes, want 2"},
		{"testdata/bad_format.npz", coo.Options{}, 3, `testdata/bad_format.npz: format: got the format "xyz", want csr, csc, coo, bsr or dia`},
		{"testdata/bad_float.npz", coo.Options{}, 3,
			"indptr: got 1.5 as element 1, want an integer that fits into 64 bits"},
		{"testdata/bad_float_range.npz", coo.Options{}, 3,
			"row: got 2 as element 1, want 0 to 1"},
		{"testdata/bad_float_nan.npz", coo.Options{}, 3,
			"row: got NaN as element 1, want an integer that fits into 64 bits"},
		{"testdata/bad_float_large.npz", coo.Options{}, 3,
			"col: got 9.223372036854776e+18 as element 1, want an integer that fits into 64 bits"},
		{"testdata/bad_complex.npz", coo.Options{}, 3,
			"row: got an array of type c16, want integers"},
		{"testdata/bad_block.npz", coo.Options{}, 3,
			"got blocks of 2x2, which must divide the sizes 3x3"},
		{"testdata/missing.npz", coo.Options{}, 3,
			"testdata/missing.npz: the member indices is missing (format, shape, indptr, data); want what scipy.sparse.save_npz writes"},
		{"testdata/member.npz", coo.Options{}, 3, `got the member "readme.txt", want only .npy files`},
		{"testdata/two.npz", coo.Options{}, 2, "testdata/two.npz: the file contains several " +
			"tensors; want FILE:NAME with one of the names a, b"},
		{"testdata/two.npz:c", coo.Options{}, 2, "testdata/two.npz: the file has no c; want " +
			"FILE:NAME with one of the names a, b"},
		{"testdata/csr.npz:blocks", coo.Options{}, 2,
			`got a matrix in format "csr", which has no blocks`},
		{"testdata/csr.npz", coo.Options{Order: 4}, 2, "the array has 2 dimensions"},
		{"testdata/bad_coords_low.npz", coo.Options{}, 3,
			"bad_coords_low.npz: coords: got -1 at [0,0], want 0 to 1: the size of mode " +
				"0 is 2"},
		{"testdata/bad_coords_high.npz", coo.Options{}, 3,
			"coords: got 3 at [2,0], want 0 to 2: the size of mode 2 is 3"},
		{"testdata/bad_coords_fortran.npz", coo.Options{}, 3,
			"coords: got 2 at [1,0], want 0 to 1: the size of mode 1 is 2"},
		{"testdata/bad_coords_rows.npz", coo.Options{}, 3,
			"coords: got 2 rows, want 3, one for each size in shape"},
		{"testdata/bad_coords_count.npz", coo.Options{}, 3,
			"coords: got coordinates of 3 entries, want 2, one for each element of data"},
		{"testdata/bad_coords_flat.npz", coo.Options{}, 3,
			"coords: got the shape [9], want 2 dimensions"},
		{"testdata/bad_coords_float.npz", coo.Options{}, 3,
			"coords: got 2.5 as element 3, want an integer that fits into 64 bits"},
		{"testdata/bad_coords_objects.npz", coo.Options{}, 3,
			"coords: got an array of Python objects"},
		{"testdata/bad_data_objects.npz", coo.Options{}, 3, "data: got an array of Python objects"},
		{"testdata/bad_shape_negative.npz", coo.Options{}, 3, "shape: element 1: "},
		{"testdata/bad_shape_past.npz", coo.Options{}, 3, "shape: element 1: "},
		{"testdata/bad_shape_float.npz", coo.Options{}, 3,
			"shape: got 3.5 as element 1, want an integer that fits into 64 bits"},
		{"testdata/bad_shape_many.npz", coo.Options{}, 3, "shape: got 65 sizes, want at most 64"},
		{"testdata/bad_fill_string.npz", coo.Options{}, 3,
			"fill_value: got a string, want the number 0"},
		{"testdata/bad_fill_array.npz", coo.Options{}, 3,
			"fill_value: got the shape [1], want 0 dimensions"},
		{"testdata/bad_none.npz", coo.Options{}, 3, "testdata/bad_none.npz: the member shape is missing (coords, data); want what scipy.sparse.save_npz writes"},
		{"testdata/sparse_fill.npz", coo.Options{}, 3,
			"fill_value: got the fill value 7, want 0"},
		{"testdata/sparse_gcxs.npz", coo.Options{}, 3,
			`testdata/sparse_gcxs.npz: format: got the format "gcxs", want coo, as x.asformat('coo') makes it before sparse.save_npz`},
		{"testdata/coo3.npz", coo.Options{Type: tensor.Int64}, 2, "entry (1,3,4), counted from 1"},
		{"testdata/coo3.npz", coo.Options{Order: 2}, 2, "want 2"},
		{"long.npz", coo.Options{}, 3, "the file is not a zip archive ("},
		{"testdata/special.npy", coo.Options{Type: tensor.Int64}, 2, "element [2]"},
		{"testdata/csr.npz", coo.Options{Type: tensor.Int64}, 2, "entry (1,2), counted from 1"},
		{"testdata/c8.npy", coo.Options{Type: tensor.Float64}, 2,
			"the file's values are complex64, but the type asked for is float64"},
		{"testdata/f8.npy", coo.Options{Order: 3}, 2,
			"the array has 2 dimensions (shape [2 3]), want 3"},
		{"testdata/f8.npy", coo.Options{Dims: []int64{2, 4}}, 2, "mode 1 has size 3, but -d gives 4"},
		{"nowhere.npy", coo.Options{}, 1, "nowhere.npy: no such file"},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := c.file
			if !strings.HasPrefix(path, "testdata/") {
				path = filepath.Join(dir, path)
			}
			readertest.Refused(t, open, path, c.opt, c.exit, c.want)
		})
	}
}

// Through a pipe nothing is known of the file's length.
func TestPipe(t *testing.T) {
	for _, c := range []struct {
		file string
		open func(string, coo.Options) (coo.Stream, error)
	}{{"testdata/f8.npy", Open}, {"testdata/csr_deflated.npz", OpenNpz}} {
		content, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, 8} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				w.Write(content[:len(content)-cut])
				w.Close()
			}()
			s, err := c.open(fmt.Sprintf("/proc/self/fd/%d", r.Fd()), coo.Options{})
			if err == nil {
				for range 2 {
					var es []readertest.Entry
					if es, err = readertest.Collect(s); err == nil && len(es) != 4 {
						t.Errorf("%s: got %d entries, want 4", c.file, len(es))
					}
					s.Rewind()
				}
				s.Close()
			}
			if (err == nil) != (cut == 0) {
				t.Errorf("%s without its last %d bytes: got %v", c.file, cut, err)
			}
			r.Close()
		}
	}
}

// An archive whose directory refers to a member before the start of the file is an error,
// however the file is read. An archive without its first bytes is like this.
func TestMemberBeforeTheStart(t *testing.T) {
	whole, err := os.ReadFile("testdata/csr.npz")
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(whole, []byte("PK\x05\x06"))
	le := binary.LittleEndian
	le.PutUint32(whole[end+16:], le.Uint32(whole[end+16:])+5) // the offset of the directory
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(whole)
	z.Close()
	for name, b := range map[string][]byte{"a.npz": whole, "a.npz.gz": packed.Bytes()} {
		s, err := OpenNpz(save(t, name, b), coo.Options{})
		if err == nil {
			_, err = readertest.Collect(s)
			s.Close()
		}
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != 3 {
			t.Errorf("%s: got %v, want an error of exit code 3", name, err)
		}
	}
}
