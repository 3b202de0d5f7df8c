// Package diag holds positions, codes and messages of user-facing errors.
//
// A user's mistake is an *Error: a code (codes.go lists them, each with an
// example), a message that says what was given and what was wanted, and the
// place: a caret under the statement's or flag's own text, or file:line:column.
// ExitCode tells the process how to end. A broken invariant of ours is no
// Error: it panics with "BUG:".
//
// # Files
//
//	diag.go     errors and their text
//	codes.go    the codes
//	shown.go    text of the user's in messages
//	nearest.go  the word that a user may have meant
package diag

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Code names one kind of error.
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

// Error is the message, after its file:line:column if it has one and before
// its caret lines if it has a source text.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(Printable(e.File))
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

// caret is the line of src that holds offset pos, and carets under [pos, end)
// as far as it is on that line. Columns count characters, so that the carets
// stand right under text that is not ASCII; control characters become spaces,
// which keeps the columns and the terminal.
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

// MaxShown is how many characters of a text that is not ours a message shows.
const MaxShown = 300

// around narrows the line src[from:to] to MaxShown characters around offset pos,
// a third of them before it, and returns the marks of what was cut off.
func around(src string, from, pos, to int) (lo, hi int, left, right string) {
	if utf8.RuneCountInString(src[from:to]) <= MaxShown {
		return from, to, "", ""
	}
	lo, hi = pos, pos
	for n := 0; n < MaxShown/3 && lo > from; n++ {
		_, size := utf8.DecodeLastRuneInString(src[from:lo])
		lo -= size
	}
	for n := utf8.RuneCountInString(src[lo:pos]); n < MaxShown && hi < to; n++ {
		_, size := utf8.DecodeRuneInString(src[hi:to])
		hi += size
	}
	for n := utf8.RuneCountInString(src[lo:hi]); n < MaxShown && lo > from; n++ { // near the end
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

// Clip is s, or its first MaxShown characters and how many bytes follow.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > MaxShown {
			return fmt.Sprintf("%s... (and %d more bytes)", s[:i], len(s)-i)
		}
	}
	return s
}

// Lines is a message of any number of lines, each of which is Printable: for what is
// printed past the gate of a command.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for k, l := range lines {
		lines[k] = Printable(l)
	}
	return strings.Join(lines, "\n")
}

// Printable is s with its control and unprintable characters escaped, and clipped,
// for names and text from files that stand in a message.
func Printable(s string) string {
	s = Clip(s)
	for _, r := range s {
		if !unicode.IsPrint(r) {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// Errorf makes an error about no place in particular.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: Sprintf(format, args...)}
}

// At makes an error about src[pos:end].
func At(code Code, src string, pos, end int, format string, args ...any) *Error {
	return &Error{Code: code, Msg: Sprintf(format, args...), Src: src, Pos: pos, End: end}
}

// InFile returns a copy of e placed in a file: line and col are where e.Src
// begins there (1-based), and the copy's are where the mistake is.
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

// Count prints a number of things, as in messages: "1 mode", "3 modes".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
