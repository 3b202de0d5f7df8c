package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tensor"
)

// docs/files.md names every ending of the table of formats, but for the further ones of
// Harwell-Boeing, which say in three letters what is inside.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range formats {
		for k, ext := range f.Exts {
			if !strings.Contains(string(doc), "`"+ext+"`") &&
				(f.Name != "Harwell-Boeing" || k == 0) {
				t.Errorf("docs/files.md does not name %s of %s", ext, f.Name)
			}
		}
	}
}

// TestEveryFormat checks every format that can be read and written: a random tensor that was
// written reads back with the same entries, twice, with any number of threads and with little
// memory, and a stream may be closed before its end.
func TestEveryFormat(t *testing.T) {
	dir := t.TempDir()
	for _, f := range formats {
		if f.Open == nil || !writable(f) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			const order = 2
			dims := []int64{70, 90}
			in := readertest.Random(dims, tensor.Float64, 900, 1)
			readertest.Sort(in.Entries)
			want := stored(in.Entries)
			first, path := filepath.Join(dir, "in.tcs"), filepath.Join(dir, "out"+f.Exts[0])
			if err := coo.AssembleFile(first, in,
				coo.Spec{Format: tensor.SparseOf(order), Name: "in"},
				coo.Config{}); err != nil {
				t.Fatal(err)
			}
			if err := File(first, path, Options{}); err != nil {
				t.Fatal(err)
			}
			for _, opt := range []coo.Options{{Threads: 1}, {Threads: 3, Limit: 1 << 22}} {
				opt.Dims, opt.Order = dims, order
				s, err := Open(path, opt)
				if err != nil {
					t.Fatal(err)
				}
				for pass := range 2 {
					got, err := readertest.Collect(s)
					if err != nil {
						t.Fatal(err)
					}
					readertest.Sort(got)
					if stored(got) != want {
						t.Errorf("pass %d with %d threads: the entries differ", pass, opt.Threads)
					}
					if err := s.Rewind(); err != nil {
						t.Fatal(err)
					}
				}
				var b coo.Batch
				if err := s.Next(&b); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// stored are the entries whose bits are not all zero, which a dense file may leave out.
func stored(es []readertest.Entry) string {
	var out []string
	for _, e := range es {
		if e.Val != 0 {
			out = append(out, fmt.Sprint(e))
		}
	}
	return strings.Join(out, "\n")
}

// TestHelp checks that the help has each format with its endings, and says which are only read.
func TestHelp(t *testing.T) {
	help := Help()
	if len(help) != len(formats) {
		t.Fatalf("got %d lines of help, want one for each of %d formats", len(help), len(formats))
	}
	for k, f := range formats {
		want := f.Name + ": read and written"
		if Writable("a"+f.Exts[0], 1) != nil {
			want = f.Name + ": read only"
		}
		if help[k][0] != strings.Join(f.Exts, " ") || !strings.HasPrefix(help[k][1], want) {
			t.Errorf("got %q, want the endings %v and %q", help[k], f.Exts, want)
		}
	}
}
