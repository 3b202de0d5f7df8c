package cc

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
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
	err := cmd.Start()
	if err == nil {
		restrict(cmd.Process.Pid)
		err = cmd.Wait()
	}
	return said.String(), err
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
	for what, most := range map[int]uint64{unix.RLIMIT_CPU: mostSeconds, unix.RLIMIT_AS: mostMemory()} {
		var l unix.Rlimit
		if unix.Prlimit(pid, what, nil, &l) == nil && most < l.Cur {
			unix.Prlimit(pid, what, &unix.Rlimit{Cur: most, Max: l.Max}, nil)
		}
	}
}
