package mpi_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/spmd/comm/mpi/mpitest"
)

// script runs one of the repository's scripts. Exit code 77 means that this machine does not
// support it; the test is then skipped.
func script(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", "..", "scripts", name), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skipf("%s: %s", name, errs.String())
	} else if err != nil {
		t.Fatalf("%s: %v: %s", name, err, errs.String())
	}
	return string(out)
}

// shared copies the test binary to a folder that all nodes see.
func shared(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "comm.test")
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestSlurm runs a Slurm of two nodes on this machine.
func TestSlurm(t *testing.T) {
	for _, tool := range []string{"srun", "slurmctld", "slurmd", "munged", "mpicc.openmpi",
		"mpicc.mpich"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (scripts/install-slurm.sh and install-mpi.sh install it)", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("wants root")
	}
	dir, err := os.MkdirTemp("/var/tmp", "distaff-slurm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command(filepath.Join("..", "..", "..", "scripts", "slurm-down.sh"),
			dir).Run()
	})
	script(t, "slurm-up.sh", dir)
	bin := shared(t, dir)
	// The nodes do not share /tmp, where the cache of all tests may be.
	env := []string{"SLURM_CONF=" + filepath.Join(dir, "slurm.conf"),
		"DISTAFF_CACHE=" + filepath.Join(dir, "cache")}
	srun := func(mpi string, args ...string) []string {
		return append([]string{"srun", "-N2", "-n4", "--mpi=" + mpi}, append(args, bin)...)
	}
	for _, k := range []struct {
		name, mpi, mode string
		env             []string
		code            int
		out, err        []string
	}{
		{name: "Open MPI", mpi: "pmix", mode: "suite", out: []string{"all passed"}},
		{name: "MPICH", mpi: "pmi2", mode: "suite", out: []string{"all passed"}},
		{name: "no way to meet", mpi: "none", mode: "suite", code: 1,
			err: []string{"which does not let the ranks of an MPI connect", "--mpi=pmix"}},
		{name: "singletons", mpi: "pmix", mode: "suite", env: []string{"DISTAFF_MPICC=mpicc.mpich"},
			code: 1, err: []string{"the launcher must belong to this MPI", "4 jobs instead of one"}},
		{name: "error", mpi: "pmix", mode: "failure:error", code: 3,
			err: []string{"[1] b.tns:7:3: no number"}},
		{name: "error, MPICH", mpi: "pmi2", mode: "failure:error", code: 3,
			err: []string{"[1] b.tns:7:3: no number"}},
		{name: "agreed", mpi: "pmi2", mode: "failure:agreed", code: 3, err: []string{"[1] corrupt"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := launchArgv(t, srun(k.mpi), k.mode, append(k.env, env...), nil)
			if r.Code != k.code {
				t.Errorf("exit code %d, want %d", r.Code, k.code)
			}
			for _, w := range k.out {
				if !strings.Contains(r.Out, w) {
					t.Errorf("output lacks %q", w)
				}
			}
			for _, w := range k.err {
				if !strings.Contains(r.Err, w) {
					t.Errorf("messages lack %q", w)
				}
			}
			t.Log(r.Out, r.Err)
		})
	}
	for _, mpi := range []string{"pmix", "pmi2"} {
		t.Run("killed/"+mpi, func(t *testing.T) {
			r := launchArgv(t, srun(mpi), "wait", env,
				func(cmd *exec.Cmd, out *mpitest.Buffer) { signalRank1(t, out, syscall.SIGKILL) })
			if r.Code == 0 || strings.Contains(r.Err, stuck) {
				t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
			}
			t.Logf("exit code %d\n%s", r.Code, r.Err)
		})
		t.Run("scancel/"+mpi, func(t *testing.T) {
			file := filepath.Join(dir, "partial-"+mpi)
			r := launchArgv(t, srun(mpi, "--job-name="+mpi), "wait",
				append(env, "DISTAFF_COMMTEST_FILE="+file), func(cmd *exec.Cmd, out *mpitest.Buffer) {
					for !strings.Contains(out.String(), "rank 1 is") {
						time.Sleep(20 * time.Millisecond)
					}
					c := exec.Command("scancel", "--name="+mpi)
					c.Env = append(os.Environ(), env...)
					if b, err := c.CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, b)
					}
				})
			if r.Code == 0 {
				t.Error("exit code 0")
			}
			if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			t.Logf("exit code %d\n%s", r.Code, r.Err)
		})
	}
}

// TestTwoHosts runs Open MPI over TCP at 1 Gbit/s between two network namespaces.
func TestTwoHosts(t *testing.T) {
	for _, tool := range []string{"ip", "tc", "unshare", "mpirun.openmpi", "mpicc.openmpi"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("wants root")
	}
	dir, err := os.MkdirTemp("/var/tmp", "distaff-net-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command(filepath.Join("..", "..", "..", "scripts", "netns-down.sh"), dir).Run()
		os.RemoveAll(dir)
	})
	script(t, "netns-up.sh", dir)
	options, err := os.ReadFile(filepath.Join(dir, "options"))
	if err != nil {
		t.Fatal(err)
	}
	bin := shared(t, dir)
	mpirun := func(n int) []string {
		argv := append([]string{filepath.Join(dir, "run"), "mpirun.openmpi"},
			strings.Fields(string(options))...)
		return append(argv, "-x", "DISTAFF_COMMTEST", "-x", "DISTAFF_CACHE", "-n", fmt.Sprint(n), bin)
	}
	r := launchArgv(t, mpirun(4), "suite", nil, nil)
	if r.Code != 0 || !strings.Contains(r.Out, "all passed") {
		t.Fatalf("exit code %d\n%s\n%s", r.Code, r.Out, r.Err)
	}
	// A message over this link takes more than 100 ms: it passes while both ranks compute.
	r = launchArgv(t, mpirun(2), "overlap", nil, nil)
	for rank := range 2 {
		if want := fmt.Sprintf("rank %d computed while 16 MiB passed\n", rank); r.Code != 0 ||
			!strings.Contains(r.Out, want) {
			t.Errorf("exit code %d, want %q\n%s\n%s", r.Code, want, r.Out, r.Err)
		}
	}
}
