package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "distaff/kernels/verified"
	"distaff/spmd/fault"
)

// TestChanged checks a text file that changes after it was opened.
func TestChanged(t *testing.T) {
	for _, k := range []struct {
		name    string
		several bool
		do      func(path string) error
		want    string
	}{
		{"untouched", true, func(string) error { return nil }, ""},
		{"cut", false, func(path string) error { return os.Truncate(path, 4) }, "was written while"},
		{"removed", true, os.Remove, ""},
		{"replaced, by several ranks", true, replaceFile, "was replaced while"},
		{"replaced", false, replaceFile, ""},
	} {
		path := filepath.Join(t.TempDir(), "x.tns")
		if err := os.WriteFile(path, []byte("1 2\n2 3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Source{In: Input{File: path}}
		s.recordState()
		if err := k.do(path); err != nil {
			t.Fatal(err)
		}
		err := s.changed(k.several)
		if k.want == "" && err != nil ||
			k.want != "" && (err == nil || !strings.Contains(err.Error(), k.want) ||
				err.(*fault.Error).Exit != 3) {
			t.Errorf("%s: got %v, want %q", k.name, err, k.want)
		}
	}
	s := &Source{In: Input{File: "-.tns"}}
	if s.recordState(); s.found != nil {
		t.Error("standard input was looked for as a file")
	}
}

func replaceFile(path string) error {
	if err := os.WriteFile(path+".new", []byte("1 2\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
