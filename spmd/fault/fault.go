// Package fault makes the errors of jobs, and formats the terms that their messages share.
package fault

import (
	"fmt"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// Error is a failure of a job with its exit code.
type Error struct {
	Exit int
	Msg  string
}

func (e *Error) Error() string { return e.Msg }

// ExitCode returns the exit code of the process for this error.
func (e *Error) ExitCode() int { return e.Exit }

// Commandf returns an error for a mistake in a command or a job.
func Commandf(format string, args ...any) error {
	return &Error{diag.ExitCommand, diag.Sprintf(format, args...)}
}

// Dataf returns an error for a mistake in input data.
func Dataf(format string, args ...any) error {
	return &Error{diag.ExitData, diag.Sprintf(format, args...)}
}

// Memoryf returns an error for a memory limit that would be exceeded.
func Memoryf(format string, args ...any) error {
	return &Error{diag.ExitMemory, diag.Sprintf(format, args...)}
}

// Runf returns an error for a failure during a run, if the failure is not one for Commandf, Dataf
// or Memoryf.
func Runf(format string, args ...any) error {
	return &Error{diag.ExitRun, diag.Sprintf(format, args...)}
}

// Sizes formats sizes as "3x4x5", or as "scalar".
func Sizes(dims []int64) string {
	if len(dims) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}

// Format formats a tensor format as flags do, or as "a scalar".
func Format(f tensor.Format) string {
	if len(f.Levels) == 0 {
		return "a scalar"
	}
	return f.String()
}

// Bytes formats a number of bytes that may exceed 64 bits.
func Bytes(b float64) string {
	if b < 1<<62 {
		return tensor.Bytes(int64(b))
	}
	return fmt.Sprintf("%.4g EiB", b/(1<<60))
}
