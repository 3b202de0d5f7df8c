// Package mpitest starts programs under the MPIs of this machine, for tests:
// Launchers finds them, or skips the test with the reason, and Run runs a command to
// its end, which must come.
package mpitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Launcher is an MPI of this machine.
type Launcher struct {
	Name   string // "openmpi" or "mpich"
	MPICC  string // its compiler
	Mpirun []string
}

// Argv runs a program as n ranks.
func (l Launcher) Argv(n int, program ...string) []string {
	argv := append([]string{}, l.Mpirun...)
	return append(append(argv, "-n", fmt.Sprint(n)), program...)
}

// Launchers lists the MPIs that have both a launcher and a compiler here. One that has not is a
// skipped test below t. With none t itself is skipped.
func Launchers(t testing.TB) []Launcher {
	t.Helper()
	var found []Launcher
	for _, l := range []Launcher{
		{"openmpi", "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none"}},
		{"mpich", "mpicc.mpich", []string{"mpirun.mpich"}},
	} {
		_, err1 := exec.LookPath(l.Mpirun[0])
		_, err2 := exec.LookPath(l.MPICC)
		if err := errors.Join(err1, err2); err != nil {
			if t, ok := t.(*testing.T); ok {
				t.Run("without "+l.Name,
					func(t *testing.T) { t.Skipf("%v (scripts/install-mpi.sh installs it)", err) })
			}
			continue
		}
		found = append(found, l)
	}
	if len(found) == 0 {
		t.Skip("no MPI here: scripts/install-mpi.sh installs Open MPI and MPICH")
	}
	return found
}

// Command is what Run runs.
type Command struct {
	Argv []string
	Dir  string   // "": the test's own
	Env  []string // beside the test's environment
	// Limit is how long it may take before the test fails; 3 minutes.
	Limit time.Duration
	// Started may act on the running command and read what it has said.
	Started func(cmd *exec.Cmd, out *Buffer)
}

// Result is how a command ended: by a signal, its code is 128 and the signal's number.
type Result struct {
	Out, Err string
	Code     int
	Took     time.Duration
}

// Run runs a command with what root wants of Open MPI and a cache for wrappers
// that all tests share. One that does not end fails the test.
func Run(t testing.TB, c Command) Result {
	t.Helper()
	if c.Limit == 0 {
		c.Limit = 3 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), c.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"DISTAFF_CACHE="+Cache(t))
	// A mpirun of Open MPI that ends removes the folder that all of a user share in TMPDIR, below
	// which another one that starts makes its own. Names of sockets there are short.
	base, err := os.MkdirTemp("", "mpi")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(base) }()
	cmd.Env = append(cmd.Env, "OMPI_MCA_orte_tmpdir_base="+base)
	cmd.Env = append(cmd.Env, c.Env...)
	var out, errs Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	// below a command that does not end, in which case a launcher alone is at fault where this is
	// empty
	left := ""
	cmd.Cancel = func() error {
		left = below(cmd.Process.Pid)
		return cmd.Process.Kill()
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if c.Started != nil {
		c.Started(cmd, &out)
	}
	err = cmd.Wait()
	r := Result{Out: out.String(), Err: errs.String(), Took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%v hung, with these processes below it:\n%s\n%s\n%s", c.Argv, left, r.Out, r.Err)
	case errors.As(err, &exit):
		if r.Code = exit.ExitCode(); r.Code < 0 {
			r.Code = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		t.Fatal(err)
	}
	return r
}

// below lists the processes that a process has started and that have not ended, a line each: id,
// state and command line.
func below(pid int) string {
	list, _ := exec.Command("ps", "-o", "pid=,stat=,args=", "--ppid", fmt.Sprint(pid)).Output()
	return string(list)
}

// Cache is the folder for compiled wrappers and leaves: DISTAFF_CACHE, which scripts/test.sh makes
// new, else one in the user's cache.
func Cache(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("DISTAFF_CACHE"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = t.TempDir()
	}
	dir := filepath.Join(base, "distaff-launchtest")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Buffer is read while a process writes it.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
