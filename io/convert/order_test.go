package convert

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/coo"
)

// TestMostModes checks that opening a file with more modes than a tensor can have is an error
// in every format, with the same limit.
func TestMostModes(t *testing.T) {
	ones := func(n int) string { return strings.TrimSpace(strings.Repeat("1 ", n)) }
	for name, text := range map[string]func(n int) string{
		"a.tns": func(n int) string { return ones(n) + " 5\n" },
		"b.tns": func(n int) string {
			return strings.ReplaceAll("N\n", "N", map[int]string{64: "64", 65: "65"}[n]) + ones(n) +
				"\n"
		},
		"c.ttx": func(n int) string {
			return "%%MatrixMarket tensor coordinate real general\n" + ones(n) + " 0\n"
		},
		"d.ttx": func(n int) string {
			return "%%MatrixMarket tensor array real general\n" + ones(n) + "\n5\n"
		},
	} {
		for _, n := range []int{64, 65} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(text(n)), 0o666); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, coo.Options{})
			if err == nil {
				s.Close()
			}
			var coded interface{ ExitCode() int }
			if n == 64 && err != nil || n == 65 &&
				(!errors.As(err, &coded) || coded.ExitCode() != 3 ||
					!strings.Contains(err.Error(), name+": got 65 modes, want at most 64")) {
				t.Errorf("%s of %d modes: got %v", name, n, err)
			}
		}
	}
}
