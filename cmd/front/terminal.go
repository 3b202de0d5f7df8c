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

// Terminal is a writer for standard output and standard error. It escapes each character that is
// not printable, except line ends and tabs. Text from outside the program therefore cannot send
// commands to the terminal. Such text comes from flags, file names, the environment, lines of files
// and messages of compilers. Line ends are not escaped, because messages of compilers have several
// lines. A Progress does not use a Terminal, and neither does a file that is written to standard
// output.
type Terminal struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // the start of a character whose end was not written yet
}

// NewTerminal returns a Terminal that writes to w.
func NewTerminal(w io.Writer) *Terminal { return &Terminal{w: w} }

// Columns returns the number of characters in a line of the terminal w, or 80 if w is not a
// terminal.
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

// Unicode reports whether pictures on standard output may contain characters that are not
// ASCII. It returns false if NO_COLOR is set, if the first of LC_ALL, LC_CTYPE and LANG that is set
// does not contain UTF-8, or if none of them is set.
func Unicode() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	utf8 := strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
	return utf8 && os.Getenv("NO_COLOR") == ""
}

// Write writes p, except an incomplete character at its end, which it keeps for the next Write.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := p
	if len(t.rest) > 0 {
		b = append(t.rest, p...)
		t.rest = nil
	}
	if !isPlain(b) {
		b = t.escape(b)
	}
	if _, err := t.w.Write(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes of an incomplete character at the end of the output, escaped.
func (t *Terminal) Flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.rest
	t.rest = nil
	for _, c := range rest {
		fmt.Fprintf(t.w, `\x%02x`, c)
	}
}

// isPlain reports whether b consists of printable ASCII characters, line ends and tabs only.
func isPlain(b []byte) bool {
	return bytes.IndexFunc(b, func(r rune) bool {
		return (r < ' ' || r > '~') && r != '\n' &&
			r != '\t'
	}) < 0
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

// maxLine is the largest number of characters that are printed for one line of a message. The
// middle of a longer line is left out, because the start has the place of the mistake, and the end
// says what is wrong.
const maxLine = 1000

// Clip shortens the lines of a message that are longer than maxLine.
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
		lines[k] = fmt.Sprintf("%s ... (%d characters) ... %s", string(c[:maxLine*2/3]), cut,
			string(c[maxLine*2/3+cut:]))
	}
	return strings.Join(lines, "\n")
}
