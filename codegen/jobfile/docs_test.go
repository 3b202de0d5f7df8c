package jobfile

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocs checks that the files in docs/jobs.md are accepted or have the message that follows
// them, and that its table has every code.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	right, refused := 0, 0
	for _, m := range regexp.MustCompile(
		"(?s)```dst\n(.*?)```\n(?:\n```text\n(.*?)```)?").FindAllStringSubmatch(string(doc), -1) {
		if m[2] == "" {
			checked(t, m[1])
			right++
			continue
		}
		if got := wrongMessage(m[1]) + "\n"; got != m[2] {
			t.Errorf("%s\ngot  %s\nwant %s", m[1], got, m[2])
		}
		refused++
	}
	if right < 6 || refused < 2 {
		t.Errorf("docs/jobs.md has %d right files and %d wrong ones", right, refused)
	}
	for _, code := range codes {
		if !strings.Contains(string(doc), "| `"+string(code)+"` |") {
			t.Errorf("docs/jobs.md does not list the code %s", code)
		}
	}
}
