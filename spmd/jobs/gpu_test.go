package jobs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/kernels/interpret"
	"distaff/kernels/target"
	_ "distaff/kernels/verified"
	"distaff/spmd"
)

// gpuMachines lists machines of 4, 8, 12 and 16 GPUs as params of a file, by the number of
// dimensions of the machine's nodes.
var gpuMachines = map[int]map[int]string{
	4:  {1: "q=2 devices=2", 2: "qx=2 qy=1 devices=2", 3: "qx=1 qy=2 qz=1 devices=2"},
	8:  {1: "q=2 devices=4", 2: "qx=2 qy=2 devices=2", 3: "qx=2 qy=2 qz=1 devices=2"},
	12: {1: "q=3 devices=4", 2: "qx=2 qy=3 devices=2", 3: "qx=1 qy=2 qz=3 devices=2"},
	16: {1: "q=4 devices=4", 2: "qx=2 qy=2 devices=4", 3: "qx=2 qy=2 qz=2 devices=2"},
}

// gpuJobs returns the texts of the files of testdata/jobs/gpu by name.
func gpuJobs(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "gpu", "*.dst"))
	if err != nil || len(paths) < 19 {
		t.Fatalf("%d job files, %v", len(paths), err)
	}
	out := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".dst")] = string(text)
	}
	return out
}

// gpuJob returns the job of a file on the given number of GPUs.
func gpuJob(t *testing.T, name, text string, gpus int) *told {
	t.Helper()
	dimensions := max(1, strings.Count(text, "param q")) // the dimensions of the nodes
	params := map[string]string{}
	for _, p := range strings.Fields(gpuMachines[gpus][dimensions]) {
		param, value, _ := strings.Cut(p, "=")
		params[param] = value
	}
	x, err := file(filepath.Join(folder, "gpu", name+".dst"), text, params)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	x.Ranks, x.Threads, x.Target = gpus, 1, spmd.CUDAOnly
	return &told{FileJob: x}
}

// TestGPUJobs checks that every file can be planned for 4, 8 and 16 GPUs, that its leaves compile,
// and that each GPU has a part of the work.
func TestGPUJobs(t *testing.T) {
	for name, text := range gpuJobs(t) {
		for gpus := range gpuMachines {
			p := gpuJob(t, name, text, gpus).planned(t, 0).Plan
			if len(p.GPUMemory) != gpus || slices.Min(p.GPUMemory) <= 0 {
				t.Errorf("%s on %d GPUs: got memory %v, want some on each", name, gpus, p.GPUMemory)
			}
			if slices.Min(p.Steps) < 1 {
				t.Errorf("%s on %d GPUs: got steps %v, want one or more at each", name, gpus, p.Steps)
			}
		}
	}
}

// TestGPULeaves checks that files whose products a library computes say so, and that all other
// files have only kernels.
func TestGPULeaves(t *testing.T) {
	library := map[string]string{"spmv-rows": "cusparse", "spmm-rows": "cusparse",
		"spmm-batched": "cusparse"}
	for _, name := range strings.Fields("summa pumma cannon johnson solomonik cosma ttm mttkrp") {
		library[name] = "cublas"
	}
	for name, text := range gpuJobs(t) {
		for _, kernel := range []string{"cusparse", "cublas"} {
			if strings.Contains(text, kernel+")") != (library[name] == kernel) {
				t.Errorf("%s: got another leaf than by %q", name, library[name])
			}
		}
	}
}

// TestGPUJobsRun checks the GPUs' leaves on four and eight GPUs. It interprets them, which checks
// every access and every race. The results must be the reference's, and ranks must send what is
// planned.
func TestGPUJobsRun(t *testing.T) {
	t.Cleanup(target.ReplaceCUDA(
		func(target.Config) (kernels.Backend, error) { return interpret.Backend{}, nil }))
	for name, text := range gpuJobs(t) {
		for _, gpus := range []int{4, 8} {
			t.Run(name, func(t *testing.T) {
				j := gpuJob(t, name, text, gpus)
				p := j.planned(t, 0)
				if got := j.checked(t); !p.Plan.Estimated && !reflect.DeepEqual(got, p.Comm) {
					t.Errorf("on %d GPUs a run counts %+v, a plan %+v", gpus, got, p.Comm)
				}
			})
		}
	}
}

// emulatedGPUs makes jobs run on emulated GPUs, one for each rank, until the test ends.
func emulatedGPUs(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	tmp, cache := t.TempDir(), t.TempDir()
	t.Cleanup(target.ReplaceCUDA(func(cfg target.Config) (kernels.Backend, error) {
		return cuda.Emulated(cc.Config{Path: os.Getenv("PATH"), Tmp: tmp, Cache: cache})
	}))
}

// TestGPUJobsEmulated is TestGPUJobsRun on four emulated GPUs. They run the CUDA C++ of the leaves,
// and compute products of matrices from the arguments of the library calls.
func TestGPUJobsEmulated(t *testing.T) {
	emulatedGPUs(t)
	texts := gpuJobs(t)
	for _, name := range []string{"spmv-rows", "spmm-batched", "sddmm", "cannon", "ttm", "mttkrp"} {
		t.Run(name, func(t *testing.T) { gpuJob(t, name, texts[name], 4).checked(t) })
	}
}
