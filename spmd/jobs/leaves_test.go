package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/jobfile"
	"distaff/kernels/cc"
	"distaff/spmd/jobs"
)

// cached returns the number of leaves in a cache.
func cached(t *testing.T, cache string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(cache, "leaf", "*.so"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// runCompiled runs a job with compiled leaves and a new cache. It skips the test on a machine
// without a compiler.
func runCompiled(t *testing.T, j *told) (cache string) {
	t.Helper()
	cache = t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	j.Target = ""
	_, err := j.Run(context.Background())
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// TestNamesShareLeaves checks that statements that differ only in names share one leaf.
func TestNamesShareLeaves(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "A.tns", "1 1 2\n2 3 4\n3 2 5\n")
	var text strings.Builder
	text.WriteString("tensor A(n, n): ds from \"A.tns\"\ntensor x(n): d\nx(i) = A(i,j)\n")
	for n := range 20 {
		fmt.Fprintf(&text, "result%d(row%d) = A(row%d,z%d) * x(z%d)\n", n, n, n, 20-n, 20-n)
	}
	j := job(t, dir, text.String()+"print result0\nprint result19\n", nil)
	cache := runCompiled(t, j)
	if n := cached(t, cache); n != 2 {
		t.Errorf("a statement and twenty alike made %d leaves, want 2", n)
	}
	for n, line := range j.said {
		if want := []string{"result0: 3", "result19: 3"}[n]; !strings.HasPrefix(line, want) {
			t.Errorf("got %q, want %q", line, want)
		}
	}
	if len(j.said) != 2 {
		t.Errorf("got %q, want two lines", j.said)
	}
}

// TestParamsShareLeaves checks that jobs that differ only in the value of a param share one leaf,
// and that each value has its own result. Two statements of a job may have different values, and
// two params of a statement may be equal. All types of values are tested. Values of different signs
// have different leaves.
func TestParamsShareLeaves(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x.tns", "1 2\n2 4\n3 8\n")
	text := `param alpha = 5
param beta = 7
tensor x(n): s type %s from "x.tns"
y(i) = alpha * x(i)
z(i) = beta * x(i)
print y
print z
v(i) = alpha * x(i) + beta * x(i) * x(i)
print v
`
	for _, typ := range []string{"int32", "int64", "float32", "float64", "complex64", "complex128"} {
		cache := ""
		for _, c := range []struct {
			alpha  string
			want   []string
			leaves int
			reals  bool
		}{{"", []string{"70", "98", "658"}, 2, false},
			{"6", []string{"84", "98", "672"}, 2, false},
			{"123", []string{"1722", "98", "2310"}, 2, false},
			{"7", []string{"98", "98", "686"}, 2, false},
			{"-3", []string{"-42", "98", "546"}, 4, false},
			{"-4", []string{"-56", "98", "532"}, 4, false},
			{"0.625", []string{"8.75", "98", "596.75"}, 4, true}} {
			if c.reals && strings.HasPrefix(typ, "int") {
				continue
			}
			params := map[string]string{}
			if c.alpha != "" {
				params["alpha"] = c.alpha
			}
			j := job(t, dir, fmt.Sprintf(text, typ), params)
			if cache == "" {
				cache = runCompiled(t, j)
			} else {
				j.Target = ""
				j.run(t)
			}
			if n := cached(t, cache); n != c.leaves {
				t.Errorf("%s, alpha %q: %d leaves, want %d", typ, c.alpha, n, c.leaves)
			}
			for n, line := range j.said {
				_, sum, _ := strings.Cut(line, "sum ")
				sum = strings.TrimSuffix(sum, "+0i")
				if len(j.said) != 3 || sum != c.want[n] {
					t.Errorf("%s, alpha %q: got %q, want sum %s", typ, c.alpha, line, c.want[n])
				}
			}
		}
	}
}

// TestAheadOnce checks that statements that differ only in names have their leaf compiled ahead
// once.
func TestAheadOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "A.tns", "1 1 2\n2 3 4\n3 2 5\n")
	f := job(t, dir, `tensor A(n, n): ds from "A.tns"
tensor x(n): d
tensor f(n): d type float32
x(i) = A(i,j)
r0(i) = A(i,j) * x(j) + 1e3
r1(row) = A(row,col) * x(col) + 1e3
r2(i) = A(i,j) * x(j) + 1e4
r3(i) = A(j,i) * x(j) + 1e3
r4(i) = A(i,j) * r0(j) + 1e3
f(i) = A(i,j) * x(j) + 1e3
repeat 5 {
  r5(i) = A(i,j) * x(j) + 1e3
}
r6(i) = A(i,j) * x(j) + 1e3
  parallelize(i, CPUThread, NoRaces)
r7(i) = A(i,j) * x(j) + 1e3
`, nil).File
	// r1 and r0; r7, r0 and r1
	wantAlike(t, f, 1, [][]int{{1, 2, 9}})
}

// wantAlike checks which statements of a file are recognized as having the same leaves. groups
// lists the numbers of the statements that must be recognized together.
func wantAlike(t *testing.T, f *jobfile.File, ranks int, groups [][]int) {
	t.Helper()
	statements, err := jobs.Statements(f, nil, ranks)
	if err != nil {
		t.Fatal(err)
	}
	keys := jobs.Alike(statements)
	for a, one := range keys {
		for b, two := range keys[:a] {
			want := slices.ContainsFunc(groups, func(g []int) bool {
				return slices.Contains(g, a) && slices.Contains(g, b)
			})
			if got := one == two; got != want || one == "" {
				t.Errorf("statements %d and %d are alike: %t, want %t\n%s\n\n%s", b, a, got, want, two, one)
			}
		}
	}
}

// TestAheadOnceOfSchedules is TestAheadOnce for statements whose commands, placements and machines
// also differ only in names.
func TestAheadOnceOfSchedules(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "A.tns", "1 1 2\n2 3 4\n3 2 5\n")
	f := job(t, dir, `machine M(2)
machine grid(2)
machine square(2, 1)
tensor A(n, n): ds place (x,y) -> M(x) from "A.tns"
tensor B(n, n): ds place (row,column) -> grid(row) from "A.tns"
tensor C(n, n): ds place (x,y) -> M(y) from "A.tns"
tensor v(n): d
v(i) = A(i,j)
y0(i) = A(i,j) * v(j)
  distribute(i, io, ii, M)
  communicate(v, io)
y1(row) = B(row,col) * v(col)
  distribute(row, part, rest, grid)
  communicate(v, part)
y2(i) = C(i,j) * v(j)
  distribute(i, io, ii, M)
  communicate(v, io)
y3(i) = A(i,j) * v(j)
  distribute(i, io, ii, M)
  communicate({A, v}, io)
y4(i) = A(i,j) * v(j)
  split(i, i0, i1, 4)
  parallelize(i0, CPUThread, NoRaces)
y5(k) = A(k,z) * v(z)
  split(k, outer, inner, 4)
  parallelize(outer, CPUThread, NoRaces)
y6(k) = A(k,z) * v(z)
  split(k, outer, inner, 4)
  parallelize(inner, CPUThread, NoRaces)
y7(k) = A(k,z) * v(z)
  split(k, outer, inner, 8)
  parallelize(outer, CPUThread, NoRaces)
y8(k) = A(k,z) * v(z)
  split(k, outer, inner, 4)
  parallelize(outer, CPUThread, Atomics)
y9(k) = A(k,z) * v(z)
  network direct
y10(i) = A(i,j) * v(j)
  network direct
`, nil).File
	wantAlike(t, f, 2, [][]int{{1, 2}, {5, 6}, {10, 11}})
}

// TestHastyLeaves checks that leaves that do little work in all their runs are compiled with less
// optimization, that -v says so, and that runs that are timed have fully optimized leaves.
func TestHastyLeaves(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "A.tns", "1 1 2\n2 3 4\n3 2 5\n")
	text :=
		"tensor A(n, n): ds from \"A.tns\"\ntensor x(n): d\nx(i) = A(i,j)\nrepeat %d {\n  y(i) = A(i,j) * x(j)\n}\nprint y\n"
	for _, c := range []struct {
		passes string
		repeat int
		hasty  []string
	}{
		{"1", 0, []string{"x(i) = A(i,j)", "y(i) = A(i,j)*x(j)"}},
		{"1000000000", -1, []string{"x(i) = A(i,j)"}},
		{"1", 2, nil},
	} {
		var said []string
		stop := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(context.Background())
		j := job(t, dir, strings.ReplaceAll(text, "%d", c.passes), nil)
		j.Target, j.Repeat = "", max(c.repeat, 0)
		t.Setenv("DISTAFF_CACHE", t.TempDir())
		j.Detail = func(line string) {
			if s, ok := strings.CutPrefix(line, "the leaf of "); ok {
				s, _, _ = strings.Cut(s, " is compiled with less optimization, because it does only")
				said = append(said, s)
			}
			if c.repeat < 0 && strings.HasPrefix(line, "compiling y") {
				cancel(stop)
			}
		}
		_, err := j.Run(ctx)
		cancel(nil)
		if errors.Is(err, cc.ErrNoCompiler) {
			t.Skip(err)
		}
		if err != nil && !(c.repeat < 0 && errors.Is(err, stop)) {
			t.Fatal(err)
		}
		if !slices.Equal(said, c.hasty) {
			t.Errorf("%s passes, repeated %d times: in haste %q, want %q", c.passes, c.repeat, said, c.hasty)
		}
	}
}

// TestLeavesSideBySide checks that the leaves of a file are compiled while earlier statements run,
// as many at once as there are cores, and that no unused leaf is compiled.
func TestLeavesSideBySide(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one core")
	}
	compiler, err := cc.Find("", os.Getenv("PATH"))
	if err != nil {
		t.Skip(err)
	}
	for _, ranks := range []int{1, 2} {
		dir := t.TempDir()
		log := filepath.Join(dir, "log")
		script := filepath.Join(dir, "cc")
		text := fmt.Sprintf(
			"#!/bin/sh\necho begin >> %s\nsleep 0.5\n%s \"$@\"\nrc=$?\necho end >> %s\nexit $rc\n", log,
			compiler.Path, log)
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("DISTAFF_CC", script)
		t.Setenv("DISTAFF_CACHE", filepath.Join(dir, "cache"))
		write(t, dir, "A.tns", "1 1 2\n2 3 4\n3 2 5\n")
		j := job(t, dir, `tensor A(n, n): ds from "A.tns"
tensor y(n): d
tensor B(n, n): ds
y(i) = A(i,j)
repeat 3 {
  B(i,j) = A(i,j) * y(j)
  y(i) = B(i,j) * y(j) + y(i)
  s = y(i) * y(i)
}
print s
`, nil)
		j.Target, j.Ranks = "", ranks
		j.run(t)
		lines, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		now, most, all := 0, 0, 0
		for _, line := range strings.Fields(string(lines)) {
			if line == "begin" {
				now, all = now+1, all+1
			} else {
				now--
			}
			most = max(most, now)
		}
		if most < 2 {
			t.Errorf("%d ranks: at most %d compilers ran at once, want 2 or more", ranks, most)
		}
		if n := cached(t, filepath.Join(dir, "cache")); all != n || n != 4 {
			t.Errorf("%d ranks: %d compilations made %d leaves, want 4", ranks, all, n)
		}
	}
}
