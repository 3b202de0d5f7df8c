package irtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/ir"
)

// mostFiles is the largest number of files that know an operation: its row, two files of the
// interpreter, and the C emitter.
const mostFiles = 4

// several lists operations that more files know, with their number and the reason.
var several = map[string]int{
	"Gemm":    7, // the search for contractions and the libraries of products choose it
	"Call":    9, // text of the user's, which must be allowed, and is printed after all leaves
	"Publish": 5, // a leaf's tail begins with its first Publish
	"Shared":  5, // the interpreter gives each block its own
}

// TestFewFiles counts the files that know an operation, which is a type of statement. Not counted
// are the list of all statements, codegen/lower, which makes operations, and codegen/simt and
// kernels/cuda, which take them to a GPU.
func TestFewFiles(t *testing.T) {
	control := []string{"Block", "Comment", "Declare", "Assign", "Store", "For", "While", "If", "Ordered",
		"Fail", "Launch"}
	known := map[string][]string{} // the files that know an operation
	outside, inside := regexp.MustCompile(`\bir\.(\w+)`), regexp.MustCompile(`[*&](\w+)`)
	for _, folder := range []string{"codegen", "kernels", "spmd", "cmd"} {
		root := os.DirFS(filepath.Join("../../..", folder))
		err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
			name := folder + "/" + path
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				name == "codegen/ir/row.go" || strings.HasSuffix(path, "/doc.go") {
				return err
			}
			for _, other := range []string{"codegen/lower/", "codegen/simt/", "kernels/cuda/"} {
				if strings.HasPrefix(name, other) {
					return nil
				}
			}
			text, err := fs.ReadFile(root, path)
			mention := outside
			if strings.HasPrefix(name, "codegen/ir/") {
				mention = inside
			}
			for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
				if files := known[m[1]]; !slices.Contains(files, name) {
					known[m[1]] = append(files, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range ir.Statements() {
		_, op, _ := strings.Cut(typeName(s), "*ir.")
		if slices.Contains(control, op) {
			continue
		}
		files := known[op]
		if len(files) < 2 || len(files) > max(mostFiles, several[op]) {
			t.Errorf("%d files know %s, want at most %d: %s", len(files), op, max(mostFiles, several[op]),
				strings.Join(files, " "))
		}
	}
}
