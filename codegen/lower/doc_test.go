package lower_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMap: the package comment has a line for every file.
func TestMap(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, f := range files {
		if f != "doc.go" && !strings.HasSuffix(f, "_test.go") && !strings.Contains(string(doc), f) {
			t.Errorf("doc.go does not say what %s is for", f)
		}
	}
}
