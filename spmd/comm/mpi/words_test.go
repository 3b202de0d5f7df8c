package mpi_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The error of a failed probe quotes the wrapper's path, so that it cannot control a terminal.
func TestProbeQuotesThePath(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "DISTAFF_MPI_PROBE=/nowhere/\x1b[2Jw.so")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err == nil {
		t.Error("a probe of no file succeeds")
	}
	if got := said.String(); !strings.Contains(got, `/nowhere/\x1b[2Jw.so`) ||
		strings.Contains(got, "\x1b") {
		t.Errorf("got %q, want the path escaped", got)
	}
}
