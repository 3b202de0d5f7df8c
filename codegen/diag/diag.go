// Package diag has the positions, codes and messages of errors that users see.
//
// A user's mistake is an *Error. It has a code (codes.go lists the codes with examples), a message
// that says what was given and what was wanted, and a place: either a caret line under the text of
// the statement or flag, or file:line:column. ExitCode gives the exit code of the process. A broken
// invariant of the program is not an Error. It panics with a text that starts with "BUG:".
//
// # Files
//
//	diag.go     errors and their text
//	codes.go    the codes
//	shown.go    the user's text in messages
//	nearest.go  the word that a user may have meant
package diag

import (
	"distaff/io/tensor"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Code identifies one kind of error.
type Code string

// Exit codes of commands, as docs/reference.md lists them.
const (
	ExitRun     = 1 // the run failed: files, compiler, MPI, a rank
	ExitCommand = 2 // the command, statement, format, sizes, schedule or placement is wrong
	ExitData    = 3 // input data is wrong
	ExitDiffer  = 4 // --check or diff found a difference
	ExitMemory  = 5 // the run would exceed the memory limit
)

// Error is a user's mistake and its place. Src is the text that contains the mistake. Pos and End
// are byte offsets in Src for the caret line. File, Line and Col give a place in a file. Line and
// Col start at 1, and are 0 if they are unknown.
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

// ExitCode returns the process's exit code for this error.
func (e *Error) ExitCode() int {
	if e.Exit == 0 {
		return ExitCommand
	}
	return e.Exit
}

// Error returns the message. It starts with file:line:column if the error has a file, and ends with
// the caret lines if it has a source text.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(tensor.Printable(e.File))
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
		b.WriteString(caret(e.Src, e.Pos, e.End))
	}
	return b.String()
}

// caret returns the line of src that contains offset pos, and a second line with carets under it.
// The carets mark the part of [pos, end) on this line, and there is at least one. They are placed
// by characters, not by bytes. Characters that are not printable become spaces, which protects the
// terminal. A long line is shortened (see around).
func caret(src string, pos, end int) string {
	pos = min(max(pos, 0), len(src))
	end = min(max(end, pos), len(src))
	from := strings.LastIndexByte(src[:pos], '\n') + 1
	to := len(src)
	if k := strings.IndexByte(src[pos:], '\n'); k >= 0 {
		to = pos + k
	}
	end = min(end, to)
	from, to, cutLeft, cutRight := around(src, from, pos, to)
	end = min(end, to)
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, src[from:to])
	before := utf8.RuneCountInString(src[from:pos]) + len(cutLeft)
	under := max(utf8.RuneCountInString(src[pos:end]), 1)
	return "\n    " + cutLeft + line + cutRight + "\n    " + strings.Repeat(" ",
		before) + strings.Repeat("^", under)
}

// around returns the bounds lo and hi of a part of src[from:to] around offset pos. The part has at
// most tensor.MaxQuoted characters. If text must be cut off, at most a third of them precede pos,
// or more near the end of the line. left and right are the marks for text that was cut off.
func around(src string, from, pos, to int) (lo, hi int, left, right string) {
	if utf8.RuneCountInString(src[from:to]) <= tensor.MaxQuoted {
		return from, to, "", ""
	}
	lo, hi = pos, pos
	for n := 0; n < tensor.MaxQuoted/3 && lo > from; n++ {
		_, size := utf8.DecodeLastRuneInString(src[from:lo])
		lo -= size
	}
	for n := utf8.RuneCountInString(src[lo:pos]); n < tensor.MaxQuoted && hi < to; n++ {
		_, size := utf8.DecodeRuneInString(src[hi:to])
		hi += size
	}
	// near the end
	for n := utf8.RuneCountInString(src[lo:hi]); n < tensor.MaxQuoted && lo > from; n++ {
		_, size := utf8.DecodeLastRuneInString(src[from:lo])
		lo -= size
	}
	if lo > from {
		left = "..."
	}
	if hi < to {
		right = "..."
	}
	return lo, hi, left, right
}

// Lines returns the message s with Printable applied to each of its lines. It is for messages that
// are printed without the usual processing of a command's errors.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for k, l := range lines {
		lines[k] = tensor.Printable(l)
	}
	return strings.Join(lines, "\n")
}

// Errorf returns an error without a place.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: Sprintf(format, args...)}
}

// At returns an error about src[pos:end].
func At(code Code, src string, pos, end int, format string, args ...any) *Error {
	return &Error{Code: code, Msg: Sprintf(format, args...), Src: src, Pos: pos, End: end}
}

// InFile returns a copy of e with a place in a file. line and col are where e.Src begins in the
// file, counted from 1. The copy has the line and column of the mistake.
func (e *Error) InFile(file string, line, col int) *Error {
	c := *e
	c.File, c.Line, c.Col = file, line, col
	if e.Src != "" {
		pos := min(max(e.Pos, 0), len(e.Src))
		if k := strings.LastIndexByte(e.Src[:pos], '\n'); k >= 0 {
			c.Line += strings.Count(e.Src[:pos], "\n")
			c.Col = utf8.RuneCountInString(e.Src[k+1:pos]) + 1
		} else {
			c.Col += utf8.RuneCountInString(e.Src[:pos])
		}
	}
	return &c
}
