package front

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
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
	if n := utf8.RuneCountInString(got); n > maxLine+100 || !strings.HasPrefix(got, "first\nthe place é") || !strings.HasSuffix(got, "é the reason\nlast") {
		t.Errorf("got %d characters: %.80s", n, got)
	}
	if short := strings.Repeat("é", maxLine) + "\n" + strings.Repeat("x", maxLine); Clip(short) != short {
		t.Error("lines of the longest length are cut")
	}
}
