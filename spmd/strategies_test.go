package spmd_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"distaff/kernels/cc"
	"distaff/spmd"
)

// race is the outcome of a threaded loop with one strategy: it runs, it is a race that only the
// user can vouch for, or it is refused with these words.
type race string

const (
	runs  race = ""
	racy  race = "racy"
	adds  race = "add to the same elements"
	many  race = "but ParallelReduction is only for one; use Temporary or Atomics"
	grows race = "is appended to in order"
	turns race = "use Temporary, where each thread has its own workspace"
)

// strategies are the outcomes of each race strategy on each kind of result. S in a schedule is
// replaced by the strategy.
var strategies = []struct {
	name, stmt, schedule string
	formats              map[string]string
	want                 [5]race // in the order of races
}{
	{"dense, rows", "y(i) = A(i,j) * x(j)", "parallelize(i,CPUThread,S)", map[string]string{"A": "ds"},
		[5]race{}},
	{"dense, a sum", "y(j) = A(i,j) * x(i)", "parallelize(i,CPUThread,S)",
		map[string]string{"A": "ds"}, [5]race{adds, racy, runs, runs, many}},
	{"dense, one place", "y(i) = A(i,j) * x(j)", "parallelize(j,CPUThread,S)",
		map[string]string{"A": "ds"}, [5]race{adds, racy, runs, runs, runs}},
	{"scalar", "a = A(i,j) * x(j)", "parallelize(i,CPUThread,S)", map[string]string{"A": "ds"},
		[5]race{adds, racy, runs, runs, runs}},
	{"shared", "C(i,j) = A(i,j) * B(i,j)", "parallelize(i,CPUThread,S)",
		map[string]string{"A": "ds", "C": "ds"}, [5]race{}},
	{"shared, a sum", "C(i,j) = A(i,j) * B(i,k) * D(j,k)", "parallelize(k,CPUThread,S)",
		map[string]string{"A": "ds", "C": "ds"}, [5]race{adds, racy, runs, runs, runs}},
	{"assembled", "C(i,j) = A(i,k) * B(k,j)", "parallelize(i,CPUThread,S)",
		map[string]string{"A": "ds", "B": "ds", "C": "ds"}, [5]race{runs, runs, grows, grows, grows}},
	{"assembled, a sum", "y(j) = A(i,j)", "parallelize(i,CPUThread,S)",
		map[string]string{"A": "ds", "y": "s"}, [5]race{turns, turns, turns, runs, turns}},
	{"assembled, a sum of tiles", "y(j) = A(i,j)", "split(i,i0,i1,4),parallelize(i0,CPUThread,S)",
		map[string]string{"A": "ds", "y": "s"}, [5]race{turns, turns, turns, runs, turns}},
	{"assembled, rows of sums", "C(i,j) = A(i,k) * B(k,j)", "parallelize(k,CPUThread,S)",
		map[string]string{"A": "ds", "B": "ds", "C": "ds"}, [5]race{turns, turns, turns, runs, turns}},

	// Several levels.
	{"a sum in a sum, assembled", "y(j) = A(i,j)",
		"split(i,i0,i1,8),parallelize(i0,CPUThread,Temporary),parallelize(i1,CPUThread,S)",
		map[string]string{"A": "ds", "y": "s"}, [5]race{turns, turns, turns, runs, turns}},
	{"lanes inside", "y(i) = A(i,j) * x(j)",
		"parallelize(i,CPUThread,S),parallelize(j,CPUVector,ParallelReduction)",
		map[string]string{"A": "ds"}, [5]race{}},
	{"lanes inside a sum", "a = A(i,j) * x(j)",
		"parallelize(i,CPUThread,S),parallelize(j,CPUVector,ParallelReduction)",
		map[string]string{"A": "ds"}, [5]race{adds, racy, runs, runs, runs}},
	{"threads inside threads", "y(i) = A(i,j) * x(j)",
		"split(i,i0,i1,8),parallelize(i0,CPUThread,NoRaces),parallelize(i1,CPUThread,S)",
		map[string]string{"A": "ds"}, [5]race{}},
	{"a sum inside threads", "y(i) = A(i,j) * x(j)",
		"parallelize(i,CPUThread,NoRaces),parallelize(j,CPUThread,S)", map[string]string{"A": "ds"},
		[5]race{adds, racy, runs, runs, runs}},
	{"a sum in a sum", "y(j) = A(i,j) * x(i)",
		"split(i,i0,i1,8),parallelize(i0,CPUThread,S),parallelize(i1,CPUThread,Atomics)",
		map[string]string{"A": "ds"}, [5]race{adds, racy, runs, runs, many}},
}

var races = [5]string{"NoRaces", "IgnoreRaces", "Atomics", "Temporary", "ParallelReduction"}

// eachStrategy calls run with a job for each result and strategy on 1, 2 and 4 threads.
func eachStrategy(t *testing.T, run func(j *spmd.Job) error) {
	for _, c := range strategies {
		for k, strategy := range races {
			if c.want[k] == racy {
				continue
			}
			for _, threads := range []int{1, 2, 4} {
				j := &spmd.Job{Statement: c.stmt, Formats: c.formats, Inputs: map[string]spmd.Input{}}
				j.Sizes = map[string][]int64{"A": {41, 23}}
				if strings.Contains(c.stmt, "B(") {
					j.Sizes["B"] = []int64{41, 23}
					if strings.Contains(c.stmt, "B(k") {
						j.Sizes["B"] = []int64{23, 31}
					}
				}
				for _, name := range []string{"A", "B", "D", "x"} {
					switch {
					case !operandOf(c.stmt, name):
					case c.formats[name] == "ds":
						j.Inputs[name] = spmd.Generated("uniform:150:int")
					default:
						j.Inputs[name] = spmd.Generated("dense:int")
					}
				}
				j.Schedule = []string{strings.Replace(c.schedule, ",S)", ","+strategy+")", 1)}
				j.Check, j.Threads, j.Seed = true, threads, 5
				err := run(j)
				switch want := c.want[k]; {
				case errors.Is(err, cc.ErrNoCompiler):
					t.Skip(err)
				case want == runs && err != nil:
					t.Errorf("%s, %s on %d threads: %v", c.name, strategy, threads, err)
				case want != runs && (err == nil || !strings.Contains(err.Error(), string(want))):
					t.Errorf("%s, %s: got %v, want a refusal with %q", c.name, strategy, err, want)
				}
			}
		}
	}
}

// TestStrategies runs each race strategy on each kind of result in the interpreter, which finds
// races.
func TestStrategies(t *testing.T) {
	eachStrategy(t, func(j *spmd.Job) error {
		j.Target = spmd.Interpreter
		_, err := j.Run(context.Background())
		return err
	})
}

// TestStrategiesInC runs the same strategies compiled.
func TestStrategiesInC(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles many leaves")
	}
	if _, err := cc.FromEnv(os.Getenv); err != nil {
		t.Skip(err)
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O1")
	eachStrategy(t, func(j *spmd.Job) error {
		_, err := j.Run(context.Background())
		return err
	})
}
