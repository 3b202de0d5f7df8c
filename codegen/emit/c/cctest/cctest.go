// Package cctest checks generated C: with a parser and type checker written in
// Go, and with the machine's compiler where there is one.
package cctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/cc/v4"
)

// predefined is what a compiler knows without any header, as far as leaves use it.
const predefined = `
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long
#define __UINTPTR_TYPE__ unsigned long
#define __SIZE_TYPE__ unsigned long
#define __attribute__(x)
int __predefined_declarator;
typedef void *__builtin_va_list;
typedef unsigned long __predefined_size_t;
typedef long __predefined_ptrdiff_t;
typedef int __predefined_wchar_t;
void *__builtin_memcpy(void *to, const void *from, unsigned long n);
int __builtin_clzll(unsigned long long x);
double __builtin_inf(void);
float __builtin_inff(void);
double __builtin_nan(const char *tag);
float __builtin_nanf(const char *tag);
`

// Parse parses and types src without a C compiler, by modernc.org/cc/v4.
func Parse(src string) error {
	abi, err := cc.NewABI("linux", "amd64")
	if err != nil {
		return fmt.Errorf("cctest: %w", err)
	}
	_, err = cc.Translate(&cc.Config{ABI: abi}, []cc.Source{
		{Name: "predefined.h", Value: predefined}, {Name: "leaf.c", Value: src},
	})
	return err
}

// Compiler is the path of gcc; the test is skipped where there is none.
func Compiler(t testing.TB) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc in PATH")
	}
	return gcc
}

// Build compiles sources (by file name) with gcc and the flags, in a folder of
// the test's own, and returns the path of what it makes. A warning is an error.
func Build(t testing.TB, sources map[string]string, flags ...string) string {
	t.Helper()
	gcc := Compiler(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-o", out}, flags...)
	for name, text := range sources {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".c") {
			args = append(args, path)
		}
	}
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(flags, " "), err, text)
	}
	return out
}
