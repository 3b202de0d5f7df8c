package tcs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Exit codes of this package's errors.
const (
	exitRun     = 1
	exitCommand = 2
	exitData    = 3
	exitMemory  = 5
)

// Error is an error in a file or in a request, with its place.
type Error struct {
	Exit int    // the process's exit code
	File string // "" if the error does not concern a file
	Msg  string
	Err  error // the cause, or nil

	Place *Place // the element that Validate refuses, or nil
}

// Place identifies an element of a tensor's arrays. Index is its position in the whole tensor.
type Place struct {
	Level int
	Array ArrayKind
	Index int64
}

func (e *Error) Error() string {
	s := e.Msg
	if e.File != "" {
		s = Printable(e.File) + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code of a process that ends with this error.
func (e *Error) ExitCode() int { return e.Exit }

func dataErr(file, format string, args ...any) error {
	return &Error{Exit: exitData, File: file, Msg: fmt.Sprintf(format, args...)}
}

// MaxQuoted is the largest number of characters that a message shows of a value from a file or
// a user.
const MaxQuoted = 300

// Clip returns s, or its first MaxQuoted characters and the number of bytes that follow.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > MaxQuoted {
			return fmt.Sprintf("%s... (and %d more bytes)", s[:i], len(s)-i)
		}
	}
	return s
}

// Printable returns s, clipped. It quotes s if s contains control characters, so that names
// from files and folders cannot send commands to a terminal.
func Printable(s string) string {
	s = Clip(s)
	q := strconv.Quote(s)
	if q[1:len(q)-1] == s ||
		!strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return s
	}
	return q
}

// Count formats a number of things for a message: "1 entry", "3 entries". The noun must have a
// plural in s.
func Count[T int | int64 | uint64](n T, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = noun[:len(noun)-1] + "ie"
	}
	return Number(n) + " " + noun + "s"
}

// Number formats a count for a message. It prints math.MaxInt64 as "more than 9.2e18" (see
// Times).
func Number[T int | int64 | uint64](n T) string {
	if int64(n) == math.MaxInt64 {
		return "more than 9.2e18"
	}
	return fmt.Sprint(n)
}
