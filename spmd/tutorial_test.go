package spmd_test

import (
	"os"
	"strings"
	"testing"
)

// TestTutorialGo checks that the Go code of docs/tutorial.md is in this package's examples, which
// are run.
func TestTutorialGo(t *testing.T) {
	page, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	run := strings.ReplaceAll(strings.ReplaceAll(string(source), "\n\t", "\n"), "../testdata/", "")
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("the tutorial has %d blocks of Go, want 2 at least", len(blocks))
	}
	for _, b := range blocks {
		code, _, _ := strings.Cut(b, "```")
		if !strings.Contains(run, "\n"+code) {
			t.Errorf("no example has this code:\n%s", code)
		}
	}
}
