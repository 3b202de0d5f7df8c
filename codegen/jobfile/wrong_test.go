package jobfile

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"distaff/codegen/diag"
)

var update = flag.Bool("update", false, "rewrite the messages in testdata/wrong.txt")

// The separators between the files of testdata/wrong.txt, and between a file and its message.
const (
	nextFile = "\n==========\n"
	message  = "\n----------\n"
)

// codes lists the codes of job files.
var codes = []diag.Code{Syntax, NameClash, Unknown, ReadEarly, Declaration, BadNumber, "placement",
	"machine"}

// wrong returns the error of a file, or nil.
func wrong(text string) error {
	f, err := Parse("job.dst", text)
	if err == nil {
		err = f.Check()
	}
	return err
}

// wrongMessage returns the message of a file that is wrong.
func wrongMessage(text string) string {
	if err := wrong(text); err != nil {
		return err.Error()
	}
	return "(nothing is wrong)"
}

// TestWrong compares whole messages, with their places, with testdata/wrong.txt.
func TestWrong(t *testing.T) {
	data, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(data), "\n"), nextFile)
	if len(cases) < 80 {
		t.Errorf("testdata/wrong.txt has %d files, want at least 80", len(cases))
	}
	seen := map[diag.Code]bool{}
	for k, c := range cases {
		text, want, _ := strings.Cut(c, message)
		var d *diag.Error
		if errors.As(wrong(text), &d) {
			seen[d.Code] = true
			if d.ExitCode() != diag.ExitCommand {
				t.Errorf("%s\nhas exit code %d, want 2", text, d.ExitCode())
			}
		}
		got := wrongMessage(text)
		if !strings.HasPrefix(got, "job.dst:") {
			t.Errorf("%s\ngot %s, want a message with a place", text, got)
		}
		if got != want && !*update {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		cases[k] = text + message + got
	}
	for _, code := range codes {
		if !seen[code] {
			t.Errorf("no file of testdata/wrong.txt gives code %s", code)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/wrong.txt", []byte(strings.Join(cases, nextFile)+"\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}
