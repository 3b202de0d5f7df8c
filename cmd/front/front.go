// Package front is what a command does around its work: it turns an error into
// a message and an exit code, and a signal into an orderly end.
package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"distaff/io/outfile"
	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi"
)

// Main runs a command and returns its exit code. An interrupt cancels the
// command, waits a moment for it to wind up, and removes the temporary files
// that are left; the code is then the one that the job's ranks had agreed on before, or
// 128 and the signal's number.
func Main(name string, stderr io.Writer, run func(context.Context) error) int {
	collectLater()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stops()...)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGXFSZ) // a file past its limit is a failed write
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	select {
	case err := <-done:
		return Report(name, err, stderr)
	case sig := <-signals:
		outfile.Stop()                         // what is not done by now does not replace what is there
		cancel(&comm.Interrupted{Signal: sig}) // ranks of one job agree on its code
		select {
		case <-done:
		case <-signals:
		case <-time.After(time.Second):
		}
		outfile.Cleanup()
		if code := comm.Ending(); code != 0 { // the ranks had agreed on their end before
			return code
		}
		// A launcher stops all ranks, and says so; so does one of them.
		if _, ok, _ := mpi.Launched(os.Getenv); !ok {
			fmt.Fprintf(stderr, "%s: stopped by %s\n", name, comm.SignalName(sig))
		}
		return 128 + int(sig.(syscall.Signal))
	}
}

// stops returns the signals that end a command. Besides those by which people stop one, these are
// all that end a program which knows nothing of them, as limits of processor time (ulimit -t) and
// batch systems rely on: Go's runtime would take them and go on. SIGPROF is the runtime's own, and
// ranks under srun end each other by SIGUSR2.
func stops() []os.Signal {
	s := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGXCPU,
		syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR}
	if l, ok, _ := mpi.Launched(os.Getenv); !ok || !strings.HasPrefix(l.Kind, "srun") {
		s = append(s, syscall.SIGUSR2)
	}
	return s
}

// Idle reports whether this process is a rank other than 0 of a launcher's job: what is no job
// rank 0 does alone, once. On a terminal it says so, since a shell that a launcher started leaves
// its environment to all that is started from it.
func Idle(name string, stderr io.Writer) bool {
	l, ok, _ := mpi.Launched(os.Getenv)
	if !ok || l.Rank == 0 {
		return false
	}
	if IsTerminal(stderr) {
		fmt.Fprintf(stderr, "%s: rank 0 does this; the environment says that this is rank %d, started by %s\n", name, l.Rank, l.Kind)
	}
	return true
}

// collectLater puts off the first collection of Go's heap from 4 MB to 32 MB: a short job ends before
// it, which takes a millisecond or two of its 20. From then on the heap is collected as usual.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(800)
	runtime.SetFinalizer(new([32]byte), func(*[32]byte) { debug.SetGCPercent(usual) })
}

// Report prints err, unless it is Silent, and returns the exit code that it
// asks for.
func Report(name string, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	var quiet *Silent
	if !errors.As(err, &quiet) {
		fmt.Fprintf(stderr, "%s: %s\n", name, Clip(err.Error()))
	}
	return ExitCode(err)
}

// ExitCode is that of the first error in err's tree that has one, else 1.
func ExitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

// Silent ends the program with a code and no message: all was said.
type Silent struct{ Code int }

func (s *Silent) Error() string { return fmt.Sprintf("exit %d", s.Code) }

// ExitCode is the code.
func (s *Silent) ExitCode() int { return s.Code }
