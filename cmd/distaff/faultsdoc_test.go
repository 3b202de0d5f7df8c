package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultsDoc checks that every test that docs/faults.md names exists. A test is in the first
// folder that the row names after it.
func TestFaultsDoc(t *testing.T) {
	text, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{} // the tests of each folder
	tests := func(dir string) string {
		if _, ok := known[dir]; !ok {
			files, _ := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				known[dir] += string(b)
			}
		}
		return known[dir]
	}
	name := regexp.MustCompile("`(Test[A-Za-z]+)`|\\(([a-z]+(?:/[a-z]+)*)\\)")
	n := 0
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| ") || !strings.Contains(line, "`Test") {
			continue
		}
		cells := strings.Split(line, " | ")
		var waiting []string
		for _, m := range name.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if m[1] != "" {
				waiting = append(waiting, m[1])
				continue
			}
			for _, w := range waiting {
				if n++; !strings.Contains(tests(m[2]), "\nfunc "+w+"(t *testing.T)") {
					t.Errorf("%s: no %s in %s", cells[0], w, m[2])
				}
			}
			waiting = nil
		}
		for _, w := range waiting { // named in an earlier row
			if !strings.Contains(tests("cmd/distaff"), "\nfunc "+w+"(t *testing.T)") {
				t.Errorf("%s: no %s in cmd/distaff", cells[0], w)
			}
			n++
		}
	}
	if n < 20 {
		t.Errorf("%d tests are named, want those of every row", n)
	}
}
