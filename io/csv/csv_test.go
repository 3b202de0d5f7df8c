package csv

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

// openAny opens a file by its ending.
func openAny(path string, opt coo.Options) (coo.Stream, error) {
	if strings.HasSuffix(path, "v") {
		return Open(path, opt)
	}
	return OpenEdges(path, opt)
}

func TestRead(t *testing.T) {
	two := coo.Options{Order: 2}
	for _, c := range []struct {
		file, in string
		opt      coo.Options
		dims     string
		want     string
	}{
		{"x.csv", "i,j,value\n1,2,1.5\n2,1,-2\n", coo.Options{}, "[2 2]",
			"[[0 1]:(1.5+0i) [1 0]:(-2+0i)]"},
		{"x.csv", "1,2,1.5\r\n\r\n2 , 1 ,\t-2\r\n", coo.Options{}, "[2 2]",
			"[[0 1]:(1.5+0i) [1 0]:(-2+0i)]"},
		{"x.csv", "\xef\xbb\xbf\"i\";\"j\";\"w\"\n\"1\";2;\"1.5\"\n2;1;-2", coo.Options{}, "[2 2]",
			"[[0 1]:(1.5+0i) [1 0]:(-2+0i)]"},
		{"x.tsv", "# c\n% c\nfrom\tto\n1\t2\n % more\n2\t1 # c\n", two, "[2 2]",
			"[[0 1]:(1+0i) [1 0]:(1+0i)]"},
		{"x.csv", "1|2|3|4\n", coo.Options{}, "[1 2 3]", "[[0 1 2]:(4+0i)]"},
		{"x.csv", "1,2,3,4\n", coo.Options{Order: 4}, "[1 2 3 4]", "[[0 1 2 3]:(1+0i)]"},
		{"x.csv", "1,2\n", coo.Options{}, "[1 2]", "[[0 1]:(1+0i)]"},
		{"x.csv", "i0,value\n1,2\n", coo.Options{}, "[1]", "[[0]:(2+0i)]"},
		{"x.csv", "1,2\n", coo.Options{Order: 1}, "[1]", "[[0]:(2+0i)]"},
		{"x.csv", "3\n", coo.Options{Order: 1}, "[3]", "[[2]:(1+0i)]"},
		{"x.csv", "value\n3.5\n", coo.Options{}, "[]", "[[]:(3.5+0i)]"},
		{"x.csv", "i0,Real,Imag\n2,3,-1\n", coo.Options{}, "[2]", "[[1]:(3-1i)]"},
		{"x.csv", "2,3,-1\n", coo.Options{Order: 1, Type: tensor.Complex64}, "[2]", "[[1]:(3-1i)]"},
		{"x.csv", "0,0,5\n", coo.Options{ZeroBased: true}, "[1 1]", "[[0 0]:(5+0i)]"},
		{"x.csv", "1;2,5\n", coo.Options{Delimiter: ',', Order: 1}, "",
			`x.csv:1:1: got "1;2", want coordinate 1 of 1`},
		{"x.csv", "1,2;5\n", coo.Options{Delimiter: ' '}, "", "x.csv: the file has no entries"},
		{"x.csv", "i,j\n", coo.Options{Dims: []int64{4, 5}}, "[4 5]", "[]"},
		{"x.csv", "", coo.Options{Dims: []int64{4, 5}}, "[4 5]", "[]"},
		{"x.csv", "1,2,5\n", coo.Options{Dims: []int64{4, -1}}, "[4 2]", "[[0 1]:(5+0i)]"},
		{"x.csv", "1,9007199254740993\n", coo.Options{Order: 1, Type: tensor.Int64}, "[1]",
			"[[0]:(9.007199254740992e+15+0i)]"},
		{"x.csv", "1,2,1.#INF\n", coo.Options{}, "", `got "1.#INF", want a number`},
		{"x.el", "1 2\n3 1\n", coo.Options{}, "[3 2]", "[[0 1]:(1+0i) [2 0]:(1+0i)]"},
		{"x.edges", "% sym\n1\t2\t0.5 % c\n", coo.Options{}, "", `x.edges:2:9: got "%" after white space, want one number in a field`},
		{"x.edges", "% sym\n1,2,0.5\n", coo.Options{}, "[1 2]", "[[0 1]:(0.5+0i)]"},
		{"x.wel", "\"1\" \"2\" 3\n", coo.Options{}, "[1 2]", "[[0 1]:(3+0i)]"},
	} {
		for _, threads := range []int{1, 3} {
			c.opt.Threads = threads
			path := readertest.Write(t, c.file, c.in)
			s, err := openAny(path, c.opt)
			var es []readertest.Entry
			if err == nil {
				defer s.Close()
				es, err = readertest.Collect(s)
			}
			if err != nil {
				if c.dims != "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%q: got %v, want %s", c.in, err, c.want)
				}
				continue
			}
			readertest.Sort(es)
			if dims, _ := s.Dims(); fmt.Sprint(dims) != c.dims || fmt.Sprint(es) != c.want {
				t.Errorf("%q: got %v %v, want %v %v", c.in, dims, es, c.dims, c.want)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		file, in string
		opt      coo.Options
		exit     int
		want     string
	}{
		{"x.csv", "", coo.Options{}, 2, "x.csv: the file has no entries"},
		{"x.csv", "i,j,value\n1,2,3\n1,,3\n", coo.Options{}, 3,
			"x.csv:3:3: got an empty field, want a number"},
		{"x.csv", "1,2,3\n1,2,3,\n", coo.Options{}, 3, "x.csv:2:7: got an empty field"},
		{"x.csv", "1,2,3\n1 2,3\n", coo.Options{}, 3,
			`x.csv:2:3: got "2" after white space, want one number in a field`},
		{"x.csv", "1,2,3\n1,2\n", coo.Options{}, 3,
			"x.csv:2:4: got the end of the line, want a value: 2 coordinates and a value"},
		{"x.csv", "1,2,3\n1,2,3,4\n", coo.Options{}, 3, `x.csv:2:7: got "4", want the end of the line`},
		{"x.csv", "1,x,3\n", coo.Options{}, 3, `x.csv:1:3: got "x", want coordinate 2 of 2`},
		{"x.csv", "1,2,3\ni,j,k\n", coo.Options{}, 3, `x.csv:2:1: got "i", want coordinate 1 of 2`},
		{"x.csv", "i,j\n1,2,3\n", coo.Options{}, 3, "x.csv:2:1: got 3 columns, want 2, as in the header"},
		{"x.csv", "0,1,3\n", coo.Options{}, 3,
			"x.csv:1:1: got coordinate 0 in mode 0, want at least 1 (--index-base=0 if it counts"},
		{"x.csv", "1,2,3,4\n", coo.Options{Order: 2}, 2,
			"x.csv:1:1: got 4 columns, want 2 or 3: 2 coordinates, and a value or none"},
		{"x.csv", "1,2,3\n1,7,4\n", coo.Options{Dims: []int64{2, 6}}, 3,
			"x.csv:2:3: got coordinate 7 in mode 1, want at most 6: its size is 6"},
		{"x.csv", "real,imag\n1,2\n", coo.Options{Type: tensor.Float64}, 2, "values are complex"},
		{"x.csv", "1,\"2,3\n", coo.Options{}, 3, `x.csv:1:3: got "\"2", want coordinate 2 of 2`},
		{"x.el", "1 2 3 4\n", coo.Options{}, 3, "x.el:1:1: got 4 columns, want 2 or 3"},
		{"x.wel", "1 2 3\n", coo.Options{Order: 3}, 2, "x.wel: an edge list has 2 modes, want 3"},
		{"x.wel", "a b c\n1 2 c\n", coo.Options{}, 3, `x.wel:2:5: got "c", want a number`},
	} {
		t.Run(c.want, func(t *testing.T) {
			readertest.Refused(t, openAny, readertest.Write(t, c.file, c.in), c.opt, c.exit, c.want)
		})
	}
}

func TestRoundTrip(t *testing.T) {
	for _, typ := range []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
		tensor.Complex128, tensor.Complex64} {
		for _, dims := range [][]int64{{}, {50}, {30, 40}, {1 << 40, 3, 1 << 35}, {3, 4, 5, 6, 7}} {
			for name, f := range map[string]Writer{"x.csv": CSV, "x.tsv": TSV, "x.wel": Edges} {
				in := readertest.Random(dims, typ, max(1, 20*min(1, len(dims))), 1)
				var b bytes.Buffer
				err := f.Write(&b, readertest.Ordered(t, in, nil), coo.WriteOptions{Threads: 3})
				if f.edges && (len(dims) != 2 || typ.IsComplex()) {
					if err == nil {
						t.Errorf("an edge list of %v and sizes %v was written", typ, dims)
					}
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				opt := coo.Options{Dims: dims, Type: typ}
				s, err := openAny(readertest.Write(t, name, b.String()), opt)
				if err != nil {
					t.Fatalf("%v %v: %v", typ, dims, err)
				}
				got, err := readertest.Collect(s)
				if err != nil {
					t.Fatalf("%v %v: %v", typ, dims, err)
				}
				readertest.Sort(in.Entries)
				if fmt.Sprint(got) != fmt.Sprint(in.Entries) {
					t.Errorf("%s, %v %v: what was written reads otherwise", name, typ, dims)
				}
				s.Close()
			}
		}
	}
}

// Readers of the parts of a file return what one reader returns, or the same error.
func TestParts(t *testing.T) {
	for _, in := range []string{"% c\ni,j,value\n", "1;2;x\n", ""} {
		for k := range 500 {
			in += fmt.Sprintf("%d;\"%d\";%d\n", k%7+1, k%11+1, k)
		}
		if strings.HasPrefix(in, "%") {
			in = strings.ReplaceAll(in, ";", ",")
		}
		path := readertest.Write(t, "x.csv", in)
		whole, err := Open(path, coo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := readertest.Collect(whole)
		head := whole.(interface{ Head() []byte }).Head()
		for _, n := range []int{1, 2, 7} {
			var got []readertest.Entry
			var first error
			for k := range n {
				p, err := OpenPart(path, head, k, n, coo.Options{})
				if err != nil {
					t.Fatal(err)
				}
				es, err := readertest.Collect(p)
				p.Close()
				if got = append(got, es...); err != nil && first == nil {
					first = err
				}
			}
			if fmt.Sprint(first) != fmt.Sprint(wantErr) ||
				wantErr == nil && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d parts: got %d entries, %v; want %d, %v", n, len(got), first, len(want),
					wantErr)
			}
		}
		whole.Close()
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("i,j,value\n1,2,3\n\"2\", 3 ,1e3 # c\n% d\n"), false)
	f.Add([]byte("% sym\n1\t2\t0.5\n3 4 5\n"), true)
	f.Add([]byte("real;imag\n1;2\n"), false)
	f.Fuzz(func(t *testing.T, b []byte, edges bool) {
		name := "x.csv"
		if edges {
			name = "x.el"
		}
		readertest.CheckRange(t, openAny, readertest.Write(t, name, string(b)))
	})
}
