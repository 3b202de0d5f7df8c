package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/spmd/comm/mpi/mpitest"
)

// runsOf returns the number n of runs of a test and the number of the first run. The environment
// variable sets n, which otherwise is few. The variable with the suffix _FIRST sets first.
func runsOf(t *testing.T, variable string, few int) (first, n int) {
	n = few
	for name, to := range map[string]*int{variable: &n, variable + "_FIRST": &first} {
		if v := os.Getenv(name); v != "" {
			k, err := strconv.Atoi(v)
			if err != nil {
				t.Fatalf("%s=%s: %v", name, v, err)
			}
			*to = k
		}
	}
	return first, n
}

// tinyDisk mounts a small tmpfs, or returns "".
func tinyDisk(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Run("full disk", func(t *testing.T) {
			t.Skip("a limit of files' sizes stands in: mounting a tmpfs: ", err)
		})
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	})
	return dir
}

// faults is the job that TestFaults disturbs.
type faults struct {
	dir, distaff, tiny, tmp string
	inputs, wants           map[string][]byte // by extension
	took                    time.Duration     // the time of an undisturbed run
	rng                     *rand.Rand
}

// fault is one way to disturb a job.
type fault struct {
	name    string
	argv    []string
	out     string
	ext     string
	act     func(*exec.Cmd)
	acted   time.Time
	codes   []int  // allowed exit codes of a run without output; nil allows all except 0
	mayLive bool   // the run may succeed
	cut     string // a truncated text file; a rank may open it after that, and read less
}

var faultKinds = []string{"signal", "truncated", "disk"}

func newFaults(t *testing.T) *faults {
	dir := t.TempDir()
	f := &faults{dir: dir, distaff: program(t, dir), tmp: filepath.Join(dir, "tmp"),
		inputs: map[string][]byte{}, wants: map[string][]byte{}}
	if err := os.Mkdir(f.tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) {
		t.Helper()
		if r := launchIn(t, dir, append([]string{f.distaff}, args...), nil, nil); r.Code != 0 {
			t.Fatalf("exit code %d\n%s", r.Code, r.Err)
		}
	}
	for _, ext := range []string{".tcs", ".tns"} {
		in := "big" + ext
		must("run", "A(i,j) = G(i,j)", "-g=G:uniform:300000:int", "-d=G:3000,2000", "-f=G:ds",
			"-f=A:ds", "-o=A:"+in)
		text, err := os.ReadFile(filepath.Join(dir, in))
		if err != nil {
			t.Fatal(err)
		}
		f.inputs[ext] = text
		at := time.Now()
		must(f.job("big.tcs", "want"+ext)...)
		f.took = time.Since(at)
		if f.wants[ext], err = os.ReadFile(filepath.Join(dir, "want"+ext)); err != nil {
			t.Fatal(err)
		}
	}
	f.tiny = tinyDisk(t)
	return f
}

func (f *faults) job(in, out string, more ...string) []string {
	return f.jobIn(f.tmp, in, out, more...)
}

// jobIn returns the command of the job with a folder for its temporary files.
func (f *faults) jobIn(tmp, in, out string, more ...string) []string {
	return append([]string{"run", "C(i,j) = A(i,j)*x(j)", "-i=A:" + in, "-g=x:dense:int",
		"-d=A:3000,2000", "-f=A:ds", "-f=C:ds", "--threads=1", "--tmp=" + tmp, "-o=C:" + out},
		more...)
}

// draw returns fault number n. Consecutive numbers alternate between ranks in one process and the
// ranks of each MPI, for each kind of fault.
func (f *faults) draw(n int, launchers []mpitest.Launcher) *fault {
	f.rng = rand.New(rand.NewPCG(uint64(n), 4))
	places := len(launchers) + 1
	kind, place := faultKinds[n/places%len(faultKinds)], n%places
	x := &fault{ext: []string{".tcs", ".tns"}[f.rng.IntN(2)]}
	in := filepath.Join(f.dir, "in"+[]string{".tcs", ".tcs", ".tns"}[f.rng.IntN(3)])
	x.out = filepath.Join(f.dir, fmt.Sprintf("out-%d%s", n, x.ext))
	ranks := 1 + f.rng.IntN(4)
	more := []string{fmt.Sprintf("--ranks=%d", ranks)}
	where := "ranks in one process"
	x.argv = []string{f.distaff}
	if place > 0 {
		l := launchers[place-1]
		ranks, where, more = max(ranks, 2), l.Name, nil
		x.argv = l.Argv(ranks, f.distaff)
	}
	if f.rng.IntN(2) == 0 {
		more = append(more, "--split=i:5")
	}
	length := f.took // the expected time of a run
	if place > 0 {
		length += 500 * time.Millisecond // MPI starts
	}
	wait := time.Duration(f.rng.Float64() * 1.3 * float64(length))
	detail := ""
	switch kind {
	case "signal":
		x.mayLive = true
		detail = f.signal(x, place > 0, ranks, wait)
	case "truncated":
		x.mayLive, x.codes = true, []int{1, 3}
		size := f.rng.Int64N(int64(len(f.inputs[filepath.Ext(in)])))
		detail = fmt.Sprintf("%s to %d bytes", filepath.Base(in), size)
		if filepath.Ext(in) == ".tns" {
			x.cut = in
		}
		x.act = func(cmd *exec.Cmd) {
			f.running(cmd, place > 0, ranks)
			time.Sleep(wait)
			os.Truncate(in, size)
		}
	case "disk":
		x.codes = []int{1}
		room := 4096 * (1 + f.rng.Int64N(int64(len(f.wants[x.ext]))/4096-8))
		detail = fmt.Sprintf("%d bytes of room for %d", room, len(f.wants[x.ext]))
		if f.tiny != "" {
			x.out = filepath.Join(f.tiny, "out"+x.ext)
			if err := syscall.Mount("", f.tiny, "", syscall.MS_REMOUNT,
				fmt.Sprintf("size=%d", room+4096)); err != nil {
				detail += ": " + err.Error()
			}
		} else {
			x.argv = append([]string{"bash", "-c", fmt.Sprintf(`ulimit -f %d; exec "$@"`, room/1024),
				"bash"}, x.argv...)
		}
	}
	x.argv = append(x.argv, f.job(in, x.out, more...)...)
	x.name = fmt.Sprintf("fault %d: %s at %s, %d ranks, after %v: %s (%s to %s%s)", n, kind, where,
		ranks, wait.Round(time.Millisecond), detail, filepath.Base(in), x.ext,
		strings.Join(append([]string{""}, more...), " "))
	return x
}

// signal sets up x to send a signal to the job's process, to a rank of a launcher, or to the
// launcher itself.
func (f *faults) signal(x *fault, launched bool, ranks int, wait time.Duration) string {
	signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}[f.rng.IntN(3)]
	which := f.rng.IntN(ranks + 1)
	if !launched {
		which = ranks
		if signal != syscall.SIGKILL {
			x.codes = []int{128 + int(signal)}
		} else {
			x.codes = []int{137}
		}
	}
	// A killed launcher can neither end its ranks nor report how they ended.
	if launched && which == ranks && signal == syscall.SIGKILL {
		signal = syscall.SIGTERM
	}
	x.act = func(cmd *exec.Cmd) {
		pids := f.running(cmd, launched, ranks)
		time.Sleep(wait)
		x.acted = time.Now()
		if which == ranks {
			cmd.Process.Signal(signal)
		} else if len(pids) > which {
			syscall.Kill(pids[which], signal)
		}
	}
	if which == ranks {
		return signal.String() + " to the process started"
	}
	return fmt.Sprintf("%v to rank process %d", signal, which)
}

// running waits until the launcher has started its ranks, and returns the process ids.
func (f *faults) running(cmd *exec.Cmd, launched bool, ranks int) (pids []int) {
	if !launched {
		return nil
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(
		5 * time.Millisecond) {
		if pids = children(cmd.Process.Pid, "distaff"); len(pids) == ranks {
			break
		}
	}
	return pids
}

// TestFaults disturbs jobs at random moments. Each job must end with an exit code that reports the
// fault, and its output must be the old file or the complete new file.
func TestFaults(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	f := newFaults(t)
	var launchers []mpitest.Launcher
	t.Run("launchers", func(t *testing.T) { launchers = mpiLaunchers(t) })
	first, n := runsOf(t, "DISTAFF_FAULTS", 24)
	for k := range n {
		f.try(t, f.draw(first+k, launchers), first+k)
	}
}

// try runs the job with the fault x, and checks how it ends.
func (f *faults) try(t *testing.T, x *fault, n int) {
	old := []byte("an old file\n")
	for ext, text := range f.inputs {
		if err := os.WriteFile(filepath.Join(f.dir, "in"+ext), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(x.out, old, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(x.out)
	mark := fmt.Sprintf("DISTAFF_FAULT=%d-%d", os.Getpid(), n)
	r := launchIn(t, f.dir, x.argv, []string{mark}, x.act)
	ended := time.Now()
	got, err := os.ReadFile(x.out)
	whole := bytes.Equal(got, f.wants[x.ext])
	switch {
	case err != nil:
		t.Errorf("%s: the old output is gone: %v", x.name, err)
	case !whole && !bytes.Equal(got, old) && r.Code == 0 && x.cut != "" &&
		bytes.Equal(got, f.alone(t, x)):
	case !whole && !bytes.Equal(got, old):
		t.Errorf("%s: an output of %d bytes that is neither the old one nor the new one (exit "+
			"code %d)\n%s", x.name, len(got), r.Code, r.Err)
	case bytes.Equal(got, old) && r.Code == 0:
		t.Errorf("%s: exit code 0 without the output\n%s", x.name, r.Err)
	case !whole && x.codes != nil && !slices.Contains(x.codes, r.Code):
		t.Errorf("%s: exit code %d, want one of %v\n%s", x.name, r.Code, x.codes, r.Err)
	case r.Code == 0 && !x.mayLive:
		t.Errorf("%s: exit code 0", x.name)
	}
	if took := ended.Sub(x.acted); !x.acted.IsZero() && took > 10*time.Second+5*f.took {
		t.Errorf("%s: it took %v to end", x.name, took)
	}
	if strings.Contains(r.Err, "panic") || strings.Contains(r.Err, "BUG") {
		t.Errorf("%s: it panics:\n%s", x.name, r.Err)
	}
	for _, left := range f.leftovers(x, mark) {
		t.Errorf("%s: left behind: %s\n%s", x.name, left, r.Err)
	}
	t.Logf("%s: exit code %d, whole %v", x.name, r.Code, whole)
}

// alone returns the output of one rank for the truncated input.
func (f *faults) alone(t *testing.T, x *fault) []byte {
	out := filepath.Join(f.dir, "alone"+x.ext)
	defer os.Remove(out)
	if r := launchIn(t, f.dir, append([]string{f.distaff}, f.job(x.cut, out)...), nil,
		nil); r.Code != 0 {
		return nil
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Error(err)
	}
	return text
}

// leftovers returns the temporary files, processes and shared memory that a job did not remove.
func (f *faults) leftovers(x *fault, mark string) []string {
	var left []string
	for _, pattern := range []string{filepath.Join(filepath.Dir(x.out), ".*"),
		filepath.Join(f.tmp, "*"), "/dev/shm/*distaff*"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			of, shared := strings.CutPrefix(name, "/dev/shm/distaff-")
			_, err := strconv.Atoi(of)
			// other files are a user's cache locks, or written by a benchmark
			if !shared || err != nil && !strings.HasPrefix(of, "bench-") {
				left = append(left, name)
			}
		}
	}
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		alive := marked(mark)
		if len(alive) == 0 {
			return left
		}
		if time.Now().After(end) {
			return append(left, alive...)
		}
	}
}

// marked returns the processes that have a variable in their environment.
func marked(variable string) []string {
	var found []string
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		env, err := os.ReadFile(e + "/environ")
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), variable) {
			line, _ := os.ReadFile(e + "/cmdline")
			found = append(found, filepath.Base(e)+" "+strings.ReplaceAll(string(line), "\x00",
				" "))
		}
	}
	return found
}
