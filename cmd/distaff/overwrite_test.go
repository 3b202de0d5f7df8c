package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"distaff/spmd/comm/mpi/mpitest"
)

// overwriteJobs contains statements whose leaves use the coordinates of A in different ways: to
// read, to write, and to append to growing results.
var overwriteJobs = [][]string{
	{"C(i,j) = A(i,j)*x(j)", "-g=x:dense:int", "-f=C:ds", "-o=C:OUT"},
	{"y(j) = A(i,j)*x(i)", "-g=x:dense:int", "-o=y:OUT"},
	{"C(i,k) = A(i,j)*B(j,k)", "-g=B:uniform:5000:int", "-d=k:50", "-f=B:ds", "-f=C:ds",
		"-o=C:OUT"},
}

var overwriteKinds = []string{"random", "ones", "shrunk", "grown", "touched"}

// overwrite changes a mapped file in place.
func overwrite(rng *rand.Rand, kind, path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	switch kind {
	case "shrunk":
		return f.Truncate(rng.Int64N(size))
	case "grown":
		return f.Truncate(size + 1 + rng.Int64N(1<<16))
	case "touched": // writes the byte that is there
		b := make([]byte, 1)
		if _, err = f.ReadAt(b, size-1); err == nil {
			_, err = f.WriteAt(b, size-1)
		}
		return err
	}
	from := rng.Int64N(size / 2)
	b := bytes.Repeat([]byte{0xff}, int(size-from))
	if kind == "random" {
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
	}
	_, err = f.WriteAt(b, from)
	return err
}

// TestOverwritten overwrites, grows and shrinks a mapped input while leaves read it. The job must
// end with exit code 3 and a message that names the file, and must not change its old output. There
// are DISTAFF_OVERWRITES runs, or 10, starting at number DISTAFF_OVERWRITES_FIRST.
func TestOverwritten(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	f := newFaults(t)
	var launchers []mpitest.Launcher
	t.Run("launchers", func(t *testing.T) { launchers = mpiLaunchers(t) })
	first, n := runsOf(t, "DISTAFF_OVERWRITES", 10)
	for k := first; k < first+n; k++ {
		f.overwritten(t, k, launchers)
	}
}

// opened waits until each process has mapped the file or has ended, but at most a minute. The job
// would not notice an earlier change.
func opened(pids []int, file string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !slices.ContainsFunc(pids, func(pid int) bool {
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
			return err == nil && len(maps) > 0 && !bytes.Contains(maps, []byte(file))
		}) {
			return
		}
	}
}

func (f *faults) overwritten(t *testing.T, n int, launchers []mpitest.Launcher) {
	rng := rand.New(rand.NewPCG(uint64(n), 13))
	kind, place := overwriteKinds[n%len(overwriteKinds)], n%(len(launchers)+2)
	in, out := filepath.Join(f.dir, "in.tcs"), filepath.Join(f.dir, fmt.Sprintf("out-%d.tcs", n))
	for path, text := range map[string][]byte{in: f.inputs[".tcs"], out: []byte("old")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Remove(out)
	threads, ranks := 1+rng.IntN(2), 2+rng.IntN(2)
	argv, where := []string{f.distaff}, "one rank"
	var more []string
	switch {
	case place == 1:
		where, more = fmt.Sprintf("%d ranks in one process",
			ranks), []string{fmt.Sprintf("--ranks=%d", ranks)}
	case place > 1:
		l := launchers[place-2]
		where, argv = fmt.Sprintf("%d ranks of %s", ranks, l.Name), l.Argv(ranks, f.distaff)
	}
	argv = append(argv, "run", "-i=A:in.tcs", "-f=A:ds", "--repeat=1000000", "--tmp="+f.tmp,
		fmt.Sprintf("--threads=%d", threads))
	for _, a := range overwriteJobs[rng.IntN(len(overwriteJobs))] {
		argv = append(argv, strings.ReplaceAll(a, "OUT", out))
	}
	argv = append(argv, more...)
	name := fmt.Sprintf("overwriting %d: %s at %s, %d threads: %s", n, kind, where, threads, argv)
	x := &fault{name: name, out: out}
	mark := fmt.Sprintf("DISTAFF_FAULT=%d-over-%d", os.Getpid(), n)
	r := launchIn(t, f.dir, argv, []string{mark}, func(cmd *exec.Cmd) {
		pids := []int{cmd.Process.Pid}
		if place > 1 {
			pids = f.running(cmd, true, ranks)
		}
		opened(pids, in)
		time.Sleep(f.took + time.Second/2 + time.Duration(rng.IntN(500))*time.Millisecond)
		x.acted = time.Now()
		if err := overwrite(rng, kind, in, int64(len(f.inputs[".tcs"]))); err != nil {
			t.Error(err)
		}
	})
	took := time.Since(x.acted)
	if r.Code != 3 || !strings.Contains(r.Err, "in.tcs: ") {
		t.Errorf("%s: exit code %d, want 3 and the file's name\n%s", name, r.Code, r.Err)
	}
	for _, word := range []string{"goroutine", "BUG", "signal arrived"} {
		if strings.Contains(r.Err, word) {
			t.Errorf("%s: it says %s:\n%s", name, word, r.Err)
		}
	}
	if took > 20*time.Second {
		t.Errorf("%s: it took %v to end", name, took)
	}
	if got, err := os.ReadFile(out); string(got) != "old" {
		t.Errorf("%s: the old output has %d bytes, %v", name, len(got), err)
	}
	for _, left := range f.leftovers(x, mark) {
		t.Errorf("%s: left behind: %s\n%s", name, left, r.Err)
	}
	t.Logf("%s: exit code %d after %v", name, r.Code, took.Round(time.Millisecond))
}
