package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"distaff/spmd"
)

// inputs lists the tested formats of an operand by its order: CSR, DCSR, CSC and a coordinate list
// for a matrix, and CSF and a coordinate list for a tensor.
var inputs = map[int][]string{2: {"ds", "ss", "ds:1,0", "uq"}, 3: {"dss", "sss", "ucq"}}

// sparseOperand matches the declaration of an operand with compressed levels: the text before its
// format, its sizes, and the rest.
var sparseOperand = regexp.MustCompile(`(?m)^(tensor [A-Z]\(([^)]*)\): )d?s+( .*from )`)

// overRows matches a command that divides rows among threads. A coordinate list does not record
// where rows begin.
var overRows = regexp.MustCompile(`(?m)^  parallelize.*\n`)

// byColumns exchanges rows and columns in the loops and chunks of a job file.
var byColumns = strings.NewReplacer("C(j,k)\n  fuse(i, j, f)",
	"C(j,k)\n  reorder(j, i, k)\n  fuse(j, i, f)", "fuse(i, j, f)", "fuse(j, i, f)",
	"reorder(ko, ii, ki, ji)", "reorder(ko, ki, ii, ji)")

// TestSparseInputs checks that the sparse algorithms, by rows and by non-zeros, have the
// reference's result with operands in every format.
func TestSparseInputs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder, "sp*-*.dst"))
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob(filepath.Join(folder, "sddmm-*.dst"))
	for _, path := range append(files, more...) {
		name := strings.TrimSuffix(filepath.Base(path), ".dst")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		order := 1 + strings.Count(sparseOperand.FindStringSubmatch(string(text))[2], ",")
		for _, format := range inputs[order] {
			t.Run(name+" "+format, func(t *testing.T) {
				params := map[string]string{}
				for param, value := range map[string]string{"n": "24", "entries": "90", "p": "3"} {
					if strings.Contains(string(text), "\nparam "+param+" ") {
						params[param] = value
					}
				}
				own := sparseOperand.ReplaceAllString(string(text), "${1}"+format+"${3}")
				switch {
				case format[0] == 'u':
					own = overRows.ReplaceAllString(own, "")
				case strings.HasSuffix(format, ":1,0"):
					own = byColumns.Replace(own)
				}
				x, err := file(path, own, params)
				if err != nil {
					t.Fatal(err)
				}
				x.Ranks, x.Threads, x.Target, x.Check = 4, 1, spmd.Interpreter, true
				if !strings.Contains(string(text), "machine M(gx") {
					x.Ranks = 3
				}
				if _, err := x.Plan(context.Background(), 0); err != nil {
					t.Errorf("plan: %v", err)
				}
				report, err := x.Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(fmt.Sprint(report.Lines), "check: ") {
					t.Errorf("got %q, want a check", report.Lines)
				}
			})
		}
	}
}
