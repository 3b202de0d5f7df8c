package comm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Error is the failure of one communication operation at one rank.
type Error struct {
	Rank int    // job-wide number of the rank
	Op   string // such as "Isend", "Bcast #3 on world", "Bcast #3 on world: receive"
	Peer int    // job-wide number of the other rank, or -1
	Tag  int    // tag of the message, or -1
	Err  error
}

func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "rank %d: %s", e.Rank, e.Op)
	if e.Peer >= 0 {
		prep := "with"
		switch {
		case e.Op == "Isend", strings.HasSuffix(e.Op, ": send"):
			prep = "to"
		case e.Op == "Irecv", strings.HasSuffix(e.Op, ": receive"):
			prep = "from"
		}
		fmt.Fprintf(&s, " %s rank %d", prep, e.Peer)
	}
	if e.Tag >= 0 {
		fmt.Fprintf(&s, ", tag %d", e.Tag)
	}
	return s.String() + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code of the cause, or 1 if the cause has none.
func (e *Error) ExitCode() int { return ExitCode(e.Err) }

// RankError is the failure of a rank, which ends the job. It is printed as `[rank] message`. It is
// printed as the message alone if the job has one rank, or if the job itself is at fault: all ranks
// have the same mistake in the command line, or the job names a file that does not exist at rank 0.
type RankError struct {
	Rank  int
	Alone bool // the job has one rank
	Own   bool // a mistake in the command line of this rank alone, or a failure that Refuse reports
	// Missing is true if rank 0 found that a file or folder does not exist.
	Missing bool
	Code    int // the exit code
	Err     error
}

// exitCommand is the exit code for a mistake in the command line.
const exitCommand = 2

// Numbered reports whether e prints with the rank's number.
func (e *RankError) Numbered() bool {
	return !e.Alone && !e.Missing && (e.Code != exitCommand || e.Own)
}

// isMissing reports whether rank 0 failed because a file or folder does not exist. rank is the rank
// that failed, and err is its error. isMissing returns false for any other rank.
func isMissing(rank int, err error) bool { return rank == 0 && errors.Is(err, fs.ErrNotExist) }

func (e *RankError) Error() string {
	if !e.Numbered() {
		return e.Err.Error()
	}
	return fmt.Sprintf("[%d] %v", e.Rank, e.Err)
}

func (e *RankError) Unwrap() error { return e.Err }

// ExitCode returns the exit code of the job.
func (e *RankError) ExitCode() int { return e.Code }

// AgreedError is a failure that Agree has made known to all ranks. If several ranks failed, it is
// the failure of the rank with the lowest number. All ranks return it, so the job can end in an
// orderly way.
type AgreedError struct{ RankError }

// LocalUsageError marks an error as a mistake in the command line of a single rank. The other ranks
// do not have this mistake. Agree keeps the mark.
type LocalUsageError struct{ Err error }

func (e *LocalUsageError) Error() string { return e.Err.Error() }
func (e *LocalUsageError) Unwrap() error { return e.Err }

// PanicError is the error of a rank whose function panicked. Stack is the stack of the panic.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Interrupted is the error of a job that was stopped by a signal.
type Interrupted struct{ Signal os.Signal }

func (e *Interrupted) Error() string { return "interrupted by " + SignalName(e.Signal) }

// SignalName returns the name of a signal, such as SIGTERM.
func SignalName(s os.Signal) string {
	if n, ok := s.(syscall.Signal); ok && unix.SignalName(n) != "" {
		return unix.SignalName(n)
	}
	return s.String()
}

// ExitCode returns 128 plus the number of the signal: 130 for SIGINT, 143 for SIGTERM.
func (e *Interrupted) ExitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// StuckError is the error of a job in which every rank waits or has finished, so that none can
// continue.
type StuckError struct{ Reports []Report }

func (e *StuckError) Error() string {
	var s strings.Builder
	s.WriteString("every rank waits, and none can continue")
	if d := differing(e.Reports); d != "" {
		s.WriteString(": ranks are in different collectives (" + d + ")")
	}
	for _, r := range e.Reports {
		fmt.Fprintf(&s, "\n  rank %d %s", r.Rank, r.Text)
	}
	return s.String()
}

// differing lists the different collectives that ranks are in. It returns "" if there are fewer
// than two.
func differing(rs []Report) string {
	var names []string
	seen := map[string]bool{}
	for _, r := range rs {
		if r.Collective != "" && !seen[r.Collective] {
			seen[r.Collective] = true
			names = append(names, fmt.Sprintf("%s at rank %d", r.Collective, r.Rank))
		}
	}
	if len(names) < 2 {
		return ""
	}
	return strings.Join(names, ", ")
}

// ErrTruncated is the cause of a receive whose message is longer than its buffer.
var ErrTruncated = errors.New("the message is longer than the buffer")

// ExitCode returns the exit code of the first error in err's chain that has an ExitCode method. It
// returns 1 if none has one or if that code is 0. It returns 0 only if err is nil.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var x interface{ ExitCode() int }
	if errors.As(err, &x) {
		if c := x.ExitCode(); c != 0 {
			return c
		}
	}
	return 1
}

// Failure returns err as the *RankError of the given rank. If err already names a rank, or is an
// interruption or context.Canceled, Failure returns it unchanged. ranks is the number
// of ranks in the job. If it is 1, the message does not name the rank.
func Failure(rank, ranks int, err error) error {
	var re *RankError
	var ae *AgreedError
	var in *Interrupted
	if errors.As(err, &re) || errors.As(err, &ae) || errors.As(err, &in) ||
		errors.Is(err, context.Canceled) {
		return err
	}
	return &RankError{Rank: rank, Alone: ranks == 1, Missing: isMissing(rank, err),
		Code: ExitCode(err), Err: err}
}
