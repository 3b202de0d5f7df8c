// Package diag holds positions, codes and messages of user-facing errors.
//
// A user's mistake is an *Error; a broken invariant panics with "BUG:".
package diag

import (
	"fmt"
	"strings"
)

// A Code names one kind of error. Codes are listed in codes.go, each with an
// example that a test runs.
type Code string

// Exit codes of SPEC's "Errors".
const (
	ExitRun     = 1 // the run failed: files, compiler, MPI, a rank
	ExitCommand = 2 // the command, statement, format, sizes, schedule or placement is wrong
	ExitData    = 3 // input data is wrong
	ExitDiffer  = 4 // --check or diff found a difference
	ExitMemory  = 5 // the memory limit would be passed
)

// Error is a mistake of the user's, with the place where it was found.
// Src, with Pos and End as byte offsets into it, gives the caret line; File,
// Line and Col (1-based, 0 for absent) place it in a file instead.
type Error struct {
	Code     Code
	Exit     int // 0 means ExitCommand
	Msg      string
	Src      string
	Pos, End int
	File     string
	Line     int
	Col      int
}

// ExitCode is the process's exit code for this error.
func (e *Error) ExitCode() int {
	if e.Exit == 0 {
		return ExitCommand
	}
	return e.Exit
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
			if e.Col > 0 {
				fmt.Fprintf(&b, ":%d", e.Col)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Src != "" {
		n := max(e.End-e.Pos, 1)
		fmt.Fprintf(&b, "\n    %s\n    %s%s", e.Src, strings.Repeat(" ", e.Pos), strings.Repeat("^", n))
	}
	return b.String()
}

// Errorf makes an error about no place in particular.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// At makes an error about src[pos:end].
func At(code Code, src string, pos, end int, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...), Src: src, Pos: pos, End: end}
}
