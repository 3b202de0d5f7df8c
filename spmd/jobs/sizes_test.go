package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
	"distaff/spmd/comm"
)

// rankless matches the number of the rank at the beginning of an error.
var rankless = regexp.MustCompile(`^\[\d+\] `)

const general = "%%MatrixMarket matrix coordinate real general\n"

// TestSizes checks that names get the sizes of files if a mode's size is the name alone.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.mtx", general+"4 5 2\n1 1 2\n3 2 4\n")
	write(t, dir, "short.tns", "2 1\n")
	write(t, dir, "long.tns", "7 1\n")
	k := job(t, dir,
		"tensor B(n, m): ds from \"b.mtx\" to \"b.tcs\"\ntensor c(n): d from \"short.tns\" to \"c.npy\"\ns = B(i,j) * c(i)\n", nil)
	k.run(t)
	for _, c := range []struct {
		name, declared string
		sizes          string // the sizes of y(n, m)
	}{
		{".mtx", `tensor B(n, m): ds from "b.mtx"`, "4x5"},
		{".tcs", `tensor B(n, m): ds from "b.tcs"`, "4x5"},
		{".npy", "tensor c(n): d from \"c.npy\"\nparam m = 3", "4x3"},
		{"largest coordinates", "tensor v(n): d from \"short.tns\"\ntensor w(m): d from \"long.tns\"",
			"2x7"},
		{"the larger of them",
			"tensor v(n): d from \"short.tns\"\ntensor w(n): d from \"long.tns\"\nparam m = 1", "7x1"},
		{"a file that has sizes wins",
			"tensor v(n): d from \"short.tns\"\ntensor B(n, m): ds from \"b.mtx\"", "4x5"},
		{"in any order", "tensor B(n, m): ds from \"b.mtx\"\ntensor v(n): d from \"short.tns\"", "4x5"},
		{"arithmetic",
			"tensor B(k, l): ds from \"b.mtx\"\nparam m = 2\ntensor u(l / 2 + k * m): d from \"short.tns\"\nparam n = 3", "3x2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRanks(t, func(t *testing.T, ranks int) {
				j := job(t, dir, c.declared+"\ntensor y(n, m): dd\ny(i,j) = 1\nprint y\n", nil)
				j.Ranks = ranks
				j.run(t)
				if len(j.said) != 1 || !strings.HasPrefix(j.said[0], "y: "+c.sizes+", ") {
					t.Errorf("got %q, want sizes %s", j.said, c.sizes)
				}
			}, 1, 2)
		})
	}
	// -d takes precedence over every file.
	j := job(t, dir, "tensor v(n): d from \"short.tns\"\ny(i) = v(i)\nprint y\n", nil)
	j.File.Sizes = map[string]int64{"n": 9}
	if j.run(t); !strings.HasPrefix(j.said[0], "y: 9, ") {
		t.Errorf("got %q, want size 9", j.said)
	}
}

// TestWrongSizes checks that an error about two different sizes names both places, and that all
// ranks return the same error.
func TestWrongSizes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.mtx", general+"4 5 2\n1 1 2\n3 2 4\n")
	write(t, dir, "c.mtx", general+"5 6 1\n1 1 2\n")
	write(t, dir, "long.tns", "1 1\n7 1\n")
	write(t, dir, "empty.tns", "# nothing\n")
	for _, c := range []struct {
		name, text string
		want       []string
		exit       int
	}{
		{"two files",
			"tensor B(n, m): ds from \"b.mtx\"\n\ntensor C(n, m): ds from \"c.mtx\"\nx = B(i,j) * C(i,j)\n",
			[]string{"job.dst:3", "b.mtx", "c.mtx", "4", "5"}, 2},
		{"two modes of a file", "tensor B(n, n): ds from \"b.mtx\"\nx = B(i,j)\n",
			[]string{"job.dst:1", "b.mtx", "4", "5"}, 2},
		{"a number and a file", "tensor B(4, 6): ds from \"b.mtx\"\nx = B(i,j)\n",
			[]string{"b.mtx", "5", "6"}, 2},
		{"modes", "tensor B(n, m, l): sss from \"b.mtx\"\nx = B(i,j,k)\n",
			[]string{"b.mtx", "2 modes", "3"}, 2},
		{"in a statement",
			"tensor B(n, m): ds from \"b.mtx\"\ntensor y(n): d\ns = B(i,j)\ny(i) = 1\nx(i) = B(i,j) * y(j)\n", []string{"job.dst:5", "4", "5"}, 2},
		{"a coordinate past its size",
			"tensor B(n, m): ds from \"b.mtx\"\ntensor v(n): d from \"long.tns\"\nx = B(i,j) * v(i)\n",
			[]string{"long.tns:2", "7", "4"}, 3},
		{"nothing tells it", "tensor v(n): d from \"empty.tns\"\nx = v(i)\n", []string{"empty.tns"}, 2},
		{"no file", "tensor v(n): d from \"no.tns\"\nx = v(i)\n", []string{"no.tns", "no such file"}, 1},
		{"arithmetic below 0",
			"tensor B(n, m): ds from \"b.mtx\"\ntensor v(n - m): d\nv(i) = 1\ns = B(i,j)\n",
			[]string{"job.dst:2:10", "-1"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			onRanks(t, func(t *testing.T, ranks int) {
				j := job(t, dir, c.text, nil)
				j.Ranks = ranks
				_, err := j.Run(context.Background())
				if err == nil {
					t.Fatalf("there is no error, want %q", c.want)
				}
				for _, part := range c.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("got %v, want %q in it", err, part)
					}
				}
				if comm.ExitCode(err) != c.exit {
					t.Errorf("%v: exit %d, want %d", err, comm.ExitCode(err), c.exit)
				}
				said = append(said, rankless.ReplaceAllString(err.Error(), ""))
			}, 1, 2)
			if len(slices.Compact(said)) > 1 {
				t.Errorf("the error depends on the number of ranks:\n%s", strings.Join(said, "\n"))
			}
		})
	}
}

// TestPlace checks that moving a tensor does not change its values, wherever it was before and
// whether or not it was read.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.mtx", general+"7 5 6\n1 1 1\n2 5 2\n4 2 3\n5 1 4\n7 5 5\n7 1 6\n")
	for _, format := range []string{"ds", "ss", "ds:1,0", "dd", "uq"} {
		for _, order := range []string{"before", "after", "inside"} {
			place := "place B (x,y) -> M(%s)\n"
			text := "machine M(p)\ntensor B(n, m): " + format +
				" place (x,y) -> M(y) from \"b.mtx\"\ntensor v(m): d place (x) -> M(*)\nv(j) = 1\n"
			use :=
				"y(i) = B(i,j) * v(j)\ns(j) = B(i,j)\nB(i,j) = B(i,j) * 2\nt = B(i,j)\nprint y\nprint s\nprint t\n"
			switch order {
			case "before":
				text += fmt.Sprintf(place, "x") + use
			case "after":
				text += use + fmt.Sprintf(place, "*") + use + fmt.Sprintf(place, "y") + use
			case "inside":
				text += "repeat 3 {\n" + fmt.Sprintf(place, "x") + use + fmt.Sprintf(place,
					"y") + "place v (a) -> M(a)\n" + use + "}\n"
			}
			t.Run(format+" "+order, func(t *testing.T) {
				var want []string
				onRanks(t, func(t *testing.T, ranks int) {
					j := job(t, dir, text, nil)
					j.Ranks = ranks
					j.run(t)
					if want == nil {
						want = j.said
					} else if !slices.Equal(j.said, want) {
						t.Errorf("got %q, want %q", j.said, want)
					}
				}, 1, 2, 3)
				if len(want) == 0 || !strings.Contains(want[0], "sum 21") {
					t.Errorf("got %q", want)
				}
			})
		}
	}
}

// TestMachine checks machines with more points than ranks, and that a note is given if ranks have
// no point.
func TestMachine(t *testing.T) {
	for _, c := range []struct {
		extents   string
		ranks     int
		note, err string
	}{
		{extents: "p", ranks: 3}, {extents: "2", ranks: 2}, {extents: "p * 2 / 2", ranks: 2},
		{extents: "4, p", ranks: 2},
		{extents: "2", ranks: 3,
			note: "job.dst:1: machine M (2) has 2 points, but the job has 3 ranks: the last 1 get none"},
		{extents: "2, p / 2", ranks: 5,
			note: "job.dst:1: machine M (2x2) has 4 points, but the job has 5 ranks: the last 1 get none"},
		{extents: "p - 1", ranks: 1, err: "got p - 1 = 0 for an extent of M"},
		{extents: "1099511627776, p", ranks: 1,
			err: "job.dst:1:1: machine M: got a machine with too many points, want at most 2147483647"},
	} {
		j := job(t, t.TempDir(), "machine M("+c.extents+")\nx = 1\n", nil)
		j.Ranks = c.ranks
		_, err := j.Run(context.Background())
		notes := strings.Join(j.notes, "\n")
		switch {
		case c.err == "" && err != nil:
			t.Errorf("M(%s) with %d ranks: %v", c.extents, c.ranks, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) ||
			comm.ExitCode(err) != 2):
			t.Errorf("M(%s) with %d ranks: got %v, want %q", c.extents, c.ranks, err, c.err)
		case !strings.HasSuffix(notes, c.note) || c.note == "" && notes != "":
			t.Errorf("M(%s) with %d ranks: got notes %q, want %q", c.extents, c.ranks, notes, c.note)
		}
	}
}

// TestPlacedOver checks runs and plans with tensors placed over machines that have fewer points
// than ranks, as many, and more, and placements that are refused.
func TestPlacedOver(t *testing.T) {
	for _, c := range []struct {
		machine, placement, command string
		ranks                       int
		want                        string
	}{
		{"M(p)", "(x,y) -> M(y)", "", 3, ""},
		{"M(4)", "(x,y) -> M(y)", "", 4, ""},
		{"M(2, 2)", "(x,y) -> M(x,0)", "", 1, ""},
		{"M = \"nodes=2;gpus=2\"", "(x,y) -> nodes(x); (x,y) -> gpus(*)", "", 1, ""},
		{"M(2, 2)", "(x,y) -> M(x,0)", "", 4, ""},
		{"M(4)", "(x,y) -> M(x)", "", 2, ""},
		{"M(p)", "(x,y) -> M(0)", "", 2, ""},
		{"M(2, (p+1)/2)", "(x,y) -> M(*,0)", "  distribute(i)", 1, ""},
		{"M(2, 2)", "(x,y) -> M(*,0)", "  distribute(i)\n  communicate(A,j)", 5, ""},
		{"M(2, 2)", "(x,y) -> M(x,2)", "", 4, "got coordinate 2 of M, want less than its extent, 2"},
		{"M(2, 2)", "(x,y) -> M(x,0)", "  distribute(j)", 4,
			"job.dst:4:3: distribute: the loop over j must be outside the loop over i, which belongs to the leaf; use reorder"},
	} {
		text := "machine " + c.machine + "\ntensor A(4, 4): ds place " + c.placement +
			" from uniform:7:int\ns = A(i,j)\n" + c.command + "\nprint s\n"
		j := job(t, t.TempDir(), text, nil)
		j.Ranks = c.ranks
		_, err := j.Run(context.Background())
		_, planned := j.Plan(context.Background(), 0)
		for _, err := range []error{err, planned} {
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s with %d ranks: %v", text, c.ranks, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				comm.ExitCode(err) != 2):
				t.Errorf("%s with %d ranks: got %v, want %q", text, c.ranks, err, c.want)
			}
		}
	}
}

// TestRanksName checks that p means the number of ranks in an extent, and is an ordinary name in a
// size.
func TestRanksName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "v.tns", "7 1\n")
	onRanks(t, func(t *testing.T, ranks int) {
		j := job(t, dir,
			"machine M(p)\ntensor v(p): d place (x) -> M(x) from \"v.tns\"\ny(i) = v(i)\nprint y\n", nil)
		j.Ranks = ranks
		if j.run(t); !strings.HasPrefix(j.said[0], "y: 7, ") {
			t.Errorf("got %q, want size 7", j.said)
		}
	}, 1, 2, 3)
}

// TestLocated checks that an error of a statement has its position in the file, for every number of
// ranks.
func TestLocated(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.mtx", general+"4 5 2\n1 1 2\n3 2 4\n")
	write(t, dir, "z.mtx", "%%MatrixMarket matrix coordinate complex general\n4 5 1\n1 1 2 1\n")
	write(t, dir, "bad.mtx", general+"4 5 2\n1 1 2\n3 2 x\n")
	for _, c := range []struct {
		name, text, want string
		exit             int
	}{
		{"division", "tensor n type int64\nn = 0\n\ntensor m type int64\nm = 1 + n / n\n", "job.dst:5:",
			3},
		{"division in a repeat", "tensor n type int64\nn = 1\nrepeat 3 {\n  n = n - 1\n  n = 1 / n\n}\n",
			"job.dst:5:3: ", 3},
		{"condition", "tensor n type int64\nn = 1\nrepeat 3 until n / (n - 1) > 2 {\n  n = 1\n}\n",
			"job.dst:3:16: ", 3},
		{"types of files",
			"tensor Z(n, m): ds from \"z.mtx\"\ntensor y(n): d type float64\n\ny(i) = Z(i,j)\n",
			"job.dst:4:1: ", 2},
		{"a variable that is no loop",
			"tensor B(n, m): ds from \"b.mtx\"\ny(i) = B(i,j)\n  split(i, i0, i1, 4)\n  parallelize(k, CPUThread, NoRaces)\n", "job.dst:4:", 2},
		{"a format", "tensor B(n, m): ds from \"b.mtx\"\ntensor C(m, n): dq\nC(j,i) = B(i,j)\n",
			"job.dst:2:", 2},
		{"a file", "tensor B(n, m): ds from \"bad.mtx\"\ny(i) = B(i,j)\n", "bad.mtx:4:", 3},
		{"a split", "tensor B(n, m): ds from \"b.mtx\"\ny(i) = B(i,j)\n  split k:4\n", "job.dst:", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRanks(t, func(t *testing.T, ranks int) {
				x, err := file(filepath.Join(dir, "job.dst"), c.text, nil)
				if err == nil {
					x.Target, x.Threads, x.Ranks = spmd.Interpreter, 1, ranks
					_, err = x.Run(context.Background())
				}
				if err == nil || !strings.Contains(err.Error(), c.want) || comm.ExitCode(err) != c.exit {
					t.Errorf("got %v, exit %d, want %q, exit %d", err, comm.ExitCode(err), c.want, c.exit)
				}
			}, 1, 2)
		})
	}
}

// TestTypesOfInputs checks that a tensor has its input's type, even if a statement writes it before
// another reads it, and that values that the type would round are refused before anything runs.
func TestTypesOfInputs(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		dir := t.TempDir()
		job(t, dir,
			"tensor x(3): d type float32 to \"x.npy\"\ntensor y(3): d type float64 to \"y.npy\"\nx(i) = 1\ny(i) = 2\n", nil).run(t)
		j := job(t, dir,
			"tensor x(n): d from \"x.npy\"\ntensor k type int32 from 2\ntensor a from 1\ntensor b from 5\ntensor G(2): d from dense\nx(i) = 3\na = k\nb = k\nG(i) = k\nprint x\nprint G\na = a * 0.5\nb = b * 0.5\nprint a\nprint b\n", nil)
		j.Ranks, j.Inputs = ranks, map[string]spmd.Input{"b": spmd.File("3")}
		j.run(t)
		if want := []string{"x: 3, d, float32, 3 entries, sum 9", "G: 2, d, float64, 2 entries, sum 4",
			"a = 1", "b = 1"}; !slices.Equal(j.said, want) {
			t.Errorf("got %q, want %q", j.said, want)
		}
		j = job(t, dir,
			"tensor x(n): d from \"x.npy\"\ntensor y(n): d from \"y.npy\"\nprint y\nx(i) = y(i)\n", nil)
		j.Ranks = ranks
		if _, err := j.Run(context.Background()); err == nil || comm.ExitCode(err) != 2 ||
			!strings.Contains(err.Error(), "job.dst:4:1: got values of type float64 for x") ||
			len(j.said) > 0 {
			t.Errorf("got %v, and printed %q, want a refusal", err, j.said)
		}
	}, 1, 2)
}
