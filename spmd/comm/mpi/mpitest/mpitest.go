// Package mpitest starts programs under the MPI libraries of this machine, for tests. Launchers
// returns the libraries, or skips the test with a reason. Run runs a command and fails the test if
// the command does not end.
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

// Launcher is an MPI installation of this machine, with the command that starts its jobs.
type Launcher struct {
	Name   string // "openmpi" or "mpich"
	MPICC  string // its compiler
	Mpirun []string
}

// Argv returns the command line that runs a program as n ranks.
func (l Launcher) Argv(n int, program ...string) []string {
	argv := append([]string{}, l.Mpirun...)
	return append(append(argv, "-n", fmt.Sprint(n)), program...)
}

// Launchers returns the MPI installations of this machine: Open MPI and MPICH, each if its compiler
// and its command to start jobs are found. For each one that is not found, Launchers adds a skipped
// subtest to t if t is a *testing.T. If neither is found, Launchers skips t.
func Launchers(t testing.TB) []Launcher {
	t.Helper()
	var found []Launcher
	for _, l := range []Launcher{
		{"openmpi", "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe", "--bind-to",
			"none"}},
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

// Command is a command for Run.
type Command struct {
	Argv []string
	Dir  string   // working folder; "" is the test's folder
	Env  []string // added to the test's environment
	// Limit is the time after which the test fails. The default is 3 minutes.
	Limit time.Duration
	// Started, if not nil, may act on the running command and read its output.
	Started func(cmd *exec.Cmd, out *Buffer)
}

// Result says how a command ended. After a signal, Code is 128 plus the number of the signal.
type Result struct {
	Out, Err string
	Code     int
	Took     time.Duration
}

// Run runs a command with the settings that Open MPI needs to run as root, and with a cache for
// wrappers that all tests share. It fails the test if the command does not end.
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
	// When mpirun of Open MPI ends, it removes the folder in TMPDIR that all jobs of a user share.
	// Another mpirun may be about to create its own folder there. The names must be short because
	// sockets are created there.
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
	// the processes below a command that hung; if there are none, the launcher itself hung
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

// below returns a line with the id, state and command line of each child of a process.
func below(pid int) string {
	list, _ := exec.Command("ps", "-o", "pid=,stat=,args=", "--ppid", fmt.Sprint(pid)).Output()
	return string(list)
}

// Cache returns the folder for compiled wrappers and leaves: the one that DISTAFF_CACHE names
// (scripts/test.sh makes a new one), otherwise a folder in the user's cache.
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

// Buffer collects the output of a process. A test can read the buffer while the process
// is still running.
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
