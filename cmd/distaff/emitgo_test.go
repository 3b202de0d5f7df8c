package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goModule is a Go module whose packages compile --emit=go wrote.
type goModule struct {
	t   *testing.T
	dir string
}

// newGoModule writes a module called m. statements maps each package to the arguments of compile,
// and files contains further files. The C of all packages except spmv is compiled with little
// optimization.
func newGoModule(t *testing.T, statements map[string][]string, files map[string]string) goModule {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the Go compiler")
	}
	if _, err := exec.LookPath("go"); err != nil || !haveCompiler() {
		t.Skip("needs the go command and a C compiler on PATH")
	}
	m := goModule{t, t.TempDir()}
	for name, args := range statements {
		var out, errs bytes.Buffer
		args = append([]string{"distaff", "compile", "--emit=go",
			"--out=" + filepath.Join(m.dir, name)}, args...)
		if code := mainExit(args, &out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		// Each package was written outside a module, with its own go.mod. Here one module contains
		// all packages.
		if err := os.Remove(filepath.Join(m.dir, name, "go.mod")); err != nil {
			t.Errorf("%s has no go.mod of its own: %v", name, err)
		}
		call := filepath.Join(m.dir, name, "call.go")
		text, err := os.ReadFile(call)
		if err != nil || !bytes.Contains(text, []byte(" -O3 ")) {
			t.Fatalf("%s/call.go: no -O3, %v", name, err)
		}
		if name != "spmv" {
			m.write(name+"/call.go", strings.Replace(string(text), " -O3 ", " -O1 ", 1))
		}
	}
	m.write("go.mod", "module m\n\ngo 1.21\n")
	for name, text := range files {
		m.write(name, text)
	}
	return m
}

func (m goModule) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		m.t.Fatal(err)
	}
}

// run runs the go command in the module and returns its output. The command must succeed.
func (m goModule) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = m.dir
	// With -trimpath, Go's cache finds packages that were compiled in another folder.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// matrix is an operand A of y(i) = A(i,j) * x(j), with its format, its type, the fields of its
// levels, and its values.
type matrix struct {
	name, format, typ string
	levels, vals      string
	want              string // y for x = 1, 10, 100, 1000
	size              int    // the size of j; larger than 4 only for wide bitmaps
}

// matrices contains the matrix
//
//	2 0 1 0
//	0 0 0 0
//	0 3 0 4
//
// with every kind of level, every type, and both widths of coordinates. The last two are other
// matrices.
var matrices = []matrix{
	{"csc", "ds:1,0", "float32",
		"{Size: 4}, {Pos32: []int32{0, 1, 2, 3, 4}, Crd32: []int32{0, 2, 0, 2}}", "2, 3, 1, 4",
		"102, 0, 4030", 4},
	{"coo", "uq", "complex128",
		"{Pos32: []int32{0, 4}, Crd32: []int32{0, 0, 2, 2}}, {Crd32: []int32{0, 2, 1, 3}}",
		"2, 1, 3, 4", "102, 0, 4030", 4},
	{"repeated", "uc", "complex64",
		"{Pos32: []int32{0, 5}, Crd32: []int32{0, 0, 0, 2, 2}}, {Crd32: []int32{0, 0, 2, 1, 3}}",
		"1, 1, 1, 3, 4", "102, 0, 4030", 4},
	{"dcsr", "ss", "int64",
		"{Pos32: []int32{0, 2}, Crd32: []int32{0, 2}}, {Pos32: []int32{0, 2, 4}, Crd32: " +
			"[]int32{0, 2, 1, 3}}", "2, 1, 3, 4", "102, 0, 4030", 4},
	{"full", "dd", "int32", "{Size: 3}, {Size: 4}", "2, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0, 4",
		"102, 0, 4030", 4},
	{"padded", "dp", "float64", "{Size: 3}, {Crd32: []int32{2, -1, 1}}", "1, 0, 3", "100, 0, 30",
		4},
	{"wide", "ds", "float64",
		"{Size: 3}, {Pos32: []int32{0, 2, 2, 4}, Crd64: []int64{0, 2, 1, 3_000_000_000}}",
		"2, 1, 3, 4", "102, 0, 10", 3_000_000_001},
}

// matrixTest is a test of one matrix, with verbs for the name, levels, values, type, the size of j,
// y, the field of x's levels, and the values of x.
const matrixTest = `package %[1]s

import (
	"reflect"
	"testing"
)

func TestProduct(t *testing.T) {
	n := Sizes{I: 3, J: %[5]d}
	in := Operands{
		A: Tensor[%[4]s]{Levels: []Level{%[2]s}, Vals: []%[4]s{%[3]s}},
		X: Tensor[%[4]s]{Levels: []Level{%[7]s}, Vals: []%[4]s{%[8]s}},
	}
	want := []%[4]s{%[6]s}
	for threads := 1; threads <= 3; threads++ {
		y, err := Run(n, in, threads)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(y.Vals, want) {
			t.Errorf("got %%v, want %%v", y.Vals, want)
		}
		at := &y.Vals[0]
		*at = 7
		if err := RunInto(&y, n, in, threads); err != nil || !reflect.DeepEqual(y.Vals, want) || at != &y.Vals[0] {
			t.Errorf("into a result: got %%v, %%v, want %%v in the same memory", y.Vals, err, want)
		}
		in.A.Trusted = !in.A.Trusted
	}
}
`

// TestEmitGo writes packages with compile --emit=go, vets them, and runs a test of each that calls
// it from Go. It tests dense results, sparse results that the leaf allocates, results that share an
// operand's pattern, += with each kind of result, leaves that compute only values, and several
// packages in one program.
func TestEmitGo(t *testing.T) {
	test, err := os.ReadFile("testdata/emitgo_all.txt")
	if err != nil {
		t.Fatal(err)
	}
	statements := map[string][]string{
		"spmv": {"y(i) = A(i,j) * x(j)", "-f=A:ds"},
		"product": {"C(i,k) = A(i,j) * B(j,k)", "-f=A:ds", "-f=B:ds", "-f=C:ds", "-d=i:2", "-d=j:2",
			"-d=k:3"},
		"sddmm":   {"A(i,j) = B(i,j) * c(i) * d(j)", "-f=A:ds", "-f=B:ds", "-t=d:float32"},
		"ttm":     {"A(i,j,l) = B(i,j,k) * C(k,l)", "-f=B:sss", "-f=A:ssd"},
		"plus":    {"y(i) += A(i,j) * x(j)", "-f=A:ds"},
		"addto":   {"C(i,j) += A(i,j)", "-f=A:ds", "-f=C:ds", "-g=C:uniform:10", "-d=C:100,100"},
		"square":  {"s = A(i,j) * A(j,i)", "-f=A:ds", "-t=A:int64"},
		"divided": {"y(i) = a(i) / b(i)", "-t=a:int32", "-t=b:int32"},
	}
	files := map[string]string{"all_test.go": string(test)}
	for _, c := range matrices {
		statements[c.name] = []string{"y(i) = A(i,j) * x(j)", "-f=A:" + c.format, "-t=A:" + c.typ,
			"-t=x:" + c.typ}
		x, vals := "{Size: 4}", "1, 10, 100, 1000"
		if c.size != 4 {
			statements[c.name] = append(statements[c.name], fmt.Sprintf("-d=j:%d", c.size),
				"-f=x:s")
			x = "{Pos32: []int32{0, 3}, Crd64: []int64{0, 2, 1 << 31}}"
			vals = "1, 100, 1000"
			c.want = "102, 0, 0"
		}
		files[c.name+"/product_test.go"] = fmt.Sprintf(matrixTest, c.name, c.levels, c.vals, c.typ,
			c.size, c.want, x, vals)
	}
	m := newGoModule(t, statements, files)
	m.run("vet", "./...")
	m.run("test", "-count=1", "./...")
}

// TestEmitGoErrors compares the packages' errors for wrong arguments with a golden file.
func TestEmitGoErrors(t *testing.T) {
	program, err := os.ReadFile("testdata/emitgo_wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	statements := map[string][]string{
		"spmv":  {"y(i) = A(i,j) * x(j)", "-f=A:ds"},
		"coo":   {"s = A(i,j)", "-f=A:uq"},
		"ell":   {"y(i) = A(i,j)", "-f=A:dp"},
		"outer": {"C(i,j) = A(i,j) + B(i,j)", "-f=A:ds", "-f=B:ds", "-f=C:ds"},
		"same":  {"A(i,j) = B(i,j) * B(j,i)", "-f=B:ds"},
		"into":  {"A(i,j) = B(i,j) * c(i)", "-f=A:ds", "-f=B:ds"},
		"room":  {"C(i,j) = a(i) * b(j)", "-f=a:s", "-f=b:s", "-f=C:ss", "-d=i:100", "-d=j:100"},
		"quot":  {"y(i) = a(i) / b(i)", "-t=a:int32", "-t=b:int32"},
	}
	m := newGoModule(t, statements, map[string]string{"main.go": string(program)})
	got := m.run("run", ".")
	const golden = "testdata/emitgo_wrong.golden"
	want, err := os.ReadFile(golden)
	if *update {
		err = os.WriteFile(golden, []byte(got), 0o666)
		want = []byte(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant, as in %s:\n%s", got, golden, want)
	}
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		if strings.HasSuffix(line, "<nil>") {
			t.Errorf("taken: %s", line)
		}
	}
}
