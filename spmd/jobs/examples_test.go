package jobs_test

import (
	"context"
	"distaff/spmd"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// examples lists the job files of testdata/jobs with results from SciPy. error is the largest
// accepted difference as a share of the largest value. It is 0 for integers. A job that ends at a
// residual of 1e-10 has an error of up to that residual times the condition number, which is 1e6
// for cg.
var examples = []struct {
	name  string
	error float64
}{
	{"bfs", 0}, {"cg", 1e-6}, {"cpals", 1e-9}, {"jacobi", 1e-10}, {"laplacian", 1e-14},
	{"pagerank", 1e-10}, {"power", 1e-10},
	{"spmm", 1e-14}, {"triangles", 0}, {"tucker", 1e-12},
}

const folder = "../../testdata/jobs"

// example returns a job file of testdata/jobs with an output for every result of SciPy.
func example(t *testing.T, name string) (j *told, want map[string]wanted) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "expected", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct{ Tensors map[string]wanted }
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name+".dst")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := file(path, string(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Outputs = map[string]string{}
	for tensor := range expected.Tensors {
		x.Outputs[tensor] = filepath.Join(t.TempDir(), tensor+".npy")
	}
	for _, tensor := range x.File.Tensors {
		if _, ok := expected.Tensors[tensor.Name]; !ok && tensor.To != "" {
			t.Fatalf("%s: nothing is expected of %s, which is written", name, tensor.Name)
		}
	}
	return &told{FileJob: x}, expected.Tensors
}

// wanted is a tensor from SciPy, with its values in row-major order.
type wanted struct {
	Dims   []int64
	Values []float64
}

// compare compares a file with a wanted tensor. The difference must be less than a share of the
// largest value.
func (w wanted) compare(t *testing.T, path string, share float64) {
	t.Helper()
	dims, got := values(t, path)
	if !slices.Equal(dims, w.Dims) {
		t.Errorf("%s: got sizes %v, want %v", filepath.Base(path), dims, w.Dims)
		return
	}
	most := 1e-300
	for _, x := range w.Values {
		most = max(most, math.Abs(x))
	}
	if len(w.Dims) == 0 {
		most = max(most, 1) // a scalar that should be 0 has a rounding error
	}
	for k, x := range w.Values {
		if d := math.Abs(got[k] - x); !(d <= share*most) {
			t.Errorf("%s: got %g at %d, want %g: an error of %.2g of the largest value, want %g at most",
				filepath.Base(path), got[k], k, x, d/most, share)
			return
		}
	}
}

// TestExamples checks that the job files of testdata/jobs give SciPy's results.
func TestExamples(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(folder, "*.dst"))
	if want := len(examples) + len(algorithms) + len(byNonzeros); err != nil || len(all) != want {
		t.Fatalf("%s has %d job files, %v, want the %d of the tables", folder, len(all), err, want)
	}
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			onRanks(t, func(t *testing.T, ranks int) {
				j, want := example(t, x.name)
				j.Ranks, j.Threads = ranks, 1
				// Compiled on several ranks, or on one rank if there are many passes.
				if ranks == 1 && !slices.Contains([]string{"cg", "jacobi"}, x.name) {
					j.Target = spmd.Interpreter
				}
				if _, err := j.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				for name, w := range want {
					w.compare(t, j.Outputs[name], x.error)
				}
			}, 1, 2, 3)
		})
	}
}

// TestExamplesChecked checks that the first and the last run of each statement of the examples
// agree with the reference evaluator.
func TestExamplesChecked(t *testing.T) {
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			onRanks(t, func(t *testing.T, ranks int) {
				j, _ := example(t, x.name)
				j.Ranks, j.Threads, j.Check = ranks, 1, true
				if ranks == 1 {
					j.Target = spmd.Interpreter
				}
				report, err := j.Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range report.Statements {
					checked := 0
					for _, line := range report.Lines {
						if strings.Contains(line, "check: ") &&
							strings.Contains(line, ".dst:"+strconv.Itoa(s.Line)+": ") {
							checked++
						}
					}
					if want := int(min(s.Runs, 2)); checked != want {
						t.Errorf("line %d ran %d times, and %d of its runs were compared, want %d", s.Line, s.Runs,
							checked, want)
					}
				}
			}, 1, 2)
		})
	}
}
