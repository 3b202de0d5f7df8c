package oracle

import (
	"errors"
	"os"
	"os/exec"
	"slices"
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

// without removes step n from the program, and the steps that depend on it. It returns false if no
// step that runs a statement is left.
func (c *programCase) without(n int) bool {
	c.steps = slices.Delete(slices.Clone(c.steps), n, n+1)
	w, runs := newWorld(), 0
	c.steps = slices.DeleteFunc(c.steps, func(s *progStep) bool { return w.take(s) != nil })
	for _, s := range c.steps {
		if s.want != nil {
			runs++
		}
	}
	return runs > 0 && c.follow() == nil
}

// TestOracleGPUPrograms compares programs whose tensors stay on an emulated GPU between statements
// with the reference. It omits statements that a GPU does not run. It is not a parallel test,
// because only one test at a time may replace the GPUs.
func TestOracleGPUPrograms(t *testing.T) {
	onEmulatedGPUs(t)
	gpuPrograms(t, 6)
}

// TestOracleGPUJobs compares jobs on emulated GPUs, some with block schedules, with the reference.
// A job that no GPU runs is run on the CPU.
func TestOracleGPUJobs(t *testing.T) {
	t.Parallel()
	onEmulatedGPUs(t)
	for _, ranks := range []int{1, 2} {
		sweep(t, cudaJobs{Jobs{Target: spmd.CUDA, Blocks: true, Ranks: ranks}}, Options{Follow: 0.3}, 15)
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

// gpuPrograms runs n random programs with the target cuda, and compares them with the reference.
func gpuPrograms(t *testing.T, n uint64) {
	if *nFlag > 0 {
		n = *nFlag
	}
	ran, runs, left := 0, 0, 0
	for k := range n {
		c := randomProgram(*seedFlag, *firstFlag+k)
		// an emulated kernel needs thousands of memory mappings
		c.gpu, c.compile, c.ranks = true, true, min(c.ranks, 2)

		err, more := c.follow(), true
		for err == nil && more {
			c.refused = new(atomic.Int64)
			err = c.check()
			n := c.refused.Load()
			if n == 0 {
				break
			}
			left++
			more, err = c.without(int(n)-1), nil
		}
		if !more {
			continue
		}
		if err != nil {
			t.Fatalf("program %d: %v\n%s", *firstFlag+k, err, indent(c.String()))
		}
		ran++
		for _, s := range c.steps {
			if s.want != nil {
				runs++
			}
		}
	}
	t.Logf("seed %d: %d programs, %d runs of statements; %d statements left out", *seedFlag, ran, runs,
		left)
	if runs == 0 {
		t.Error("no statement ran")
	}
}
