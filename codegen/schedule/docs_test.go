package schedule_test

import (
	"os"
	"strings"
	"testing"

	"distaff/codegen/schedule"
)

// TestDocumented checks that docs/schedules.md has a line for each command.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(schedule.Names()) == 0 {
		t.Fatal("there are no commands")
	}
	for _, name := range schedule.Names() {
		if !strings.Contains(string(doc), "\n| `"+name+"(") {
			t.Errorf("docs/schedules.md has no line for %s", name)
		}
	}
}
