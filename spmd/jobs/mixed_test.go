package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
)

// mixed is a job file with statements on the CPU and on a GPU. The CPU reads tensors that are newer
// on the GPU, and writes over tensors that the GPU has. The schedule of C is only for a CPU.
const mixed = `
param n = 24
tensor A(n, n): ds from uniform:120:int
tensor B(n, n): ds from uniform:100:int
tensor C(n, n): ds
tensor x(n): d from dense:int
C(i,j) = A(i,k) * B(k,j)
  parallelize(i, CPUThread, NoRaces)
y(i) = A(i,j) * x(j)
  on gpu
z(i) = y(i)
repeat 5 {
  y(i) = A(i,j) * x(j)
    on gpu
  z(i) += y(i)
    on cpu
  u(i) = z(i) - 2 * y(i)
  w(i) = C(i,j) * z(j)
    on cpu
  D(i,j) = A(i,j) + A(j,i)
  v(i) = D(i,j) * w(j) + u(i)
    on gpu
  z(i) = y(i) - x(i)
    on cpu
  s = v(i) * x(i)
  x(i) = x(i) + 1
    on cpu
}
print s
print C
`

// mixedTargets lists what the statements of mixed run on with --target=cuda.
const mixedTargets = "cpu cuda cuda cuda cpu cuda cpu cuda cuda cpu cuda cpu"

// TestMixedJob checks that a job file with statements on the CPU and on GPUs has the same bits on 1
// to 4 ranks as on the CPU alone. The CPU runs what a GPU refuses, which a note says once. The
// report names the target of each statement.
func TestMixedJob(t *testing.T) {
	emulatedGPUs(t)
	outputs := func(target string, ranks int) (string, *told, *spmd.FileReport) {
		t.Helper()
		dir := t.TempDir()
		text := mixed
		if target == "cpu" {
			text = strings.ReplaceAll(text, "on gpu", "on cpu")
		}
		j := job(t, dir, text, nil)
		j.Target, j.Ranks = target, ranks
		out := ""
		names := []string{"C", "D", "u", "v", "w", "x", "y", "z"}
		j.Outputs = map[string]string{}
		for _, name := range names {
			j.Outputs[name] = filepath.Join(dir, name+".tns")
		}
		report := j.run(t)
		for _, name := range names {
			data, err := os.ReadFile(j.Outputs[name])
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintf("%s\n%s\n", name, data)
		}
		return out + j.said[0], j, report
	}
	want, _, _ := outputs("cpu", 1)
	for ranks := 1; ranks <= 4; ranks++ {
		for _, target := range []string{spmd.CUDA, spmd.Auto} {
			got, j, report := outputs(target, ranks)
			if got != want {
				t.Fatalf("%d ranks, %s: got\n%s\nwant\n%s", ranks, target, got, want)
			}
			notes := slices.DeleteFunc(slices.Clone(j.notes),
				func(s string) bool { return !strings.Contains(s, "C(i,j) = A(i,k)*B(k,j) runs on the CPU: ") })
			if len(notes) != 1 {
				t.Errorf("%d ranks, %s: got notes %q, want one about C", ranks, target, j.notes)
			}
			var targets, reasons []string
			for _, s := range report.Statements {
				targets, reasons = append(targets, s.Target), append(reasons, s.TargetReason)
			}
			if got := strings.Join(targets, " "); got != mixedTargets {
				t.Errorf("%d ranks, %s: got targets %s, want %s", ranks, target, got, mixedTargets)
			}
			auto := map[string]string{spmd.Auto: "--target=auto: there is a GPU"}[target]
			if !strings.Contains(reasons[0], "CPUThread") || reasons[1] != "on gpu" ||
				reasons[2] != auto || reasons[4] != "on cpu" {
				t.Errorf("%d ranks, %s: got reasons %q", ranks, target, reasons)
			}
		}
	}
}

// TestMixedPlan checks that a plan names the same targets as a run, and refuses what a run refuses.
func TestMixedPlan(t *testing.T) {
	for target, want := range map[string]string{
		"":        "cpu cuda cpu cuda cpu cpu cpu cpu cuda cpu cpu cpu",
		spmd.CUDA: mixedTargets} {
		j := job(t, t.TempDir(), mixed, nil)
		j.Target, j.Ranks = target, 2
		p, err := j.Plan(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range p.Items {
			if it.Plan != nil {
				got = append(got, it.Plan.Target)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("--target=%s: got %s, want %s", target, s, want)
		}
		n := strings.Count(strings.Join(j.notes, "\n"), "runs on the CPU")
		if (n == 1) != (target != "") {
			t.Errorf("--target=%s: got notes %q", target, j.notes)
		}
	}
	j := job(t, t.TempDir(), mixed, nil)
	j.Target, j.Ranks = spmd.CUDAOnly, 2
	if _, err := j.Plan(context.Background(), 0); err == nil ||
		!strings.Contains(err.Error(), "CPUThread is a unit of a CPU") {
		t.Errorf("--target=cuda!: got %v", err)
	}
	onGPU := strings.Replace(mixed, "NoRaces)\n", "NoRaces)\n  on gpu\n", 1)
	j = job(t, t.TempDir(), onGPU, nil)
	j.Target = ""
	if _, err := j.Plan(context.Background(), 0); err == nil ||
		!strings.Contains(err.Error(), "CPUThread is a unit of a CPU") {
		t.Errorf("on gpu: got %v", err)
	}
}
