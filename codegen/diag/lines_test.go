package diag

import "testing"

func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"one":                    "one",
		"one\ntwo\n":             "one\ntwo\n",
		"a\x1b[2Jb\nc\rd\ne\tf":  `a\x1b[2Jb` + "\n" + `c\rd` + "\n" + `e\tf`,
		"\u202ename: \xff wrong": `\u202ename: \xff wrong`,
	} {
		if got := Lines(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
