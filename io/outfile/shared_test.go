package outfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestParts: other writers open an output by its creator's descriptor, or by a
// temporary name, and nothing else.
func TestParts(t *testing.T) {
	for _, x := range []struct {
		name  string
		spoil func(*Handle)
		named bool
		ok    bool
	}{
		{"by descriptor", func(*Handle) {}, false, true},
		{"no name under another kernel", func(h *Handle) { h.Machine = "another" }, false, false},
		{"by name", func(h *Handle) { h.Machine = "another" }, true, true},
		{"another file under the name",
			func(h *Handle) { h.Machine = "another"; h.Name = "/dev/zero" }, true, false},
		{"another file under the number", func(h *Handle) { h.Fd = 0 }, false, false},
		{"another file under the number, by name", func(h *Handle) { h.Fd = 0 }, true, true},
		{"another job's file", func(h *Handle) { h.Token[3]++ }, true, false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if x.named {
			if err := f.Named(); err != nil {
				t.Fatal(err)
			}
		}
		h, err := f.Handle()
		if err != nil {
			t.Fatal(err)
		}
		x.spoil(&h)
		p, err := OpenWriter(h)
		if (err == nil) != x.ok {
			t.Errorf("%s: %v", x.name, err)
		}
		if err != nil {
			f.Abort()
		} else {
			if err := f.Resize(40); err != nil {
				t.Fatal(err)
			}
			if _, err := p.WriteAt(bytes.Repeat([]byte("b"), 20), 20); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Writer().WriteAt(bytes.Repeat([]byte("a"), 20), 0); err != nil {
				t.Fatal(err)
			}
			if err := p.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb" {
				t.Errorf("%s: the file holds %q, %v", x.name, got, err)
			}
			os.Remove(path)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left behind: %v", x.name, left)
		}
	}
}

// TestResize: a mark that is longer than the data goes.
func TestResize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if _, err := f.Handle(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{3, 0} {
		if err := f.Resize(n); err != nil {
			t.Fatal(err)
		}
		if st, err := f.f.Stat(); err != nil || st.Size() != n {
			t.Errorf("resized to %d: %v, %v", n, st.Size(), err)
		}
	}
}
