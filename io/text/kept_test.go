package text

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/outfile"
)

// TestKeep: a compressed file that was read to its end is not undone again, one of which a
// reader was left is, and what finds no room is.
func TestKeep(t *testing.T) {
	want := strings.Repeat("1 2 3 0.5\n", spoolMemory/10+1000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, want)
	z.Close()
	path := filepath.Join(t.TempDir(), "x.tns.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		tmp  string
		kept bool
	}{{"room", filepath.Dir(path), true}, {"no room", filepath.Join(path, "no folder"), false}} {
		t.Run(c.name, func(t *testing.T) {
			s, err := OpenSource(path, c.tmp)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.Keep()
			read := func(n int64) {
				t.Helper()
				r, err := s.Reader()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				got, err := io.ReadAll(io.LimitReader(r, n))
				if err != nil || string(got) != want[:min(n, int64(len(want)))] {
					t.Fatalf("got %d bytes, %v, want the first %d", len(got), err, n)
				}
				if done, total := s.Progress(); n > int64(len(want)) && done != total {
					t.Errorf("at the end %d of %d bytes were read", done, total)
				}
			}
			read(5 << 20)
			read(1 << 40)
			if f, ok := room(t, s), s.kept.whole(); ok != (c.kept && f) {
				t.Errorf("the content is kept: %v, want %v (room for a file: %v)", ok, c.kept, f)
			}
			read(100)
			read(1 << 40)
			read(spoolMemory + 5)
		})
	}
}

// room tells whether the source's folder is one where a file is kept: not in memory.
func room(t *testing.T, s *Source) bool {
	f, err := outfile.TempFile(s.tmp)
	if err != nil {
		return false
	}
	defer f.Close()
	return fileLimit(f) > spoolMemory
}
