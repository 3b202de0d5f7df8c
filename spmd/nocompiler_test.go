package spmd_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"distaff/codegen/forms"
	"distaff/kernels/builtin/spec"
	"distaff/kernels/cc"
	"distaff/kernels/tune"
	"distaff/spmd"
)

// Without a compiler, the built-in kernels run for any sizes: no choice that depends on sizes
// prevents a built-in kernel from replacing a leaf.
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
				j := spmd.Job{Statement: statement, Formats: map[string]string{},
					Inputs: map[string]spmd.Input{}, Sizes: map[string][]int64{}}
				j.Check, j.Ranks = true, 1+int(data.entries)%3
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
				if (strings.Count(statement, ",") > 6 || strings.Contains(f, "C:ssd")) && data.size > 40 {
					continue // the result alone would take long to check
				}
				if data.size > 1000 && !strings.Contains(f, " ") && strings.HasPrefix(statement, "A(i,j") &&
					!strings.HasPrefix(f, "A:") {
					continue // a dense result of all coordinates
				}
				if _, err := j.Run(context.Background()); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if !strings.Contains(strings.Join(notes, " "), "no C compiler was found: the statement runs on one thread, in a leaf built into distaff") {
					t.Errorf("%s: notes %q, want one of a built-in leaf", name, notes)
				}
			}
		}
	}
}

// TestBuiltInLeavesTakeAnyForms checks the same for forms of code that were measured on this
// machine.
func TestBuiltInLeavesTakeAnyForms(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("PATH", "")
	t.Setenv("DISTAFF_CC", "")
	t.Setenv("DISTAFF_CACHE", cache)
	for _, forms := range []forms.Set{{forms.FarRows: 0},
		{forms.FarRows: 64, forms.LastLevelRows: 48, forms.Streams: 128, forms.Merges: 1}} {
		if err := tune.Keep(cache, modelOf(forms)); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{"Y(i,k) = A(i,j) * X(j,k)", "Y(i,j) = A(i,j) + X(i,j)"} {
			j := spmd.Job{Statement: statement, Formats: map[string]string{"A": "ds"},
				Sizes:  map[string][]int64{"i": {60}, "j": {60}},
				Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:300"), "X": spmd.Generated("dense")}}
			j.Check = true
			if strings.Contains(statement, "+") {
				j.Formats["X"], j.Formats["Y"], j.Inputs["X"] = "ds", "ds", spmd.Generated("uniform:300")
			} else {
				j.Sizes["k"] = []int64{32}
			}
			var notes []string
			j.Note = func(n string) { notes = append(notes, n) }
			if _, err := j.Run(t.Context()); err != nil ||
				!strings.Contains(strings.Join(notes, " "), "no C compiler was found: the statement runs on one thread, in a leaf built into distaff") {
				t.Errorf("%s, %v: got %v and the notes %q, want a built-in leaf", statement, forms, err, notes)
			}
		}
	}
}

// The leaves that `compile --cache` puts into the cache serve any data with the same formats, on
// any number of ranks. With the job's data, it also compiles the leaves of its blocks and their
// sums.
func TestCachedLeavesServeRanks(t *testing.T) {
	cache, path := t.TempDir(), os.Getenv("PATH")
	t.Setenv("DISTAFF_CACHE", cache)
	if b, err := cc.FromEnv(os.Getenv); err != nil {
		t.Fatal(err)
	} else if _, err := cc.Find(b.Compiler, b.Path); err != nil {
		t.Skip(err)
	}
	job := func(statement string, formats map[string]string, data bool) *spmd.Job {
		j := &spmd.Job{Statement: statement, Formats: formats,
			Sizes: map[string][]int64{"i": {60}, "j": {50}, "k": {40}}}
		if data {
			j.Inputs = map[string]spmd.Input{"A": spmd.Generated("uniform:300"),
				"B": spmd.Generated("uniform:200")}
			if !strings.Contains(statement, "k") {
				delete(j.Sizes, "k")
			}
			if !strings.Contains(statement, "B") {
				j.Inputs = map[string]spmd.Input{"A": spmd.Generated("uniform:300"),
					"x": spmd.Generated("dense")}
			}
			j.Check = true
		} else {
			j.Sizes = nil
		}
		return j
	}
	for _, c := range []struct {
		statement string
		formats   map[string]string
		ranks     int
		splits    []string // splits for compiling the leaf with the data
	}{
		{"y(j) = A(i,j) * x(i)", map[string]string{"A": "ds"}, 3, nil},
		{"C(i,j) = 2 * A(i,j) * B(i,j)", map[string]string{"A": "ds", "B": "ds", "C": "ds"}, 2, nil},
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds", "C": "ds"}, 2,
			[]string{"j:3"}},
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ss", "B": "ds", "C": "ss"}, 3,
			[]string{"j:3", "i:2"}},
	} {
		t.Setenv("PATH", path)
		u, err := job(c.statement, c.formats, false).Compile(context.Background(), "")
		if err != nil {
			t.Errorf("%s: %v", c.statement, err)
			continue
		}
		if err := u.Build(context.Background()); err != nil {
			t.Errorf("%s: %v", c.statement, err)
		}
		t.Setenv("PATH", "")
		for ranks := 1; ranks <= c.ranks && c.splits == nil; ranks++ {
			j := job(c.statement, c.formats, true)
			j.Ranks = ranks
			if _, err := j.Run(context.Background()); err != nil {
				t.Errorf("%s, %d ranks: %v", c.statement, ranks, err)
			}
		}
		if c.splits == nil {
			continue
		}
		j := job(c.statement, c.formats, true)
		j.Ranks, j.Splits = c.ranks, c.splits
		if _, err := j.Run(context.Background()); err == nil ||
			!strings.Contains(err.Error(), "no C compiler") {
			t.Errorf("%s, %v: error %v before its leaves are cached, want that there is no compiler",
				c.statement, c.splits, err)
		}
		t.Setenv("PATH", path)
		if u, err = j.Compile(context.Background(), ""); err == nil {
			err = u.Build(context.Background())
		}
		if err != nil {
			t.Errorf("%s, %v: %v", c.statement, c.splits, err)
		}
		t.Setenv("PATH", "")
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s, %v: %v", c.statement, c.splits, err)
		}
	}
}
