package cc

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRunRestricts: a compiler and what it starts have limits.
func TestRunRestricts(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	said, err := Run(context.Background(), Command{Argv: []string{sh, "-c", "sleep 0.1; ulimit -t; sh -c 'ulimit -v'"}})
	words := strings.Fields(said)
	if err != nil || len(words) != 2 {
		t.Fatalf("got %q, %v", said, err)
	}
	for k, most := range []uint64{mostSeconds, mostMemory() >> 10} {
		if n, err := strconv.ParseUint(words[k], 10, 64); err != nil || n > most {
			t.Errorf("got limit %s, want at most %d", words[k], most)
		}
	}
}

// TestRunStops: what a compiler has started ends with the context, long before it would by itself.
func TestRunStops(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := filepath.Join(t.TempDir(), "begun")
	go cancelOnce(cancel, begun)
	if _, err := Run(ctx, Command{Argv: []string{sh, "-c", "sleep 1000000 & echo $! > " + begun + "; sleep 1000000; wait"}}); err == nil {
		t.Error("a compiler that is stopped gives no error")
	}
	wantGone(t, begun)
}

// cancelOnce cancels when a file has a line.
func cancelOnce(cancel func(), file string) {
	for {
		if b, err := os.ReadFile(file); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
}

// wantGone waits for the end of the process whose number is in a file: it was killed, but its parent
// may be the machine's first process, which takes its time.
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
