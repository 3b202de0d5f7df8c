package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compiler returns the path of gcc. It skips the test if there is no gcc.
func compiler(t testing.TB) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc in PATH")
	}
	return gcc
}

// build compiles sources with gcc and the given flags. sources maps file names to texts. The result
// is the path of the output, in a folder of the test's own. A warning is an error.
func build(t testing.TB, sources map[string]string, flags ...string) string {
	t.Helper()
	gcc := compiler(t)
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
	args = append(args, "-lm")
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(flags, " "), err, text)
	}
	return out
}
