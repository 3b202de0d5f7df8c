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

// A rank that fails before it opens MPI leaves the others waiting in MPI_Init:
// mpiexec of MPICH and srun let them wait for ever. So it tells its launcher.

// linger is how long a rank other than 0 waits with a failure from before it opens
// MPI, which mostly is every rank's: rank 0 has then said it and ended the job.
const linger = 2 * time.Second

// opening is set once this process begins to open MPI.
var opening atomic.Bool

// Opened tells whether this process has begun to open MPI: from then on Job.Run
// ends what fails.
func Opened() bool { return opening.Load() }

// Refuse ends the job for a rank that fails with err before it opens MPI: it has
// the failure said, by one rank of a node where several fail alike, and tells the
// launcher to end the other ranks. The process must then end, with the code
// comm.ExitCode(err). say gets err at rank 0, and with the rank's number elsewhere.
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

// shown is how long a claim is held, for ranks that start a little later, and
// output given to a launcher before the end.
const shown = 500 * time.Millisecond

// claim is an address that one rank of this node's can hold; it leaves no file.
func (l Launcher) claim(getenv func(string) string) string {
	return fmt.Sprintf("@distaff-refused-%d-%s-%s", os.Getppid(), getenv("SLURM_STEP_ID"),
		getenv("PMIX_NAMESPACE"))
}

// endSignal is what ranks that wait in MPI_Init are sent under srun.
const endSignal = syscall.SIGUSR2

// end has the launcher end the job, where one rank's exit is not enough for it.
func (l Launcher) end(code int, getenv func(string) string) {
	switch {
	case strings.HasPrefix(l.Kind, "srun"):
		// Not waited for: when the others end, Slurm may kill what is left of the step,
		// and this rank is to end by its own code before.
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

// abortPMI says by PMI's wire protocol, version 1, what MPI_Abort would.
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

// endable lets another rank's Refuse end this one while it waits in MPI_Init.
func endable() (done func()) {
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

// watchOpening ends the job where MPI does not open in time: a rank that ended
// before, or another program in its place, leaves the others in MPI_Init, and
// launchers let them wait.
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
			"MPI did not open within %v: of the %d ranks that %s started some have not come, or have ended before, or are another program", j.o.Opening, l.Size, l.Kind)
		if l.Rank == 0 {
			err = &comm.RankError{Rank: 0, Alone: l.Size == 1, Code: 1, Err: err}
		}
		l.Refuse(ctx, err, j.o.Getenv, j.o.OnFail)
		comm.Exit(1)
	}()
	return func() { close(quit) }
}
