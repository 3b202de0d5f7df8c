package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// brokenCompiler writes a C compiler that inserts a line at the beginning of the leaf, and returns
// its path.
func brokenCompiler(t *testing.T, dir, line string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, "cc")
	script := "#!/bin/sh\nfor a; do case $a in *leaf.c) sed -i '/^int .*dst_env \\*.*{$/a " + line +
		"' $a;; esac; done\nexec " + cc + ` "$@"` + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// saying returns a line of C that creates a file. The line tells the test that the leaf has begun.
func saying(file string) string {
	return fmt.Sprintf(`{ extern int creat(const char *, unsigned); creat("%s", 0600); }`, file)
}

// begun waits until a leaf has created the file.
func begun(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Error("no leaf has begun within a minute")
}

// TestBrokenLeaf checks the errors of leaves that fault. If no input has changed, the error is a
// bug whose message names the leaf's key in the cache, or it blames an invalid input that was
// trusted. A leaf that never ends is abandoned when an input changes.
func TestBrokenLeaf(t *testing.T) {
	const fault, endless = "*(volatile int *)64 = 1;", "for (volatile int k = 0; k < 2; k = 0);"
	for _, c := range []struct {
		name, line string
		ranks      string
		spoil      func(t *testing.T, path string)
		trust      bool
		later      bool // the input changes while the leaf runs
		code       int
		says       []string
	}{
		{name: "bug", line: fault, ranks: "1", code: 1,
			says: []string{"BUG: the leaf of y(i) = A(i,j)*x(j) faulted: SIGSEGV at address " +
				"0x40; no input file has changed meanwhile; the leaf's key in the cache is "}},
		{name: "bug, ranks", line: fault, ranks: "2", code: 1,
			says: []string{"BUG: the leaf of ", "] BUG"}},
		{name: "trusted", line: fault, ranks: "1", spoil: badCoordinate, trust: true, code: 3,
			says: []string{"a.tcs: ", "--trust-input"}},
		{name: "trusted and valid", line: fault, ranks: "1", trust: true, code: 1,
			says: []string{"BUG: the leaf of"}},
		{name: "endless", line: endless, ranks: "1", spoil: touch, later: true, code: 3,
			says: []string{"a.tcs: the file was written while it was in use"}},
		{name: "endless, ranks", line: endless, ranks: "3", spoil: touch, later: true, code: 3,
			says: []string{"a.tcs: the file was written while it was in use"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := filepath.Join(dir, "a.tcs")
			if out, err := distaffCommand(t, dir, "run", "A(i,j) = G(i,j)",
				"-g=G:uniform:100000:int", "-d=G:3000,2000", "-f=G:ds", "-f=A:ds",
				"-o=A:a.tcs").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			running := filepath.Join(t.TempDir(), "running")
			compiler := brokenCompiler(t, t.TempDir(), saying(running)+" "+c.line)
			if c.spoil != nil && !c.later {
				c.spoil(t, in)
			}
			if err := os.WriteFile(filepath.Join(dir, "y.npy"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"run", "y(i) = A(i,j) * x(j)", "-i=A:a.tcs", "-g=x:dense", "-d=j:2000",
				"-o=y:y.npy", "--stats=s.json", "--ranks=" + c.ranks}
			if c.trust {
				args = append(args, "--trust-input")
			}
			cmd := distaffCommand(t, dir, args...)
			cmd.Env = append(cmd.Env, "DISTAFF_CC="+compiler)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.later {
				begun(t, running)
				c.spoil(t, in)
			}
			timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
			defer timer.Stop()
			if code := exitStatus(cmd.Wait()); code != c.code {
				t.Errorf("got exit code %d, want %d", code, c.code)
			}
			for _, s := range c.says {
				if !strings.Contains(errs.String(), s) {
					t.Errorf("it does not say %q: %s", s, errs.String())
				}
			}
			if b, err := os.ReadFile(filepath.Join(dir, "y.npy")); string(b) != "old" {
				t.Errorf("the old output: %d bytes, %v", len(b), err)
			}
			if got := files(t, dir); got != "a.tcs y.npy" {
				t.Errorf("files left: %s", got)
			}
		})
	}
}

// touch sets a file's modification time to a later time.
func touch(t *testing.T, path string) {
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
}

// badCoordinate writes a coordinate that exceeds the size into the middle of the file.
func badCoordinate(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0x7f}, 64), 100<<10); err != nil {
		t.Fatal(err)
	}
}
