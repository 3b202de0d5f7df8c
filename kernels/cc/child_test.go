package cc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRunRestricts checks that a compiler and its child processes have limits.
func TestRunRestricts(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	said, err := Run(context.Background(), Command{
		Argv: []string{sh, "-c", "sleep 0.1; ulimit -t; sh -c 'ulimit -v'"}})
	words := strings.Fields(said)
	if err != nil || len(words) != 2 {
		t.Fatalf("got %q, %v", said, err)
	}
	for k, most := range []uint64{maxSeconds, maxMemory() >> 10} {
		if n, err := strconv.ParseUint(words[k], 10, 64); err != nil || n > most {
			t.Errorf("got limit %s, want at most %d", words[k], most)
		}
	}
}

// TestRunStops checks that the child processes of a compiler end with the context.
func TestRunStops(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := filepath.Join(t.TempDir(), "begun")
	go cancelOnce(cancel, begun)
	if _, err := Run(ctx, Command{Argv: []string{sh, "-c",
		"sleep 1000000 & echo $! > " + begun + "; sleep 1000000; wait"}}); err == nil {
		t.Error("a compiler that is stopped gives no error")
	}
	wantGone(t, begun)
}

// cancelOnce calls cancel when a file has a line.
func cancelOnce(cancel func(), file string) {
	for {
		if b, err := os.ReadFile(file); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
}

// wantGone waits for the end of the process whose number is in a file. The process was killed, but
// its parent may be the machine's first process, which may wait for it late.
func wantGone(t *testing.T, file string) {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if i == 5000 {
			t.Fatalf("process %s, which the compiler started, still runs", pid)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestCompilerThatDoesNotStart checks that the source is not blamed and not kept if the system
// cannot start a compiler.
func TestCompilerThatDoesNotStart(t *testing.T) {
	cfg := testConfig(t)
	cfg.Compiler = script(t, "exit 0")
	b, _ := newBuilder(t, cfg)
	if err := os.Remove(cfg.Compiler); err != nil {
		t.Fatal(err)
	}
	_, err := b.Build(context.Background(), Source{Text: add})
	var unstarted *StartError
	if !errors.As(err, &unstarted) || unstarted.ExitCode() != 1 ||
		!strings.Contains(err.Error(), "no such file") || strings.Contains(err.Error(), "ulimit") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(cfg.Tmp); len(left) != 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}
	for why, want := range map[string]string{
		"fork/exec /usr/bin/cc: resource temporarily unavailable": "processes and threads " +
			"(ulimit -u)",
		"fork/exec /usr/bin/cc: cannot allocate memory": "address space",
	} {
		if err := (&StartError{why}); !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err := (&CompileError{Output: why, Err: unstarted}); !strings.Contains(err.Error(),
			want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestNoPlaceToCompile checks that the error names the variable of a missing folder.
func TestNoPlaceToCompile(t *testing.T) {
	cfg := testConfig(t)
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("TMPDIR", none)
	for _, tmp := range []string{"", none + "/there"} {
		cfg.Tmp = tmp
		b, _ := newBuilder(t, cfg)
		want := "cannot make a temporary folder for the compiler: TMPDIR=" + none +
			": no such file or directory; choose another folder for temporary files with TMPDIR, --tmp or DISTAFF_TMP"
		if tmp != "" {
			want = "cannot make a temporary folder for the compiler: temporary files in " + tmp +
				": no such file or directory; choose another folder with --tmp or DISTAFF_TMP"
		}
		if _, err := b.Build(context.Background(), Source{Text: add}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
