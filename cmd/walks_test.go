package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A walk is a table that follows a statement or a file through the packages. It has at most
// mostStops rows, and enters each package at most mostEntries times.
const mostStops, mostEntries = 34, 2

// A walk through the files of one package has at most mostFileStops rows, and comes back to files
// of rows above at most mostFileReturns times.
const mostFileStops, mostFileReturns = 20, 6

// TestWalks checks the walks in testdata/walks.md. Each function must be declared in the package or
// file that its row names, the passes must be the compiler's passes in their order, and rows must
// be numbered.
func TestWalks(t *testing.T) {
	text, err := os.ReadFile("testdata/walks.md")
	if err != nil {
		t.Fatal(err)
	}
	passes := passNames(t)
	quoted, one := regexp.MustCompile("`([^`]+)`"),
		regexp.MustCompile("pass(?:es)? ((?:`[^`]+`(?:, )?)+)")
	walks, stops, returns, last, lastPass := 0, 0, 0, "", -1
	entries := map[string]int{}
	in := false
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			in = false
			continue
		}
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		if cells[2] == "function" {
			in, last, lastPass, stops, returns, entries = true, "", -1, 0, 0, map[string]int{}
			walks++
			continue
		}
		if !in || strings.HasPrefix(cells[2], "---") {
			continue
		}
		stops++
		where := "walk " + strconv.Itoa(walks) + ", row " + cells[1]
		if cells[1] != strconv.Itoa(stops) || stops > mostStops {
			t.Errorf("%s: got this number of a row, want %d, and %d rows at most", where, stops, mostStops)
		}
		pkg := quoted.FindStringSubmatch(cells[3])
		if pkg == nil {
			t.Errorf("%s: names no package", where)
			continue
		}
		if pkg[1] != last {
			entries[pkg[1]]++
			if entries[pkg[1]] > 1 {
				returns++
			}
			switch isFile := strings.HasSuffix(pkg[1], ".go"); {
			case isFile && returns > mostFileReturns:
				t.Errorf("%s: the %dth return to a file, want at most %d", where, returns,
					mostFileReturns)
			case !isFile && entries[pkg[1]] > mostEntries:
				t.Errorf("%s: enters %s for the third time", where, pkg[1])
			}
		}
		if strings.HasSuffix(pkg[1], ".go") && stops > mostFileStops {
			t.Errorf("%s: want at most %d rows", where, mostFileStops)
		}
		last = pkg[1]
		functions := cells[2]
		for _, m := range one.FindAllStringSubmatch(functions, -1) {
			for _, name := range quoted.FindAllStringSubmatch(m[1], -1) {
				k := slices.Index(passes, name[1])
				if k <= lastPass {
					t.Errorf("%s: pass %s is none, or does not come behind those above", where, name[1])
				}
				lastPass = k
			}
			functions = strings.Replace(functions, m[0], "", 1)
		}
		for _, name := range quoted.FindAllStringSubmatch(functions, -1) {
			if !declares(t, filepath.Join("..", pkg[1]), name[1]) {
				t.Errorf("%s: package %s declares no %s", where, pkg[1], name[1])
			}
		}
	}
	if walks != 3 {
		t.Errorf("got %d tables of functions, want 3", walks)
	}
}

// passNames returns the names in the compiler's table of passes.
func passNames(t *testing.T) (out []string) {
	text, err := os.ReadFile("../codegen/passes.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(
		`(?m)^\t\{"([a-z]+)", (?:nil|\[\]fact)`).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) < 20 {
		t.Fatalf("codegen/passes.go has %d passes, want at least 20", len(out))
	}
	return out
}

// TestDocumentedFiles checks that the files that the docs name exist. Paths start at the root or at
// a package's folder.
func TestDocumentedFiles(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:[a-z0-9_]+/)+[a-z0-9_]+\\.(?:go|c|h|sh|cuh|md|dst))`")
	n := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for k, line := range strings.Split(string(text), "\n") {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				n++
				found := false
				for _, root := range []string{"..", "../codegen", "../spmd", "../kernels", "../io",
					"../scripts/bench"} {
					_, err := os.Stat(filepath.Join(root, m[1]))
					found = found || err == nil
				}
				if !found {
					t.Errorf("%s:%d: the tree has no %s", page, k+1, m[1])
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("the docs name %d files, want at least 60", n)
	}
}
