package text

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/outfile"
)

// TestKeep checks when a compressed file is decompressed again: not if a reader reached its end
// before, but if a reader stopped early or the content did not fit.
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

// TestNoTemporaryFile checks that a long compressed file which must be read at any offset is not
// called damaged if its temporary file cannot be created.
func TestNoTemporaryFile(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, strings.Repeat("1 2 3 0.5\n", spoolMemory/10+1000))
	z.Close()
	path := filepath.Join(t.TempDir(), "x.npz.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSource(path, filepath.Join(path, "no folder"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _, err = s.ReaderAt()
	var e *Error
	if !errors.As(err, &e) || e.Exit != ExitRun || !strings.Contains(err.Error(), "temporary files in") {
		t.Errorf("got %v, want an error of temporary files with exit code %d", err, ExitRun)
	}
}

// room reports whether the source's temporary folder is on a disk, because files in memory are
// not used for kept content.
func room(t *testing.T, s *Source) bool {
	f, err := outfile.TempFile(s.tmp)
	if err != nil {
		return false
	}
	defer f.Close()
	return fileLimit(f) > spoolMemory
}
