package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInstall installs into a folder and checks the man pages, and that each page of the
// documentation that the installation has, or that help and man pages cite, finds what it links to.
func TestInstall(t *testing.T) {
	for _, tool := range []string{"bash", "install", "find"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on PATH", tool)
		}
	}
	program, err := exec.LookPath("distaff")
	if err != nil {
		t.Fatal(err)
	}
	bin, prefix := t.TempDir(), t.TempDir()
	for _, name := range []string{"distaff", "tns2tcs"} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "../../scripts/install.sh", prefix)
	cmd.Env = append(cleanEnv(t), "BIN="+bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	doc := filepath.Join(prefix, "share", "doc", "distaff")
	page := regexp.MustCompile(`docs/[a-z-]+\.md`)
	link := regexp.MustCompile(`\]\(([\w./-]*[/.][\w./-]*)[)#]`)
	code := regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$")
	pages, links := 0, 0
	exists := func(from, path string) {
		t.Helper()
		links++
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s cites %s, which is not installed", from, strings.TrimPrefix(path, doc))
		}
	}
	err = filepath.WalkDir(filepath.Join(prefix, "share"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			switch ext := filepath.Ext(path); ext {
			case ".1", ".7":
				pages++
				for _, p := range page.FindAllString(strings.ReplaceAll(string(text), `\-`, "-"), -1) {
					exists(path, filepath.Join(doc, p))
				}
			case ".md":
				for _, m := range link.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
					exists(path, filepath.Join(filepath.Dir(path), string(m[1])))
				}
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(visible()) + 2 + len(topics()); pages != want || links < 100 {
		t.Errorf("got %d man pages and %d links, want %d and 100 at least", pages, links, want)
	}
}
