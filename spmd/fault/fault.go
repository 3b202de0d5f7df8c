// Package fault makes the errors of jobs, and the words that they have in common.
package fault

import (
	"fmt"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/format"
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

// Commandf is a mistake in what a job was told.
func Commandf(format string, args ...any) error {
	return &Error{diag.ExitCommand, diag.Sprintf(format, args...)}
}

// Dataf is a mistake in what a job was given to read.
func Dataf(format string, args ...any) error {
	return &Error{diag.ExitData, diag.Sprintf(format, args...)}
}

// Memoryf is a memory limit that would be passed.
func Memoryf(format string, args ...any) error {
	return &Error{diag.ExitMemory, diag.Sprintf(format, args...)}
}

// Runf is any other failure.
func Runf(format string, args ...any) error {
	return &Error{diag.ExitRun, diag.Sprintf(format, args...)}
}

// Sizes is "3x4x5", or "scalar".
func Sizes(dims []int64) string {
	if len(dims) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}

// Format is a format as flags have it, or "a scalar".
func Format(f format.Format) string {
	if len(f.Levels) == 0 {
		return "a scalar"
	}
	return f.String()
}

// Bytes prints a count of bytes that may pass 64 bits.
func Bytes(b float64) string {
	if b < 1<<62 {
		return tcs.Size(int64(b))
	}
	return fmt.Sprintf("%.4g EiB", b/(1<<60))
}
