// Package front contains what all commands need around their work: it turns an error into a
// message and an exit code, and ends a command in order when a signal arrives.
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

// Main runs a command and returns its exit code. When a signal arrives, Main cancels the command,
// waits at most a second for its end, and removes the temporary files that are left. The exit code
// is then 128 plus the signal's number. If the ranks of the job have agreed on another exit code
// that is not 0, Main returns that code instead.
func Main(name string, stderr io.Writer, run func(context.Context) error) int {
	collectLater()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGXFSZ) // so that writing a file past its size limit returns an error
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	select {
	case err := <-done:
		return Report(name, err, stderr)
	case sig := <-signals:
		outfile.Stop()                         // outputs that are not complete don't replace files
		cancel(&comm.Interrupted{Signal: sig}) // the ranks of a job agree on its code
		select {
		case <-done:
		case <-signals:
		case <-time.After(time.Second):
		}
		outfile.Cleanup()
		if code := comm.Ending(); code != 0 { // the ranks agreed on their end before
			return code
		}
		// A launcher stops all ranks and prints a message, and so does one of the ranks.
		if _, ok, _ := mpi.Launched(os.Getenv); !ok {
			fmt.Fprintf(stderr, "%s: stopped by %s\n", name, comm.SignalName(sig))
		}
		return 128 + int(sig.(syscall.Signal))
	}
}

// stopSignals returns the signals that end a command. Some of them are sent by users. Others end a
// program that has no handler for the signal, but Go's runtime would ignore them. Processor time
// limits (ulimit -t) and batch systems depend on signals of the second kind. SIGPROF is not
// included because the runtime uses it. SIGUSR2 is not included under srun, because ranks use
// SIGUSR2 to end each other.
func stopSignals() []os.Signal {
	s := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGXCPU,
		syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR}
	if l, ok, _ := mpi.Launched(os.Getenv); !ok || !strings.HasPrefix(l.Kind, "srun") {
		s = append(s, syscall.SIGUSR2)
	}
	return s
}

// Idle reports whether this process is a rank other than 0 of a launcher's job. A command that only
// rank 0 runs calls Idle. On a terminal, Idle prints a message that explains why this process does
// nothing. The user may not expect this, because a shell that a launcher started passes the
// launcher's environment to every command.
func Idle(name string, stderr io.Writer) bool {
	l, ok, _ := mpi.Launched(os.Getenv)
	if !ok || l.Rank == 0 {
		return false
	}
	if IsTerminal(stderr) {
		fmt.Fprintf(stderr,
			"%s: only rank 0 does this, but the environment says that this is rank %d, "+
				"started by %s\n",
			name, l.Rank, l.Kind)
	}
	return true
}

// collectLater lets Go's heap grow to 32 MB instead of 4 MB before its first collection. A short
// job takes 20 milliseconds. It ends before the first collection, and so saves the one or two
// milliseconds that a collection takes. After the first collection, the usual rules apply. If GOGC
// is set, collectLater does nothing.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(800)
	runtime.SetFinalizer(new([32]byte), func(*[32]byte) { debug.SetGCPercent(usual) })
}

// Report prints err, unless it is Silent, and returns its exit code.
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

// ExitCode returns the exit code of the first error in err's tree that has one, otherwise 1.
func ExitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

// Silent is an error that ends the program with an exit code and without a message, because all
// messages were already printed.
type Silent struct{ Code int }

func (s *Silent) Error() string { return fmt.Sprintf("exit %d", s.Code) }

// ExitCode returns Code.
func (s *Silent) ExitCode() int { return s.Code }
