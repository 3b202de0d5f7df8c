package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/mpi"
)

var large = flag.Bool("large", false, "also send messages past 2^31 bytes (wants some 14 GB)")
var kills = flag.Int("kills", 3, "how many times to kill a rank of each MPI at a random moment")

// The test binary is its own rank: mpirun starts it with DISTAFF_COMMTEST set.
func TestMain(m *testing.M) {
	if os.Getenv("DISTAFF_COMMTEST_FUNNELED") != "" {
		mpi.ForceFunneled()
	}
	if s := os.Getenv("DISTAFF_COMMTEST_APART"); s != "" {
		limit, err := time.ParseDuration(s)
		if err != nil {
			panic(err)
		}
		mpi.ForceApart(limit)
	}
	if mode := os.Getenv("DISTAFF_COMMTEST"); mode != "" {
		os.Exit(rank(mode))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// rank is main of one rank.
func rank(mode string) int {
	say := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return comm.ExitCode(err)
	}
	l, ok, err := mpi.Launched(os.Getenv)
	if err != nil {
		return say(err)
	}
	if !ok {
		return say(errors.New("not launched"))
	}
	ctx, stop := comm.Signals(context.Background())
	defer stop()
	o := mpi.Options{Note: func(s string) { fmt.Fprintln(os.Stderr, "note:", s) }}
	if s := os.Getenv("DISTAFF_COMMTEST_STUCK"); s != "" {
		o.Stuck, _ = time.ParseDuration(s)
	}
	o.Threads, _ = strconv.Atoi(os.Getenv("DISTAFF_COMMTEST_THREADS"))
	j, err := mpi.Prepare(ctx, l, o)
	if err != nil {
		return say(err)
	}
	if f := os.Getenv("DISTAFF_COMMTEST_FILE"); f != "" { // what must not stay behind
		name := fmt.Sprintf("%s.%d", f, l.Rank)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return say(err)
		}
		comm.OnExit(func() { os.Remove(name) })
	}
	if err := j.Run(ctx, func(c comm.Comm, info mpi.Info) error { return play(mode, c, info) }); err != nil {
		var a *comm.AgreedError
		if !errors.As(err, &a) {
			fmt.Fprintln(os.Stderr, err)
		}
		return comm.ExitCode(err)
	}
	return 0
}

func play(mode string, c comm.Comm, info mpi.Info) error {
	if f := os.Getenv("DISTAFF_COMMTEST_PID"); f != "" {
		if err := os.WriteFile(fmt.Sprintf("%s.%d", f, c.Rank()), fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
			return err
		}
	}
	what, arg, _ := strings.Cut(mode, ":")
	switch what {
	case "suite":
		if err := commtest.RunAll(c, commtest.Cases(), func(name string, took time.Duration) {
			if c.Rank() == 0 {
				fmt.Printf("ok %s %v\n", name, took.Round(time.Millisecond))
			}
		}); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("all passed")
		}
		return nil
	case "large":
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return err
		}
		return commtest.Large(c, n)
	case "failure":
		for _, f := range commtest.Failures() {
			if f.Name == arg {
				return f.Run(c)
			}
		}
		return fmt.Errorf("no failure %q", arg)
	case "wait": // rank 0 says that all are there, then all wait
		if err := c.Barrier(); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Printf("rank 1 is process %d\n", os.Getpid())
			select {
			case <-c.Context().Done():
			case <-time.After(time.Minute):
			}
			return context.Cause(c.Context())
		}
		return comm.Recv(c, make([]byte, 1), 1, 0)
	case "info":
		if c.Rank() == 0 {
			local, size := comm.Local(info.Places, 0)
			fmt.Printf("library %s\nthreads %s\nlocal %d of %d\ncpus %d\nnotes %q\n", info.Library, info.Threads, local, size, len(info.Places[0].CPUs), info.Notes)
		}
		return c.Barrier()
	case "overlap":
		return overlap(c)
	case "latency":
		return latency(c)
	}
	return fmt.Errorf("no mode %q", mode)
}

// latency prints half the time of a round trip, by size.
func latency(c comm.Comm) error {
	for _, n := range []int{1, 4096, 1 << 20} {
		s, _, err := alloc(n)
		if err != nil {
			return err
		}
		const k = 1000
		start := time.Now()
		for range k {
			for turn := range 2 {
				if c.Rank() > 1 {
					break
				}
				post := c.Isend
				if c.Rank() != turn {
					post = c.Irecv
				}
				r, err := post(s, 1-c.Rank(), 0)
				if err != nil {
					return err
				}
				if err := r.Wait(); err != nil {
					return err
				}
			}
		}
		if c.Rank() == 0 {
			fmt.Printf("%d bytes: %v\n", n, time.Since(start)/(2*k))
		}
	}
	return nil
}

// overlap prints how long a transfer, a computation, and both at once take.
func overlap(c comm.Comm) error {
	const n = 16 << 20
	b, _, err := alloc(n)
	if err != nil {
		return err
	}
	busy := func() {
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		}
	}
	transfer := func(beside func()) error {
		var r *comm.Request
		var err error
		if c.Rank() == 0 {
			r, err = c.Isend(b, 1, 0)
		} else {
			r, err = c.Irecv(b, 0, 0)
		}
		if err != nil {
			return err
		}
		beside()
		return r.Wait()
	}
	for _, k := range []struct {
		name string
		run  func() error
	}{
		{"transfer", func() error { return transfer(func() {}) }},
		{"compute", func() error { busy(); return nil }},
		{"both", func() error { return transfer(busy) }},
	} {
		if err := c.Barrier(); err != nil {
			return err
		}
		start := time.Now()
		if err := k.run(); err != nil {
			return err
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Printf("%s %d ms\n", k.name, time.Since(start).Milliseconds())
		}
	}
	return nil
}

// launcher is an MPI of this machine.
type launcher struct {
	name  string
	mpicc string
	argv  func(n int) []string
}

func launchers(t *testing.T) []launcher {
	t.Helper()
	var found []launcher
	for _, l := range []launcher{
		{"openmpi", "mpicc.openmpi", func(n int) []string {
			return []string{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", fmt.Sprint(n)}
		}},
		{"mpich", "mpicc.mpich", func(n int) []string { return []string{"mpirun.mpich", "-n", fmt.Sprint(n)} }},
	} {
		_, err1 := exec.LookPath(l.argv(1)[0])
		_, err2 := exec.LookPath(l.mpicc)
		if err := errors.Join(err1, err2); err != nil {
			t.Logf("skipped %s: %v (scripts/install-mpi.sh installs it)", l.name, err)
			continue
		}
		found = append(found, l)
	}
	if len(found) == 0 {
		t.Skip("no MPI here: scripts/install-mpi.sh installs Open MPI and MPICH")
	}
	return found
}

type result struct {
	out, err string
	code     int
	took     time.Duration
}

// launch runs the test binary as n ranks.
func launch(t *testing.T, l launcher, n int, mode string, env ...string) result {
	t.Helper()
	return launchArgv(t, append(l.argv(n), os.Args[0]), mode, env, nil)
}

func launchArgv(t *testing.T, argv []string, mode string, env []string, started func(cmd *exec.Cmd, out *lockedBuffer)) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DISTAFF_COMMTEST="+mode, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "DISTAFF_CACHE="+filepath.Join(cacheRoot(t), "cache"))
	cmd.Env = append(cmd.Env, env...)
	var out, errs lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if started != nil {
		started(cmd, &out)
	}
	err := cmd.Wait()
	r := result{out: out.String(), err: errs.String(), took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%v hung\n%s\n%s", argv, r.out, r.err)
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return r
}

// cacheRoot is a private folder for the wrappers that the tests build.
func cacheRoot(t *testing.T) string {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		base = t.TempDir()
	}
	dir := filepath.Join(base, "distaff-commtest")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lockedBuffer is read while a process writes it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// alloc is mapped memory.
func alloc(n int) (comm.Buf, []byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return comm.MemOf(b), b, err
}

func TestSuite(t *testing.T) {
	for _, l := range launchers(t) {
		for _, n := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s/%d", l.name, n), func(t *testing.T) {
				r := launch(t, l, n, "suite")
				if r.code != 0 || !strings.Contains(r.out, "all passed") {
					t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
				}
				t.Logf("%v\n%s", r.took, r.out)
			})
		}
	}
}

// TestFunneled: the suite, all calls made by one thread.
func TestFunneled(t *testing.T) {
	for _, l := range launchers(t) {
		t.Run(l.name, func(t *testing.T) {
			r := launch(t, l, 2, "suite", "DISTAFF_COMMTEST_FUNNELED=1")
			if r.code != 0 || !strings.Contains(r.out, "all passed") {
				t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
			}
		})
	}
}

// TestKilledAnywhere: a random rank, killed at a random moment of the suite. MPI
// is open by then: Open MPI 4.1.4's mpirun waits for itself, its ranks all gone,
// when one is killed while it connects.
func TestKilledAnywhere(t *testing.T) {
	for _, l := range launchers(t) {
		for i := range *kills {
			t.Run(fmt.Sprintf("%s/%d", l.name, i), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(uint64(i), 7))
				file := filepath.Join(t.TempDir(), "pid")
				var at time.Time
				r := launchArgv(t, append(l.argv(3), os.Args[0]), "suite", []string{"DISTAFF_COMMTEST_PID=" + file}, func(cmd *exec.Cmd, out *lockedBuffer) {
					victim := fmt.Sprintf("%s.%d", file, rnd.IntN(3))
					var pid int
					for pid == 0 {
						b, _ := os.ReadFile(victim)
						pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
						time.Sleep(time.Millisecond)
					}
					time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond)
					at = time.Now()
					_ = syscall.Kill(pid, syscall.SIGKILL)
				})
				if took := time.Since(at); took > 10*time.Second {
					t.Errorf("took %v to end", took)
				}
				if passed := strings.Contains(r.out, "all passed"); r.code == 0 && !passed {
					t.Errorf("exit code 0\n%s\n%s", r.out, r.err)
				}
			})
		}
	}
}

// TestSilent: a rank of which nothing is heard any more ends the job, although
// its launcher sees nothing wrong.
func TestSilent(t *testing.T) {
	for _, l := range launchers(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			var at time.Time
			r := launchArgv(t, append(l.argv(3), os.Args[0]), "wait", []string{"DISTAFF_COMMTEST_APART=3s"}, func(cmd *exec.Cmd, out *lockedBuffer) {
				time.Sleep(2 * time.Second) // life goes on for a while
				at = signalRank1(t, out, syscall.SIGSTOP)
			})
			if took := time.Since(at); r.code == 0 || took > 15*time.Second || !strings.Contains(r.err, "[1] it has given no sign of life for 3s, as rank 0 sees") {
				t.Errorf("exit code %d after %v\n%s%s", r.code, took, r.out, r.err)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	for _, l := range launchers(t) {
		dir := t.TempDir()
		getenv := func(name string) string {
			if name == "DISTAFF_MPICC" {
				return l.mpicc
			}
			return os.Getenv(name)
		}
		lines, err := mpi.Install(t.Context(), dir, getenv)
		if err != nil || len(lines) != 1 || !strings.Contains(lines[0], l.name) {
			t.Fatal(lines, err)
		}
		w, err := mpi.Build(t.Context(), l.mpicc, getenv, func(s string) { t.Log(s) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "mpi-"+l.name+".so")); err != nil {
			t.Error(err)
		}
		library, threads, err := mpi.Probe(t.Context(), w)
		if err != nil || !strings.HasPrefix(threads, "MPI_THREAD_") || !strings.Contains(library, "MPI") {
			t.Errorf("%s: %q %q %v", l.name, library, threads, err)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, l := range launchers(t) {
		for _, f := range commtest.Failures() {
			t.Run(l.name+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "partial")
				r := launch(t, l, 3, "failure:"+f.Name, "DISTAFF_COMMTEST_STUCK=500ms", "DISTAFF_COMMTEST_FILE="+file)
				if r.code != f.Code {
					t.Errorf("exit code %d, want %d", r.code, f.Code)
				}
				for i, w := range f.Want {
					if n := strings.Count(r.err, w); n == 0 || (i == 0 && n > 1) {
						t.Errorf("%q is there %d times, want once", w, n)
					}
				}
				if r.took > 10*time.Second {
					t.Errorf("took %v to end", r.took)
				}
				if left, _ := filepath.Glob(file + "*"); f.Name != "agreed" && len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				if t.Failed() {
					t.Log(r.out, r.err)
				}
			})
		}
	}
}

// TestKilled: a rank that is killed ends the job.
func TestKilled(t *testing.T) {
	for _, l := range launchers(t) {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s/%v", l.name, sig), func(t *testing.T) {
				t.Parallel()
				var at time.Time
				r := launchArgv(t, append(l.argv(3), os.Args[0]), "wait", nil, func(cmd *exec.Cmd, out *lockedBuffer) {
					at = signalRank1(t, out, sig)
				})
				if r.code == 0 || time.Since(at) > 10*time.Second {
					t.Errorf("exit code %d after %v\n%s%s", r.code, time.Since(at), r.out, r.err)
				}
				t.Logf("exit code %d, %v\n%s", r.code, time.Since(at), r.err)
			})
		}
	}
}

// signalRank1 waits for "rank 1 is process N" and sends it a signal.
func signalRank1(t *testing.T, out *lockedBuffer, sig syscall.Signal) time.Time {
	t.Helper()
	for range 600 {
		if _, rest, ok := strings.Cut(out.String(), "rank 1 is process "); ok && strings.Contains(rest, "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			return time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("rank 1 did not come up: " + out.String())
	return time.Time{}
}

// TestInterrupt: SIGTERM and SIGINT to the launcher clean up and end the job.
func TestInterrupt(t *testing.T) {
	for _, l := range launchers(t) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(fmt.Sprintf("%s/%v", l.name, sig), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "partial")
				r := launchArgv(t, append(l.argv(3), os.Args[0]), "wait", []string{"DISTAFF_COMMTEST_FILE=" + file}, func(cmd *exec.Cmd, out *lockedBuffer) {
					for !strings.Contains(out.String(), "rank 1 is") {
						time.Sleep(20 * time.Millisecond)
					}
					if err := cmd.Process.Signal(sig); err != nil {
						t.Fatal(err)
					}
				})
				if r.code == 0 {
					t.Error("exit code 0")
				}
				if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				t.Logf("exit code %d\n%s", r.code, r.err)
			})
		}
	}
}

// TestMismatch: a launcher and a wrapper of two MPIs are refused in words.
func TestMismatch(t *testing.T) {
	ls := launchers(t)
	if len(ls) < 2 {
		t.Skip("wants both MPIs")
	}
	for i, l := range ls {
		other := ls[1-i]
		t.Run(l.name, func(t *testing.T) {
			r := launch(t, l, 2, "suite", "DISTAFF_MPICC="+other.mpicc)
			if r.code != 1 || !strings.Contains(r.err, "another MPI") {
				t.Errorf("exit code %d\n%s", r.code, r.err)
			}
			so := filepath.Join(cacheRoot(t), other.name+"-test.so")
			w, err := mpi.Build(t.Context(), other.mpicc, os.Getenv, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteTo(so); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(so)
			r = launch(t, l, 2, "suite", "DISTAFF_MPI_WRAPPER="+so)
			if r.code != 1 || !strings.Contains(r.err, "another MPI") || !strings.Contains(r.err, so) {
				t.Errorf("exit code %d\n%s", r.code, r.err)
			}
			r = launch(t, other, 2, "info", "DISTAFF_MPI_WRAPPER="+so)
			if r.code != 0 {
				t.Errorf("prebuilt wrapper: exit code %d\n%s", r.code, r.err)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	for _, l := range launchers(t) {
		t.Run(l.name, func(t *testing.T) {
			r := launch(t, l, 3, "info", "DISTAFF_COMMTEST_THREADS=64")
			for _, w := range []string{"library ", "threads MPI_THREAD_MULTIPLE", "local 0 of 3", "3 ranks of 64 threads share"} {
				if !strings.Contains(r.out, w) {
					t.Errorf("lacks %q:\n%s%s", w, r.out, r.err)
				}
			}
		})
	}
	if l := launchers(t)[0]; l.name == "openmpi" {
		// mpirun binds each of two ranks to a core by itself.
		r := launchArgv(t, []string{"mpirun.openmpi", "-n", "2", "--bind-to", "core", os.Args[0]}, "info", []string{"DISTAFF_COMMTEST_THREADS=2"}, nil)
		if r.code == 0 && strings.Contains(r.out, "cpus 1\n") && !strings.Contains(r.out, "ranks 0-1 are bound to 1 core and to run 2 threads each") {
			t.Errorf("binding is not reported:\n%s", r.out)
		}
		t.Log(r.out)
	}
}

func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("-large is not set")
	}
	for _, l := range launchers(t) {
		for _, n := range []int64{1<<31 + 17, 1<<31 + 64} {
			t.Run(fmt.Sprintf("%s/%d", l.name, n), func(t *testing.T) {
				if r := launch(t, l, 2, fmt.Sprintf("large:%d", n)); r.code != 0 {
					t.Fatal(r.out, r.err)
				}
			})
		}
	}
}
