package cc

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is a compiler to run, for text that lies in a folder of its own.
type Command struct {
	Argv, Env []string
	// Dir is the folder, which the caller removes; one that runs the compiler in another process
	// does so where the caller is gone.
	Dir string
}

// Run runs a compiler as a child of this process: see Config.Run. All that it
// starts ends with ctx. Where this process is killed the driver ends too; what the driver has
// started is then bounded by mostSeconds and mostMemory alone, unless Run was called in a process
// of its own, which outlives this one for long enough (package spmd has such a one).
func Run(ctx context.Context, c Command) (string, error) {
	// The kernel takes the death of the thread that forks for that of the parent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = c.Env
	// A driver starts others (cc1, as, ld): all die together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		return "", &StartError{err.Error()}
	}
	restrict(cmd.Process.Pid)
	err := cmd.Wait()
	return said.String(), err
}

// StartError says that a compiler was not started, or that nobody knows how it ended: the source
// has no part in it.
type StartError struct{ Why string }

func (e *StartError) Error() string {
	s := "the C compiler cannot be started: " + e.Why
	if words := LimitWords(e.Why); words != "" {
		s += "; " + words
	}
	return s
}

func (e *StartError) ExitCode() int { return 1 }

// LimitWords returns which limits may be behind what the system or a compiler says; "" for none.
func LimitWords(said string) string {
	limit := func(resource int, unit uint64) string {
		var l unix.Rlimit
		if unix.Getrlimit(resource, &l) != nil || l.Cur == unix.RLIM_INFINITY {
			return "unlimited"
		}
		return strconv.FormatUint(l.Cur/unit, 10)
	}
	switch said = strings.ToLower(said); {
	case strings.Contains(said, "resource temporarily unavailable"):
		return "the user's limit is " + limit(unix.RLIMIT_NPROC,
			1) + " processes and threads (ulimit -u), and a cgroup may set another (pids.max)"
	case strings.Contains(said, "cannot allocate memory"), strings.Contains(said, "out of memory"):
		return "the limit of address space is " + limit(unix.RLIMIT_AS,
			1024) + " KiB (ulimit -v), and a cgroup may set one of memory"
	}
	return ""
}

// mostSeconds is the CPU time that each process of a compiler may take.
const mostSeconds = 30 * 60

// mostMemory is the memory that each may take: half of the machine's, and 1 GiB at least.
func mostMemory() uint64 {
	const least = 1 << 30
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return unix.RLIM_INFINITY
	}
	return max(uint64(s.Totalram)*uint64(s.Unit)/2, least)
}

// restrict sets the limits of a compiler that has just begun; what it starts inherits
// them. A system that refuses leaves it without.
func restrict(pid int) {
	for what, most := range map[int]uint64{unix.RLIMIT_CPU: mostSeconds,
		unix.RLIMIT_AS: mostMemory()} {
		var l unix.Rlimit
		if unix.Prlimit(pid, what, nil, &l) == nil && most < l.Cur {
			unix.Prlimit(pid, what, &unix.Rlimit{Cur: most, Max: l.Max}, nil)
		}
	}
}
