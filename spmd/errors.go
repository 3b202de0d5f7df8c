package spmd

import (
	"fmt"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/outfile"
	"distaff/io/tcs"
)

// Error is a failure of a job, with the exit code that it asks for (SPEC, Errors).
type Error struct {
	Exit int
	Msg  string
}

func (e *Error) Error() string { return e.Msg }

// ExitCode is the process's exit code for this error.
func (e *Error) ExitCode() int { return e.Exit }

func commandErrorf(format string, args ...any) error {
	return &Error{diag.ExitCommand, diag.Sprintf(format, args...)}
}

func memoryErrorf(format string, args ...any) error {
	return &Error{diag.ExitMemory, diag.Sprintf(format, args...)}
}

func runErrorf(format string, args ...any) error {
	return &Error{diag.ExitRun, diag.Sprintf(format, args...)}
}

// Abandon removes what unfinished jobs of this process were writing, and lets
// none of them finish: what a program calls before it exits on a signal.
func Abandon() { outfile.Cleanup() }

// printable quotes text from outside that holds control characters.
func printable(s string) string { return tcs.Printable(s) }

// plural is "1 entry", "3 entries".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") {
		return fmt.Sprintf("%d %sies", n, noun[:len(noun)-1])
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sizesString is "3x4x5", or "scalar".
func sizesString(dims []int64) string {
	if len(dims) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}
