package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/io/convert"
	"distaff/io/coo"
)

// TestInfoOfLargeFiles checks that info omits results that it does not compute for a large file,
// and prints the reason.
func TestInfoOfLargeFiles(t *testing.T) {
	dir := t.TempDir()
	text, tcsFile := filepath.Join(dir, "a.mtx"), filepath.Join(dir, "a.tcs")
	if err := os.WriteFile(text,
		[]byte("%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n1 2 2\n2 1 2\n3 1 "+
			"1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := convert.File(text, tcsFile, convert.Options{}); err != nil {
		t.Fatal(err)
	}
	of := func(path string, verify bool) *fileInfo {
		t.Helper()
		f := &fileInfo{}
		var err error
		if convert.Ext(path) == ".tcs" {
			err = f.fromTensor(path, coo.Options{}, verify)
		} else {
			err = f.fromStream(path, coo.Options{}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	lacks := func(f *fileInfo, want ...string) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(f.NotComputed)); !slices.Equal(got, want) {
			t.Errorf("not computed: %v, want %v", got, want)
		}
	}
	lacks(of(tcsFile, false))
	lacks(of(text, false))

	read, compared := readMost, comparedMost
	defer func() { readMost, comparedMost = read, compared }()
	readMost = 10
	f := of(tcsFile, false)
	lacks(f, "bandwidth", "diagonal", "gini", "modes", "symmetry")
	if f.Matrix != nil || len(f.Modes) != 1 || f.Modes[0].Gini != nil || f.Modes[0].Most != 2 {
		t.Errorf("got %+v, of modes %+v", f.Matrix, f.Modes)
	}
	var b strings.Builder
	if err := f.print(&b); err != nil {
		t.Fatal(err)
	}
	if want := "unknown    bandwidth, diagonal, gini, modes, symmetry: the arrays take 64 bytes, " +
		"but without --verify at most 10 bytes are read\n"; !strings.Contains(b.String(), want) {
		t.Errorf("got\n%swant %s", b.String(), want)
	}
	f = of(tcsFile, true)
	lacks(f)
	if f.Matrix.Symmetry == nil || f.Matrix.Symmetry.Pattern != 2./3 || f.Modes[1].Gini == nil {
		t.Errorf("with --verify got %+v", f.Matrix)
	}
	comparedMost = 3
	for _, path := range []string{tcsFile, text} {
		f = of(path, true)
		lacks(f, "symmetry")
		if f.Matrix.Symmetry != nil || f.Matrix.Lower != 2 || *f.Matrix.Diagonal != 1 ||
			*f.Matrix.Full {
			t.Errorf("got %+v", f.Matrix)
		}
	}
}
