package text

import (
	"fmt"
	"strconv"
	"strings"

	"distaff/io/tcs"
)

// Exit codes of SPEC's "Errors".
const (
	ExitRun     = 1 // a file that is missing or can't be read
	ExitCommand = 2 // a size, an order or a type that was asked for does not suit the file
	ExitData    = 3 // the file is malformed
	ExitMemory  = 5 // reading it passes the memory limit
)

// Error is what is wrong with a file, and where. Line and Col count from 1;
// zero stands for no place in particular.
type Error struct {
	File      string
	Line, Col int
	Msg       string
	Exit      int
	Err       error // the cause, for errors.Is; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(Clean(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Col > 0 {
			fmt.Fprintf(&b, ":%d", e.Col)
		}
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	return b.String()
}

// ExitCode is the process's exit code for this error.
func (e *Error) ExitCode() int { return e.Exit }

func (e *Error) Unwrap() error { return e.Err }

// Dataf makes an error about malformed content of a file.
func Dataf(file string, line, col int, format string, args ...any) *Error {
	return &Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...), Exit: ExitData}
}

// Commandf makes an error about a file that does not suit what was asked for.
func Commandf(file string, line, col int, format string, args ...any) *Error {
	return &Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...), Exit: ExitCommand}
}

// Quote shows a piece of a file in a message: control characters escaped, long
// pieces cut.
func Quote(b []byte) string {
	const longest = 40
	if len(b) > longest {
		return strconv.Quote(string(b[:longest])) + "..."
	}
	return strconv.Quote(string(b))
}

// Clean escapes the control characters of a file's name, and clips it.
func Clean(s string) string {
	s = tcs.Clip(s)
	for _, r := range s {
		if !strconv.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// Plural is "1 entry" or "3 entries": n with the noun's form for it.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// Sizes prints sizes as 5x4x3.
func Sizes(dims []int64) string {
	var b strings.Builder
	for m, d := range dims {
		if m > 0 {
			b.WriteByte('x')
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	return b.String()
}
