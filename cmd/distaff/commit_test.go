package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatsFail checks that a run that cannot write its statistics replaces no output, on one rank
// and on several ranks.
func TestStatsFail(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH")
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	for _, ranks := range []string{"1", "2"} {
		dir := t.TempDir()
		old := filepath.Join(dir, "y.tns")
		if err := os.WriteFile(old, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		text, err := distaffCommand(t, dir, "run", "y(i) = x(i)", "-g=x:dense", "-d=i:40",
			"-o=y:y.tns", "--ranks="+ranks, "--stats=/dev/full").CombinedOutput()
		if exitStatus(err) != 1 || !strings.Contains(string(text), "/dev/full") {
			t.Errorf("%s ranks: got %v: %s", ranks, err, text)
		}
		if b, err := os.ReadFile(old); string(b) != "old" {
			t.Errorf("%s ranks: the old output has %d bytes, %v", ranks, len(b), err)
		}
		if got := files(t, dir); got != "y.tns" {
			t.Errorf("%s ranks: files left: %s", ranks, got)
		}
	}
}

// TestOutputsToALog checks that outputs to /dev/stdout are appended to a log, and that other lines
// about the job are not written there.
func TestOutputsToALog(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH")
	}
	vector := []string{"run", "y(i) = x(i)", "-g=x:dense:int", "-d=i:4"}
	for _, c := range []struct {
		name        string
		args        []string
		first, last string // the first and the last line that are written
	}{
		{"statistics", append(vector[:4:4], "--stats=/dev/stdout"), "{\n", "}\n"},
		{"statistics of a scalar", []string{"run", "a = x(i)", "-g=x:dense:int", "-d=i:4",
			"--stats=/dev/stdout"}, "{\n", "}\n"},
		{"an output", append(vector[:4:4], "-o=y:/dev/stdout"), "1 ", "\n"},
		{"an operand beside a result", []string{"run", "a = x(i)", "-g=x:dense:int", "-d=i:4",
			"-o=x:/dev/fd/1"}, "1 ", "\n4 2\n"},
		{"an output of ranks", append(vector[:4:4], "-o=y:/dev/stdout", "--ranks=3"), "1 ", "\n"},
		{"an output with an ending", append(vector[:4:4], "-o=y:-.mtx"), "%%MatrixMarket", "\n"},
		{"an output and statistics", append(vector[:4:4], "-o=y:/dev/stdout",
			"--stats=/dev/stdout"), "1 ", "}\n"},
		{"a stage", []string{"compile", "y(i) = A(i,j)*x(j)", "-f=A:ds", "--emit=cin",
			"--out=/dev/stdout"}, "forall(", ")\n"},
		{"a page", []string{"plan", "y(i) = A(i,j)*x(j)", "-d=A:4,4", "--html=/dev/stdout",
			"--json"}, "<!DOCTYPE", "</html>\n"},
	} {
		for _, appends := range []int{0, os.O_APPEND} {
			file := filepath.Join(t.TempDir(), "log")
			log, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|appends, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			log.WriteString("a line of before\n")
			cmd := distaffCommand(t, filepath.Dir(file), c.args...)
			cmd.Stdout = log
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			log.WriteString("a line of after\n")
			text, err := os.ReadFile(file)
			between, before := strings.CutPrefix(string(text), "a line of before\n")
			between, after := strings.CutSuffix(between, "a line of after\n")
			if err != nil || !before || !after || !strings.HasPrefix(between, c.first) ||
				!strings.HasSuffix(between, c.last) {
				t.Errorf("%s, appended %v: %v\n%s", c.name, appends != 0, err, text)
			}
		}
	}
}
