package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNames checks that docs/names.md lists every word only once, and that the files and
// identifiers exist that it gives for each word.
func TestNames(t *testing.T) {
	text, err := os.ReadFile("../docs/names.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	words := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.TrimSpace(cells[1]) == "word" {
			continue
		}
		word := strings.TrimSpace(cells[1])
		if words[word] {
			t.Errorf("%s has two meanings", word)
		}
		words[word] = true
		places := quoted.FindAllStringSubmatch(cells[3], -1)
		if len(places) == 0 {
			t.Errorf("%s: nothing says where it is used", word)
		}
		for _, m := range places {
			if strings.HasSuffix(m[1], ".go") {
				if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
					t.Errorf("%s: %v", word, err)
				}
				continue
			}
			dir, name, ok := strings.Cut(m[1], ".")
			if !ok || !declares(t, filepath.Join("..", dir), name) {
				t.Errorf("%s: package %s declares no %s", word, dir, name)
			}
		}
	}
	if len(words) < 30 {
		t.Fatalf("docs/names.md lists %d words, want at least 30", len(words))
	}
}

// declares reports whether a package, given by its folder, or a file declares a name.
func declares(t *testing.T, dir, name string) bool {
	pattern := dir // of one file
	if !strings.HasSuffix(dir, ".go") {
		pattern = filepath.Join(dir, "*.go")
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				found = found || method(d)+d.Name.Name == name
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					addSpec(spec, func(n string) { found = found || n == name })
				}
			}
		}
	}
	return found
}
