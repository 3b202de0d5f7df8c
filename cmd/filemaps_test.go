package cmd_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxUnmapped is the largest number of files of a package that needs no list of files.
const maxUnmapped = 3

var (
	fileName = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)
	// mapLine matches a line of a list of files: their names and what each contains.
	mapLine = regexp.MustCompile(`(?m)^//\t.*$`)
)

// TestFileMaps checks the package comment of each package of more than three files. The comment
// must name every file, and its list must not name files that do not exist.
func TestFileMaps(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles",
		"distaff/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	maps := 0
	for {
		var p struct {
			ImportPath, Dir                   string
			GoFiles, CgoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files := slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles)
		files = slices.DeleteFunc(files,
			func(f string) bool { return strings.HasSuffix(f, "_test.go") || f == "doc.go" })
		if len(files) <= maxUnmapped {
			continue
		}
		maps++
		doc := packageComment(t, p.Dir)
		named := fileName.FindAllString(doc, -1)
		for _, f := range files {
			if !slices.Contains(named, f) {
				t.Errorf("the package comment of %s does not say what %s is for", p.ImportPath, f)
			}
		}
		for _, line := range mapLine.FindAllString(doc, -1) {
			for _, f := range fileName.FindAllString(line, -1) {
				if !slices.Contains(files, f) {
					t.Errorf("the package comment of %s says what %s is for, which is not there", p.ImportPath, f)
				}
			}
		}
	}
	if maps < 30 {
		t.Fatalf("%d packages have more than %d files, want at least 30", maps, maxUnmapped)
	}
}

// packageComment returns the package comment of the package in a folder, with its // marks.
func packageComment(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var doc strings.Builder
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil,
			parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			for _, c := range f.Doc.List {
				doc.WriteString(c.Text + "\n")
			}
		}
	}
	return doc.String()
}
