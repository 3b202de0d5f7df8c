package spmd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"distaff/kernels/builtin/spec"
	"distaff/spmd"
)

// Without a compiler, the built-in kernels run whatever the sizes are: nothing
// that sizes choose in a leaf keeps a built-in one from standing in for it.
func TestBuiltInLeavesTakeAnySize(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("DISTAFF_CC", "")
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	statements := map[string][]string{}
	for _, k := range spec.Kernels() {
		if k.Width == 4 {
			statements[k.Statement] = append(statements[k.Statement], strings.Join(k.Formats, " "))
		}
	}
	for _, data := range []struct {
		size, entries, columns int64
	}{{5, 3, 7}, {40, 60, 1}, {40, 1500, 32}, {2000, 500, 64}, {2000, 20000, 8}} {
		for statement, formats := range statements {
			for _, f := range formats {
				name := fmt.Sprintf("%s, %s, %d entries, size %d", statement, f, data.entries, data.size)
				j := spmd.Job{Statement: statement, Formats: map[string]string{}, Inputs: map[string]spmd.Input{}, Sizes: map[string][]int64{}}
				j.Check = true
				var notes []string
				j.Note = func(n string) { notes = append(notes, n) }
				for _, one := range strings.Fields(f) {
					tensor, levels, _ := strings.Cut(one, ":")
					j.Formats[tensor] = levels
				}
				_, right, _ := strings.Cut(statement, "=")
				sparse := map[string]bool{}
				for i, a := range strings.Split(strings.ReplaceAll(right, "+", "*"), "*") {
					tensor, vars, _ := strings.Cut(strings.Trim(a, " )"), "(")
					j.Inputs[tensor] = spmd.Generated("dense")
					if i == 0 || j.Formats[tensor] != "" {
						j.Inputs[tensor] = spmd.Generated(fmt.Sprint("uniform:", data.entries))
						for v := range strings.SplitSeq(vars, ",") {
							sparse[v] = true
						}
					}
					for v := range strings.SplitSeq(vars, ",") {
						j.Sizes[v] = []int64{data.columns}
					}
				}
				for v := range sparse {
					j.Sizes[v] = []int64{data.size}
				}
				if strings.Count(statement, ",") > 6 && data.size > 40 {
					continue // the result alone would take long to check
				}
				if data.size > 1000 && !strings.Contains(f, " ") && strings.HasPrefix(statement, "A(i,j") && !strings.HasPrefix(f, "A:") {
					continue // a dense result of all coordinates
				}
				if _, err := j.Run(context.Background()); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if !strings.Contains(strings.Join(notes, " "), "a built-in leaf runs the statement") {
					t.Errorf("%s: notes %q, want one of a built-in leaf", name, notes)
				}
			}
		}
	}
}
