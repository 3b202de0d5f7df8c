package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/spmd"
)

// cudaEngine runs a case's kernels by a backend of the target cuda: on a GPU, or emulated. draw
// makes the request one for a GPU, with a schedule, or leaves it one for a CPU, of which the
// interpreter has been asked elsewhere.
type cudaEngine struct {
	name string
	b    kernels.Backend
	draw func(p *Prepared, r *codegen.Request) ([]string, error)
	ran  *atomic.Int64
}

func (e cudaEngine) Name() string { return e.name }

func (e cudaEngine) Run(ctx context.Context, p *Prepared) (*Output, error) {
	var list []string
	target := codegen.CPU
	c, err := compileAs(p, "leaf", func(r *codegen.Request) (err error) {
		list, err = e.draw(p, r)
		target = r.Target
		return err
	})
	how := "--target=cuda -s=" + strings.Join(list, ",")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", how, err)
	}
	defer c.close()
	if target != codegen.CUDA {
		return Interp{}.Run(ctx, p)
	}
	e.ran.Add(1)
	leaf, err := e.b.Build(ctx, c.unit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", how, err, c.stages())
	}
	defer leaf.Close()
	arena := kernels.NewArena(nil)
	out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return leaf.Call(ctx, args, bounds, kernels.Env{Threads: 1, Arena: arena, Vars: c.unit.Vars, What: p.Stmt})
	})
	if out != nil {
		out.How, out.Converted = how, nil
	}
	if err != nil && exitCode(err) == 1 {
		err = fmt.Errorf("%s: %w\n%s", how, err, c.stages())
	}
	return out, err
}

// byDefault and byDraw are where schedules come from.
func byDefault(p *Prepared, r *codegen.Request) ([]string, error) {
	return defaultUnits{new(atomic.Int64), new(atomic.Int64)}.draw(p, r)
}

func byDraw(p *Prepared, r *codegen.Request) ([]string, error) {
	return unitsEngine{}.draw(source(p), p, r)
}

// TestOracleEmulated: the CUDA source of random schedules and of default ones, compiled for the CPU, is right.
func TestOracleEmulated(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	b, err := cuda.Emulated(cc.Config{Path: os.Getenv("PATH"), Tmp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []cudaEngine{{"emulated GPU, default schedules", b, byDefault, new(atomic.Int64)}, {"emulated GPU, random schedules", b, byDraw, new(atomic.Int64)}} {
		sweep(t, e, Options{Follow: 0.3}, 50)
		if n := e.ran.Load(); n == 0 {
			t.Errorf("%s: no case ran", e.name)
		}
	}
}

// TestCUDA holds leaves and whole jobs on a GPU to the reference. It is run by make test-cuda.
func TestCUDA(t *testing.T) {
	b, err := cuda.New(cuda.Config{Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Skip(err)
	}
	if !b.Complete() {
		t.Skip(cuda.Probe().NVRTCErr)
	}
	t.Log(b.Name())
	for _, e := range []cudaEngine{{"GPU, default schedules", b, byDefault, new(atomic.Int64)}, {"GPU, random schedules", b, byDraw, new(atomic.Int64)}} {
		sweep(t, e, Options{Follow: 0.3}, 300)
		if n := e.ran.Load(); n == 0 {
			t.Errorf("%s: no case ran", e.name)
		} else {
			t.Logf("%s: %d cases ran on it", e.name, n)
		}
	}
	sweep(t, cudaJobs{Jobs{Target: spmd.CUDA, Blocks: true}}, Options{Follow: 0.3}, 100)
}

// TestCUDAPrograms holds programs whose tensors stay on a GPU to the reference. It is run by make test-cuda.
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

// cudaJobs are jobs on a GPU; one that has no default schedule there runs on the CPU.
type cudaJobs struct{ Jobs }

func (e cudaJobs) Run(ctx context.Context, p *Prepared) (*Output, error) {
	out, err := e.Jobs.Run(ctx, p)
	if d := (*diag.Error)(nil); errors.As(err, &d) && d.Code == diag.ScheduleRefused && strings.Contains(d.Msg, "--target=cpu") {
		e.Target = ""
		return e.Jobs.Run(ctx, p)
	}
	return out, err
}
