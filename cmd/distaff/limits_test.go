package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTooManyThreads checks that an absurd number of threads is refused, and that the message has
// this number and the largest accepted one.
func TestTooManyThreads(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.tns"), []byte("1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "y(i) = x(i)", "-g=x:dense", "-d=i:4"}
	for _, c := range []struct {
		args      []string
		env, says string
	}{
		{append(run, "--threads=300000"), "", "--threads=300000: want at most "},
		{append(run, "--threads=1000000000", "--ranks=2"), "", "--threads=1000000000: want at most "},
		{run, "OMP_NUM_THREADS=1000000000", "OMP_NUM_THREADS=1000000000: want at most "},
		{run, "OMP_NUM_THREADS=99999999999999999999",
			"OMP_NUM_THREADS=99999999999999999999: want at most "},
		{[]string{"convert", "x.tns", "x.tcs", "--threads=300000"}, "",
			"--threads=300000: want at most "},
	} {
		cmd := distaffCommand(t, dir, c.args...)
		cmd.Env = append(cmd.Env, c.env)
		out, err := cmd.CombinedOutput()
		if exitStatus(err) != 2 || !strings.Contains(string(out), c.says) ||
			!strings.Contains(string(out), "hardware") {
			t.Errorf("%s %q: got %v: %s", c.env, c.args, err, out)
		}
	}
}

// TestWordsOfLimits checks that the message of a job that reaches a limit names the limited
// resource.
func TestWordsOfLimits(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	f := newFaults(t)
	uid := f.user(t)
	run := []string{"run", "y(i) = A(i,j)*x(j)", "-d=A:30,30", "-g=A:uniform:50", "-g=x:dense"}
	for set, want := range map[string]string{
		"ulimit -v 100000": "too little address space to begin: the limit is 100000 KiB " +
			"(ulimit -v)",
		"ulimit -v 300000": "too little address space to begin: the limit is 300000 KiB " +
			"(ulimit -v)",
		"ulimit -u 3": "too few threads to begin: the user's limit is 3 processes and " +
			"threads (ulimit -u)",
		"ulimit -u 10":        "(ulimit -u)",
		"ulimit -u 12":        "(ulimit -u)",
		"export TMPDIR=/none": "TMPDIR=/none: no such file or directory",
	} {
		cmd := exec.Command("bash",
			append([]string{"-c", set + `; exec "$@"`, "bash", f.distaff}, run...)...)
		cmd.Dir = filepath.Join(f.dir, "user")
		cmd.Env = append(cleanEnv(t), "DISTAFF_CACHE="+filepath.Join(cmd.Dir, "words"))
		if strings.Contains(set, "-u") {
			if uid == 0 {
				continue // other processes of this user count, too
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid),
				Gid: uint32(uid)}}
		}
		out, err := cmd.CombinedOutput()
		if exitStatus(err) != 1 || !strings.Contains(string(out), want) ||
			strings.Contains(string(out), "EOF") {
			t.Errorf("%s: got %v, %s\nwant %q", set, err, out, want)
		}
		if err := os.RemoveAll(filepath.Join(cmd.Dir, "words")); err != nil {
			t.Fatal(err)
		}
	}
}

// limitKinds lists the resources that TestLimits limits.
var limitKinds = []string{"space", "processes", "file size", "disk"}

// TestLimits runs a job with too little of one resource, or just enough. The job must end with a
// message and the exit code of a failed run, or write its whole output. There are DISTAFF_LIMITS
// runs, or 12, starting at number DISTAFF_LIMITS_FIRST.
func TestLimits(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	f := newFaults(t)
	uid := f.user(t)
	first, n := runsOf(t, "DISTAFF_LIMITS", 12)
	for k := first; k < first+n; k++ {
		f.limited(t, k, uid)
	}
}

// user returns the id of a user that has no other processes, because limits count the processes of
// a user. It gives this user a folder. It returns 0 if this process may not change users.
func (f *faults) user(t *testing.T) int {
	home := filepath.Join(f.dir, "user")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return 0
	}
	uid := 600000 + os.Getpid()%100000
	if err := os.Chown(home, uid, uid); err != nil {
		t.Fatal(err)
	}
	for dir := f.dir; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// the locks of the user's cache
	t.Cleanup(func() { os.RemoveAll(fmt.Sprintf("/dev/shm/distaff-%d", uid)) })
	return uid
}

func (f *faults) limited(t *testing.T, n, uid int) {
	rng := rand.New(rand.NewPCG(uint64(n), 9))
	kind := limitKinds[n%len(limitKinds)]
	in := filepath.Join(f.dir, "in.tcs")
	if err := os.WriteFile(in, f.inputs[".tcs"], 0o644); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(f.dir, "user")
	if kind != "processes" {
		home = filepath.Join(f.dir, fmt.Sprintf("home-%d", n))
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old, out := []byte("an old file\n"), filepath.Join(home, fmt.Sprintf("limited-%d.tcs", n))
	want := f.wants[".tcs"]
	set := "true"
	switch kind {
	case "space":
		set = fmt.Sprintf("ulimit -v %d", 300_000+rng.IntN(2_200_000))
	case "processes":
		set = fmt.Sprintf("ulimit -u %d", 1+rng.IntN(30))
	case "file size":
		set = fmt.Sprintf("ulimit -f %d", rng.IntN(len(want)/1024))
	case "disk":
		room := 4096 * (1 + rng.Int64N(int64(len(want))/4096-8))
		if f.tiny == "" {
			set = fmt.Sprintf("ulimit -f %d", room/1024)
		} else if out = filepath.Join(f.tiny, "limited.tcs"); syscall.Mount(
			"", f.tiny, "", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", room+4096)) != nil {
			t.Fatal("the small disk takes no other size")
		}
	}
	if err := os.WriteFile(out, old, 0o666); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(out)
	tmp := filepath.Join(home, "tmp")
	if err := os.MkdirAll(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"-c", set + `; exec "$@"`, "bash", f.distaff},
		f.jobIn(tmp, "in.tcs", out, fmt.Sprintf("--ranks=%d", 1+rng.IntN(3)))...)
	name := fmt.Sprintf("limit %d: %s: %q %q", n, kind, set, argv[4:])
	mark := fmt.Sprintf("DISTAFF_FAULT=%d-limit-%d", os.Getpid(), n)
	cmd := exec.Command("bash", argv...)
	cmd.Dir = f.dir
	cmd.Env = append(cleanEnv(t), mark, "DISTAFF_CFLAGS=-O1",
		"DISTAFF_CACHE="+filepath.Join(home, fmt.Sprintf("cache-%d", n)))
	if kind == "processes" && uid > 0 {
		if err := os.Chown(tmp, uid, uid); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid),
			Gid: uint32(uid)}}
		if err := os.Chown(out, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	code := exitStatus(cmd.Wait())
	timer.Stop()
	got, err := os.ReadFile(out)
	switch {
	case code != 0 && code != 1 && code != 5:
		t.Errorf("%s: exit code %d, want 0, 1 or 5\n%s", name, code, errs.String())
	case code == 0 && !bytes.Equal(got, want), code != 0 && !bytes.Equal(got, old):
		t.Errorf("%s: exit code %d, and an output of %d bytes, %v\n%s", name, code, len(got), err,
			errs.String())
	case code != 0 && !strings.Contains(errs.String(), "distaff: ") &&
		!strings.Contains(errs.String(), "libgomp: "):
		t.Errorf("%s: exit code %d without words:\n%s", name, code, errs.String())
	}
	for _, left := range f.leftovers(&fault{out: out}, mark) {
		// an allowed leftover is the source of a leaf that the compiler refused
		if !strings.HasPrefix(filepath.Base(left), "distaff-leaf-") {
			t.Errorf("%s: left behind: %s\n%s", name, left, errs.String())
		}
		os.RemoveAll(left)
	}
	line := strings.TrimSpace(errs.String())
	if len(line) > 100 {
		line = line[:100] + "..."
	}
	t.Logf("limit %d: %s %s: exit code %d, %s", n, kind, set, code, line)
}
