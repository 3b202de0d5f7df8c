package hb

import (
	"fmt"
	"math/cmplx"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/mtx"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

func TestReal(t *testing.T) {
	f := readertest.File
	readertest.ReadReal(t, Open, []readertest.Real{
		f("matrices/arc130.rua", []int64{130, 130}, true, 1282, tensor.Float64),
		f("matrices/bcsstk01.rsa", []int64{48, 48}, true, 400, tensor.Float64),
		f("matrices/big.rua.gz", []int64{4960, 4960}, true, 23884, tensor.Float64),
		f("matrices/dwg961a.rb", []int64{961, 961}, true, 3405, tensor.Complex128),
		f("matrices/lp_afiro.rra", []int64{27, 51}, true, 102, tensor.Float64),
		f("matrices/plskz362.rb", []int64{362, 362}, true, 1760, tensor.Float64),
		f("matrices/qc324.cua.gz", []int64{324, 324}, true, 26730, tensor.Complex128),
		f("matrices/west0479.rb", []int64{479, 479}, true, 1910, tensor.Float64),
		f("quirks/taco_rua_32.rb", []int64{32, 32}, true, 126, tensor.Float64),
	})
}

// The same matrix is there in both formats.
func TestAsMatrixMarket(t *testing.T) {
	for _, p := range [][2]string{{"quirks/taco_rua_32.rb", "quirks/taco_rua_32.mtx"},
		{"matrices/lp_afiro.rra", "matrices/lp_afiro.mtx"}} {
		a := collect(t, Open, readertest.Data(t, p[0]))
		b := collect(t, mtx.Open, readertest.Data(t, p[1]))
		if len(a) != len(b) {
			t.Fatalf("%v: got %d and %d entries", p, len(a), len(b))
		}
		for k := range a {
			if fmt.Sprint(a[k].Coords) != fmt.Sprint(b[k].Coords) ||
				cmplx.Abs(a[k].Val-b[k].Val) > 1e-12*cmplx.Abs(a[k].Val) {
				t.Errorf("%v: got %v and %v", p, a[k], b[k])
			}
		}
	}
}

func collect(t *testing.T, open func(string, coo.Options) (coo.Stream, error),
	path string) []readertest.Entry {
	t.Helper()
	s, err := open(path, coo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	es, err := readertest.Collect(s)
	if err != nil {
		t.Fatal(err)
	}
	readertest.Sort(es)
	return es
}

// file makes a file from the parts that tests vary.
func file(typ, sizes, formats, body string) string {
	return fmt.Sprintf("%-72s%-8s\n%14d%14d%14d%14d%14d\n%-14s%s\n%s\n%s", "a title", "KEY", 3, 1,
		1, 1, 0, typ, sizes, formats, body)
}

func counts(rows, cols, nnz int) string {
	return fmt.Sprintf("%14d%14d%14d%14d", rows, cols, nnz, 0)
}

func write(t *testing.T, content string) string {
	t.Helper()
	return readertest.Write(t, "x.rb", content)
}

func TestRead(t *testing.T) {
	f3 := func(a, b, c string) string { return fmt.Sprintf("%-16s%-16s%-20s", a, b, c) }
	for _, c := range []struct {
		name, in string
		opt      coo.Options
		want     string
	}{
		{"real", file("RUA", counts(2, 3, 3), f3("(16I5)", "(16I5)", "(4E20.12)"),
			"    1    2    2    4\n    2    1    2\n  0.100000000000E+01  0.250000000000E-02 "+
				"-0.300000000000E+01\n"), coo.Options{},
			"[[0 2]:(0.0025+0i) [1 0]:(1+0i) [1 2]:(-3+0i)]"},
		{"no blanks", file("rua", counts(2, 3, 3), f3("(4I1)", "(3i1)", "(1P,3D10.3)"),
			"1224\n212\n-1.000D+01-2.500d-02-3.000E+01\n"), coo.Options{},
			"[[0 2]:(-0.025+0i) [1 0]:(-10+0i) [1 2]:(-30+0i)]"},
		{"one a line", file("RUA", counts(2, 3, 3), f3("(I8)", "(I8)", "(E20.12)"),
			"1\n2\r\n2\n4\n 2\n1\n    2\n1\n2.5-002\n-3+2\n"), coo.Options{},
			"[[0 2]:(0.025+0i) [1 0]:(1+0i) [1 2]:(-300+0i)]"},
		{"groups", file("RUA", counts(2, 3, 3), f3("(2(I3,1X,I4))", "(16I5)", "(1P,2(E10.3,2X))"),
			"  1    2  2    4\n    2    1    2\n 1.000E+00   2.500E-02xx\n-3.000E+00\n"),
			coo.Options{}, "[[0 2]:(0.025+0i) [1 0]:(1+0i) [1 2]:(-3+0i)]"},
		{"scale", file("RUA", counts(1, 2, 2), f3("(16I5)", "(16I5)", "(2PF10.3,0P,F10.3)"),
			"    1    2    3\n    1    1\n   250.000   250.000\n"), coo.Options{},
			"[[0 0]:(2.5+0i) [0 1]:(250+0i)]"},
		{"no point", file("RUA", counts(1, 1, 1), f3("(16I5)", "(16I5)", "(E10.3)"),
			"    1    2\n    1\n        25\n"), coo.Options{}, "[[0 0]:(25+0i)]"},
		{"pattern", file("PUA", counts(2, 3, 3), f3("(16I5)", "(16I5)", ""),
			"    1    2    2    4\n    2    1    2\n"), coo.Options{},
			"[[0 2]:(1+0i) [1 0]:(1+0i) [1 2]:(1+0i)]"},
		{"pattern symmetric", file("psa", counts(2, 2, 2), f3("(16I5)", "(16I5)", ""),
			"    1    3    3\n    1    2\n"), coo.Options{Type: tensor.Int32},
			"[[0 0]:(1+0i) [0 1]:(1+0i) [1 0]:(1+0i)]"},
		{"skew", file("RZA", counts(2, 2, 1), f3("(16I5)", "(16I5)", "(F5.1)"),
			"    1    2    2\n    2\n  2.5\n"), coo.Options{}, "[[0 1]:(-2.5+0i) [1 0]:(2.5+0i)]"},
		{"hermitian", file("CHA", counts(2, 2, 2), f3("(16I5)", "(16I5)", "(3F5.1)"),
			"    1    3    3\n    1    2\n  1.0  0.0  2.5\n  3.5\n"), coo.Options{},
			"[[0 0]:(1+0i) [0 1]:(2.5-3.5i) [1 0]:(2.5+3.5i)]"},
		{"complex symmetric", file("CSA", counts(2, 2, 1), f3("(16I5)", "(16I5)", "(2F5.1)"),
			"    1    2    2\n    2\n  2.5  3.5\n"), coo.Options{Type: tensor.Complex64},
			"[[0 1]:(2.5+3.5i) [1 0]:(2.5+3.5i)]"},
		{"integer", file("iua", counts(1, 2, 2), f3("(16I5)", "(16I5)", "(2I5)"),
			"    1    2    3\n    1    1\n    7   -9\n"), coo.Options{Type: tensor.Int64},
			"[[0 0]:(7+0i) [0 1]:(-9+0i)]"},
		{"empty", file("RUA", counts(2, 2, 0), f3("(16I5)", "(16I5)", "(2F5.1)"),
			"    1    1    1\n"), coo.Options{}, "[]"},
		{"no columns", file("RUA", counts(2, 0, 0), f3("(16I5)", "(16I5)", "(2F5.1)"), "    1\n"),
			coo.Options{}, "[]"},
		{"both sides of the diagonal", file("RSA", counts(3, 3, 3),
			f3("(16I5)", "(16I5)", "(4F5.1)"),
			"    1    2    3    4\n    2    2    1\n  1.0  2.0  3.0\n"), coo.Options{},
			"[[0 1]:(1+0i) [0 2]:(3+0i) [1 0]:(1+0i) [1 1]:(2+0i) [2 0]:(3+0i)]"},
		{"right-hand side", strings.Replace(file("RUA", counts(1, 1, 1),
			"(16I5)          (16I5)          (F5.1)              (F5.1)",
			"F                          1             0\n    1    2\n    1\n  2.5\n  9.9\n"),
			fmt.Sprintf("%14d\n", 0), fmt.Sprintf("%14d\n", 1), 1), coo.Options{},
			"[[0 0]:(2.5+0i)]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(write(t, c.in), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			es, err := readertest.Collect(s)
			if err != nil {
				t.Fatal(err)
			}
			readertest.Sort(es)
			if fmt.Sprint(es) != c.want {
				t.Errorf("got %v, want %v", es, c.want)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	formats := fmt.Sprintf("%-16s%-16s%-20s", "(16I5)", "(16I5)", "(3F5.1)")
	wide := fmt.Sprintf("%-16s%-16s%-20s", "(16I5)", "(16I5)", "(I21)")
	f1 := fmt.Sprintf("%-16s%-16s%-20s", "(16I5)", "(I1)", "(3F5.1)") // an index a line
	for _, c := range []struct {
		name, in string
		opt      coo.Options
		exit     int
		want     string
	}{
		{"empty", "", coo.Options{}, 3, "x.rb:1:1: got the end of the file, want a title"},
		{"title only", "t\n", coo.Options{}, 3,
			"x.rb:2:1: got the end of the file, want the numbers of lines"},
		{"numbers", "t\n 1 x 3\n", coo.Options{}, 3,
			`x.rb:2:4: got "x", want the numbers of lines`},
		{"few numbers", "t\n 1 2 3\n", coo.Options{}, 3,
			"x.rb:2:7: got 3 numbers, want 4: the numbers of lines"},
		{"type", file("XUA", counts(1, 1, 1), formats, ""), coo.Options{}, 3,
			`x.rb:3:1: got "XUA", want a type`},
		{"elemental", file("RUE", counts(1, 1, 1), formats, ""), coo.Options{}, 3,
			`x.rb:3:3: got an elemental matrix ("RUE"); only assembled matrices (type RUA) can be read`},
		{"not square", file("RSA", counts(1, 2, 1), formats, ""), coo.Options{}, 3,
			"x.rb:3:15: got 1 row and 2 columns for a matrix of type RSA, which must be square"},
		{"real hermitian", file("RHA", counts(1, 1, 1), formats, ""), coo.Options{}, 3,
			"x.rb:3:1: got the type RHA, but a Hermitian matrix must be complex"},
		{"format", file("RUA", counts(1, 1, 1), "(16I5)          (16K5)          (3F5.1)", ""),
			coo.Options{}, 3,
			`x.rb:4:17: got "(16K5)", want a Fortran format for the indices, e.g. (16I5)`},
		{"format of reals", file("RUA", counts(1, 1, 1), "(16E5.1)", ""), coo.Options{}, 3,
			`x.rb:4:1: got "(16E5.1)", want a Fortran format for the pointers`},
		{"no format", file("RUA", counts(1, 1, 1), "(16I5) (16I5)", ""), coo.Options{}, 3,
			`x.rb:4:14: got "", want a Fortran format for the values, e.g. (4E20.12)`},
		{"wide format", file("RUA", counts(1, 1, 1), "(99999999I5)", ""), coo.Options{}, 3,
			"x.rb:4:1: got"},
		{"first pointer", file("RUA", counts(1, 1, 1), formats, "    0    2\n    1\n  1.0\n"),
			coo.Options{}, 3, "x.rb:5:5: got 0, want the first column pointer, from 1 to 1"},
		{"pointers fall", file("RUA", counts(2, 2, 2), formats,
			"    1    3    2\n    1    2\n  1.0  2.0\n"), coo.Options{}, 3,
			"x.rb:5:15: got 2, want a column pointer, from 3 to 3"},
		{"pointer past", file("RUA", counts(2, 2, 2), formats,
			"    1    3    9\n    1    2\n  1.0  2.0\n"), coo.Options{}, 3,
			"x.rb:5:15: got 9, want a column pointer, from 3 to 3"},
		{"last pointer", file("RUA", counts(2, 2, 3), formats,
			"    1    2    3\n    1    2\n  1.0  2.0\n"), coo.Options{}, 3,
			"x.rb:5:1: got 3 as the last column pointer, want 4"},
		{"row past", file("RUA", counts(2, 2, 2), formats,
			"    1    2    3\n    1    3\n  1.0  2.0\n"), coo.Options{}, 3,
			"x.rb:6:10: got 3, want a row index, from 1 to 2"},
		{"row word", file("RUA", counts(2, 2, 2), formats,
			"    1    2    3\n    1  1.5\n  1.0  2.0\n"), coo.Options{}, 3,
			`x.rb:6:8: got "1.5", want a row index, an integer from 1 to 2`},
		{"value", file("RUA", counts(2, 2, 2), formats,
			"    1    2    3\n    1    2\n  1.0  2.x\n"), coo.Options{}, 3,
			`x.rb:7:8: got "2.x", want a number`},
		{"value blank", file("RUA", counts(2, 2, 2), formats,
			"    1    2    3\n    1    2\n  1.0\n"), coo.Options{}, 3,
			"x.rb:7:6: got blanks, want a value in 5 columns"},
		{"value within", file("RUA", counts(2, 2, 2), formats,
			"    1    2    3\n    1    2\n  1 0  2.0\n"), coo.Options{}, 3,
			`x.rb:7:3: got "1 0", want a number`},
		{"cut", file("RUA", counts(2, 2, 2), formats, "    1    2    3\n    1    2\n"),
			coo.Options{}, 3, "x.rb:7:1: got the end of the file, want a value"},
		{"huge counts", file("RUA", "             1 999999999999999999 999999999999999999", formats,
			"    1    2    3\n    1    2\n"), coo.Options{}, 3, "x.rb"},
		{"skew least", file("IZA", counts(2, 2, 1), wide,
			"    1    2    2\n    2\n -9223372036854775808\n"),
			coo.Options{Type: tensor.Int64}, 3,
			"x.rb:7:2: got -9223372036854775808, which int64 cannot negate; a skew-symmetric matrix needs the negative of each value"},
		{"skew least int32", file("IZA", counts(2, 2, 1), wide,
			"    1    2    2\n    2\n          -2147483648\n"),
			coo.Options{Type: tensor.Int32}, 3,
			"x.rb:7:11: got -2147483648, which int32 cannot negate; a skew-symmetric matrix needs the negative of each value"},
		{"skew diagonal", file("RZA", counts(2, 2, 1), formats, "    1    2    2\n    1\n  1.0\n"),
			coo.Options{}, 3, "x.rb:7:1: got 1 in row and column 1 of a skew-symmetric matrix, want either no entry or a zero"},
		{"hermitian diagonal", file("CHA", counts(2, 2, 1), formats,
			"    1    2    2\n    1\n  1.0  2.0\n"), coo.Options{}, 3,
			"x.rb:7:1: got (1+2i) in row and column 1 of a Hermitian matrix, want a real value"},
		{"both triangles", file("RSA", counts(3, 3, 4), formats,
			"    1    3    4    5\n    1    2    1    3\n  1.0  2.0  2.0\n  5.0\n"), coo.Options{},
			3,
			"x.rb:6:15: got (1,2), but line 6 has (2,1); want entries of only one triangle, because a " +
				"symmetric matrix includes the mirror image of each"},
		{"skew twice", file("RZA", counts(2, 2, 2), f1, "    1    2    3\n2\n1\n  2.0 -2.0\n"),
			coo.Options{}, 3,
			"x.rb:7:1: got (1,2), but line 6 has (2,1); want entries of only one triangle, because a " +
				"skew-symmetric matrix"},
		{"hermitian twice", file("CHA", counts(2, 2, 2), f1,
			"    1    2    3\n2\n1\n  1.0  2.0  1.0\n -2.0\n"), coo.Options{Limit: 1 << 20}, 3,
			"x.rb:7:1: got (1,2), but line 6 has (2,1); want entries of only one triangle, because a " +
				"Hermitian matrix"},
		{"pattern twice", file("PSA", counts(3, 3, 4), f1, "    1    3    4    5\n3\n3\n2\n1\n"),
			coo.Options{}, 3,
			"got (1,3), but line 6 has (3,1); want entries of only one triangle, because a"},
		{"to real", file("CUA", counts(2, 2, 1), formats, ""), coo.Options{Type: tensor.Int64}, 2,
			"x.rb:3:1: the file's values are complex, but the type asked for is real"},
		{"to integer", file("RUA", counts(1, 1, 1), formats, "    1    2\n    1\n  1.5\n"),
			coo.Options{Type: tensor.Int64}, 2,
			`x.rb:7:3: got "1.5", want an integer: the type asked for is int64`},
		{"order", file("RUA", counts(2, 2, 1), formats, ""), coo.Options{Order: 3}, 2,
			"x.rb:3:1: the file has 2 modes (sizes 2x2), want 3"},
		{"sizes", file("RUA", counts(2, 2, 1), formats, ""), coo.Options{Dims: []int64{3, -1}}, 2,
			"x.rb:3:1: mode 0 has size 2, but -d gives 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			readertest.Refused(t, Open, write(t, c.in), c.opt, c.exit, c.want)
		})
	}
}

// Many entries on both sides of the diagonal are searched for pairs in little memory, and
// diagonals longer than a batch are passed over.
func TestManyInBothTriangles(t *testing.T) {
	const n = 20000
	text := func(last, row int) string {
		var ptr, ind strings.Builder
		at := 1
		fmt.Fprintf(&ptr, "%10d\n", at)
		for j := 1; j <= n; j++ {
			at++
			fmt.Fprintf(&ind, "%10d\n", j)
			if j > n/2 {
				at++
				fmt.Fprintf(&ind, "%10d\n", n+1-j+n%2) // above the diagonal
			}
			if j == 1 {
				at++
				fmt.Fprintf(&ind, "%10d\n", 2) // below it
			}
			if j == last {
				at++
				fmt.Fprintf(&ind, "%10d\n", row)
			}
			fmt.Fprintf(&ptr, "%10d\n", at)
		}
		return file("PSA", counts(n, n, at-1), fmt.Sprintf("%-16s%-16s", "(I10)", "(I10)"),
			ptr.String()+ind.String())
	}
	opt := coo.Options{Limit: 1 << 20, Tmp: t.TempDir()}
	s, err := Open(write(t, text(0, 0)), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if es, err := readertest.Collect(s); err != nil || len(es) != n+2*(n/2)+2 {
			t.Fatalf("got %d entries, %v; want %d", len(es), err, n+2*(n/2)+2)
		}
		s.Rewind()
	}
	s, err = Open(write(t, text(2, 1)), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err = readertest.Collect(s); err == nil ||
		!strings.Contains(err.Error(), "got (1,2), but line 20007 has (2,1)") {
		t.Errorf("got %v", err)
	}
}

func TestParseFormat(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // column+width+kind*scale
	}{
		{"(16I5)", "16 fields, last 75+5"}, {"(I8)", "1 fields, last 0+8"},
		{"(1P3D24.15)", "3 fields, last 48+24"}, {"(1P,4E20.12)", "4 fields, last 60+20"},
		{"(1P,4(E20.12))", "4 fields, last 60+20"}, {"( 3E25.17E3 )", "3 fields, last 50+25"},
		{"(2(2X,I3),I1)", "3 fields, last 10+1"}, {"(1PE15.8,2E10.3)", "3 fields, last 25+10"},
		{"16I5", ""}, {"(16I)", ""}, {"(0I5)", ""}, {"(A5)", ""}, {"(I5", ""}, {"(I5))", ""},
		{"()", ""}, {"(3X)", ""}, {"(5000I5)", ""}, {"((((((((((I1))))))))))", ""},
		{"(I5,99999(99999(99999(1P))))", ""}, {"(E20.)", ""}, {"(-3I5)", ""},
	} {
		fs, ok := parseFormat(c.in)
		got := ""
		if ok {
			got = fmt.Sprintf("%d fields, last %d+%d", len(fs), fs[len(fs)-1].col,
				fs[len(fs)-1].width)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
}
