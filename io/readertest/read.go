package readertest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// Open is the type of the function that opens a file in a reader's format and returns a stream of
// its entries.
type Open func(path string, opt coo.Options) (coo.Stream, error)

// Real describes a file of real data: its name, and what a reader of the file must return.
type Real struct {
	name  string
	dims  []int64
	exact bool
	n     int
	typ   tensor.Type
}

// File returns a Real for the file called name. dims are the sizes, or the largest coordinates plus
// 1 if the file has no exact sizes. n is the number of entries, counting both triangles of a
// symmetric file.
func File(name string, dims []int64, exact bool, n int, typ tensor.Type) Real {
	return Real{name, dims, exact, n, typ}
}

// ReadReal reads each of the files two times, if the file exists, and checks what the reader
// returns.
func ReadReal(t *testing.T, open Open, files []Real) {
	names := make([]string, len(files))
	for k, f := range files {
		names[k] = f.name
	}
	paths := known(t, names)
	for _, f := range files {
		path, ok := paths[f.name]
		if !ok {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			s, err := open(path, coo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 2 {
				es, err := Collect(s)
				if err != nil {
					t.Fatal(err)
				}
				dims, exact := s.Dims()
				if fmt.Sprint(dims) != fmt.Sprint(f.dims) || exact != f.exact || len(es) != f.n ||
					s.Type() != f.typ {
					t.Errorf(
						"got sizes %v (exact: %v), %d entries and type %d; want sizes %v "+
							"(exact: %v), %d entries and type %d",
						dims, exact, len(es), s.Type(), f.dims, f.exact, f.n, f.typ)
				}
				if err := s.Rewind(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Refused reads a file to its end. Reading must fail with an error that contains want and has
// exit code exit.
func Refused(t *testing.T, open Open, path string, opt coo.Options, exit int, want string) {
	t.Helper()
	s, err := open(path, opt)
	if err == nil {
		defer s.Close()
		_, err = Collect(s)
	}
	var coded interface{ ExitCode() int }
	if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &coded) ||
		coded.ExitCode() != exit {
		t.Errorf("got %v, want an error with %q and exit code %d", err, want, exit)
	}
}

// Write writes a file in a temporary folder and returns its path.
func Write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Damage reads copies of a file that are cut off after each byte, and copies with changed bits in
// each byte. open must return a stream or an error for each copy. If the whole copy is read, each
// coordinate must be less than its mode's size. name is the name of the copies, and member is "" or
// ":NAME".
func Damage(t *testing.T, open Open, name, member string, content []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	try := func(b []byte) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		CheckRange(t, open, path+member)
	}
	for n := range content {
		try(content[:n])
		for _, bits := range []byte{1, 1 << 7} {
			b := slices.Clone(content)
			b[n] ^= bits
			try(b)
		}
	}
}

// CheckRange opens the file at path and reads it to its end or its first error. If there is no
// error, it checks that each coordinate is less than its mode's size.
func CheckRange(t testing.TB, open Open, path string) {
	t.Helper()
	s, err := open(path, coo.Options{Limit: 1 << 24})
	if err != nil {
		return
	}
	defer s.Close()
	var b coo.Batch
	var past []int64 // for each mode, the largest coordinate and 1
	for err == nil {
		if err = s.Next(&b); err != nil {
			break
		}
		for m, col := range b.Coords {
			if len(past) <= m {
				past = append(past, 0)
			}
			for _, c := range col[:b.N] {
				if c < 0 {
					t.Fatalf("%s: got the coordinate %d", path, c)
				}
				past[m] = max(past[m], c+1)
			}
		}
	}
	dims, _ := s.Dims()
	for m, n := range past {
		if err == io.EOF && n > dims[m] {
			t.Fatalf("%s: got coordinate %d in mode %d of size %d", path, n-1, m, dims[m])
		}
	}
}
