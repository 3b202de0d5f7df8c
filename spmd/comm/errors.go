package comm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Error is a failure of one operation at one rank.
type Error struct {
	Rank int    // job-wide
	Op   string // "Isend", "Bcast #3 on world", "Bcast #3 on world: receive", ...
	Peer int    // job-wide, -1 for none
	Tag  int    // -1 for none
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

// ExitCode is the cause's, else 1.
func (e *Error) ExitCode() int { return ExitCode(e.Err) }

// RankError is a rank's failure, which ends the job. It prints as `[rank] message`, and
// as the message alone if the job has one rank, or the failure is a mistake in the command line,
// which all ranks share.
type RankError struct {
	Rank  int
	Alone bool // the job has one rank
	Own   bool // a mistake in the command line that this rank was given, and others were not
	Code  int  // the exit code
	Err   error
}

// exitCommand is the exit code of a mistake in the command line.
const exitCommand = 2

// Numbered reports whether e prints with the rank's number.
func (e *RankError) Numbered() bool { return !e.Alone && (e.Code != exitCommand || e.Own) }

func (e *RankError) Error() string {
	if !e.Numbered() {
		return e.Err.Error()
	}
	return fmt.Sprintf("[%d] %v", e.Rank, e.Err)
}

func (e *RankError) Unwrap() error { return e.Err }

// ExitCode is the job's exit code.
func (e *RankError) ExitCode() int { return e.Code }

// AgreedError is a failure that every rank knows, by Agree: the lowest failed
// rank's. All ranks return it, so the job can end in order.
type AgreedError struct{ RankError }

// OwnMistake marks a mistake in the command line of one rank, which others were not given. Agree
// keeps the mark.
type OwnMistake struct{ Err error }

func (e *OwnMistake) Error() string { return e.Err.Error() }
func (e *OwnMistake) Unwrap() error { return e.Err }

// PanicError is a panic of a rank's function, with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Interrupted is the cause of a job that a signal ends.
type Interrupted struct{ Signal os.Signal }

func (e *Interrupted) Error() string { return "interrupted by " + SignalName(e.Signal) }

// SignalName returns a signal's name, as SIGTERM.
func SignalName(s os.Signal) string {
	if n, ok := s.(syscall.Signal); ok && unix.SignalName(n) != "" {
		return unix.SignalName(n)
	}
	return s.String()
}

// ExitCode is 128 plus the signal's number: 130 for SIGINT, 143 for SIGTERM.
func (e *Interrupted) ExitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// StuckError says that every rank waits and none can go on.
type StuckError struct{ Reports []Report }

func (e *StuckError) Error() string {
	var s strings.Builder
	s.WriteString("every rank waits and none can go on")
	if d := differing(e.Reports); d != "" {
		s.WriteString(": ranks are in different collectives (" + d + ")")
	}
	for _, r := range e.Reports {
		fmt.Fprintf(&s, "\n  rank %d %s", r.Rank, r.Text)
	}
	return s.String()
}

// differing names the collectives that ranks of one group are in, where they differ.
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
var ErrTruncated = errors.New("message is longer than the buffer")

// ExitCode is the process exit code that err asks for by an ExitCode method
// anywhere in its chain, else 1; 0 for nil.
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

// Failure makes err the failure of one of a job's ranks, unless it already says whose it is.
func Failure(rank, ranks int, err error) error {
	var re *RankError
	var ae *AgreedError
	var in *Interrupted
	if errors.As(err, &re) || errors.As(err, &ae) || errors.As(err, &in) ||
		errors.Is(err, context.Canceled) {
		return err
	}
	return &RankError{Rank: rank, Alone: ranks == 1, Code: ExitCode(err), Err: err}
}
