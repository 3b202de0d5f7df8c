package cc

import (
	"context"
	"os/exec"
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

// TestRunStops: what a compiler has started ends with the context.
func TestRunStops(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	at := time.Now()
	if _, err := Run(ctx, Command{Argv: []string{sh, "-c", "sleep 60 & sleep 60; wait"}}); err == nil {
		t.Error("a compiler that is stopped gives no error")
	}
	if took := time.Since(at); took > 20*time.Second {
		t.Errorf("stopped after %v", took)
	}
}
