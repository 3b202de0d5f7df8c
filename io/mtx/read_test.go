package mtx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

func TestReal(t *testing.T) {
	f := readertest.File
	readertest.ReadReal(t, Open, []readertest.Real{
		f("matrices/4elt.mtx.gz", []int64{15606, 15606}, true, 91756, tensor.Float64),
		f("matrices/LFAT5.mtx", []int64{14, 14}, true, 46, tensor.Float64),
		f("matrices/LFAT5_hypersparse.mtx", []int64{2000, 2000}, true, 46, tensor.Float64),
		f("matrices/ParU_temp.mtx", []int64{180, 180}, true, 2659, tensor.Float64),
		f("matrices/Trec4.mtx", []int64{2, 3}, true, 3, tensor.Float64),
		f("matrices/ani4.mtx.gz", []int64{3081, 3081}, true, 20971, tensor.Float64),
		f("matrices/as20graph.mtx.gz", []int64{6474, 6474}, true, 26467, tensor.Float64),
		f("matrices/ash219.mtx", []int64{219, 85}, true, 438, tensor.Float64),
		f("matrices/bcsstk13.mtx.gz", []int64{2003, 2003}, true, 83883, tensor.Float64),
		f("matrices/bips98_606.mtx.gz", []int64{7135, 7135}, true, 34738, tensor.Float64),
		f("matrices/cage5.mtx", []int64{37, 37}, true, 233, tensor.Float64),
		f("matrices/chesapeake.mtx", []int64{39, 39}, true, 340, tensor.Float64),
		f("matrices/etopo20_land.mtx.gz", []int64{540, 1080}, true, 194202, tensor.Float64),
		f("matrices/flights_od_dups.mtx.gz", []int64{224, 224}, true, 20000, tensor.Float64),
		f("matrices/hypre_tucker21935.mtx.gz", []int64{21936, 21936}, true, 51178, tensor.Float64),
		f("matrices/jagmesh7.mtx", []int64{1138, 1138}, true, 7450, tensor.Float64),
		f("matrices/karate.mtx", []int64{34, 34}, true, 156, tensor.Float64),
		f("matrices/laplace_7pt_10x10x10.mtx", []int64{1000, 1000}, true, 6400, tensor.Float64),
		f("matrices/lp_25fv47.mtx.gz", []int64{821, 1571}, true, 10400, tensor.Float64),
		f("matrices/lp_afiro.mtx", []int64{27, 51}, true, 102, tensor.Float64),
		f("matrices/lp_e226.mtx", []int64{223, 472}, true, 2768, tensor.Float64),
		f("matrices/mhd1280b.mtx.gz", []int64{1280, 1280}, true, 22778, tensor.Complex128),
		f("matrices/olm1000.mtx", []int64{1000, 1000}, true, 3996, tensor.Float64),
		f("matrices/pde900.mtx.gz", []int64{900, 900}, true, 4380, tensor.Float64),
		f("matrices/pyamg_airfoil.mtx.gz", []int64{260, 260}, true, 1682, tensor.Float64),
		f("matrices/pyamg_local_disc_galerkin_diffusion.mtx.gz", []int64{966, 966}, true, 35338,
			tensor.Float64),
		f("matrices/pyamg_unit_cube.mtx.gz", []int64{125, 125}, true, 1473, tensor.Float64),
		f("matrices/rajat01.mtx.gz", []int64{6833, 6833}, true, 43250, tensor.Float64),
		f("matrices/west0067.mtx", []int64{67, 67}, true, 294, tensor.Float64),
		f("quirks/comments_full.mtx", []int64{3, 3}, true, 9, tensor.Float64),
		f("quirks/comments_west0067.mtx", []int64{67, 67}, true, 295, tensor.Float64),
		f("quirks/cover_structure.mtx", []int64{7, 7}, true, 12, tensor.Float64),
		f("quirks/empty.mtx", []int64{3, 4}, true, 0, tensor.Float64),
		f("quirks/full.mtx", []int64{3, 3}, true, 9, tensor.Float64),
		f("quirks/julia_test.mtx.gz", []int64{11, 12}, true, 5, tensor.Float64),
		f("quirks/lp_afiro_structure.mtx", []int64{27, 51}, true, 102, tensor.Float64),
		f("quirks/mangled_bool.mtx", []int64{7, 7}, true, 12, tensor.Float64),
		f("quirks/matrix_bool.mtx", []int64{7, 7}, true, 12, tensor.Float64),
		f("quirks/qcd_theta.ttx", []int64{25, 25}, true, 600, tensor.Float64), // the diagonal is zero
		f("quirks/skew_fp64.mtx", []int64{6, 6}, true, 20, tensor.Float64),
		f("quirks/structure.mtx", []int64{7, 7}, true, 12, tensor.Float64),
		f("quirks/taco_2tensor.mtx", []int64{32, 32}, true, 3, tensor.Float64),
		f("quirks/taco_d33.ttx", []int64{3, 3}, true, 3, tensor.Float64),
		f("quirks/taco_d567.ttx", []int64{5, 6, 7}, true, 4, tensor.Float64),
		f("quirks/taco_ds33.mtx", []int64{3, 3}, true, 5, tensor.Float64),
		f("quirks/taco_rua_32.mtx", []int64{32, 32}, true, 126, tensor.Float64),
		f("quirks/west0067_jumbled.mtx", []int64{67, 67}, true, 294, tensor.Float64),
		f("quirks/west0067_noheader.mtx", []int64{67, 67}, true, 294, tensor.Float64),
	})
}

func TestRealRefused(t *testing.T) {
	for name, want := range map[string]string{
		"mangled1.mtx":       `:1:16: got "mangled" as the banner's object, want matrix, vector or tensor`,
		"mangled3.mtx":       `:1:34: got "mangled" as the banner's field, want real, double, integer, unsigned-integer, complex or pattern`,
		"mangled5.mtx":       `:1:42: got a pattern with the symmetry hermitian`,
		"mangled_format.mtx": `:1:29: got an array with the field pattern, which has no values`,
		"matrix_fp32.mtx":    `:7:5: got "-inf", want an integer`,
	} {
		t.Run(name, func(t *testing.T) {
			path := readertest.Data(t, "quirks/"+name)
			readertest.Refused(t, Open, path, coo.Options{}, 3, name+want)
		})
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	return readertest.Write(t, "x.mtx", content)
}

func TestRead(t *testing.T) {
	const banner = "%%MatrixMarket matrix coordinate "
	for _, c := range []struct {
		name, in string
		opt      coo.Options
		dims     string
		want     string
	}{
		{"general", banner + "real general\n2 3 2\n2 1 -0.5\n1 3 1e3\n", coo.Options{}, "[2 3]",
			"[[0 2]:(1000+0i) [1 0]:(-0.5+0i)]"},
		{"spaces", "%%matrixmarket MATRIX Coordinate REAL General\r\n\t% c\r\n\r\n 2\t3 2  " +
			"\r\n\r\n2 1 -0.5\r\n% c\r\n \t1 3 +1e3\t\r\n%", coo.Options{}, "[2 3]",
			"[[0 2]:(1000+0i) [1 0]:(-0.5+0i)]"},
		{"no banner", "% c\n2 3 1\n2 1 4\n", coo.Options{}, "[2 3]", "[[1 0]:(4+0i)]"},
		{"pattern", banner + "pattern general\n2 3 2\n2 1\n1 3\n", coo.Options{}, "[2 3]",
			"[[0 2]:(1+0i) [1 0]:(1+0i)]"},
		{"pattern with ones", banner +
			"pattern general\n% c\n2 3 4\n% c\n\n2 1 1\n1 3\n1 1 1.0 % c\n 2 2\t+1e0 \r\n",
			coo.Options{}, "[2 3]", "[[0 0]:(1+0i) [0 2]:(1+0i) [1 0]:(1+0i) [1 1]:(1+0i)]"},
		{"pattern int", banner + "pattern general\n2 3 1\n2 1\n", coo.Options{Type: tensor.Int32},
			"[2 3]", "[[1 0]:(1+0i)]"},
		{"symmetric", banner + "real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 0\n", coo.Options{},
			"[2 2]", "[[0 0]:(1+0i) [0 1]:(2+0i) [1 0]:(2+0i) [1 1]:(0+0i)]"},
		{"upper", banner + "real symmetric\n2 2 1\n1 2 2\n", coo.Options{}, "[2 2]",
			"[[0 1]:(2+0i) [1 0]:(2+0i)]"},
		{"both triangles", banner + "real symmetric\n3 3 4\n1 2 2\n3 1 4\n1 2 3\n3 3 1\n",
			coo.Options{Limit: 1 << 20}, "[3 3]",
			"[[0 1]:(2+0i) [0 1]:(3+0i) [0 2]:(4+0i) [1 0]:(2+0i) [1 0]:(3+0i) [2 0]:(4+0i) [2 " +
				"2]:(1+0i)]"},
		{"skew", banner + "integer skew-symmetric\n2 2 2\n2 1 2\n1 1 0\n",
			coo.Options{Type: tensor.Int64}, "[2 2]", "[[0 0]:(0+0i) [0 1]:(-2+0i) [1 0]:(2+0i)]"},
		{"hermitian", banner + "complex hermitian\n2 2 2\n2 1 2 3\n1 1 4 0\n", coo.Options{},
			"[2 2]", "[[0 0]:(4+0i) [0 1]:(2-3i) [1 0]:(2+3i)]"},
		{"complex symmetric", banner + "complex symmetric\n2 2 1\n2 1 2 3\n",
			coo.Options{Type: tensor.Complex64}, "[2 2]", "[[0 1]:(2+3i) [1 0]:(2+3i)]"},
		{"Fortran's exponents", banner + "complex general\n2 2 1\n2 1 0.15D+01 -3d0\n",
			coo.Options{}, "[2 2]", "[[1 0]:(1.5-3i)]"},
		{"real as complex", banner + "real general\n2 2 1\n2 1 2\n",
			coo.Options{Type: tensor.Complex128}, "[2 2]", "[[1 0]:(2+0i)]"},
		{"array", "%%MatrixMarket matrix array real general\n2 3\n1\n2\n\n% c\n3\n0\n-0\n6\n",
			coo.Options{}, "[2 3]",
			"[[0 0]:(1+0i) [0 1]:(3+0i) [0 2]:(-0+0i) [1 0]:(2+0i) [1 2]:(6+0i)]"},
		{"array symmetric", "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
			coo.Options{}, "[3 3]",
			"[[0 0]:(1+0i) [0 1]:(2+0i) [0 2]:(3+0i) [1 0]:(2+0i) [1 1]:(4+0i) [1 2]:(5+0i) [2 " +
				"0]:(3+0i) [2 1]:(5+0i) [2 2]:(6+0i)]"},
		{"array skew", "%%MatrixMarket matrix array real skew-symmetric\n3 3\n2\n3\n5\n",
			coo.Options{}, "[3 3]",
			"[[0 1]:(-2+0i) [0 2]:(-3+0i) [1 0]:(2+0i) [1 2]:(-5+0i) [2 0]:(3+0i) [2 1]:(5+0i)]"},
		{"array hermitian", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n",
			coo.Options{}, "[2 2]",
			"[[0 0]:(1+0i) [0 1]:(2-3i) [1 0]:(2+3i) [1 1]:(4+0i)]"},
		{"array empty", "%%MatrixMarket matrix array real general\n0 3\n", coo.Options{}, "[0 3]",
			"[]"},
		{"array order 0", "%%MatrixMarket tensor coordinate real general\n1\n0\n", coo.Options{},
			"[]", "[[]:(0+0i)]"},
		{"tensor array", "%%MatrixMarket tensor array integer general\n2 1 2\n1\n2\n3\n4\n",
			coo.Options{}, "[2 1 2]",
			"[[0 0 0]:(1+0i) [0 0 1]:(3+0i) [1 0 0]:(2+0i) [1 0 1]:(4+0i)]"},
		{"vector", "%%MatrixMarket vector coordinate real general\n5 1\n4 2.5\n", coo.Options{},
			"[5]", "[[3]:(2.5+0i)]"},
		{"column as vector", banner + "real general\n5 1 1\n4 1 2.5\n", coo.Options{Order: 1},
			"[5]", "[[3]:(2.5+0i)]"},
		{"row as vector", "%%MatrixMarket matrix array real general\n1 3\n4\n5\n6\n",
			coo.Options{Order: 1}, "[3]", "[[0]:(4+0i) [1]:(5+0i) [2]:(6+0i)]"},
		{"huge", banner +
			"integer general\n2305843009213693952 1 1\n2305843009213693952 1 9007199254740993\n",
			coo.Options{Type: tensor.Int64}, "[2305843009213693952 1]",
			"[[2305843009213693951 0]:(9.007199254740992e+15+0i)]"},
		{"whole numbers as MATLAB prints them",
			banner + "real general\n1e+06 3.0 2e0\n1e+06 1. 2\n+2e3 3 1\n", coo.Options{},
			"[1000000 3]", "[[1999 2]:(1+0i) [999999 0]:(2+0i)]"},
		{"unsigned", banner + "unsigned-integer general\n1 2 2\n1 1 3\n1 2 18446744073709551615\n",
			coo.Options{}, "[1 2]", "[[0 0]:(3+0i) [0 1]:(1.8446744073709552e+19+0i)]"},
		{"whole reals", banner + "real general\n1 2 2\n1 1 3.0\n1 2 250e-1\n",
			coo.Options{Type: tensor.Int32}, "[1 2]", "[[0 0]:(3+0i) [0 1]:(25+0i)]"},
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
			dims, _ := s.Dims()
			if fmt.Sprint(dims) != c.dims || fmt.Sprint(es) != c.want {
				t.Errorf("got %v %v, want %v %v", dims, es, c.dims, c.want)
			}
		})
	}
}

// A comment that is nearly a banner is one, with a note: half of a symmetric matrix is not in the
// file.
func TestNearBanner(t *testing.T) {
	const sizes, body = "2 2 2\n", "1 1 5\n2 1 3\n"
	const half, all = "[[0 0]:(5+0i) [1 0]:(3+0i)]", "[[0 0]:(5+0i) [0 1]:(3+0i) [1 0]:(3+0i)]"
	for _, c := range []struct {
		head string
		line int // of the note; 0 if there is no note
		want string
	}{
		{"%%MatrixMarket matrix coordinate real symmetric\n", 0, all},
		{"\xef\xbb\xbf%%MatrixMarket matrix coordinate real symmetric\n", 0, all},
		{" %%matrixmarket MATRIX coordinate real symmetric\r\n", 0, all},
		{"%MatrixMarket matrix coordinate real symmetric\n", 1, all},
		{"%MatrixMarket matrix coordinate real general\n", 1, half},
		{"%%%MatrixMarket matrix coordinate real symmetric\n", 1, all},
		{"%% MatrixMarket matrix coordinate real symmetric\n", 1, all},
		{"%%Matrix Market matrix coordinate real symmetric\r\n", 1, all},
		{"%%MatrixMarkt matrix coordinate real Symmetric\n", 1, all},
		{"%%MatrixMarket,matrix,coordinate,real,symmetric\n", 1, all},
		{"%matrix coordinate real symmetric\n", 1, all},
		{"\n%%MatrixMarket matrix coordinate real symmetric\n", 2, all},
		{"% made by a program\n\n%%MatrixMarket matrix coordinate real symmetric\n", 3, all},
		{"% made by a program\n%MatrixMarket matrix coordinate real symmetric\n", 2, all},
		{"%%MatrixMarket matrix coordinate real general\n%MatrixMarket matrix coordinate real " +
			"symmetric\n", 0, half},
		{"% a symmetric matrix, of coordinates\n% Matrices of a market\n", 0, half},
	} {
		var notes []string
		s, err := Open(write(t, c.head+sizes+body),
			coo.Options{Note: func(s string) { notes = append(notes, s) }})
		if err != nil {
			t.Errorf("%q: %v", c.head, err)
			continue
		}
		es, err := readertest.Collect(s)
		s.Close()
		readertest.Sort(es)
		if fmt.Sprint(es) != c.want || err != nil {
			t.Errorf("%q: got %v, %v; want %s", c.head, es, err, c.want)
		}
		place := fmt.Sprintf("x.mtx:%d: this line is used as the banner (%%%%MatrixMarket "+
			"matrix coordinate real", c.line)
		if (c.line > 0) != (len(notes) == 1) || c.line > 0 && !strings.Contains(notes[0], place) {
			t.Errorf("%q: got the notes %q, want one of line %d", c.head, notes, c.line)
		}
	}
	for head, want := range map[string]string{
		"%MatrixMarket matrix coordinate real symetric\n":      `x.mtx:1:38: got "symetric" as the banner's symmetry, want`,
		"\n% MatrixMarket matrix coordinate\n":                 `x.mtx:2:33: got the end of the banner, want its field`,
		"%%MatrixMarketmatrix coordinate real symmetric\n":     `x.mtx:1:1: got the comment "%%MatrixMarketmatrix coordinate real sym"..., which looks like a banner but is not; want %%MatrixMarket matrix coordinate real general`,
		"%%MatricMarket matrix coordinates real symmetric\n":   `x.mtx:1:1: got the comment "%%MatricMarket`,
		"%%MatrixMarket matrix, coordinate, real, symmetric\n": `x.mtx:1:16: got "matrix," as the banner's object, want`,
		"MatrixMarket matrix coordinate real symmetric\n":      `x.mtx:1:1: got "MatrixMarket", want the sizes and the number of entries: integers from 0, or the banner %%MatrixMarket`,
	} {
		readertest.Refused(t, Open, write(t, head+sizes+body), coo.Options{}, 3, want)
	}
}

func TestExactIntegers(t *testing.T) {
	in := fmt.Sprintf("%%%%MatrixMarket matrix coordinate integer general\n1 3 3\n1 1 %d\n1 2 "+
		"%d\n1 3 9007199254740993\n", math.MinInt64, math.MaxInt64)
	s, err := Open(write(t, in), coo.Options{Type: tensor.Int64})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	es, err := readertest.Collect(s)
	if err != nil || len(es) != 3 || es[0].Int != math.MinInt64 || es[1].Int != math.MaxInt64 ||
		es[2].Int != 1<<53+1 {
		t.Errorf("got %v, %v", es, err)
	}
}

func TestMalformed(t *testing.T) {
	const banner = "%%MatrixMarket matrix coordinate "
	for _, c := range []struct {
		name, in string
		opt      coo.Options
		exit     int
		want     string
	}{
		{"empty", "", coo.Options{}, 3, "x.mtx:1:1: got an empty file, want a banner"},
		{"no sizes", banner + "real general\n% c\n", coo.Options{}, 3,
			"x.mtx:3:1: got the end of the file, want the line of sizes"},
		{"short banner", "%%MatrixMarket matrix array real\n", coo.Options{}, 3,
			"x.mtx:1:33: got the end of the banner, want its symmetry"},
		{"long banner", banner + "real general very\n1 1 0\n", coo.Options{}, 3,
			`x.mtx:1:47: got "very", want the end of the banner`},
		{"binary", "\x00\x01\x02 7\n", coo.Options{}, 3,
			`x.mtx:1:1: got "\x00\x01\x02", want the sizes`},
		{"sizes missing", banner + "real general\n2 3\n", coo.Options{}, 3,
			"x.mtx:2:4: got 2 numbers, want 3: the sizes and the number of entries"},
		{"sizes extra", banner + "real general\n2 3 1 7\n", coo.Options{}, 3,
			`x.mtx:2:7: got "7", want the end of the line after the sizes and the number of entries`},
		{"sizes negative", banner + "real general\n2 -3 1\n", coo.Options{}, 3,
			`x.mtx:2:3: got "-3", want the sizes`},
		{"sizes large", banner + "real general\n2 99999999999999999999 1\n", coo.Options{}, 3,
			`x.mtx:2:3: got size 99999999999999999999, want`},
		{"large", "%%MatrixMarket matrix coordinate real general\n2305843009213693953 3 1\n1 1 1\n",
			coo.Options{}, 3,
			"x.mtx:2:1: got size 2305843009213693953, want a whole number from 0 to " +
				"2305843009213693952 (2^61)"},
		{"array large", "%%MatrixMarket matrix array real general\n9223372036854775807 3\n1\n",
			coo.Options{}, 3,
			"x.mtx:2:1: got size 9223372036854775807, want a whole number from 0 to " +
				"2305843009213693952 (2^61)"},
		{"not square", banner + "real symmetric\n2 3 1\n1 1 1\n", coo.Options{}, 3,
			"x.mtx:2:1: got sizes 2x3 for a symmetric matrix, which must be square"},
		{"real hermitian", banner + "real hermitian\n2 2 1\n1 1 1\n", coo.Options{}, 3,
			"x.mtx:1:39: got a real matrix with the symmetry hermitian; want either the field complex or the symmetry symmetric"},
		{"too few", banner + "real general\n2 3 2\n1 1 1\n\n", coo.Options{}, 3,
			"x.mtx:5:1: got the end of the file after 1 entry, want 2 entries, as line 2 says"},
		{"huge count", banner + "real general\n2 3 9223372036854775807\n1 1 1\n", coo.Options{}, 3,
			"x.mtx:4:1: got the end of the file after 1 entry, want 9223372036854775807"},
		{"too many", banner + "real general\n2 3 1\n1 1 1\n\n% c\n1 2 1\n", coo.Options{}, 3,
			"x.mtx:6:1: got one more entry, want the end of the file after 1 entry, as line 2 says"},
		{"array too few", "%%MatrixMarket matrix array real general\n2 2\n1\n1\n1\n", coo.Options{},
			3, "x.mtx:6:1: got the end of the file after 3 values, want 4 values"},
		{"array too many", "%%MatrixMarket matrix array real general\n1 1\n1\n1\n", coo.Options{},
			3, "x.mtx:4:1: got one more value"},
		{"array two", "%%MatrixMarket matrix array real general\n1 2\n1 2\n", coo.Options{}, 3,
			`x.mtx:3:3: got "2", want the end of the line after a value`},
		{"row 0", banner + "real general\n2 3 1\n0 1 1\n", coo.Options{}, 3,
			"x.mtx:3:1: got coordinate 0 in mode 0, want at least 1"},
		{"row past", banner + "real general\n2 3 1\n3 1 1\n", coo.Options{}, 3,
			"x.mtx:3:1: got coordinate 3 in mode 0, want at most 2: its size is 2"},
		{"column past", banner + "real general\n2 3 2\n1 1 1\n  1 99999999999999999999 1\n",
			coo.Options{}, 3,
			"x.mtx:4:5: got coordinate 99999999999999999999 in mode 1, want at most 3"},
		{"row real", banner + "real general\n2 3 1\n1.5 1 1\n", coo.Options{}, 3,
			`x.mtx:3:1: got "1.5", want coordinate 1 of 2: an integer of at least 1`},
		{"row word", banner + "real general\n2 3 1\nx\x1b[31m 1 1\n", coo.Options{}, 3,
			`x.mtx:3:1: got "x\x1b[31m", want coordinate 1 of 2`},
		{"no value", banner + "real general\n2 3 1\n1 1\n", coo.Options{}, 3,
			"x.mtx:3:4: got the end of the line, want a value: 2 coordinates and a value"},
		{"no column", banner + "real general\n2 3 1\n1\n", coo.Options{}, 3,
			"x.mtx:3:2: got the end of the line, want coordinate 2 of 2"},
		{"bad value", banner + "real general\n2 3 1\n1 1 1.5x\n", coo.Options{}, 3,
			`x.mtx:3:5: got "1.5x", want a number`},
		{"no imaginary", banner + "complex general\n2 3 1\n1 1 1.5\n", coo.Options{}, 3,
			"x.mtx:3:8: got the end of the line, want the imaginary part"},
		{"real with three", banner + "real general\n2 3 1\n1 1 1.5 2\n", coo.Options{}, 3,
			`x.mtx:3:9: got "2", want the end of the line after 2 coordinates and a value`},
		{"pattern with value", banner + "pattern general\n2 3 2\n1 1 1\n1 2 1.5\n", coo.Options{},
			3,
			`x.mtx:4:5: got "1.5" after the coordinates, want 1 or nothing: a pattern has no other values`},
		{"pattern with first value", banner + "pattern general\n2 3 2\n1 1 0\n1 2 1\n",
			coo.Options{}, 3, `x.mtx:3:5: got "0" after the coordinates, want 1 or nothing`},
		{"pattern with word", banner + "pattern general\n2 3 2\n1 1 1\n1 2 x\n", coo.Options{}, 3,
			`x.mtx:4:5: got "x" after the coordinates, want 1 or nothing`},
		{"pattern with two ones", banner + "pattern general\n2 3 2\n1 1 1\n1 2 1 1\n",
			coo.Options{}, 3, `x.mtx:4:7: got "1", want the end of the line after 2 coordinates`},
		{"pattern with late value", banner + "pattern general\n2 3 2\n1 1\n1 2 1\n", coo.Options{},
			3, `x.mtx:4:5: got "1", want the end of the line after 2 coordinates`},
		{"symmetric twice", banner + "real symmetric\n3 3 5\n1 1 1\n3 2 5\n2 1 4\n\n1 2 4\n2 3 0\n",
			coo.Options{}, 3,
			"x.mtx:7:1: got (1,2), but line 5 has (2,1); want entries of only one triangle, because a " +
				"symmetric matrix includes the mirror image of each"},
		{"skew twice", banner + "integer skew-symmetric\n3 3 2\n1 2 1\n2 1 -1\n", coo.Options{}, 3,
			"x.mtx:4:1: got (2,1), but line 3 has (1,2); want entries of only one triangle, because a " +
				"skew-symmetric matrix"},
		{"hermitian twice", banner + "complex hermitian\n3 3 2\n1 2 1 1\n2 1 1 -1\n",
			coo.Options{Type: tensor.Complex64, Limit: 1 << 20}, 3,
			"x.mtx:4:1: got (2,1), but line 3 has (1,2); want entries of only one triangle, because a hermitian matrix includes the mirror image of each"},
		{"pattern twice", banner + "pattern symmetric\n3 3 2\n1 2 1\n2 1 1\n",
			coo.Options{Type: tensor.Int32}, 3, "x.mtx:4:1: got (2,1), but line 3 has (1,2); want entries of only one triangle, because a symmetric matrix includes the mirror image of each"},
		{"integer with real", banner + "integer general\n2 3 1\n1 1 1.5\n", coo.Options{}, 3,
			`x.mtx:3:5: got "1.5", want an integer`},
		{"out of range", banner + "real general\n2 3 1\n1 1 1e400\n", coo.Options{}, 3,
			`x.mtx:3:5: got "1e400", want a number that float64 can hold`},
		{"skew least", banner + "integer skew-symmetric\n2 2 2\n1 1 0\n2 1 -9223372036854775808\n",
			coo.Options{Type: tensor.Int64}, 3, "x.mtx:4:1: got -9223372036854775808, " +
				"which int64 cannot negate; a skew-symmetric matrix needs the negative of each value"},
		{"skew least int32", banner + "integer skew-symmetric\n2 2 1\n2 1 -2147483648\n",
			coo.Options{Type: tensor.Int32}, 3,
			"x.mtx:3:1: got -2147483648, which int32 cannot negate; a skew-symmetric matrix needs the negative of each value"},
		{"array skew least",
			"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n2\n-2147483648\n5\n",
			coo.Options{Type: tensor.Int32}, 3,
			"x.mtx:4:1: got -2147483648, which int32 cannot negate; a skew-symmetric matrix needs the negative of each value"},
		{"skew diagonal", banner + "real skew-symmetric\n2 2 2\n2 1 1\n1 1 2\n", coo.Options{}, 3,
			"x.mtx:4:1: got 2 on the diagonal"},
		{"hermitian diagonal", banner + "complex hermitian\n2 2 1\n1 1 2 1\n", coo.Options{}, 3,
			"x.mtx:3:1: got (2+1i) on the diagonal of a hermitian matrix, want a real value"},
		{"array hermitian diagonal",
			"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n% c\n4 1\n",
			coo.Options{}, 3, "x.mtx:6:1: got (4+1i) on the diagonal"},
		{"first of two", banner + "real general\n2 3 2\n9 1 1\nx\n", coo.Options{}, 3,
			"x.mtx:3:1: got coordinate 9"},
		{"to real", banner + "complex general\n1 1 1\n1 1 1 0\n", coo.Options{Type: tensor.Float64}, 2,
			"x.mtx:1:1: the file's field is complex, but the type asked for is real"},
		{"to integer", banner + "real general\n1 1 1\n1 1 1.5\n", coo.Options{Type: tensor.Int64}, 2,
			`x.mtx:3:5: got "1.5", want an integer: the type asked for is int64`},
		{"inf to integer", banner + "real general\n1 1 1\n1 1 inf\n", coo.Options{Type: tensor.Int64},
			2, `x.mtx:3:5: got "inf", want an integer`},
		{"to int32", banner + "real general\n1 1 1\n1 1 3e9\n", coo.Options{Type: tensor.Int32}, 2,
			`got "3e9", want a number that int32, the type asked for, can hold`},
		{"to float32", banner + "real general\n1 1 1\n1 1 3e99\n", coo.Options{Type: tensor.Float32},
			2, `got "3e99", want a number that float32`},
		{"order", banner + "real general\n2 2 1\n1 1 1\n", coo.Options{Order: 3}, 2,
			"x.mtx:2:1: the file has 2 modes (sizes 2x2), want 3"},
		{"no vector", banner + "real general\n2 2 1\n1 1 1\n", coo.Options{Order: 1}, 2,
			"x.mtx:2:1: the file has 2 modes (sizes 2x2), want 1"},
		{"sizes differ", banner + "real general\n2 2 1\n1 1 1\n", coo.Options{Dims: []int64{-1, 5}},
			2, "x.mtx:2:1: mode 1 has size 2, but -d gives 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			readertest.Refused(t, Open, write(t, c.in), c.opt, c.exit, c.want)
		})
	}
}

func TestMissing(t *testing.T) {
	readertest.Refused(t, Open, "/nowhere/x.mtx", coo.Options{}, 1,
		"/nowhere/x.mtx: no such file or directory")
	readertest.Refused(t, Open, t.TempDir(), coo.Options{}, 1, "got a folder, want a file")
}

// The check for both triangles takes little memory, and finds a pair that is far apart
// among many entries.
func TestManyInBothTriangles(t *testing.T) {
	const n = 200000
	text := func(last string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate pattern symmetric\n%d %d %d\n", n, n, n)
		for k := range n - 1 { // one entry in every row, alternating below and above the diagonal
			i := (k*7919)%(n-1) + 2
			if i%2 == 0 {
				fmt.Fprintln(&b, i, i/2)
			} else {
				fmt.Fprintln(&b, i/2, i)
			}
		}
		return b.String() + last
	}
	opt := coo.Options{Limit: 8 << 20, Tmp: t.TempDir()}
	s, err := Open(write(t, text("9 9\n")), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if es, err := readertest.Collect(s); err != nil || len(es) != 2*(n-1)+1 {
			t.Fatalf("got %d entries, %v; want %d", len(es), err, 2*(n-1)+1)
		}
		s.Rewind()
	}
	readertest.Refused(t, Open, write(t, text("1 2\n")), opt, 3,
		fmt.Sprintf("x.mtx:%d:1: got (1,2), but line 3 has (2,1); want entries of only one triangle", n+2))
}
