package oracle

import (
	"context"
	"fmt"
	"os"
	"testing"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/spmd"
)

// on returns a function that runs leaves on the backend b.
func on(b kernels.Backend) func(context.Context, *compiled, string) (*Output, error) {
	return func(ctx context.Context, c *compiled, _ string) (*Output, error) {
		leaf, err := b.Build(ctx, c.unit)
		if err != nil {
			return nil, err
		}
		defer leaf.Close()
		arena := kernels.NewArena(nil)
		out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
			return leaf.Call(ctx, args, bounds,
				kernels.Env{Threads: 1, Arena: arena, Vars: c.unit.Vars, What: c.p.Case.Stmt})
		})
		if err == nil && arena.Leaks() > 0 {
			err = fmt.Errorf("the leaf left %d blocks of memory behind", arena.Leaks())
		}
		return out, err
	}
}

// TestOracleGPUEmulated runs the CUDA C++ of random GPU schedules on a GPU that the CPU emulates.
func TestOracleGPUEmulated(t *testing.T) {
	t.Parallel()
	b := emulatedGPU(t)
	var seen gpuCounts
	e := gpuEngine{"GPU schedules, emulated", &seen, on(b)}
	gpuSweep(t, e, 100)
}

// emulatedGPU returns the backend of a GPU that the CPU emulates.
func emulatedGPU(t *testing.T) kernels.Backend {
	t.Helper()
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cache, cfg.Compiler = "", "" // random cases do not repeat
	cfg.Flags = nil
	for _, f := range emitcuda.EmulationFlags() {
		if f != "-O1" {
			cfg.Flags = append(cfg.Flags, f)
		}
	}
	cfg.Flags = append(cfg.Flags, "-O0", "-w")
	b, err := cuda.Emulated(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Complete() {
		t.Skip("no C++ compiler")
	}
	return b
}

// TestOracleCUDA runs random GPU schedules on a real GPU, if the machine has one.
func TestOracleCUDA(t *testing.T) {
	var seen gpuCounts
	gpuSweep(t, gpuEngine{"GPU schedules on a GPU", &seen, on(realGPU(t))}, 300)
}

// realGPU returns the backend of a real GPU. On a machine without one, it skips the test with the
// reason.
func realGPU(t *testing.T) kernels.Backend {
	t.Helper()
	b, err := cuda.New(cuda.Config{Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Skip(err)
	}
	if !b.Complete() {
		t.Skip(cuda.Probe().NVRTCErr)
	}
	t.Log(b.Name())
	return b
}

// TestJobsCUDA compares jobs on a real GPU with the reference.
func TestJobsCUDA(t *testing.T) {
	realGPU(t)
	sweep(t, Jobs{Target: spmd.CUDA, Blocks: true}, Options{Follow: 0.3}, 100)
}

// TestCUDAPrograms compares programs whose tensors stay on a real GPU with the reference. make
// test-cuda runs it.
func TestCUDAPrograms(t *testing.T) {
	b, err := cuda.New(cuda.Config{Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Skip(err)
	}
	if !b.Complete() {
		t.Skip(cuda.Probe().NVRTCErr)
	}
	gpuPrograms(t, 40)
}
