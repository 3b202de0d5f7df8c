package jobfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// checked returns a file that Parse, Bind and Check accept.
func checked(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("job.dst", text)
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return f
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConjugateGradients(t *testing.T) {
	f := checked(t, read(t, "cg.dst"))
	var names []string
	for _, x := range f.Tensors {
		names = append(names, fmt.Sprintf("%s%d%v", x.Name, x.Order, x.Declared))
	}
	if got, want := strings.Join(names, " "),
		"A2true b1true x1true r1false p1false rr0false bb0false q1false pq0false old0false"; got != want {
		t.Errorf("tensors %s, want %s", got, want)
	}
	a, x := f.Tensor("A"), f.Tensor("x")
	if a.Format != "ds" || a.From != "A.mtx" || x.To != "x.npy" || len(a.Sizes) != 2 {
		t.Errorf("got %+v and %+v", a, x)
	}
	if n, ok := a.Sizes[1].Name(); n != "n" || !ok {
		t.Errorf("the size of A's mode 1 is %s", a.Sizes[1])
	}
	r := f.Items[8].(*Repeat)
	if r.N != 1000 || !r.Fail || r.Until.String() != "rr <= 1e-20*bb" || len(r.Body) != 7 {
		t.Errorf("got repeat %d until %s with %d items", r.N, r.Until, len(r.Body))
	}
	s := r.Body[3].(*Statement)
	if s.Text != "r(i) = r(i) - rr / pq * q(i)" ||
		s.Stmt.Src[s.Stmt.LHS.At.Pos:s.Stmt.LHS.At.End] != "r(i)" {
		t.Errorf("got %q with the left side at %v", s.Text, s.Stmt.LHS.At)
	}
	if file, line, col := f.Place(s.Pos); file != f.Name || line != 14 || col != 3 {
		t.Errorf("the statement stands at %d:%d", line, col)
	}
}

func TestDistributed(t *testing.T) {
	f, err := Parse("spmm.dst", read(t, "spmm.dst"))
	if err != nil {
		t.Fatal(err)
	}
	if mode, ok := f.Tensor("B").Placement.Placement.Even(); mode != 0 || !ok {
		t.Errorf("B is cut in mode %d, %v", mode, ok)
	}
	if mode, ok := f.Tensor("C").Placement.Placement.Even(); mode != -1 || !ok {
		t.Errorf("C is cut in mode %d, %v", mode, ok)
	}
	if n, err := f.Tensor("C").Sizes[1].Eval(nil); n != 32 || err != nil {
		t.Errorf("R is %d, %v", n, err)
	}
	if n, err := f.Items[1].(*Machine).Extents[0].Eval(
		func(name string) (int64, bool) { return 6, name == "p" }); n != 6 || err != nil {
		t.Errorf("the machine has %d ranks, %v", n, err)
	}
	s := f.Items[5].(*Statement)
	if len(s.Schedule) != 4 || s.Schedule[2].Text != "communicate({A, B, C}, io)" {
		t.Errorf("got the schedule %+v", s.Schedule)
	}
	if err := f.Check(); err != nil {
		t.Fatalf("Check: %v", err)
	}
	if m := s.Machine(); m != f.Items[1] {
		t.Errorf("the statement is distributed over %+v", m)
	}
}

// TestKeywords checks that keywords are ordinary words, except at the start of lines that are not
// statements.
func TestKeywords(t *testing.T) {
	f := checked(t, `tensor A(n, n): ds from "A.mtx"
tensor x(n): d from "x.npy"
param(i) = x(i)
machine(i) = x(i)
tensor(i) = x(i)
place(i) = A(i,j)*x(j)
print = 2
print += 1
repeat = print + 1
split(i) = x(i)
order(i) = x(i)
order(i) += x(i)
extend(i) = x(i)
map(i) = order(i)
until = 3
or = 4
fail = 5
repeat 3 until until <= or or fail {
  until = until * 1
}
repeat 2 until or < fail {
  or = or + 1
}
print print
print place
y(i) = A(i,j) * x(j)
  split(i,i0,i1,4)
`)
	if n := len(f.Items); n != 22 {
		t.Errorf("got %d items", n)
	}
	last := f.Items[21].(*Statement)
	if len(last.Schedule) != 1 || last.Split != nil {
		t.Errorf("got the schedule %v and splits %v", last.Schedule, last.Split)
	}
}

// TestLines checks that lines do not depend on how an editor writes them.
func TestLines(t *testing.T) {
	const plain = `param R = 2
tensor A(n, n): ds from "a#b.mtx" to "c"
y(i) = A(i,j) * R + A(i,i)
  split(i,i0,i1,4)
  reorder(i1,i0)
repeat 3 {
  y(i) = y(i) * 2
    unroll(i,2)
}
`
	want := checked(t, plain)
	for name, text := range map[string]string{
		"ends of Windows": strings.ReplaceAll(plain, "\n", "\r\n"),
		"tabs":            strings.ReplaceAll(plain, "  ", "\t"),
		"byte order mark": "\ufeff" + plain,
		"no last end":     strings.TrimSuffix(plain, "\n"),
		"comments": "# first\n" + strings.ReplaceAll(plain, "\n",
			" # (comment\n   # \"another\n\n"),
		"all indented": "    " + strings.ReplaceAll(strings.TrimSuffix(plain, "\n"), "\n",
			"\n    ") + "\n",
		"brackets continue": strings.ReplaceAll(plain, ",", ",\n"),
		"operators do": strings.ReplaceAll(strings.ReplaceAll(plain, "= ", "=\n# comment\n"), "* ",
			"*\n\n  "),
		"commas between":   strings.ReplaceAll(plain, "4)", "4),"),
		"clauses on lines": strings.ReplaceAll(plain, " to", "\n  to"),
	} {
		if text == plain {
			t.Errorf("%s: the text is the plain one", name)
		}
		if got := checked(t, text); got.String() != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	one := checked(t,
		"s = 0\nrepeat 3 { s = s + 1 }\nrepeat 2 { repeat 3 { s += 1 } }\nrepeat 4 {}\nprint s")
	if inner := one.Items[2].(*Repeat).Body[0].(*Repeat); inner.N != 3 || len(inner.Body) != 1 ||
		len(one.Items) != 5 {
		t.Errorf("got\n%s", one)
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) string {
		return "s = 0\n" + strings.Repeat("repeat 1 {\n", n) + "s = 1\n" + strings.Repeat("}\n", n)
	}
	checked(t, nested(MaxDepth))
	for name, text := range map[string]string{
		"repeats": nested(MaxDepth + 1),
		"bytes":   strings.Repeat(" ", MaxBytes+1),
		"line":    "s = 1" + strings.Repeat("+1", MaxLine/2),
		"signs":   "s = " + strings.Repeat("-", MaxLine/2) + "1",
	} {
		var d *diag.Error
		if _, err := Parse("job.dst", text); !errors.As(err, &d) || d.Code != diag.TooLarge {
			t.Errorf("%s: got %v", name, err)
		}
	}
	checked(t, strings.Repeat(" ", MaxBytes))
	long, err := Parse("job.dst",
		"s = 1"+strings.Repeat("+1", MaxLine/2-3)+"\nrepeat 1"+strings.Repeat("+1",
			MaxLine/4-20)+" until 1"+strings.Repeat("*1", MaxLine/4-20)+" == s {\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := long.Check(); err == nil || !strings.Contains(err.Error(), "want at most 4096") {
		t.Errorf("a long statement: %.200v", err)
	}
}

func TestParams(t *testing.T) {
	f := checked(t, `param R = 2
param a = -1.5
param chunk = 16
param eps = 1e-6
tensor B(2*R, 8): ds from uniform:chunk:int
tensor s from a
tensor t from zipf:chunk:R
y(i) = a * B(i,j) - R
  split(i,i0,i1,chunk)
  precompute(a*B(i,j),j,jw,chunk)
  split i:R
  split j:R,chunk
z(R) = y(R)
  split(R,R0,R1,chunk)
n = 1
repeat R*chunk until n < eps*R {
  n = n / 2
}
`)
	s, z, rep := f.Items[7].(*Statement), f.Items[8].(*Statement), f.Items[10].(*Repeat)
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	all := func() string {
		n, _ := f.Tensor("B").Sizes[0].Eval(nil)
		return fmt.Sprint(n, f.Tensor("B").FromKind, f.Tensor("s").FromNumber, f.Tensor("t").FromKind,
			s.Stmt, s.Text, s.Schedule[0].Text, s.Schedule[1].Text, s.Split, z.Schedule[0].Text, rep.N,
			notation.ExprString(rep.Until.Y))
	}
	text := f.String()
	check("the file's values", all(),
		"4uniform:16:int-1.5zipf:16:2y(i) = -1.5*B(i,j) - 2y(i) = -1.5 * B(i,j) - 2split(i,i0,i1,16)precompute(-1.5*B(i,j),j,jw,16)[i:2 j:2,16]split(R,R0,R1,16)321e-6*2")
	if err := f.Bind(map[string]string{"R": "10", "a": "+3"}); err != nil {
		t.Fatal(err)
	}
	check("values of -D", all(),
		"20uniform:16:int3zipf:16:10y(i) = 3*B(i,j) - 10y(i) = 3 * B(i,j) - 10split(i,i0,i1,16)precompute(3*B(i,j),j,jw,16)[i:10 j:10,16]split(R,R0,R1,16)1601e-6*10")
	check("the text", f.String(), text)
	for params, want := range map[string]string{
		"n=3":       "-D=n=3: job.dst has no param n; its params are R, a, chunk, eps",
		"R=x":       `-D=R=x: got "x" for param R, want a number`,
		"R=1+2":     `-D=R=1+2: got "1+2" for param R, want a number`,
		"R=0":       "",
		"chunk=-1":  "",
		"eps=1e999": `-D=eps=1e999: got "1e999" for param eps, want a number`,
		"R=2.5":     "",
		"chunk=1.5": "",
	} {
		name, value, _ := strings.Cut(params, "=")
		var d *diag.Error
		switch err := f.Bind(map[string]string{name: value}); {
		case err == nil || !errors.As(err, &d) || d.ExitCode() != 2:
			t.Errorf("-D=%s: got %v", params, err)
		case want != "":
			check(params, err.Error(), want)
		}
	}
	none := checked(t, "s = 1\n")
	if err := none.Bind(map[string]string{"s": "1"}); err == nil ||
		err.Error() != "-D=s=1: job.dst has no param s; it has none" {
		t.Errorf("got %v", err)
	}
}

// TestLocate checks that errors of code that compiles a statement get a place in the file.
func TestLocate(t *testing.T) {
	f := checked(t,
		"param chunk = 16\ntensor A(n): d from \"a\"\n\ny(i) = A(i)*chunk + A(i)\n  split(i, i0, i1, chunk)\n  unroll(chunk, q)\n")
	s := f.Items[2].(*Statement)
	c, right := s.Schedule[1], s.Stmt.RHS.Span()
	statement := func(column string, carets string) string {
		return "job.dst:4:" + column + ": w\n    y(i) = A(i)*chunk + A(i)\n    " + carets
	}
	command := func(column string, carets string) string {
		return "job.dst:6:" + column + ": w\n      unroll(chunk, q)\n    " + carets
	}
	for want, err := range map[string]error{
		statement("8", "       ^^^^^^^^^^^^^^^^^"):  diag.At("x", f.Text(), right.Pos, right.End, "w"),
		statement("3", "  ^"):                       diag.At("x", s.Text, 2, 3, "w"),
		statement("13", "            ^^^^^"):        diag.At("x", s.Text, 12, 14, "w"),
		statement("21", "                    ^^^^"): diag.At("x", s.Text, 17, 21, "w"),
		statement("1", "^^^^^^^^^^^^^^^^^^^^^^^^"):  diag.At("x", "another text", 2, 3, "w"),
		command("17", "                ^"):          diag.At("x", c.Text, 11, 12, "w"),
		command("10", "         ^^^^^"):             diag.At("x", c.Text, 7, 9, "w"),
		"b.mtx:3: w":                                &diag.Error{File: "b.mtx", Line: 3, Msg: "w"},
		"plain":                                     errors.New("plain"),
	} {
		if got := s.Locate(err).Error(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestCheckTypes(t *testing.T) {
	f := checked(t, `tensor A(n): d from "a.npy"
tensor c(n): d
tensor k from 3
s = A(i)
c(i) = A(i) * k
tensor w(n): d type float32
w(i) = c(i)
r = 2
`)
	if err := f.Check(); err != nil || len(f.Tensors) != 6 {
		t.Errorf("checked again: %v, %d tensors", err, len(f.Tensors))
	}
	types, err := f.CheckTypes(map[string]tensor.Type{"A": tensor.Complex64, "k": tensor.Float64})
	want := map[string]tensor.Type{"A": tensor.Complex64, "k": tensor.Float64, "s": tensor.Complex64,
		"c": tensor.Complex128, "w": tensor.Float32}
	if err == nil || !strings.HasPrefix(err.Error(),
		"job.dst:7:1: got type float32 for the result w") {
		t.Errorf("got %v", err)
	}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("got types %v, want %v", types, want)
	}
	if types, err = f.CheckTypes(map[string]tensor.Type{"A": tensor.Int32, "k": tensor.Int64}); err !=
		nil || types["s"] != tensor.Int32 || types["c"] != tensor.Int64 || types["r"] != tensor.Float64 {
		t.Errorf("got types %v, %v", types, err)
	}
}

// TestWordsOfCommands checks a param that has the name of a variable or of a word of the scheduling
// language. Its number replaces it only if a command accepts a number there.
func TestWordsOfCommands(t *testing.T) {
	f := checked(t, `param Hash = 4
param NoRaces = 5
param gemm = 6
param cublas = 8
param cusparse = 9
param rows = 7
tensor A(20, 20): ds from uniform:9
tensor B(20, 20): ds from uniform:9
C(i,j) = A(i,k) * B(k,j)
  split(i, i0, i1, Hash)
  precompute(A(i,k)*B(k,j), j, j, W)
  workspace(W, Hash)
  parallelize(i0, CPUThread, NoRaces, NoRaces)
  substitute({i1, j}, "rows.c:rows")
  split(i1, a, b, rows)
  substitute({i, j, k}, gemm)
  split(k, k0, k1, gemm)
  substitute({i, j, k}, cublas)
  substitute({i, j, k}, cusparse)
`)
	want := []string{"split(i, i0, i1, 4)", "precompute(A(i,k)*B(k,j), j, j, W)", "workspace(W, Hash)",
		"parallelize(i0, CPUThread, NoRaces, NoRaces)",
		`substitute({i1, j}, "rows.c:rows")`, "split(i1, a, b, 7)", "substitute({i, j, k}, gemm)",
		"split(k, k0, k1, 6)", "substitute({i, j, k}, cublas)", "substitute({i, j, k}, cusparse)"}
	for s := range f.Statements() {
		for k, c := range s.Schedule {
			if c.Text != want[k] {
				t.Errorf("got %s, want %s", c.Text, want[k])
			}
		}
	}
}

// TestNUL checks that a NUL character does not end a line, because the rest of the line would be
// ignored.
func TestNUL(t *testing.T) {
	for _, text := range []string{"tensor s from 2 \x00 to \"x.npy\"\n", "\x00", "print s\x00",
		"tensor s from \"a\x00\"\n"} {
		_, err := Parse("job.dst", text)
		if err == nil || !strings.Contains(err.Error(), "got a NUL character, want text") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, err := Parse("job.dst", "s = 2 # \x00 in a comment\n"); err != nil {
		t.Error(err)
	}
}
