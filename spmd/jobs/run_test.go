package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/spmd"
)

// file returns the job of a file, with values for its params.
func file(path, text string, params map[string]string) (*spmd.FileJob, error) {
	f, err := jobfile.Parse(path, text)
	if err == nil {
		err = f.Bind(params)
	}
	if err == nil {
		err = f.Check()
	}
	return &spmd.FileJob{File: f}, err
}

// told is a job with the lines that it printed and noted.
type told struct {
	*spmd.FileJob
	said, notes []string
}

// job returns the job of a text in a file of the given folder.
func job(t *testing.T, dir, text string, params map[string]string) *told {
	t.Helper()
	j, err := file(filepath.Join(dir, "job.dst"), text, params)
	if err != nil {
		t.Fatal(err)
	}
	w := &told{FileJob: j}
	j.Say = func(line string) { w.said = append(w.said, line) }
	j.Note = func(line string) { w.notes = append(w.notes, line) }
	j.Target, j.Threads = spmd.Interpreter, 1
	return w
}

// run runs a job that must succeed.
func (w *told) run(t *testing.T) *spmd.FileReport {
	t.Helper()
	report, err := w.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// values reads all values of a file of real numbers, in row-major order.
func values(t *testing.T, path string) (dims []int64, list []float64) {
	t.Helper()
	s, err := convert.Open(path, coo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dims, _ = s.Dims()
	size := int64(1)
	for _, n := range dims {
		size *= n
	}
	list = make([]float64, size)
	entries, err := readertest.Collect(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		at := int64(0)
		for m, c := range e.Coords {
			at = at*dims[m] + c
		}
		list[at] += real(e.Val)
	}
	return dims, list
}

// write writes a file into a folder.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// onRanks runs a test on several numbers of ranks.
func onRanks(t *testing.T, test func(t *testing.T, ranks int), list ...int) {
	for _, ranks := range list {
		t.Run(fmt.Sprintf("%d", ranks), func(t *testing.T) { test(t, ranks) })
	}
}

// TestChecksWhatIsAdded checks that the check of the last run of a += statement includes the old
// value, even if the first run had no value to add to.
func TestChecksWhatIsAdded(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		j := job(t, t.TempDir(),
			"tensor y(3): d from dense:int\nrepeat 2 {\n  b += y(i)\n  z(i) += b * y(i)\n}\n", nil)
		j.Ranks, j.Check = ranks, true
		if report := j.run(t); len(report.Lines) != 4 {
			t.Errorf("got %q, want two runs of two statements", report.Lines)
		}
	}, 1, 2)
}

// TestRefusedEarly checks that a statement that needs more memory than allowed is refused before it
// allocates.
func TestRefusedEarly(t *testing.T) {
	dir := t.TempDir()
	for ranks := 1; ranks <= 2; ranks++ {
		w := job(t, dir, "param n = 1024\ntensor x(n): d from dense\nC(i,j) = x(i)*x(j)\n", nil)
		w.Ranks, w.MemoryLimit = ranks, 1<<20
		_, err := w.Run(context.Background())
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) || exit.ExitCode() != diag.ExitMemory ||
			!strings.Contains(err.Error(), "but the memory limit is 1 MiB (--memory-limit)") {
			t.Errorf("%d ranks: got %v", ranks, err)
		}
	}
}
