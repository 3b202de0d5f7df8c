package mpi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"distaff/spmd/comm"
)

// A rank that fails before it opens MPI leaves the other ranks waiting in MPI_Init. mpiexec of
// MPICH and srun let them wait forever. Therefore the failing rank tells its launcher to end the
// job.

// linger is how long a rank other than 0 waits in Refuse before it reports its failure. Usually all
// ranks fail in the same way, and by then rank 0 has reported the failure and ended the job.
const linger = 2 * time.Second

// opening is set when this process begins to open MPI.
var opening atomic.Bool

// Opened reports whether this process has begun to open MPI.
func Opened() bool { return opening.Load() }

// Refuse ends the job after a rank has failed with err before MPI was open, or while MPI was opened
// or closed. It reports the failure by calling say, and then makes the other ranks end (see end).
// If several ranks of a node fail at about the same time, only one of them calls say.
//
// At rank 0, say gets err. At any other rank, say gets an error that also contains the rank's
// number. After Refuse, the process must exit with the code comm.ExitCode(err).
func (l Launcher) Refuse(ctx context.Context, err error, getenv func(string) string,
	say func(error)) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, endSignal)
	defer signal.Stop(stop)
	claim := l.claim(getenv)
	if l.Rank > 0 {
		err = &comm.RankError{Rank: l.Rank, Own: true, Code: comm.ExitCode(err), Err: err}
		said := false
		for end := time.Now().Add(linger); time.Now().Before(end); {
			select {
			case <-ctx.Done():
				return
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if !said {
				c, err := net.Dial("unix", claim)
				if said = err == nil; said {
					c.Close()
				}
			}
		}
		if said {
			return
		}
	}
	held, taken := net.Listen("unix", claim)
	if errors.Is(taken, syscall.EADDRINUSE) {
		return
	}
	if taken == nil {
		defer held.Close()
	}
	say(err)
	time.Sleep(shown)
	l.end(comm.ExitCode(err), getenv)
}

// shown is the time that a rank waits between reporting a failure and ending the job. During this
// time the rank keeps its claim, a socket that only one rank of a node can have. Ranks that start a
// little later find the claim and do not report the failure again. The wait also gives the launcher
// time to read the rank's output.
const shown = 500 * time.Millisecond

// claim returns the address of an abstract socket that only one rank of a node can listen on. A
// rank listens on the socket while it reports a failure. If another rank already listens, the rank
// does not report the failure again. An abstract socket leaves no file.
func (l Launcher) claim(getenv func(string) string) string {
	return fmt.Sprintf("@distaff-refused-%d-%s-%s", os.Getppid(), getenv("SLURM_STEP_ID"),
		getenv("PMIX_NAMESPACE"))
}

// endSignal is the signal that Refuse sends under srun to ranks that wait in MPI_Init.
const endSignal = syscall.SIGUSR2

// end makes the other ranks end under launchers for which the exit of one rank is not enough. Under
// srun, it sends endSignal to the other ranks. Under a launcher of MPICH, it makes the launcher
// abort the job with the exit code code.
func (l Launcher) end(code int, getenv func(string) string) {
	switch {
	case strings.HasPrefix(l.Kind, "srun"):
		// It is not waited for, because Slurm may kill the rest of the step when the other ranks
		// end, and this rank must exit with its own code before that.
		step := getenv("SLURM_JOB_ID") + "." + getenv("SLURM_STEP_ID")
		if exec.Command("scancel", "--signal=USR2", step).Start() == nil {
			return
		}
		fallthrough
	case l.Family == "mpich":
		if fd, err := strconv.Atoi(getenv("PMI_FD")); err == nil {
			abortPMI(fd, code)
		}
	}
}

// abortPMI sends the launcher the same message as MPI_Abort, by version 1 of PMI's wire protocol.
func abortPMI(fd, code int) {
	f := os.NewFile(uintptr(fd), "PMI")
	if f == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := f.WriteString("cmd=init pmi_version=1 pmi_subversion=1\n"); err != nil {
			return
		}
		if _, err := bufio.NewReader(f).ReadString('\n'); err != nil {
			return
		}
		if _, err := fmt.Fprintf(f, "cmd=abort exitcode=%d\n", code); err == nil {
			time.Sleep(linger) // until the launcher ends this process too
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * linger):
	}
}

// endOnSignal lets Refuse of another rank end this process while it waits in MPI_Init.
func endOnSignal() (done func()) {
	stop := make(chan os.Signal, 1)
	quit := make(chan struct{})
	signal.Notify(stop, endSignal)
	go func() {
		select {
		case <-stop:
			comm.Exit(1)
		case <-quit:
		}
	}()
	return func() {
		signal.Stop(stop)
		close(quit)
	}
}

// watchOpening ends the job if MPI does not open in time. MPI cannot open if a rank has ended
// before it opened MPI, or if a launched process runs another program. The other ranks then wait in
// MPI_Init, and some launchers do not end them. The caller must call done when MPI is open.
func (j *Job) watchOpening(ctx context.Context) (done func()) {
	quit := make(chan struct{})
	if j.o.Opening < 0 {
		return func() {}
	}
	go func() {
		select {
		case <-quit:
			return
		case <-ctx.Done():
			return
		case <-time.After(j.o.Opening):
		}
		l := j.Launcher
		var err error = fmt.Errorf(
			"MPI did not start within %v: some of the %d ranks started by %s either have not "+
				"come up, or have ended, or run another program", j.o.Opening, l.Size, l.Kind)
		if l.Rank == 0 {
			err = &comm.RankError{Rank: 0, Alone: l.Size == 1, Code: 1, Err: err}
		}
		l.Refuse(ctx, err, j.o.Getenv, j.o.OnFail)
		comm.Exit(1)
	}()
	return func() { close(quit) }
}
