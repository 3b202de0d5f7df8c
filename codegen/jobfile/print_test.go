package jobfile

import (
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/notation"
)

// sameFile reports whether two files are the same, except for their places.
func sameFile(a, b *File) bool {
	return len(a.Items) == len(b.Items) && same(reflect.ValueOf(a.Items), reflect.ValueOf(b.Items))
}

// same compares values, except for places and for texts that keep the spaces of the file.
func same(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		if a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() {
			return true
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		if a.Type().Elem() == reflect.TypeOf(notation.Span{}) {
			return true
		}
		for k := range a.Len() {
			if !same(a.Index(k), b.Index(k)) {
				return false
			}
		}
		return true
	case reflect.Func:
		return a.Pointer() == b.Pointer()
	case reflect.Map:
		return a.Len() == b.Len()
	case reflect.Struct:
		switch a.Type() {
		case reflect.TypeOf(notation.Span{}), reflect.TypeOf(span{}), reflect.TypeOf(File{}),
			reflect.TypeOf(edit{}):
			return true
		}
		for k := range a.NumField() {
			switch a.Type().Field(k).Name {
			case "Src", "Text", "raw", "text", "edits":
				if a.Field(k).Kind() == reflect.String || a.Field(k).Kind() == reflect.Slice {
					continue
				}
			}
			if !same(a.Field(k), b.Field(k)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// roundTrip compares Parse(Print(f)) with f.
func roundTrip(t *testing.T, f *File) {
	t.Helper()
	text := f.String()
	back, err := Parse("job.dst", text)
	if err != nil {
		t.Fatalf("%s\nprints as\n%s\n%v", f.text, text, err)
	}
	if back.String() != text || !sameFile(f, back) {
		t.Fatalf("%s\nprints as\n%s\nand that as\n%s", f.text, text, back)
	}
}

// parsable returns the files of testdata that Parse accepts, correct and incorrect ones.
func parsable(t testing.TB) []string {
	var texts []string
	for _, name := range []string{"cg.dst", "spmm.dst"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	wrong, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(string(wrong), nextFile) {
		text, _, _ := strings.Cut(c, message)
		texts = append(texts, text)
	}
	return texts
}

func TestPrint(t *testing.T) {
	n := 0
	for _, text := range parsable(t) {
		if f, err := Parse("job.dst", text); err == nil {
			roundTrip(t, f)
			n++
		}
	}
	if n < 50 {
		t.Errorf("%d files of testdata were printed, want at least 50", n)
	}
	g := rand.New(rand.NewSource(4))
	for range 3000 {
		text := randomFile(g)
		f, err := Parse("job.dst", text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		roundTrip(t, f)
	}
}

// pick returns one of the words.
func pick(g *rand.Rand, words ...string) string { return words[g.Intn(len(words))] }

// randomFile returns a file that Parse accepts, with random spaces, comments and line ends.
func randomFile(g *rand.Rand) string {
	r := &randomText{g: g}
	for range 1 + g.Intn(6) {
		switch g.Intn(8) {
		case 0:
			r.line("", fmt.Sprintf("param R%d = %s", g.Intn(9), pick(g, "3", "-2", "+4", "1e-3", "- 2.5")))
		case 1:
			r.line("", "machine "+pick(g, `G = "nodes=2x2;gpus=4"`, "M(p)", "M(p/2,2)", "M(p-1 , 3*(4+1))"))
		case 2:
			r.line("", "tensor "+pick(g, "s", "A(n, m): ds", "A(2*n + R1,m): ds : 1, 0", "B(n): u",
				"x(3*(n-1)/2) : d", "z()")+
				pick(g, "", " type float32", " place (x,y) -> M(~(x,y))",
					" place (x) -> M(x, *,3);(x) -> N(x)")+
				pick(g, "", ` from "a # b.mtx"`, " from uniform:R1:int", " from 2.5", " from R1", " from -1e3",
					" from 1+2i", " from dense")+
				pick(g, "", ` to "x y.npy"`))
		default:
			r.item("", 2)
		}
	}
	return pick(g, "", "\ufeff") + r.out.String()
}

type randomText struct {
	g   *rand.Rand
	out strings.Builder
}

func (r *randomText) line(indent, text string) {
	if r.g.Intn(5) == 0 {
		text = strings.ReplaceAll(text, ", ", " ,\t")
	}
	r.out.WriteString(indent + text + pick(r.g, "", "", " ", " # it's \"a comment",
		"\t#}{(") + pick(r.g, "\n", "\n", "\r\n", "\n\n", "\n   # a comment\n"))
}

func (r *randomText) item(indent string, depth int) {
	g := r.g
	switch g.Intn(6) {
	case 0:
		r.line(indent, pick(g, "print x", "print  order", "place A (x,y) -> M(y)",
			"place  x (x)->M( * )"))
	case 1:
		if depth == 0 {
			r.line(indent, "repeat 3 { s = s + 1 }")
			return
		}
		r.line(indent, "repeat "+pick(g, "3", "2*4", "(1+1)*5")+pick(g, " ", " until rr<=1e-20 * bb ",
			" until -(a+b)/2 != a - 1 or fail ", "  until or >\n or or fail")+"{")
		body := indent + pick(g, "  ", "\t")
		for range g.Intn(3) {
			r.item(body, depth-1)
		}
		r.line(indent, "}")
	default:
		r.line(indent, pick(g, "y(i) = A(i,j) * x(j)", "s += a / (b - -R1) * 2.",
			"repeat(i) = print(i,j)", "x(i) =\n\n# on\n sum(j, (a+b)*C(i,\nj)) +\n  R2", "place = (1)"))
		if g.Intn(4) == 0 {
			r.line(indent+" ", "order j , i")
		}
		if g.Intn(4) == 0 {
			r.line(indent+" ", pick(g, "network pairwise", "network(A * x)*B", "network  A*(B *\nC)")+pick(g,
				"", "\n"+indent+" intermediate-order 2"))
		}
		for range g.Intn(3) {
			r.line(indent+pick(g, " ", "\t\t", "   "),
				pick(g, "split(i,i0,i1,R1)", "reorder({i, j},\n{k})", "precompute(A(i,j) *  x(j), j, jw)",
					"split i:4", "split  i : 3, 5,",
					"extend j", "unroll(i, 4),unroll(j,2)", "substitute({i}, \"f.c:g\")", "split(i,i0,\ni1,M.x),"))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range parsable(f) {
		f.Add(text)
	}
	g := rand.New(rand.NewSource(5))
	for range 20 {
		f.Add(randomFile(g))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("job.dst", text)
		if err != nil {
			return
		}
		roundTrip(t, file)
		_ = file.Check()
		_ = file.Bind(map[string]string{"R": "7"})
	})
}
