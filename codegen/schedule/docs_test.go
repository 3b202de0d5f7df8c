package schedule

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocs: the reference lists every command, and the page of schedules says what each does.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(reference), "\n## Schedules\n")
	list, _, _ = strings.Cut(list, "\n## ")
	for name := range commands {
		if !strings.Contains(string(page), "\n| `"+name+"(") {
			t.Errorf("docs/schedules.md has no line for %s", name)
		}
		if !slices.Contains(strings.Fields(strings.ReplaceAll(list, "`", " ")), name) {
			t.Errorf("docs/reference.md does not list %s", name)
		}
	}
}
