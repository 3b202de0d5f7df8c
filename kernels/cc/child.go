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

// Command is a run of a compiler. The source to compile is in a folder of its own.
type Command struct {
	Argv, Env []string
	// Dir is the folder with the source. The caller removes it. If another process runs the
	// compiler, that process removes the folder if the caller has died.
	Dir string
}

// Run runs a compiler as a child of this process; see Config.Run. When ctx ends, all processes of
// the compiler are killed. If this process is killed, the compiler's driver is killed too, but
// programs that the driver started may continue. They end at the latest when they reach the limits
// maxSeconds and maxMemory. To avoid such programs, package spmd calls Run in a separate process
// that outlives this process for a while.
func Run(ctx context.Context, c Command) (string, error) {
	// The parent-death signal is sent when the thread that forked dies, so the thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = c.Env
	// A driver starts other programs (cc1, as, ld). The process group makes them die together.
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

// StartError reports that a compiler was not started, or that its exit status is unknown. The
// source is not the cause.
type StartError struct{ Why string }

func (e *StartError) Error() string {
	s := "the C compiler cannot be started: " + e.Why
	if words := LimitWords(e.Why); words != "" {
		s += "; " + words
	}
	return s
}

func (e *StartError) ExitCode() int { return 1 }

// LimitWords returns a phrase about the limit on processes or memory that may have caused an error.
// said is the error message of a compiler or of the system. LimitWords returns "" if no limit
// explains the message.
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
		return "the user may have at most " + limit(unix.RLIMIT_NPROC, 1) + " processes and " +
			"threads (ulimit -u), and a cgroup may set a lower limit (pids.max)"
	case strings.Contains(said, "cannot allocate memory"), strings.Contains(said, "out of memory"):
		return "a process may have at most " + limit(unix.RLIMIT_AS, 1024) + " KiB of address " +
			"space (ulimit -v), and a cgroup may limit its memory"
	}
	return ""
}

// maxSeconds is the CPU time that each process of a compiler may use.
const maxSeconds = 30 * 60

// maxMemory returns the memory in bytes that each process of a compiler may use: half of the
// machine's memory, and at least 1 GiB. If the machine's memory is unknown, the memory is not
// limited.
func maxMemory() uint64 {
	const least = 1 << 30
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return unix.RLIM_INFINITY
	}
	return max(uint64(s.Totalram)*uint64(s.Unit)/2, least)
}

// restrict sets the limits of a compiler that has just started. Its child processes inherit them.
// If the system refuses, the compiler runs without limits.
func restrict(pid int) {
	for what, most := range map[int]uint64{unix.RLIMIT_CPU: maxSeconds,
		unix.RLIMIT_AS: maxMemory()} {
		var l unix.Rlimit
		if unix.Prlimit(pid, what, nil, &l) == nil && most < l.Cur {
			unix.Prlimit(pid, what, &unix.Rlimit{Cur: most, Max: l.Max}, nil)
		}
	}
}
