package schedule_test

import (
	"os"
	"strings"
	"testing"

	"distaff/codegen/choice"
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

// TestDocumentedCPUOnly checks that docs/schedules.md lists the choices that a schedule for a GPU
// cannot have.
func TestDocumentedCPUOnly(t *testing.T) {
	doc, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "\nA schedule for a GPU may not use ")
	list, _, found := strings.Cut(list, ".")
	if !found {
		t.Fatal("docs/schedules.md does not say what a schedule for a GPU may not use")
	}
	for _, c := range choice.Choices {
		if got := strings.Contains(list, "`"+c.Name+"`"); got != (c.CPUOnly != "") {
			t.Errorf("docs/schedules.md lists %s for CPUs alone: %v, want %v", c.Name, got, !got)
		}
	}
}
