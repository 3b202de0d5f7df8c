package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"distaff/spmd/comm/mpi/mpitest"
)

// faultRuns is how many faults TestFaults tries: DISTAFF_FAULTS, or 20.
func faultRuns(t *testing.T) int {
	v := os.Getenv("DISTAFF_FAULTS")
	if v == "" {
		return 20
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("DISTAFF_FAULTS=%s: %v", v, err)
	}
	return n
}

// tinyDisk mounts a tmpfs of 16 KiB, or returns "".
func tinyDisk(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Logf("no full disk: mounting a tmpfs: %v", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	})
	return dir
}

// TestFaults: whatever happens to a job, at whatever moment, it ends, says so
// by its code, and its output is the old file or the whole new one.
func TestFaults(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	distaff := program(t, dir)
	must := func(args ...string) {
		t.Helper()
		if r := launchIn(t, dir, append([]string{distaff}, args...), nil, nil); r.Code != 0 {
			t.Fatalf("exit code %d\n%s", r.Code, r.Err)
		}
	}
	must("run", "A(i,j) = G(i,j)", "-g=G:uniform:400000:int", "-d=G:3000,2000", "-f=G:ds", "-f=A:ds", "-o=A:big.tcs")
	input, err := os.ReadFile(filepath.Join(dir, "big.tcs"))
	if err != nil {
		t.Fatal(err)
	}
	job := func(in, out string, more ...string) []string {
		return append([]string{"run", "C(i,j) = A(i,j)*x(j)", "-i=A:" + in, "-g=x:dense:int", "-f=C:ds", "--threads=1", "-o=C:" + out}, more...)
	}
	at := time.Now()
	must(job("big.tcs", "want.tcs")...)
	took := time.Since(at)
	want, err := os.ReadFile(filepath.Join(dir, "want.tcs"))
	if err != nil {
		t.Fatal(err)
	}
	tiny := tinyDisk(t)
	var launchers []mpitest.Launcher
	t.Run("launchers", func(t *testing.T) { launchers = mpiLaunchers(t) })

	old := []byte("an old file\n")
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 4))
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}
	for n := range faultRuns(t) {
		out := filepath.Join(dir, fmt.Sprintf("out-%d.tcs", n))
		in := filepath.Join(dir, "in.tcs")
		argv := []string{distaff}
		ranks := 1 + rng.IntN(4)
		more := []string{fmt.Sprintf("--ranks=%d", ranks)}
		if rng.IntN(2) == 0 {
			more = append(more, "--split=i:5")
		}
		kind := []string{"signal", "signal", "truncated", "disk", "rank"}[rng.IntN(5)]
		if kind == "disk" && tiny == "" || kind == "rank" && len(launchers) == 0 {
			kind = "signal"
		}
		wait := time.Duration(rng.Float64() * 1.3 * float64(took))
		signal := signals[rng.IntN(len(signals))]
		var act func(*exec.Cmd)
		mayFail := true // else it must
		switch kind {
		case "signal":
			act = func(cmd *exec.Cmd) { time.Sleep(wait); cmd.Process.Signal(signal) }
		case "truncated":
			length := rng.Int64N(int64(len(input)))
			act = func(*exec.Cmd) { time.Sleep(wait); os.Truncate(in, length) }
		case "disk":
			out, mayFail = filepath.Join(tiny, "out.tcs"), false
		case "rank":
			l := launchers[rng.IntN(len(launchers))]
			argv, more = l.Argv(2, distaff), nil
			which := rng.IntN(2)
			act = func(cmd *exec.Cmd) {
				for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if ids := children(cmd.Process.Pid, "distaff"); len(ids) == 2 {
						time.Sleep(wait)
						syscall.Kill(ids[which], syscall.SIGKILL)
						return
					}
				}
			}
		}
		if err := os.WriteFile(in, input, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(out, old, 0o600); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("fault %d (seed %d): %s, %v after %v, %v", n, seed, kind, signal, wait, more)
		r := launchIn(t, dir, append(argv, job(in, out, more...)...), nil, act)
		got, err := os.ReadFile(out)
		switch {
		case err != nil:
			t.Errorf("%s: the old output is gone: %v", name, err)
		case bytes.Equal(got, want):
		case !bytes.Equal(got, old):
			t.Errorf("%s: an output of %d bytes that is neither the old one nor the new one", name, len(got))
		case r.Code == 0:
			t.Errorf("%s: exit code 0 without the output\n%s", name, r.Err)
		}
		if r.Code == 0 && !mayFail {
			t.Errorf("%s: exit code 0", name)
		}
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".out*.tmp"))
		if len(left) > 0 {
			t.Errorf("%s: left behind: %v\n%s", name, left, r.Err)
		}
		t.Logf("%s: exit code %d", name, r.Code)
		os.Remove(out)
	}
}
