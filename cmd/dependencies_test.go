package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependencies checks that docs/decisions.md lists the same modules as go.mod: the modules that
// go.mod requires directly, and its tools.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range mod.Require {
		if !r.Indirect {
			want = append(want, r.Path)
		}
	}
	for _, tool := range mod.Tool {
		want = append(want, tool.Path)
	}
	page, err := os.ReadFile("../docs/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(page), "\n**Dependencies**")
	list, _, ends := strings.Cut(list, "\n\n")
	if !ok || !ends {
		t.Fatal("docs/decisions.md has no list of dependencies")
	}
	var got []string
	for _, m := range regexp.MustCompile("`([^`]*/[^`]*)` \\(").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("docs/decisions.md has %q\ngo.mod has %q", got, want)
	}
}
