package convert

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// If the disk has no room for a file that lists every coordinate or row, the file is refused
// before anything is written. A full device ends the conversion.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.tns")
	if err := os.WriteFile(in, []byte("1 1 2\n3 5 4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	for _, ext := range []string{".npy", ".npz"} {
		if err := os.Symlink("/dev/full", full+ext); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		out  string
		dims []int64
		want string
	}{
		{"out.npy", []int64{1 << 40, 1 << 10}, "a .tcs file with compressed levels stores only entries and takes at most 80 bytes"},
		{"out.npz", []int64{1 << 55, 5}, "with every row or column listed it takes"},
		{"full.npy", []int64{1 << 40, 1 << 10}, ""},
		{"full.npz", []int64{1 << 40, 5}, ""},
	} {
		out := filepath.Join(dir, c.out)
		err := File(in, out, Options{Read: coo.Options{Dims: c.dims}})
		var coded interface{ ExitCode() int }
		switch {
		case err == nil, c.want != "" && (!errors.As(err, &coded) || coded.ExitCode() != 1 ||
			!strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q and exit code 1", c.out, err, c.want)
		case c.want == "" && !errors.Is(err, syscall.ENOSPC):
			t.Errorf("%s: got %v, want %v", c.out, err, syscall.ENOSPC)
		}
		if _, err := os.Stat(out); c.want != "" && err == nil {
			t.Errorf("%s is there", c.out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Only entries that would have room in a .tcs get the advice to write one.
func TestEntriesOnly(t *testing.T) {
	for _, c := range []struct {
		nnz  int64
		want string
	}{
		{2, ": a .tcs file with compressed levels stores only entries and takes at most 80 bytes"},
		{100, ""}, {0, ""},
	} {
		if got := suggestTCS(tensor.Float64, []int64{1 << 40, 5}, c.nnz, 1000); got != c.want {
			t.Errorf("%d entries in 1000 bytes: got %q, want %q", c.nnz, got, c.want)
		}
	}
}

// Sizes past 2^61 are refused by every reader, and at the bound are read.
func TestSizesOfEveryFormat(t *testing.T) {
	npyFile := func(shape string) string {
		dict := "{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }"
		dict += strings.Repeat(" ", 117-len(dict)) + "\n"
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(dict)), 0}) + dict
	}
	for _, c := range []struct {
		name, text, place string
	}{
		{"a.mtx", "%%MatrixMarket matrix coordinate real general\nSIZE 3 0\n", "a.mtx:2:1: "},
		{"b.mtx", "%%MatrixMarket matrix array real general\n0 SIZE\n", "b.mtx:2:"},
		{"b.ttx", "%%MatrixMarket tensor array real general\nSIZE SIZE 0 SIZE\n", "b.ttx:2:"},
		{"nob.mtx", "%%MatrixMarket matrix array real general\n8 SIZE\n", "nob.mtx:2:"},
		{"c.ttx", "%%MatrixMarket tensor coordinate real general\n2 SIZE 4 0\n", "c.ttx:2:3: "},
		{"d.tns", "2\nSIZE 4\n", "d.tns:2:1: "},
		{"e.npy", "npy of 0, SIZE", "e.npy: the header's shape: "},
		{"f.npy", "npy of SIZE, 0, SIZE", "f.npy: the header's shape: "},
		{"noe.npy", "npy of 8, SIZE", "noe.npy: the header's shape: "},
		{"f.rua", "title\n 3 1 1 1\nRUA SIZE 0 0\n(8I10) (8I10) (4E20.12)\n1\n", "f.rua:3:15: "},
	} {
		for size, good := range map[string]bool{"2305843009213693952": true,
			"2305843009213693953": false, "4611686018427387904": false,
			"9223372036854775807": false} {
			text := strings.ReplaceAll(c.text, "SIZE", size)
			if strings.HasPrefix(c.text, "npy of ") {
				text = npyFile(strings.TrimPrefix(text, "npy of "))
			}
			if strings.HasPrefix(c.name, "no") {
				good = false // there are elements, and their bytes are counted too
			}
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, coo.Options{})
			if err == nil {
				_, err = coo.SurveyOf(s)
				s.Close()
			}
			var coded interface{ ExitCode() int }
			switch {
			case good && err != nil:
				t.Errorf("%s with size %s: %v", c.name, size, err)
			case !good && (err == nil || !errors.As(err, &coded) || coded.ExitCode() != 3 ||
				!strings.Contains(err.Error(), c.place)):
				t.Errorf("%s with size %s: got %v, want an error at %q (exit code 3)", c.name, size,
					err, c.place)
			}
		}
	}
	if err := tensor.CheckSize(tensor.MaxSize); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{-1, tensor.MaxSize + 1, 1<<63 - 1} {
		if tensor.CheckSize(n) == nil {
			t.Errorf("a size of %d passes", n)
		}
	}
}
