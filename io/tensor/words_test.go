package tensor

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int64
		noun, want string
	}{{0, "byte", "0 bytes"}, {1, "byte", "1 byte"}, {2, "entry", "2 entries"},
		{1, "entry", "1 entry"}, {-1, "mode", "-1 modes"}} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
	if got := Bytes(1); got != "1 byte" {
		t.Errorf("Bytes(1) = %q", got)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{"plain.tns": "plain.tns", `a"b`: `a"b`,
		"a\x1b[2Jb": `a\x1b[2Jb`, "\u202ename": `\u202ename`} {
		if got := Printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
