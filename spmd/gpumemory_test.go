package spmd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"distaff/codegen/jobfile"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/kernels/interpret"
	"distaff/kernels/target"
	"distaff/spmd"
)

// onMachine runs a job file on ranks that have GPUs or CPUs.
func onMachine(t *testing.T, text, target string, ranks int) *spmd.FileJob {
	t.Helper()
	f, err := jobfile.Parse("job.dst", text)
	if err == nil {
		err = f.Bind(nil)
	}
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	j := &spmd.FileJob{File: f}
	j.Ranks, j.Threads, j.Target = ranks, 1, target
	return j
}

const placedA = `tensor A(400, 400): ds  place (x,y) -> M(x)MEMORY  from uniform:9000:int
tensor x(400): d  place (x) -> M(*)  from dense:int
repeat 3 {
  y(i) = A(i,j) * x(j)
}
`

// TestPlacedInHost checks that a tensor that is placed in the host's memory is copied to the GPU at
// every use, and any other tensor once.
func TestPlacedInHost(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	tmp, cache := t.TempDir(), t.TempDir()
	for _, ranks := range []int{1, 2} {
		up := map[string]int64{}
		for _, memory := range []string{"", " in device", " in host"} {
			var lock sync.Mutex // ranks make theirs at once
			var gpus []*cuda.Backend
			restore := target.ReplaceCUDA(func(target.Config) (kernels.Backend, error) {
				b, err := cuda.Emulated(cc.Config{Path: os.Getenv("PATH"), Tmp: tmp, Cache: cache})
				lock.Lock()
				defer lock.Unlock()
				gpus = append(gpus, b)
				return b, err
			})
			_, err := onMachine(t, strings.ReplaceAll(placedA, "MEMORY", memory), spmd.CUDA,
				ranks).Run(t.Context())
			restore()
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range gpus {
				up[memory] += b.Uploaded()
			}
		}
		const once = 9000 * 12 // of coordinates and values
		if more := up[" in host"] - up[""]; up[""] != up[" in device"] || more < 2*once ||
			more > 2*once+4*2*(400+2) {
			t.Errorf("%d ranks: got %v bytes, want those of A two times more in host", ranks, up)
		}
	}
}

// TestPlacedInDevice checks that a plan counts the blocks of a rank that are placed in a device's
// memory, even if no step uses them, and that a job on CPUs has no such memory.
func TestPlacedInDevice(t *testing.T) {
	text := `machine M(4)
tensor A(400, 400): dd  place (x,y) -> M(x)MEMORY  from dense:int
tensor x(400): d  place (x) -> M(*)  from dense:int
tensor y(400): d  place (x) -> M(x)

y(i) = A(i,j) * x(j)
  divide(i, io, ii, M.x)
  distribute(io)
  communicate({A, x, y}, io)
`
	memory := map[string]int64{}
	for _, m := range []string{"", " in device", " in host"} {
		p, err := onMachine(t, strings.ReplaceAll(text, "MEMORY", m), spmd.CUDA, 2).Plan(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		memory[m] = p.Items[0].Plan.GPUMemory[1]
	}
	const block = 100 * 400 * 8
	if memory[" in device"] != memory[""]+block || memory[" in host"] != memory[""] ||
		memory[""] < block {
		t.Errorf("got %v bytes, want %d more in device", memory, block)
	}
	j := onMachine(t, strings.ReplaceAll(text, "MEMORY", " in device"), spmd.Interpreter, 2)
	const want = "got a device's memory, but the job runs on CPUs; want either in host or --target=cuda"
	_, planned := j.Plan(t.Context(), 0)
	_, run := j.Run(t.Context())
	alone := &spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Sizes: map[string][]int64{"A": {4, 4}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("dense"), "x": spmd.Generated("dense")},
		Options: spmd.Options{Ranks: 1, Target: spmd.Interpreter,
			Placements: []string{"A(x,y) -> M(x) in device"}}}
	_, single := alone.Run(t.Context())
	for _, err := range []error{planned, run, single} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestCachedForGPU checks that compile --cache puts the kernels of a GPU into the cache.
func TestCachedForGPU(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	tmp, cache := t.TempDir(), t.TempDir()
	path := os.Getenv("PATH")
	j := &spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Formats: map[string]string{"A": "ds"},
		Sizes: map[string][]int64{"A": {50, 50}},
		Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:300:int"),
			"x": spmd.Generated("dense:int")},
		Options: spmd.Options{Ranks: 1, Threads: 1, Target: spmd.CUDA}}
	t.Cleanup(target.ReplaceCUDA(func(target.Config) (kernels.Backend, error) {
		return cuda.Emulated(cc.Config{Path: path, Tmp: tmp, Cache: cache})
	}))
	u, err := j.Compile(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the cache has %v, %v", files, err)
	}
}

// TestNoRoomOnGPU checks that data that certainly exceeds a GPU's memory is refused before anything
// is loaded, by jobs and programs. If each rank has its own GPU, the data of one rank counts.
func TestNoRoomOnGPU(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	tmp, cache := t.TempDir(), t.TempDir()
	t.Cleanup(target.ReplaceCUDA(func(target.Config) (kernels.Backend, error) {
		return cuda.EmulatedOf(cc.Config{Path: os.Getenv("PATH"), Tmp: tmp, Cache: cache}, 1<<20)
	}))
	job := func(format, generated string, ranks int) error {
		_,
			err := (&spmd.Job{Statement: "y(i) = A(i,j)*x(j)", Formats: map[string]string{"A": format},
			Sizes:   map[string][]int64{"A": {400, 400}},
			Inputs:  map[string]spmd.Input{"A": spmd.Generated(generated), "x": spmd.Generated("dense:int")},
			Options: spmd.Options{Ranks: ranks, Threads: 1, Target: spmd.CUDA, Check: true}}).Run(
			t.Context())
		return err
	}
	program := func(ranks int) error {
		_,
			err := onMachine(t,
			"tensor A(400, 400): dd  from dense:int\ntensor x(400): d  from dense:int\ny(i) = A(i,j) * x(j)\nprint y\n", spmd.CUDA, ranks).Run(t.Context())
		return err
	}
	const refused = "of which A needs 1.221 MiB, but the GPU has 1 MiB; use either more ranks, each with its own GPU, or --target=cpu"
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"dense", job("dd", "dense:int", 1), refused},
		{"dense on two", job("dd", "dense:int", 2), ""},
		{"sparse", job("ds", "uniform:120000:int", 1), "computing y needs at least 1.381 MiB of a GPU's memory, of which A needs 1.375 MiB, but the GPU has 1 MiB; use either more ranks, each with its own GPU, or --target=cpu"},
		{"sparse that fits", job("ds", "uniform:60000:int", 1), ""},
		{"a program", program(1), refused},
		{"a program on two", program(2), ""},
	} {
		var coded interface{ ExitCode() int }
		if c.want == "" && c.err != nil ||
			c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want) ||
				!errors.As(c.err, &coded) || coded.ExitCode() != 5) {
			t.Errorf("%s: got %v, want %q", c.name, c.err, c.want)
		}
	}
}

// TestNoRoomRunsOnCPU checks that a statement whose tensors exceed the GPU's memory runs on the CPU
// if the target is auto, or if the GPU does not take its schedule. A note gives the reason.
func TestNoRoomRunsOnCPU(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no C++ compiler, which the emulation of a GPU is compiled with")
	}
	tmp, cache := t.TempDir(), t.TempDir()
	t.Cleanup(target.ReplaceCUDA(func(target.Config) (kernels.Backend, error) {
		return cuda.EmulatedOf(cc.Config{Path: os.Getenv("PATH"), Tmp: tmp, Cache: cache}, 1<<20)
	}))
	for _, ranks := range []int{1, 2} {
		for _, c := range []struct{ target, command, why string }{
			{spmd.Auto, "", "its tensors need more memory than a GPU has"},
			{spmd.CUDA, "  parallelize(i, CPUThread, NoRaces)\n", "CPUThread is a unit of a CPU"},
		} {
			j := onMachine(t, "tensor A(600, 600): dd  from dense:int\ntensor x(600): d  from dense:int\n"+
				"y(i) = A(i,j) * x(j)\n"+c.command+"z(i) = y(i)\nprint z\n", c.target, ranks)
			var notes []string
			j.Note, j.Check = func(s string) { notes = append(notes, s) }, true
			report, err := j.Run(t.Context())
			if err != nil {
				t.Fatalf("%s, %d ranks: %v", c.target, ranks, err)
			}
			if len(notes) != 1 || !strings.Contains(notes[0], "y(i) = A(i,j)*x(j) runs on the CPU: ") ||
				!strings.Contains(notes[0], c.why) {
				t.Errorf("%s, %d ranks: got notes %q", c.target, ranks, notes)
			}
			if s := report.Statements; s[0].Target != "cpu" || s[1].Target != "cuda" {
				t.Errorf("%s, %d ranks: got the targets %s and %s", c.target, ranks, s[0].Target, s[1].Target)
			}
		}
	}
}

// TestStatementOn checks statements of a program that name their target: wrong names, a missing
// GPU, and a schedule that the GPU refuses.
func TestStatementOn(t *testing.T) {
	prepare := func(how spmd.How) error {
		return spmd.Start(t.Context(), spmd.Options{Ranks: 2, Threads: 1}, func(p *spmd.Program) error {
			if err := p.Set("x", spmd.Scalar(2.0), spmd.Storage{}); err != nil {
				return err
			}
			s, err := p.Prepare("y = x * x", how)
			if err != nil {
				return err
			}
			if name, why := s.Target(); name != "cpu" || why != "on cpu" {
				t.Errorf("got the target %s because of %q", name, why)
			}
			return s.Run()
		})
	}
	code := func(how spmd.How) (int, string) {
		err := prepare(how)
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) {
			t.Fatalf("%+v: got %v", how, err)
		}
		return coded.ExitCode(), err.Error()
	}
	if err := prepare(spmd.How{On: "cpu"}); err != nil {
		t.Error(err)
	}
	if c, s := code(spmd.How{On: "cuda"}); c != 2 || !strings.Contains(s, `got "cuda"`) {
		t.Errorf("got %d, %s", c, s)
	}
	if target.Found() != nil {
		if c, s := code(spmd.How{On: "gpu"}); c != 1 || !strings.Contains(s, "on gpu: no ") {
			t.Errorf("got %d, %s", c, s)
		}
	}
	t.Cleanup(target.ReplaceCUDA(
		func(target.Config) (kernels.Backend, error) { return interpret.Backend{}, nil }))
	how := spmd.How{On: "gpu", Schedule: []string{"parallelize(i,CPUThread,NoRaces)"}}
	if c, s := code(how); c != 2 {
		t.Errorf("got %d, %s", c, s)
	}
}
