package front

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Terminal is the last gate before a terminal, or whatever stands in its place:
// what is written through it reaches w with every character that is not printable
// escaped, but for line ends and tabs, so that no text that is not ours (flags,
// names of files, the environment, lines of a file, the words of a compiler) drives
// it. What a message quotes is quoted where it is made; lines stay lines
// here, for compilers' words have many.
type Terminal struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // the start of a character whose end is still to come
}

// NewTerminal writes to w.
func NewTerminal(w io.Writer) *Terminal { return &Terminal{w: w} }

// Columns is how many characters a line of the terminal behind w has, 80 where there is none.
func Columns(w io.Writer) int {
	if t, ok := w.(*Terminal); ok {
		w = t.w
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// Unicode tells whether pictures on standard output may hold more than ASCII: not where NO_COLOR is set, or the
// first that is set of LC_ALL, LC_CTYPE and LANG does not say UTF-8.
func Unicode() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	utf8 := strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
	return utf8 && os.Getenv("NO_COLOR") == ""
}

// Write writes p, but for a character at its end that is not whole.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := p
	if len(t.rest) > 0 {
		b = append(t.rest, p...)
		t.rest = nil
	}
	if !plain(b) {
		b = t.escape(b)
	}
	if _, err := t.w.Write(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is left of a character that never got its end.
func (t *Terminal) Flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.rest
	t.rest = nil
	for _, c := range rest {
		fmt.Fprintf(t.w, `\x%02x`, c)
	}
}

// plain tells whether b is ASCII that needs no look at its characters.
func plain(b []byte) bool {
	return bytes.IndexFunc(b, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\t' }) < 0
}

func (t *Terminal) escape(b []byte) []byte {
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(b):
			t.rest = bytes.Clone(b)
			return out
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, b[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			out = append(out, b[:n]...)
		default:
			q := strconv.QuoteRune(r)
			out = append(out, q[1:len(q)-1]...)
		}
		b = b[n:]
	}
	return out
}

// maxLine is how many characters of a line of a message are printed: its start
// and its end, where the place and the reason stand.
const maxLine = 1000

// Clip cuts the lines of a message that are longer than maxLine.
func Clip(msg string) string {
	if len(msg) <= maxLine {
		return msg
	}
	lines := strings.Split(msg, "\n")
	for k, l := range lines {
		if utf8.RuneCountInString(l) <= maxLine {
			continue
		}
		c := []rune(l)
		cut := len(c) - maxLine
		lines[k] = fmt.Sprintf("%s ... (%d characters) ... %s", string(c[:maxLine*2/3]), cut, string(c[maxLine*2/3+cut:]))
	}
	return strings.Join(lines, "\n")
}
