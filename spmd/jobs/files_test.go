package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
	"distaff/spmd/comm"
)

// TestPaths checks that paths in a file are relative to the file, and other paths are relative to
// the working folder.
func TestPaths(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		dir := t.TempDir()
		for _, d := range []string{"job", "data", "here"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(filepath.Join(dir, "here"))
		write(t, dir, "data/a.tns", "1 1 2\n2 2 3\n")
		write(t, dir, "here/b.tns", "1 5\n2 7\n")
		j := job(t, filepath.Join("..", "job"), `tensor A(n, n): ds from "../data/a.tns"
tensor b(n): d      from "there_is_none.tns"
tensor x(n): d      to "x.npy"
tensor y(n): d      to "y.npy"
x(i) = A(i,j) * b(j)
y(i) = 2 * x(i)
z(i) = 3 * x(i)
`, nil)
		j.Ranks = ranks
		j.Inputs = map[string]spmd.Input{"b": spmd.File("b.tns")}
		j.Outputs = map[string]string{"y": "other.npy", "z": "z.npy"}
		j.run(t)
		for name, want := range map[string][]float64{"job/x.npy": {10, 21}, "here/other.npy": {20, 42},
			"here/z.npy": {30, 63}} {
			if _, got := values(t, filepath.Join(dir, name)); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "job", "y.npy")); err == nil {
			t.Error("y.npy is there, and other.npy is to be in its place")
		}
	}, 1, 3)
}

// TestInputs checks that an input given by a flag replaces any kind of input in the file.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "v.tns", "1 1\n4 2\n")
	j := job(t, dir, `param k = 1
tensor a from k
tensor b from 2
tensor v(n): d from "v.tns"
tensor w(n): d from dense:int
c = a * b * v(i) * w(i)
print c
`, map[string]string{"k": "10"})
	j.Inputs = map[string]spmd.Input{"b": spmd.Scalar(3.0),
		"w": spmd.File(filepath.Join(dir, "v.tns"))}
	j.run(t)
	if want := []string{"c = 150"}; !slices.Equal(j.said, want) {
		t.Errorf("got %q, want %q", j.said, want)
	}
}

// TestOverwrittenInput checks that a note tells of an input that a statement overwrites before any
// item reads it, and that there is none if an item reads it first.
func TestOverwrittenInput(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"tensor a from 1\na = 2\nprint a\n", "job.dst:2: the values of the input of a are not " +
			"used: this line computes a first"},
		{"tensor a from 1\nrepeat 2 {\n  a = 2\n}\nb = a\nprint b\n", "job.dst:3: the values of " +
			"the input of a are not used: this line computes a first"},
		{"tensor a from 1\na = a + 1\nprint a\n", ""},
		{"tensor a from 1\na += 1\nprint a\n", ""},
		{"tensor a from 1\nprint a\na = 2\n", ""},
		{"tensor a from 1\nb = 1\nrepeat 2 until a > b {\n  b = b + 1\n}\na = 2\nprint b\n", ""},
	} {
		dir := t.TempDir()
		j := job(t, dir, c.text, nil)
		j.Inputs = map[string]spmd.Input{"a": spmd.Scalar(3.0)}
		j.run(t)
		got := ""
		for _, n := range j.notes {
			if strings.Contains(n, "not used") {
				got += strings.TrimPrefix(n, dir+"/")
			}
		}
		if got != c.want {
			t.Errorf("%q: got the note %q, want %q", c.text, got, c.want)
		}
	}
}

// TestUnread checks that a tensor that no statement reads is printed, placed and written, even if
// another tensor has the name that a copy of it would get.
func TestUnread(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		dir := t.TempDir()
		write(t, dir, "a.tns", "1 1 2\n3 2 4\n")
		job(t, dir, "tensor e to \"e.npy\"\ne = 3.5\n", nil).run(t)
		j := job(t, dir, `tensor A(n, m): ds from "a.tns" to "b.npy"
tensor A_(k, k, k): sss from uniform:5:int
tensor s from 2.5
tensor e from "e.npy"
param k = 4
print A
place A (i,j) -> M(j)
print A
print A_
print s
c = 0
repeat 10 until c > e { c = c + 1 }
print c
`, nil)
		j.Ranks = ranks
		j.run(t)
		for k, want := range []string{"A: 3x2, ds, float64, 2 entries, sum 6",
			"A: 3x2, ds, float64, 2 entries, sum 6", "A_: 4x4x4, sss, float64, 5 entries, sum ", "s = 2.5",
			"c = 4"} {
			if k >= len(j.said) || !strings.HasPrefix(j.said[k], want) {
				t.Errorf("got %q, want %q", j.said, want)
			}
		}
		if _, a := values(t, filepath.Join(dir, "b.npy")); !slices.Equal(a, []float64{2, 0, 0, 0, 0, 4}) {
			t.Errorf("got A = %v", a)
		}
	}, 1, 2, 3)
}

// TestTogether checks that either all outputs appear at the end, or none.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name, text string
		outputs    map[string]string
		want       string
		exit       int
	}{
		{"two tensors in a file", "tensor x(2): d to \"x.npy\"\ntensor y(2): d\nx(i) = 1\ny(i) = 2\n",
			map[string]string{"y": "./x.npy"}, "also writes, want different files", 2},
		{"no folder", "tensor x(2): d to \"x.npy\"\ntensor y(2): d to \"no/y.npy\"\nx(i) = 1\ny(i) = 2\n",
			nil, "no/y.npy", 1},
		{"a file of two modes at most",
			"tensor x(2): d to \"x.npy\"\ntensor y(2,2,2): ddd to \"y.mtx\"\nx(i) = 1\ny(i,j,k) = 2\n", nil,
			"y.mtx", 2},
		{"no format", "tensor x(2): d to \"x.npy\"\ntensor y(2): d\nx(i) = 1\ny(i) = 2\n",
			map[string]string{"y": "y.doc"}, "y.doc", 2},
		{"an error in a statement",
			"tensor x(2): d to \"x.npy\"\ntensor n type int64\nx(i) = 1\nn = 0\nn = 1 / n\n", nil, "zero",
			3},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRanks(t, func(t *testing.T, ranks int) {
				dir := t.TempDir()
				write(t, dir, "x.npy", "what was there")
				j := job(t, dir, c.text, nil)
				j.Ranks, j.Outputs = ranks, map[string]string{}
				for name, file := range c.outputs {
					j.Outputs[name] = filepath.Join(dir, file)
				}
				_, err := j.Run(context.Background())
				if err == nil || !strings.Contains(err.Error(), c.want) || comm.ExitCode(err) != c.exit {
					t.Errorf("got %v, exit %d, want %q, exit %d", err, comm.ExitCode(err), c.want, c.exit)
				}
				if text, _ := os.ReadFile(filepath.Join(dir, "x.npy")); string(text) != "what was there" {
					t.Errorf("x.npy was written: %q", text)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
					t.Errorf("files are left: %v", left)
				}
			}, 1, 2)
		})
	}
}
