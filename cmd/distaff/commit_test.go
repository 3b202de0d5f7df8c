package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatsFail: a run that cannot write its statistics has replaced no output, on one
// rank and on several.
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
		text, err := distaffCommand(t, dir, "run", "y(i) = x(i)", "-g=x:dense", "-d=i:40", "-o=y:y.tns", "--ranks="+ranks, "--stats=/dev/full").CombinedOutput()
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

// TestStatsToStdout: statistics to /dev/stdout go on where a log has come to.
func TestStatsToStdout(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH")
	}
	dir := t.TempDir()
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.WriteString("a line of before\n"); err != nil {
		t.Fatal(err)
	}
	cmd := distaffCommand(t, dir, "run", "y(i) = x(i)", "-g=x:dense:int", "-d=i:4", "--stats=/dev/stdout")
	cmd.Stdout = log
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || !strings.HasPrefix(string(text), "a line of before\n{\n") || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("the log: %v\n%s", err, text)
	}
}
