package tcs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Exit codes that this package's errors ask for.
const (
	exitRun     = 1
	exitCommand = 2
	exitData    = 3
	exitMemory  = 5
)

// Error is a mistake in a file or in what was asked of one, with its place.
type Error struct {
	Exit int    // the process's exit code
	File string // "" where no file is concerned
	Msg  string
	Err  error // the cause, or nil

	Place *Place // the element that Validate refuses, or nil
}

// Place is an element of a tensor's arrays: that of position Index in the whole tensor.
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

// ExitCode is the process's exit code for this error.
func (e *Error) ExitCode() int { return e.Exit }

func dataErr(file, format string, args ...any) error {
	return &Error{Exit: exitData, File: file, Msg: fmt.Sprintf(format, args...)}
}

// MaxQuoted is how many characters of a value that is not ours a message shows.
const MaxQuoted = 300

// Clip is s, or the first MaxQuoted characters of it and how many bytes follow.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > MaxQuoted {
			return fmt.Sprintf("%s... (and %d more bytes)", s[:i], len(s)-i)
		}
	}
	return s
}

// Printable quotes s if it holds control characters, so that names from files
// and folders cannot drive a terminal, and clips it.
func Printable(s string) string {
	s = Clip(s)
	q := strconv.Quote(s)
	if q[1:len(q)-1] == s || !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return s
	}
	return q
}

// Count prints a number of things, as in messages: "1 entry", "3 entries". The noun is one
// whose plural ends in s.
func Count[T int | int64 | uint64](n T, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = noun[:len(noun)-1] + "ie"
	}
	return Number(n) + " " + noun + "s"
}

// Number prints a count; the largest int64 stands for that many or more (Times).
func Number[T int | int64 | uint64](n T) string {
	if int64(n) == math.MaxInt64 {
		return "more than 9.2e18"
	}
	return fmt.Sprint(n)
}
