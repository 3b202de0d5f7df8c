package front

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"distaff/spmd/comm"
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("it broke"), 1, "tool: it broke\n"},
		{fmt.Errorf("wrapped: %w", &Silent{4}), 4, ""},
	} {
		var b bytes.Buffer
		if code := Report("tool", c.err, &b); code != c.code || b.String() != c.text {
			t.Errorf("%v: got %d, %q, want %d, %q", c.err, code, b.String(), c.code, c.text)
		}
	}
}

func TestSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		var b bytes.Buffer
		code := Main("tool", &b, func(ctx context.Context) error {
			if err := syscall.Kill(syscall.Getpid(), s); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if want := 128 + int(s); code != want {
			t.Errorf("%v: got exit code %d, want %d", s, code, want)
		}
	}
}

// TestSignalAfterEnd checks that a signal does not change the exit code that the ranks agreed on.
// The test runs in a separate process, which ends with that code.
func TestSignalAfterEnd(t *testing.T) {
	if os.Getenv("DISTAFF_FRONT_END") != "" {
		os.Exit(Main("tool", os.Stderr, func(ctx context.Context) error {
			comm.End(5)
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSignalAfterEnd$")
	cmd.Env = append(os.Environ(), "DISTAFF_FRONT_END=1")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 5 || len(out) > 0 {
		t.Errorf("%v, want exit code 5 and no message: %s", err, out)
	}
}
