package text

import (
	"fmt"
	"strconv"
	"strings"

	"distaff/io/tensor"
)

// Exit codes, as docs/reference.md lists them.
const (
	ExitRun     = 1 // a file is missing or can't be read
	ExitCommand = 2 // the file does not have the requested size, order or type
	ExitData    = 3 // the file is malformed
	ExitMemory  = 5 // reading the file exceeds the memory limit
)

// Error is an error in a file, with its place. Line and Col count from 1; they are 0 if they
// are unknown.
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

// ExitCode returns the exit code of a process that ends with this error.
func (e *Error) ExitCode() int { return e.Exit }

func (e *Error) Unwrap() error { return e.Err }

// Dataf returns an error about malformed contents of a file.
func Dataf(file string, line, col int, format string, args ...any) *Error {
	return &Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...),
		Exit: ExitData}
}

// Commandf returns an error about a file that does not match the user's request.
func Commandf(file string, line, col int, format string, args ...any) *Error {
	return &Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...),
		Exit: ExitCommand}
}

// Quote quotes a piece of a file for a message. It escapes control characters, and clips pieces
// of more than 40 bytes.
func Quote(b []byte) string {
	const longest = 40
	if len(b) > longest {
		return strconv.Quote(string(b[:longest])) + "..."
	}
	return strconv.Quote(string(b))
}

// Clean escapes the control characters of a file name, and clips the name.
func Clean(s string) string {
	s = tensor.Clip(s)
	for _, r := range s {
		if !strconv.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// Plural formats a count with the right form of the noun: "1 entry" or "3 entries".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// Sizes formats sizes as 5x4x3.
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
