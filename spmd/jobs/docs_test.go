package jobs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocs checks that the example of docs/jobs.md is a file of testdata/jobs, and that it prints
// the text that follows it on the page.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, examples, ok := strings.Cut(string(doc), "\n## Examples\n")
	parts := strings.Split(examples, "```dst\n")
	if !ok || len(parts) != 2 {
		t.Fatalf("docs/jobs.md has %d examples, want 1", len(parts)-1)
	}
	for _, part := range parts[1:] {
		text, rest, _ := strings.Cut(part, "```\n\nIt prints\n\n```text\n")
		prints, _, _ := strings.Cut(rest, "```")
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), ":")
		file, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(file) != text {
			t.Errorf("the example %s of docs/jobs.md is another than %s, %v", name,
				filepath.Join(folder, name), err)
			continue
		}
		j := job(t, folder, text, nil)
		j.Outputs = map[string]string{}
		for _, x := range j.File.Tensors {
			if x.To != "" {
				j.Outputs[x.Name] = filepath.Join(t.TempDir(), x.To)
			}
		}
		j.run(t)
		for k, line := range strings.Split(strings.TrimSpace(prints), "\n") {
			got := ""
			if k < len(j.said) {
				got = j.said[k]
			}
			// A sum in another order may have another last digit.
			if n := min(len(line), 20); len(got) < n || got[:n] != line[:n] {
				t.Errorf("%s: got %q, want %q", name, j.said, prints)
			}
		}
		if want := strings.Count(strings.TrimSpace(prints), "\n") + 1; len(j.said) != want ||
			slices.Contains(j.said, "") {
			t.Errorf("%s: printed %q, want %d lines", name, j.said, want)
		}
	}
}
