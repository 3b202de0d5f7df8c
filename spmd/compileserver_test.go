package spmd

import (
	"context"
	"encoding/gob"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// served is a compile server in this process.
func served(t *testing.T) *compileServer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		serveCompiles(inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	return &compileServer{in: inW, enc: gob.NewEncoder(inW), dec: gob.NewDecoder(outR)}
}

func TestCompileServer(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	s := served(t)
	for _, k := range []struct {
		script, said, err string
	}{
		{"echo $WORD", "hello\n", ""},
		{"echo bad >&2; exit 3", "bad\n", "exit status 3"},
		{"echo again", "again\n", ""},
	} {
		said, err := s.run(context.Background(), []string{sh, "-c", k.script}, []string{"WORD=hello"})
		if said != k.said || (err == nil) != (k.err == "") || (err != nil && err.Error() != k.err) {
			t.Errorf("%s: said %q, %v; want %q, %q", k.script, said, err, k.said, k.err)
		}
	}
	if _, err := s.run(context.Background(), []string{"/no/such/compiler"}, nil); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	at := time.Now()
	if _, err := s.run(ctx, []string{sh, "-c", "sleep 60"}, nil); err == nil {
		t.Error("a compiler that is stopped gives no error")
	}
	if took := time.Since(at); took > 20*time.Second {
		t.Errorf("stopped after %v", took)
	}
}
