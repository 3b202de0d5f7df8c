package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/spmd/comm"
)

// files returns the names in a folder, including hidden files.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// distaffCommand returns the command distaff in dir, which runs this test's binary (see
// testscript.Main).
func distaffCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	path, err := exec.LookPath("distaff")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, cleanEnv(t)
	return cmd
}

func exitStatus(err error) int {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	return 0
}

// TestSignals stops a run that waits for its input. The run must end with the documented exit code,
// must not change its old output, and must leave no other files.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGUSR1, 138}, {syscall.SIGUSR2, 140},
		{syscall.SIGXCPU, 152}, {syscall.SIGALRM, 142},
		{syscall.SIGKILL, -1}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			old := filepath.Join(dir, "y.tns")
			if err := os.WriteFile(old, []byte("1 1\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := distaffCommand(t, dir, "run", "y(i) = x(i)", "-i=x:-.tns", "-o=y:y.tns",
				"-o=x:x.npy")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// This is more than a pipe can buffer. WriteString returns when the run has begun to
			// read, and then the run handles signals.
			if _, err := io.WriteString(stdin, strings.Repeat("1 2\n", 1<<16)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if code := exitStatus(cmd.Wait()); code != c.code {
				t.Errorf("got exit code %d, want %d: %s", code, c.code, errs.String())
			}
			if want := "distaff: stopped by " + comm.SignalName(c.signal); c.code > 0 &&
				!strings.Contains(errs.String(), want) {
				t.Errorf("got %q, want %q", errs.String(), want)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %v to stop", took)
			}
			if b, err := os.ReadFile(old); err != nil || string(b) != "1 1\n" {
				t.Errorf("the old output: got %q, %v", b, err)
			}
			if got := files(t, dir); got != "y.tns" {
				t.Errorf("files left: %s", got)
			}
		})
	}
}

// TestClosedStandard checks that output to a closed standard output is an error, and that a closed
// standard input is not read as an empty file.
func TestClosedStandard(t *testing.T) {
	path, err := exec.LookPath("distaff")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.tns"), []byte("1 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{`run 'y(i) = x(i)' -i=x:x.tns -o=y:-.mtx >&-`,
			"standard output: can't write the file: bad file descriptor"},
		{`run 'y(i) = x(i)' -i=x:x.tns -o=y:/dev/stdout >&-`,
			"standard output: can't write the file: bad file descriptor"},
		{`convert x.tns -.npy >&-`, "standard output: can't write the file: bad file descriptor"},
		{`convert - y.mtx <&-`, "standard input: bad file descriptor"},
		{`convert - y.mtx <&- >&-`, "standard input: bad file descriptor"},
		{`run 'y(i) = x(i)' -i=x:-.tns -d=i:3 -o=y:y.tns <&-`, "standard input: bad file descriptor"},
		{`info x.tns >&-`, "bad file descriptor"},
		{`version >&-`, "bad file descriptor"},
	} {
		cmd := exec.Command("sh", "-c", "exec "+path+" "+c.args)
		cmd.Dir, cmd.Env = dir, cleanEnv(t)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if code := exitStatus(cmd.Run()); code != 1 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: got exit code %d and %q, want 1 and %q", c.args, code, errs.String(),
				c.want)
		}
		if got := files(t, dir); got != "x.tns" {
			t.Errorf("%s: files left: %s", c.args, got)
		}
	}
}

// TestKilledWriting kills runs at various moments while they write a large output. After that there
// must be the old file or the new file, and no other file.
func TestKilledWriting(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "y.tns")
	args := []string{"run", "y(i) = x(i)", "-g=x:dense", "-d=i:400000", "-o=y:y.tns"}
	whole := distaffCommand(t, dir, args...)
	if out, err := whole.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	want, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 8 {
		if err := os.WriteFile(old, []byte("old\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := distaffCommand(t, dir, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+40*k) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		got, err := os.ReadFile(old)
		if err != nil || string(got) != "old\n" && !bytes.Equal(got, want) {
			t.Errorf("killed after %d ms: the output has %d bytes, %v; want the 4 old ones or %d "+
				"new ones", 20+40*k, len(got), err, len(want))
		}
		for _, name := range strings.Fields(files(t, dir)) {
			// For a moment, between its creation and its renaming, an output has a hidden name.
			if name != "y.tns" && !strings.HasPrefix(name, ".y.tns.") {
				t.Errorf("killed after %d ms: file left: %s", 20+40*k, name)
			}
		}
	}
}

// TestFullDisk limits the size of files. A run whose write fails must exit with 1 and a message,
// and must not change its old output.
func TestFullDisk(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH")
	}
	dir := t.TempDir()
	for _, out := range []string{"y.tns", "y.npy", "y.tcs"} {
		if err := os.WriteFile(filepath.Join(dir, out), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		path, _ := exec.LookPath("distaff")
		// The objects in the cache are smaller than the limit, and the output is larger.
		cmd := exec.Command("bash", "-c", `ulimit -f 256; exec "$@"`, "bash", path, "run", "y(i) = x(i)",
			"-g=x:dense", "-d=i:400000", "-o=y:"+out)
		cmd.Dir, cmd.Env = dir, cleanEnv(t)
		text, err := cmd.CombinedOutput()
		if exitStatus(err) != 1 || !strings.Contains(string(text), out) {
			t.Errorf("%s: got %v: %s", out, err, text)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, out)); string(b) != "old" {
			t.Errorf("%s: the old output has %d bytes", out, len(b))
		}
	}
	if got := files(t, dir); got != "y.npy y.tcs y.tns" {
		t.Errorf("files left: %s", got)
	}
}

// TestCompilerEnds ends a job with various signals while its C compiler runs. All processes that
// the compiler started must end, too, also if the process has several ranks.
func TestCompilerEnds(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		signal syscall.Signal
		group  bool // the signal is sent to the process group, as terminals and launchers do
		code   int
		ranks  string
	}{
		{syscall.SIGINT, true, 130, "1"}, {syscall.SIGTERM, false, 143, "3"},
		{syscall.SIGKILL, false, -1, "1"}, {syscall.SIGKILL, true, -1, "3"},
	} {
		t.Run(c.signal.String()+" "+c.ranks, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			compiler, pid := filepath.Join(dir, "cc"), filepath.Join(dir, "pid")
			script := "#!" + sh + "\nsleep 600 &\necho $! >" + pid + ".new\nmv " + pid + ".new " +
				pid + "\nwait\n"
			if err := os.WriteFile(compiler, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := distaffCommand(t, dir, "run", "s = x(i)*y(j)*z(k)*3", "-g=x:dense", "-g=y:dense",
				"-g=z:dense", "-d=i:3", "-d=j:4", "-d=k:5", "--ranks="+c.ranks)
			cmd.Env = append(cmd.Env, "DISTAFF_CC="+compiler, "DISTAFF_TMP="+dir,
				"DISTAFF_CACHE="+filepath.Join(dir, "cache"))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var child int
			for end := time.Now().Add(20 * time.Second); child == 0; time.Sleep(10 * time.Millisecond) {
				if b, err := os.ReadFile(pid); err == nil {
					child, _ = strconv.Atoi(strings.TrimSpace(string(b)))
				}
				if time.Now().After(end) {
					cmd.Process.Kill()
					t.Fatalf("no compiler was started: %v", cmd.Wait())
				}
			}
			to := cmd.Process.Pid
			if c.group {
				to = -to
			}
			if err := syscall.Kill(to, c.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitStatus(cmd.Wait()); code != c.code {
				t.Errorf("got exit code %d, want %d", code, c.code)
			}
			for end := time.Now().Add(10 * time.Second); alive(child); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					syscall.Kill(child, syscall.SIGKILL)
					t.Fatal("what the compiler has started still runs")
				}
			}
		})
	}
}

// alive reports whether a process is running. It returns false for a zombie, which only waits until
// its parent reads its exit code.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
