package cuda_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// program is a file of emulated kernels, compiled to a program that runs one kernel at a time.
type program struct {
	t      *testing.T
	path   string
	fibers bool             // also run kernels whose threads do not wait as fibers
	stderr *strings.Builder // where the output of kernels is written to, if not nil
}

// build compiles emulated kernels with the given names. The test is skipped if there is no g++.
func build(t *testing.T, text string, names []string, flags ...string) *program {
	t.Helper()
	gxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no g++ in PATH")
	}
	main, err := os.ReadFile("testdata/main.cc")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		text += fmt.Sprintf("extern \"C\" int %s_emulated(long long grid, void **args);\n", n)
	}
	text += "static const struct { const char *name; int (*run)(long long, void **); } table[] = {\n"
	for _, n := range names {
		text += fmt.Sprintf("    {\"%s\", %s_emulated},\n", n, n)
	}
	text += "};\n" + string(main)
	dir := t.TempDir()
	source, path := filepath.Join(dir, "kernels.cc"), filepath.Join(dir, "kernels")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror", "-o", path}
	for _, f := range cuda.EmulationFlags() {
		if f != "-shared" && f != "-fPIC" {
			args = append(args, f)
		}
	}
	args = append(args, flags...)
	if out, err := exec.Command(gxx, append(args, source)...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s\n%s", err, out, numbered(text))
	}
	return &program{t: t, path: path}
}

// numbered returns a text with line numbers.
func numbered(text string) string {
	var b strings.Builder
	for i, l := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%4d %s\n", i+1, l)
	}
	return b.String()
}

// run runs a kernel with slices, which it may change, and numbers.
func (p *program) run(kernel string, grid int64, args ...any) error {
	p.t.Helper()
	var in bytes.Buffer
	put := func(x any) { binary.Write(&in, binary.NativeEndian, x) }
	put(int64(len(args)))
	for _, a := range args {
		isArray := reflect.TypeOf(a).Kind() == reflect.Slice
		put(map[bool]int64{true: 1}[isArray])
		put(int64(binary.Size(a)))
		put(a)
	}
	cmd := exec.Command(p.path, kernel, fmt.Sprint(grid),
		map[bool]string{true: "1", false: "0"}[p.fibers])
	cmd.Stdin = &in
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", kernel, err, errors.String())
	}
	if p.stderr != nil {
		p.stderr.WriteString(errors.String())
	}
	r := bytes.NewReader(out)
	get := func(x any) {
		if err := binary.Read(r, binary.NativeEndian, x); err != nil {
			p.t.Fatalf("%s: what the program wrote: %v", kernel, err)
		}
	}
	var rc, n int64
	get(&rc)
	get(&n)
	said := make([]byte, n)
	get(said)
	for _, a := range args {
		if reflect.TypeOf(a).Kind() == reflect.Slice && reflect.ValueOf(a).Len() > 0 {
			get(a)
		}
	}
	if rc != 0 {
		return fmt.Errorf("%s", said)
	}
	return nil
}

// slice returns a slice of n elements of a type.
func slice(t tensor.Type, n int64) any {
	return reflect.MakeSlice(map[tensor.Type]reflect.Type{
		tensor.Bool: reflect.TypeFor[[]bool](), tensor.Int32: reflect.TypeFor[[]int32](),
		tensor.Int64:   reflect.TypeFor[[]int64](),
		tensor.Float32: reflect.TypeFor[[]float32](), tensor.Float64: reflect.TypeFor[[]float64](),
		tensor.Complex64:  reflect.TypeFor[[]complex64](),
		tensor.Complex128: reflect.TypeFor[[]complex128](),
	}[t], int(n), int(n)).Interface()
}

// buildLeaves compiles leaves, whose kernels have different names, and the prelude into one
// program.
func buildLeaves(t *testing.T, leaves []*ir.Func, flags ...string) *program {
	t.Helper()
	var names []string
	text := cuda.Emulation
	add := func(k int, s string) {
		text += fmt.Sprintf("namespace leaf%d {\n%s}\n", k, strings.TrimPrefix(s, cuda.Emulation))
	}
	for k, f := range leaves {
		add(k, cuda.Emulated(f))
		for _, k := range cuda.Kernels(f) {
			names = append(names, k.Name)
		}
	}
	add(len(leaves), cuda.EmulatedPrelude())
	for _, size := range []string{"1", "4", "8", "16"} {
		names = append(names, "dst_fill_"+size)
	}
	for _, bits := range []string{"32", "64"} {
		names = append(names, "dst_scan_sums_"+bits, "dst_scan_offsets_"+bits, "dst_scan_add_"+bits)
	}
	return build(t, text, names, flags...)
}
