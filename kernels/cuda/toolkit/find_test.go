package toolkit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCandidates checks which paths are tried, and their order.
func TestCandidates(t *testing.T) {
	home, cache, empty := t.TempDir(), t.TempDir(), t.TempDir()
	lib, installed := filepath.Join(home, "lib64"), filepath.Join(cache, "distaff/nvrtc")
	file := func(dir, name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	names := []string{"libtest.so.2", "libtest.so.1"}
	older, newer := file(lib, names[1]), file(lib, names[0])
	cached := file(installed, names[1])
	file(lib, "libother.so.2")
	defaultCache := file(filepath.Join(home, ".cache/distaff/nvrtc"), names[0])
	absent := filepath.Join(empty, "libtest.so.9")
	for _, c := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, names},
		{map[string]string{"CUDA_HOME": home}, []string{names[0], names[1], newer, older}},
		{map[string]string{"CUDA_PATH": home, "XDG_CACHE_HOME": cache, "HOME": home},
			[]string{names[0], names[1], newer, older, cached}},
		{map[string]string{"HOME": home}, []string{names[0], names[1], defaultCache}},
		{map[string]string{"CUDA_HOME": empty, "XDG_CACHE_HOME": empty}, names},
		{map[string]string{"LIB": lib, "XDG_CACHE_HOME": cache}, []string{newer, older}},
		{map[string]string{"LIB": older, "CUDA_HOME": home}, []string{older}},
		{map[string]string{"LIB": absent, "CUDA_HOME": home}, []string{absent}},
	} {
		got := Candidates(func(name string) string { return c.env[name] }, "LIB", names)
		// A toolkit or libraries of this machine come in addition.
		got = slices.DeleteFunc(got, func(path string) bool {
			return strings.HasPrefix(path, "/usr/local/")
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("with %v: got %q, want %q", c.env, got, c.want)
		}
	}
}
