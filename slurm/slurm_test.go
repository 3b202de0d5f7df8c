// Package slurm contains the sbatch scripts, and a test that runs them under a real Slurm with two
// nodes on this machine.
package slurm

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"distaff/kernels/cuda"
	_ "distaff/kernels/verified"
)

var limit = flag.Bool("limit", false,
	"also wait for Slurm's time limit, which takes more than a minute")

// statement contains the arguments of a job whose result does not depend on the order of
// evaluation.
var statement = []string{"y(i) = A(i,j) * x(j)", "-d=i:500", "-d=j:700", "-f=A:ds",
	"-g=A:uniform:6000:int", "-g=x:dense:int"}

// noGPU is the message of a job for GPUs on a machine without GPUs, where it does not run. One rank
// prints the message for all.
const noGPU = "--target=cuda: no NVIDIA driver: "

// cannot is the exit code of slurm-up.sh on a machine that cannot run Slurm.
const cannot = 77

func TestScripts(t *testing.T) {
	for _, tool := range []string{"sbatch", "srun", "slurmctld", "slurmd", "munged", "mpicc.mpich",
		"mpicc.openmpi"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (scripts/install-slurm.sh and install-mpi.sh install it)", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("wants root")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "distaff-slurm-") // not in /tmp: each node has its own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("../scripts/slurm-down.sh", dir).Run() })
	up := exec.Command("../scripts/slurm-up.sh", dir)
	var said bytes.Buffer
	up.Stderr = &said
	if err := up.Run(); err != nil && up.ProcessState.ExitCode() == cannot {
		t.Skipf("slurm-up.sh: %s", said.String())
	} else if err != nil {
		t.Fatalf("slurm-up.sh: %v: %s", err, said.String())
	}
	bin := filepath.Join(dir, "distaff")
	if out, err := exec.Command("go", "build", "-o", bin,
		"distaff/cmd/distaff").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(argv ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"), "DISTAFF="+bin,
			"DISTAFF_CACHE="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(work, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	out, code := run(append([]string{bin, "run", "-o=y:want.tns"}, statement...)...)
	if code != 0 {
		t.Fatal(out)
	}
	want := read("want.tns")
	script := func(name string) string { return filepath.Join(here, name) }
	submit := func(file string, flags ...string) []string {
		return append([]string{"sbatch", "--wait", "--output=" + file}, flags...)
	}
	// This script prints which GPUs Slurm lets a rank use.
	seeing := filepath.Join(dir, "seeing")
	if err := os.WriteFile(seeing,
		[]byte("#!/bin/bash\necho \"sees ${CUDA_VISIBLE_DEVICES-all}\"\nexec "+bin+" \"$@\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		name   string
		flags  []string
		args   []string
		code   int
		result string
		out    string
	}{
		{"one node", []string{script("one-node.sbatch")}, append([]string{"-o=y:one.tns"}, statement...),
			0, "one.tns", ""},
		{"two nodes, MPICH", []string{"--cpus-per-task=2", script("many-nodes.sbatch")},
			append([]string{"-o=y:pmi2.tns"}, statement...), 0, "pmi2.tns", ""},
		{"two nodes, Open MPI", []string{"--export=ALL,SLURM_MPI_TYPE=pmix", "--ntasks-per-node=2",
			"--cpus-per-task=1", script("many-nodes.sbatch")},
			append([]string{"-o=y:pmix.tns"}, statement...), 0, "pmix.tns", ""},
		{"wrong statement", []string{script("one-node.sbatch")}, []string{"y(i) = A(i"}, 2, "",
			"distaff: "},
		{"memory", []string{"--cpus-per-task=1", script("many-nodes.sbatch")},
			append([]string{"-o=y:none.tns", "--memory-limit=600"}, statement...), 5, "", "memory limit"},
		{"a GPU", []string{"--export=ALL,DISTAFF=" + seeing, script("gpus.sbatch")},
			append([]string{"-o=y:none.tns"}, statement...), 1, "", noGPU},
		{"GPUs", []string{"--export=ALL,DISTAFF=" + seeing, "--nodes=2", "--gpus-per-node=2",
			"--ntasks-per-node=2", "--cpus-per-task=1", script("gpus.sbatch")},
			append([]string{"-o=y:none.tns"}, statement...), 1, "", noGPU},
		{"missing file", []string{script("many-nodes.sbatch")},
			[]string{"y(i) = A(i,j) * x(j)", "-i=A:none.mtx", "-i=x:none.npy", "-o=y:none.tns"}, 1, "",
			"none.mtx"},
	} {
		t.Run(k.name, func(t *testing.T) {
			if k.out == noGPU && cuda.Probe().DriverErr == nil {
				t.Skip("there is a GPU, on which the job would run")
			}
			file := strings.ReplaceAll(k.name, " ", "-") + ".out"
			out, code := run(append(submit(file, k.flags...), k.args...)...)
			if code != k.code {
				t.Errorf("exit code %d, want %d: %s\n%s", code, k.code, out, read(file))
			}
			if k.result != "" && read(k.result) != want {
				t.Error("the result differs from that of one process")
			}
			if ranks := map[string]int{"a GPU": 1, "GPUs": 4}[k.name]; strings.Count(read(file),
				"sees 0") != ranks || ranks == 4 && strings.Count(read(file), "sees 0,1\n") != ranks {
				t.Errorf("not every rank sees the GPUs of the job:\n%s", read(file))
			}
			if got := strings.Count(read(file), k.out); k.out != "" && got < 1 ||
				k.out == noGPU && got != 1 {
				t.Errorf("output has %q %d times:\n%s", k.out, got, read(file))
			}
		})
	}
	t.Run("array", func(t *testing.T) {
		quoted := "'" + strings.Join(statement, "' '") + "'"
		lines := quoted + " -o=y:array1.tns\n" + quoted + ` "-o=y:array 2.tns"` + "\n"
		if err := os.WriteFile(filepath.Join(work, "lines.txt"), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		out,
			code := run(append(submit("array-%a.out", "--array=1-2", script("array.sbatch")),
			"lines.txt")...)
		if code != 0 || read("array1.tns") != want || read("array 2.tns") != want {
			t.Errorf("exit code %d: %s\n%s%s", code, out, read("array-1.out"), read("array-2.out"))
		}
		out,
			code = run(append(submit("array-%a.out", "--array=3", script("array.sbatch")), "lines.txt")...)
		if code != 2 || !strings.Contains(read("array-3.out"), "has no line 3") {
			t.Errorf("exit code %d: %s\n%s", code, out, read("array-3.out"))
		}
	})
	srun := func(mpi string, program ...string) []string {
		return append([]string{"srun", "-N2", "-n4", "--mpi=" + mpi, "--job-name=direct-" + mpi},
			program...)
	}
	// One rank of four finds no MPI, has a wrong command line, or finds a difference. Without an
	// option srun would let the other ranks wait.
	one := filepath.Join(dir, "one")
	if err := os.WriteFile(one,
		[]byte(
			"#!/bin/bash\n[ $SLURM_PROCID = 2 ] && case $1 in\nnopath) export DISTAFF_MPICC=/nowhere/mpicc;;\nflag) exec \"${@:2}\" --bogus;;\nesac\nexec \"${@:2}\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mpi := range []string{"pmix", "pmi2"} {
		for _, k := range []struct {
			mode string
			code int
			once string
		}{
			{"well", 0, ""},
			{"nopath", 1, "[2] started as one of 4 ranks"},
			{"flag", 2, "[2] there is no flag"},
		} {
			t.Run("one rank/"+mpi+"/"+k.mode, func(t *testing.T) {
				begun := time.Now()
				out, code := run(srun(mpi, append([]string{one, k.mode, bin, "run"}, statement...)...)...)
				if took := time.Since(begun); code != k.code ||
					k.once != "" && strings.Count(out, k.once) != 1 || took > 20*time.Second {
					t.Errorf("exit code %d after %v, want %d and %q once:\n%s", code, took, k.code, k.once, out)
				}
			})
		}
	}
	long := append([]string{"-o=y:long.tns", "--repeat=2000000000"}, statement...)
	t.Run("scancel", func(t *testing.T) {
		for _, mpi := range []string{"pmix", "pmi2"} {
			go func() {
				time.Sleep(4 * time.Second)
				run("scancel", "--name=direct-"+mpi)
			}()
			begun := time.Now()
			out, code := run(srun(mpi, append([]string{bin, "run"}, long...)...)...)
			if took := time.Since(begun); code != 143 || took > 14*time.Second {
				t.Errorf("%s: exit code %d after %v, want 143\n%s", mpi, code, took, out)
			}
		}
	})
	t.Run("time limit", func(t *testing.T) {
		if !*limit {
			t.Skip("-limit is not set")
		}
		out,
			code := run(append(submit("limit.out", "--time=0:01", script("many-nodes.sbatch")), long...)...)
		if code == 0 {
			t.Errorf("exit code 0: %s\n%s", out, read("limit.out"))
		}
	})
	if left, _ := filepath.Glob(filepath.Join(work, "*long.tns*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
