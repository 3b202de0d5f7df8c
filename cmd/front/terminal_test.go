package front

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain text\n\tand a tab":        "plain text\n\tand a tab",
		"naïve ≤ 3 日本":                   "naïve ≤ 3 日本",
		"\x1b[31mred\x1b[0m\a\b\r\n\x7f": `\x1b[31mred\x1b[0m\a\b\r` + "\n" + `\x7f`,
		"\u0085\u009b31m\u202e\ufeff":    `\u0085\u009b31m\u202e\ufeff`,
		"bad \xff\xfe utf8 \xe2\x82":     `bad \xff\xfe utf8 \xe2\x82`,
		"\x00":                           `\x00`,
	} {
		for step := 1; step <= len(in); step++ { // however it comes
			var b bytes.Buffer
			w := NewTerminal(&b)
			for rest := []byte(in); len(rest) > 0; {
				n := min(step, len(rest))
				if got, err := w.Write(rest[:n]); got != n || err != nil {
					t.Fatal(got, err)
				}
				rest = rest[n:]
			}
			w.Flush()
			if b.String() != want {
				t.Errorf("%q by %d bytes: got %q, want %q", in, step, b.String(), want)
			}
		}
	}
}

func TestClip(t *testing.T) {
	long := "the place " + strings.Repeat("é", 1<<20) + " the reason"
	got := Clip("first\n" + long + "\nlast")
	if n := utf8.RuneCountInString(got); n > maxLine+100 ||
		!strings.HasPrefix(got, "first\nthe place é") ||
		!strings.HasSuffix(got, "é the reason\nlast") {
		t.Errorf("got %d characters: %.80s", n, got)
	}
	if short := strings.Repeat("é", maxLine) + "\n" +
		strings.Repeat("x", maxLine); Clip(short) != short {
		t.Error("lines of the longest length are cut")
	}
}

func TestUnicode(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang, plain string
		want                    bool
	}{
		{"C.UTF-8", "", "", "", true}, {"", "", "", "", false},
		{"C", "en_US.UTF-8", "en_US.UTF-8", "", false}, {"", "de_DE.utf8", "C", "", true},
		{"", "", "en_US.UTF-8", "", true}, {"", "POSIX", "en_US.UTF-8", "", false},
		{"C.UTF-8", "", "", "1", false}, {"", "", "de_DE.ISO-8859-1", "", false},
	} {
		for name, v := range map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang,
			"NO_COLOR": c.plain} {
			t.Setenv(name, v)
		}
		if got := Unicode(); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestColumns checks that Columns returns the terminal's width, also through a Terminal, and 80
// for other writers.
func TestColumns(t *testing.T) {
	if got := Columns(&bytes.Buffer{}); got != 80 {
		t.Errorf("got %d columns without a terminal, want 80", got)
	}
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	defer f.Close()
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 24, Col: 133}); err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	for _, w := range []io.Writer{f, NewTerminal(f)} {
		if got := Columns(w); got != 133 {
			t.Errorf("got %d columns, want 133", got)
		}
	}
}
