package c_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/codegen/emit/c/program"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/kernels/lint"
)

func funcs() []*ir.Func {
	var list []*ir.Func
	for _, x := range irtest.Cases() {
		list = append(list, x.Func())
	}
	return list
}

func TestParses(t *testing.T) {
	for _, f := range funcs() {
		if err := lint.Check(c.File(f)); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if err := lint.Check("int f(void) { return x; }"); err == nil {
		t.Error("an undeclared name passes")
	}
}

// TestWarnings compiles each leaf alone, so that every set of helpers is tested: as C99, as GNU C
// with OpenMP, and after the system's headers.
func TestWarnings(t *testing.T) {
	compiler(t)
	const headers = "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <complex.h>\n#include <omp.h>\n#include <errno.h>\n#include <stdio.h>\n"
	files := map[string]string{"all.c": c.File(funcs()...)}
	for i, f := range funcs() {
		files[fmt.Sprintf("%d.c", i)] = strings.ReplaceAll(c.File(f), "\nint ",
			fmt.Sprintf("\nint n%d_", i))
	}
	build(t, files, "-std=c99", "-fsyntax-only")
	files = map[string]string{"all.c": headers + c.File(funcs()...)}
	build(t, files, append(c.Flags(""), "-O1", "-shared", "-fPIC")...)
	files = map[string]string{"all.c": c.File(funcs()...)}
	build(t, files, "-std=c99", "-O1", "-shared", "-fPIC")
}

// TestAgainstInterp runs every compiled leaf on one thread and on three, with and without
// optimization and sanitizers, and compares every array with the interpreter's.
func TestAgainstInterp(t *testing.T) {
	src := program.Sources(funcs()...)
	builds := map[string][]string{
		"sanitized": append(c.Flags(""), "-O0", "-g1", "-fsanitize=address,undefined",
			"-fno-sanitize-recover=all", "-fno-sanitize=float-divide-by-zero"),
		"fast":   append(c.Flags("native"), "-O3"),
		"serial": {"-std=c99", "-O1", "-fwrapv", "-Wno-unknown-pragmas"},
	}
	for name, flags := range builds {
		t.Run(name, func(t *testing.T) {
			exe := build(t, src, flags...)
			for _, x := range irtest.Cases() {
				for _, threads := range []int{1, 3} {
					if name == "serial" && threads > 1 {
						continue
					}
					compare(t, exe, x, threads)
					progress(t, exe, x, threads)
				}
				if name == "sanitized" {
					withoutMemory(t, exe, x)
					withoutAllocator(t, exe, x)
				}
			}
		})
	}
}

func compare(t *testing.T, exe string, x irtest.Case, threads int) {
	t.Helper()
	f := x.Func()
	want := x.Args()
	fail, err := interp.Run(f, want, x.Bounds, threads)
	if err != nil {
		t.Fatal(err)
	}
	out, got := execute(t, exe, f, x, threads, 0)
	if out.Code != x.Fail {
		t.Errorf("%s, %d threads: returned %v, want %v", x.Name, threads, out.Code, x.Fail)
	}
	if fail != nil {
		if !reflect.DeepEqual(out.Coord, firstFailure[x.Name]) {
			t.Errorf("%s, %d threads: failed at %v, want %v", x.Name, threads, out.Coord,
				firstFailure[x.Name])
		}
	} else if msg := difference(got, want); msg != "" {
		t.Errorf("%s, %d threads: %s", x.Name, threads, msg)
	}
}

// progress calls a leaf that reports its progress. The last loop must be reported to its end, which
// main.c checks. Leaves with a parallel loop must report at least one loop. Every array must have
// the same bits as without reports.
func progress(t *testing.T, exe string, x irtest.Case, threads int) {
	t.Helper()
	f := x.Func()
	want, before := execute(t, exe, f, x, threads, -1)
	got, after := execute(t, exe, f, x, threads, -3)
	if got.Code != want.Code {
		t.Errorf("%s, %d threads: returned %v with progress, want %v", x.Name, threads, got.Code,
			want.Code)
	}
	was := arraysOf(before)
	for k, a := range arraysOf(after) {
		if is, want := fmt.Sprint(a.Data), fmt.Sprint(was[k].Data); is != want {
			t.Errorf("%s, %d threads: array %d is %s with progress, want %s", x.Name, threads, k, is, want)
		}
	}
	parallel := false
	for _, s := range f.Body.List {
		l, ok := s.(*ir.For)
		parallel = parallel || ok && l.Kind == ir.Parallel
	}
	if parallel && got.Code == ir.OK && got.Allocs == 0 {
		t.Errorf("%s, %d threads: no loop tells its progress", x.Name, threads)
	}
}

// withoutAllocator calls a leaf with null allocators and with a null environment. Its results are
// then allocated by malloc.
func withoutAllocator(t *testing.T, exe string, x irtest.Case) {
	t.Helper()
	f := x.Func()
	want := x.Args()
	fail, err := interp.Run(f, want, x.Bounds, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []int64{-1, -2} {
		out, got := execute(t, exe, f, x, 1, how)
		if out.Code != x.Fail {
			t.Errorf("%s, FAIL %d: returned %v, want %v", x.Name, how, out.Code, x.Fail)
		}
		if out.Allocs != 0 {
			t.Errorf("%s, FAIL %d: %d calls of an allocator that the leaf was not given", x.Name, how,
				out.Allocs)
		}
		if fail == nil {
			if msg := difference(got, want); msg != "" {
				t.Errorf("%s, FAIL %d: %s", x.Name, how, msg)
			}
		}
	}
}

// withoutMemory makes one allocation after another fail. The leaf must return the failure and leak
// nothing.
func withoutMemory(t *testing.T, exe string, x irtest.Case) {
	t.Helper()
	f := x.Func()
	for n := int64(1); n <= 10; n++ {
		out, _ := execute(t, exe, f, x, 3, n)
		if out.Allocs < n {
			return
		}
		if out.Code != ir.FailMemory && x.Fail == ir.OK {
			t.Errorf("%s without memory: returned %v", x.Name, out.Code)
		}
	}
}

// firstFailure maps leaves that fail to the coordinates of the first failure in the order of the
// loop, which must be reported whatever the threads do.
var firstFailure = map[string][]int64{"divide": {33, 34, -3}, "guarded": {33}, "scanfails": {33}}

// execute runs one leaf of the program and returns its arguments as the leaf left them.
func execute(t *testing.T, exe string, f *ir.Func, x irtest.Case, threads int,
	failAt int64) (program.Outcome, []interp.Arg) {
	t.Helper()
	args := x.Args()
	cmd := exec.Command(exe, c.Symbol(f.Name), strconv.Itoa(threads), strconv.FormatInt(failAt, 10))
	// main.c counts the leaf's blocks. It does not free its own.
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	cmd.Stdin = bytes.NewReader(program.Input(f, args, x.Bounds))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s, %d threads, failing allocation %d: %v\n%s", x.Name, threads, failAt, err,
			errs.String())
	}
	o, err := program.Output(text, f, args)
	if err != nil {
		t.Fatal(err)
	}
	return o, args
}

// arraysOf lists the arrays of the arguments.
func arraysOf(args []interp.Arg) []*interp.Array {
	var list []*interp.Array
	for k := range args {
		for l := range args[k].Levels {
			list = append(list, &args[k].Levels[l].Pos, &args[k].Levels[l].Crd)
		}
		list = append(list, &args[k].Vals)
	}
	return list
}

// difference describes the first difference between got and want, or returns "". NaNs and
// infinities must agree. Other numbers may differ by the rounding that a fused multiplication
// changes.
func difference(got, want []interp.Arg) string {
	g, w := arraysOf(got), arraysOf(want)
	for k := range g {
		if w[k].Data == nil {
			continue
		}
		x, y := reflect.ValueOf(g[k].Data), reflect.ValueOf(w[k].Data)
		if x.Kind() != reflect.Slice || x.Len() != y.Len() || x.Type() != y.Type() {
			return fmt.Sprintf("array %d is %v, want %v", k, g[k].Data, w[k].Data)
		}
		for i := range y.Len() {
			if !same(x.Index(i).Interface(), y.Index(i).Interface()) {
				return fmt.Sprintf("array %d: element %d is %v, want %v", k, i, x.Index(i), y.Index(i))
			}
		}
	}
	return ""
}

func same(x, y any) bool {
	switch y := y.(type) {
	case float32:
		return near(float64(x.(float32)), float64(y), 1e-6)
	case float64:
		return near(x.(float64), y, 1e-14)
	case complex64:
		z := x.(complex64)
		size := math.Max(math.Abs(float64(real(y))), math.Abs(float64(imag(y))))
		return nearPart(float64(real(z)), float64(real(y)), size, 1e-6) &&
			nearPart(float64(imag(z)), float64(imag(y)), size, 1e-6)
	case complex128:
		z := x.(complex128)
		size := math.Max(math.Abs(real(y)), math.Abs(imag(y)))
		return nearPart(real(z), real(y), size, 1e-14) && nearPart(imag(z), imag(y), size, 1e-14)
	}
	return x == y
}

func near(x, y, eps float64) bool { return nearPart(x, y, math.Abs(y), eps) }

func nearPart(x, y, size, eps float64) bool {
	if x != x || y != y || math.IsInf(y, 0) || math.IsInf(x, 0) {
		return x != x && y != y || x == y
	}
	if size != size {
		size = math.Abs(y)
	}
	if y == 0 && x == 0 && size == 0 {
		return math.Signbit(x) == math.Signbit(y)
	}
	return math.Abs(x-y) <= eps*size || math.IsInf(size, 0)
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares the C of a few leaves with golden files, without the header and the prelude:
// one that writes in place, one that assembles its result, and one with ordered chunks.
func TestGolden(t *testing.T) {
	golden := 0
	for _, f := range funcs() {
		if !slices.Contains([]string{"spmv", "spgemm", "scan"}, f.Name) {
			continue
		}
		golden++
		text := c.Functions(f)
		path := filepath.Join("testdata", c.Symbol(f.Name)+".c.golden")
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s differs from %s; run with -update to rewrite it", f.Name, path)
		}
	}
	if golden != 3 {
		t.Errorf("got %d of the 3 leaves", golden)
	}
}
