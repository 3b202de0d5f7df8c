package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/cmd/argv"
)

// TestMan checks that each command has a man page that contains the whole text of its help.
func TestMan(t *testing.T) {
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("no man on PATH")
	}
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := mainExit([]string{"distaff", "man", dir}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "man1", "*.1"))
	if err != nil || len(files) != len(visible())+2 {
		t.Fatalf("%d pages, %v, want one for each of %d commands, and two", len(files), err,
			len(visible()))
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	page := func(name, section string) string {
		t.Helper()
		cmd := exec.Command("man", "-l", filepath.Join(dir, "man"+section, name+"."+section))
		cmd.Env = append(os.Environ(), "MANWIDTH=1000", "MANPAGER=cat", "PAGER=cat", "LC_ALL=C.UTF-8",
			"MANROFFOPT=-rHY=0")
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return words(string(text))
	}
	for _, c := range visible() {
		want := append([]string{c.name + " - " + c.short, "distaff " + c.name + " " + c.args},
			c.examples...)
		want = append(want, strings.Split(strings.TrimSpace(c.long), "\n\n")...)
		for _, f := range c.flags {
			head, usage := argv.Describe(f)
			want = append(want, head, usage)
		}
		text := page("distaff-"+c.name, "1")
		for _, w := range want {
			if !strings.Contains(text, words(w)) {
				t.Errorf("the page of %s does not say %q", c.name, w)
			}
		}
	}
	if text := page("tns2tcs", "1"); !strings.Contains(text, "prints only errors") {
		t.Error("the page of tns2tcs does not have its flag -q")
	}
	for _, c := range topics() {
		text := page("distaff-"+c.name, "7")
		for _, w := range append(strings.Split(c.text, "\n\n"), "distaff-"+c.name+" - "+c.short) {
			if !strings.Contains(text, words(w)) {
				t.Errorf("the page of %s does not say %q", c.name, w)
			}
		}
	}
	text := page("distaff", "1")
	for _, c := range topics() {
		if !strings.Contains(text, words("distaff-"+c.name+"(7) "+c.short)) {
			t.Errorf("the page does not say what topic %s is", c.name)
		}
	}
	for _, e := range environment {
		if !strings.Contains(text, words(e[0]+" "+e[1])) {
			t.Errorf("the page does not say what %s is", e[0])
		}
	}
	if !strings.Contains(text, "EXIT STATUS 0 done; 1 the run failed") {
		t.Error("the page does not tell exit codes")
	}
	if text := page("tns2tcs", "1"); !strings.Contains(text, "tns2tcs IN.tns OUT.tcs [FLAGS]") {
		t.Errorf("the page of tns2tcs is %s", text)
	}
}
