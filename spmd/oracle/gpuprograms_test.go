package oracle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"distaff/codegen/diag"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/kernels/target"
	"distaff/spmd"
)

// isRefusedOnGPU reports whether an error says that a statement has no schedule for a GPU.
func isRefusedOnGPU(err error) bool {
	d := (*diag.Error)(nil)
	return errors.As(err, &d) && d.Code == diag.ScheduleRefused &&
		strings.Contains(d.Msg, "--target=cpu")
}

// release makes the statement of step n run on any target. n is the step that failed: a do, a
// prepare, or a run that prepared its statement again. release returns false if the statement could
// run on any target already.
func (c *programCase) release(n int) bool {
	for k := n; k >= 0; k-- {
		if s := c.steps[k]; k == n && s.op != "run" || s.op == "prepare" && s.id == c.steps[n].id {
			free := *s
			free.on = ""
			c.steps[k] = &free
			return s.on != ""
		}
	}
	return false
}

// TestOracleGPUPrograms compares programs whose tensors stay on an emulated GPU between statements
// with the reference. Some statements run on the CPU: statements that a GPU refuses, and random
// ones. It is not a parallel test, because only one test at a time may replace the GPUs.
func TestOracleGPUPrograms(t *testing.T) {
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	onEmulatedGPUs(t)
	gpuPrograms(t, 6)
}

// TestOracleGPUFiles compares the output of job files on emulated GPUs with the reference. Some of
// their statements run on the CPU. A plan must name the targets of the run.
func TestOracleGPUFiles(t *testing.T) {
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	onEmulatedGPUs(t)
	n := uint64(6)
	if *nFlag > 0 {
		n = *nFlag
	}
	dir := t.TempDir()
	runs, released := 0, 0
	for k := range n {
		c := randomFile(*seedFlag, *firstFlag+k)
		r := Rand(*seedFlag, *firstFlag+k)
		c.target = []string{spmd.CUDA, spmd.Auto, "cpu"}[r.IntN(3)]
		c.compile, c.ranks = true, min(c.ranks, 2)
		c.drawTargets(c.items, r)
		err := c.follow()
		if err == nil {
			err = c.run(filepath.Join(dir, fmt.Sprint(k)))
		}
		if isRefusedOnGPU(err) { // a statement on gpu
			c.drawTargets(c.items, nil)
			released++
			err = c.run(filepath.Join(dir, fmt.Sprint(k)))
		}
		if err != nil {
			t.Fatalf("job file %d, --target=%s: %v\n%s", *firstFlag+k, c.target, err, c.report())
		}
		runs += c.runs
	}
	t.Logf("seed %d: %d job files, %d runs of statements; %d files without on gpu", *seedFlag, n, runs,
		released)
}

// drawTargets draws the on clauses of statements with r. If r is nil, it removes them.
func (c *fileProgram) drawTargets(items []*fileItem, r *rand.Rand) {
	for _, it := range items {
		c.drawTargets(it.body, r)
		if it.on = ""; it.op == "do" && r != nil {
			it.on = []string{"", "", "cpu", "gpu"}[r.IntN(4)]
		}
	}
}

// sameTargets returns an error if a plan names other targets of statements than a run.
func sameTargets(p *spmd.PlannedFile, r *spmd.FileReport) error {
	planned := map[int]string{}
	for _, it := range p.Items {
		if it.Plan != nil {
			planned[it.Line] = it.Plan.Target
		}
	}
	for _, s := range r.Statements {
		if want := planned[s.Line]; s.Runs > 0 && s.Target != want {
			return fmt.Errorf("line %d, %s: ran on %s because of %q, but is planned for %s", s.Line,
				s.Statement, s.Target, s.TargetReason, want)
		}
	}
	return nil
}

// TestOracleGPUJobs compares jobs on emulated GPUs, some with block schedules, with the reference.
// A job that no GPU takes runs on the CPU.
func TestOracleGPUJobs(t *testing.T) {
	t.Parallel()
	onEmulatedGPUs(t)
	for _, ranks := range []int{1, 2} {
		sweep(t, Jobs{Target: spmd.CUDA, Blocks: true, Ranks: ranks}, Options{Follow: 0.3}, 15)
	}
}

// onEmulatedGPUs makes all jobs and programs of this process with the target cuda run on emulated
// GPUs, until the test ends.
func onEmulatedGPUs(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	tmp, cache := t.TempDir(), t.TempDir()
	var mu sync.Mutex
	gpus := map[int]kernels.Backend{} // by rank; a program's leftovers would disturb the next program
	t.Cleanup(target.ReplaceCUDA(func(cfg target.Config) (kernels.Backend, error) {
		mu.Lock()
		defer mu.Unlock()
		if b := gpus[cfg.Local]; b != nil {
			return b, nil
		}
		b, err := cuda.Emulated(cc.Config{Path: os.Getenv("PATH"), Tmp: tmp, Cache: cache})
		if err == nil {
			gpus[cfg.Local] = b
		}
		return b, err
	}))
}

// gpuPrograms runs n random programs with statements on GPUs and on the CPU, and compares them with
// the reference. Without a C compiler, it runs only the programs whose statements all run on GPUs.
func gpuPrograms(t *testing.T, n uint64) {
	if *nFlag > 0 {
		n = *nFlag
	}
	_, missing := NewC(os.Getenv, "-O0")
	alone := errors.Is(missing, cc.ErrNoCompiler) // no leaf can run on the CPU
	var onCPU atomic.Int64
	runs, released, skipped := 0, 0, 0
	for k := range n {
		c := randomProgram(*seedFlag, *firstFlag+k)
		// an emulated kernel needs thousands of memory mappings
		c.gpu, c.compile, c.ranks, c.onCPU = true, true, min(c.ranks, 2), &onCPU
		r := Rand(*seedFlag, *firstFlag+k)
		c.target = []string{spmd.CUDA, spmd.CUDA, spmd.Auto, "cpu"}[r.IntN(4)]
		for _, s := range c.steps {
			s.on = []string{"", "", "cpu", "gpu"}[r.IntN(4)]
		}
		if alone {
			c.target = spmd.CUDA
			for _, s := range c.steps {
				s.on = ""
			}
		}
		err := c.follow()
		for err == nil {
			c.refused = new(atomic.Int64)
			err = c.check()
			if n := int(c.refused.Load()); n == 0 || !c.release(n-1) {
				break
			}
			released++
			err = nil
		}
		if alone && errors.Is(err, cc.ErrNoCompiler) {
			skipped++
			continue
		}
		if err != nil {
			t.Fatalf("program %d: %v\n%s", *firstFlag+k, err, indent(c.String()))
		}
		for _, s := range c.steps {
			if s.want != nil {
				runs++
			}
		}
	}
	t.Logf("seed %d: %d programs, %d runs of statements; GPUs refused %d statements on gpu, and %d "+
		"others; %d programs skipped", *seedFlag, n, runs, released, onCPU.Load(), skipped)
	if runs == 0 {
		t.Error("no statement ran")
	}
}
