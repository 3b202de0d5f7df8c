package clib_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/clib"
	"distaff/codegen/emit/signature"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// product returns the files of C(i,j) = A(i,k) * B(k,j), all in CSR. They are called name.
func product(t *testing.T, name string) map[string]string {
	t.Helper()
	stmt, err := notation.Parse("C(i,j) = A(i,k) * B(k,j)")
	if err != nil {
		t.Fatal(err)
	}
	csr, err := notation.ParseFormat("ds")
	if err != nil {
		t.Fatal(err)
	}
	operand := codegen.Tensor{Format: csr, Type: tensor.Float64, Dims: []int64{9, 9},
		PosWidth: []uint8{0, 8}, CrdWidth: []uint8{0, 4}, NNZ: 20}
	u, err := codegen.Compile(codegen.Request{
		Statement: codegen.Statement{Stmt: stmt},
		Ask:       codegen.Ask{Name: name},
		Tensors: codegen.Tensors{Sizes: map[string]int64{"i": 9, "j": 9, "k": 9}, All: map[string]codegen.Tensor{"A": operand, "B": operand,
			"C": {Format: csr, Type: tensor.Float64, Dims: []int64{9, 9}, NNZ: -1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	types := []tensor.Type{tensor.Float64, tensor.Float64, tensor.Float64}
	return clib.Files(name, clib.Leaf{Func: u.Func, Signature: signature.Of(stmt.String(), u, types)})
}

// main squares a matrix with both leaves of a program, without an environment and with environments
// that have no allocator, and frees the results. One environment has a progress, which is complete
// after the call.
const main = `#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "one.h"
#include "two.h"

static int square(int (*leaf)(dst_tensor **, const int64_t (*)[2], dst_env *), dst_env *env) {
    int64_t pos[] = {0, 2, 3};
    int32_t crd[] = {0, 1, 0};
    double vals[] = {1, 2, 3};
    dst_level csr[] = {{.size = 2}, {.pos = {pos, 3, 0}, .crd = {crd, 3, 0}}}, made[] = {{.size = 2}, {.size = 0}};
    dst_tensor a = {2, 2, csr, {vals, 3, 0}}, c = {2, 2, made, {0}};
    const int64_t bounds[][2] = {{0, 2}, {0, 2}, {0, 2}};
    const int rc = leaf((dst_tensor *[]){&c, &a, &a}, bounds, env);
    if (rc)
        return rc;
    const int32_t *const to = made[1].crd.ptr;
    for (int64_t q = 0; q < c.vals.len; q++)
        printf("%d:%g ", (int)to[q], ((double *)c.vals.ptr)[q]);
    free(made[1].pos.ptr);
    free(made[1].crd.ptr);
    free(c.vals.ptr);
    return 0;
}

int main(void) {
    /* As a caller has it that declares the structure without the progress: what is behind is garbage. */
    struct { dst_env env; } other;
    memset(&other, 0x5a, sizeof other);
    memset(&other, 0, offsetof(dst_env, values));
    other.env.threads = 3;
    dst_progress progress = {0};
    dst_env told = {.has_progress = 1, .progress = &progress};
    return square(one, 0) || square(two, &other.env) || square(two, &told) || progress.total == 0 || progress.done != progress.total;
}
`

// TestProgram compiles two libraries into one C program, with warnings as errors, and runs it with
// sanitizers. It also compiles the headers as C++.
func TestProgram(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc in PATH")
	}
	dir := t.TempDir()
	files := map[string]string{"main.c": main,
		"both.cpp": "#include \"one.h\"\n#include \"two.h\"\nint main() { return one == two; }\n"}
	for _, name := range []string{"one", "two"} {
		for file, text := range product(t, name) {
			files[file] = text
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command ...string) string {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
		return string(out)
	}
	run("gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "main.c")
	for _, flags := range []string{"-std=gnu99 -O3 -fopenmp",
		"-std=gnu99 -O1 -g -fopenmp -fsanitize=address,undefined -fno-sanitize-recover=all"} {
		args := append([]string{"gcc", "-Wall", "-Wextra", "-Werror", "-o", "main"},
			strings.Fields(flags)...)
		run(append(args, "main.c", "one.c", "two.c")...)
		const square = "0:7 1:2 0:3 1:6 "
		if got := run("./main"); got != square+square+square {
			t.Errorf("%s: got %q, want %q", flags, got, square+square+square)
		}
	}
	t.Run("C++", func(t *testing.T) {
		if _, err := exec.LookPath("g++"); err != nil {
			t.Skip(err)
		}
		run("g++", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "both.cpp")
	})
}

// TestHeader checks that the header says which arrays the leaf reads and makes, and who owns them.
func TestHeader(t *testing.T) {
	header := product(t, "square")["square.h"]
	for _, want := range []string{
		"bounds[k] is {0, size} of a variable: i is 0, j is 1, k is 2.",
		"t[0] is C, the result, stored as ds; nlevels is 2:",
		"compressed, j: made by the leaf, pos int32_t, crd int32_t",
		"compressed, k: pos int64_t[positions of the level above + 1], crd int32_t[the last of pos], ascending in each segment",
		"Coordinates that are not sorted, or that repeat, give wrong values.",
		"double, one for each position of the last level",
		"\nint square(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env);\n",
	} {
		if !strings.Contains(header, want) {
			t.Errorf("the header lacks %q:\n%s", want, header)
		}
	}
}
