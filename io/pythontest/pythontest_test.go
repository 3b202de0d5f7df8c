package pythontest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLook checks that look skips a Python that lacks a module, and that its error says what each
// Python lacked.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	python := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	without := python("without",
		"echo Traceback >&2; echo \"No module named 'numpy'\" >&2; exit 1\n")
	with := python("with", "test \"$1 $2\" = '-c import numpy'\n")
	absent := filepath.Join(dir, "absent")
	if got, err := look([]string{absent, without, with}, "import numpy"); got != with ||
		err != nil {
		t.Errorf("got %q, %v, want %q", got, err, with)
	}
	_, err := look([]string{absent, without}, "import numpy")
	if err == nil || !strings.Contains(err.Error(), "no "+absent) ||
		!strings.HasSuffix(err.Error(), "No module named 'numpy'") {
		t.Errorf("got %v, want what each lacked", err)
	}
}
