package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/spmd/comm"
)

// halving is a job that halves x until it is small.
const halving = `param passes = 10
tensor v(n): d from "v.tns"
tensor y(n): d to "y.npy"
x = 1
y(i) = v(i)
repeat passes until x < 0.1 %s{
  x = x / 2
  y(i) = y(i) + v(i)
}
`

func TestUntil(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		for _, c := range []struct {
			fail, passes string
			note         string
			end          string // the error message
			y            float64
		}{
			{"", "10", "job.dst:6: x < 0.1 is true after 4 passes", "", 15},
			{"or fail ", "10", "job.dst:6: x < 0.1 is true after 4 passes", "", 15},
			{"or fail ", "4", "job.dst:6: x < 0.1 is true after 4 passes", "", 15},
			{"", "3", "job.dst:6: x < 0.1 is still false after 3 passes; x is 0.125", "", 12},
			{"", "1", "job.dst:6: x < 0.1 is still false after 1 pass; x is 0.5", "", 6},
			{"or fail ", "3", "", "job.dst:6: x < 0.1 is still false after 3 passes; x is 0.125", 0},
		} {
			dir := t.TempDir()
			write(t, dir, "v.tns", "1 3\n2 4\n")
			out := write(t, dir, "y.npy", "what was there")
			j := job(t, dir, fmt.Sprintf(halving, c.fail), map[string]string{"passes": c.passes})
			j.Ranks = ranks
			report, err := j.Run(context.Background())
			if c.end != "" {
				if err == nil || err.Error() != filepath.Join(dir, c.end) || comm.ExitCode(err) != 4 {
					t.Errorf("got %v, exit %d, want %s, exit 4", err, comm.ExitCode(err), c.end)
				}
				if text, _ := os.ReadFile(out); string(text) != "what was there" {
					t.Errorf("a job that failed wrote %q", text)
				}
				if report == nil || report.Statements[2].Runs != 3 {
					t.Errorf("got the report %+v, want one with 3 runs of x = x / 2", report)
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				if _, y := values(t, out); y[0] != c.y {
					t.Errorf("%s passes: got %v, want %v", c.passes, y[0], c.y)
				}
			}
			var notes []string
			for _, n := range j.notes {
				if strings.Contains(n, " after ") {
					notes = append(notes, strings.TrimPrefix(n, dir+"/"))
				}
			}
			if want := slices.DeleteFunc([]string{c.note},
				func(s string) bool { return s == "" }); !slices.Equal(notes, want) {
				t.Errorf("got notes %q, want %q", notes, want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
				t.Errorf("files are left: %v", left)
			}
		}
	}, 1, 2, 3)
}

// TestNested checks that an inner repeat starts from its first pass in each pass of the outer one,
// and that a print in it prints each time.
func TestNested(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		j := job(t, t.TempDir(), `param outer = 3
tensor v(2): d
total = 0
k = 0
repeat outer {
  k = k + 1
  n = 0
  repeat 100 until n >= k {
    n = n + 1
    repeat 2 { total = total + 1 }
    v(i) = total
    print v
  }
  print n
}
print total
`, map[string]string{"outer": "2"})
		j.Ranks = ranks
		report := j.run(t)
		want := []string{"v: 2, d, float64, 2 entries, sum 4", "n = 1",
			"v: 2, d, float64, 2 entries, sum 8", "v: 2, d, float64, 2 entries, sum 12", "n = 2",
			"total = 6"}
		if !slices.Equal(j.said, want) {
			t.Errorf("got %q, want %q", j.said, want)
		}
		var runs []int64
		for _, s := range report.Statements {
			runs = append(runs, s.Runs)
		}
		if want := []int64{1, 1, 2, 2, 3, 6, 3}; !slices.Equal(runs, want) {
			t.Errorf("statements ran %v times, want %v", runs, want)
		}
	}, 1, 2, 3)
}

// TestBranches checks that an if runs one of its blocks, that a break and a continue end what they
// name, that tensors which several blocks write have one type and size, and that every run of the
// file begins again.
func TestBranches(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		j := job(t, t.TempDir(), `tensor v(3): d from dense
k = 0
odd = 0
repeat 10 until k >= 9 or fail {
  k = k + 1
  half = floor(k / 2)
  if 2 * half == k {
    w(i) = v(i) * 0
    kind = k
  } else if k == 3 { kind = 0.5 } else {
    if k > 1 {
      continue if k < 6
      break if k == 7
    }
    w(i) = 1
    kind = 2 * k
    odd = odd + 1
  }
  print kind
}
if k == 7 { x(i) = 1 + 0 * v(i) } else { x(i) = 3 }
print odd
print k
print x
`, nil)
		j.Ranks, j.Repeat = ranks, 2
		report := j.run(t)
		want := []string{"kind = 2", "kind = 2", "kind = 0.5", "kind = 4", "kind = 6", "odd = 1",
			"k = 7", "x: 3, d, float64, 3 entries, sum 3"}
		if !slices.Equal(j.said, append(want, want...)) {
			t.Errorf("got %q, want %q twice", j.said, want)
		}
		var runs []int64
		for _, s := range report.Statements {
			runs = append(runs, s.Runs)
		}
		if want := []int64{2, 2, 14, 14, 6, 6, 2, 2, 2, 2, 2, 0}; !slices.Equal(runs, want) {
			t.Errorf("statements ran %v times, want %v", runs, want)
		}
		if want := "k == 7 is true in pass 7"; !strings.Contains(strings.Join(j.notes, "\n"), want) {
			t.Errorf("got notes %q, want %q", j.notes, want)
		}
	}, 1, 2, 3)
}

// TestPasses checks that a file that runs twice begins from its inputs each time.
func TestPasses(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		dir := t.TempDir()
		write(t, dir, "a.tns", "1 1 2\n3 2 4\n")
		text := `tensor A(n, m): ds from "a.tns" to "a.npy"
tensor s(n): d to "s.npy"
A(i,j) = 3 * A(i,j)
s(i) += A(i,j)
count += A(i,j) / A(i,j)
print count
`
		j := job(t, dir, text, nil)
		j.Ranks, j.Repeat = ranks, 2
		report := j.run(t)
		if len(report.Passes) != 2 || report.Statements[0].Runs != 2 {
			t.Errorf("got %+v, want two passes", report)
		}
		if want := []string{"count = 2", "count = 2"}; !slices.Equal(j.said, want) {
			t.Errorf("got %q, want %q", j.said, want)
		}
		if _, a := values(t, filepath.Join(dir, "a.npy")); !slices.Equal(a,
			[]float64{6, 0, 0, 0, 0, 12}) {
			t.Errorf("got A = %v", a)
		}
		if _, s := values(t, filepath.Join(dir, "s.npy")); !slices.Equal(s, []float64{6, 0, 12}) {
			t.Errorf("got s = %v", s)
		}
	}, 1, 2, 3)
}
