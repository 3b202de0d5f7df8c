package build

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"distaff/kernels/cc"
	_ "distaff/kernels/verified"
)

// served returns a compile server that runs in this process.
func served(t *testing.T) *Server {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		serveCompiles(inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	return &Server{in: inW, enc: gob.NewEncoder(inW), dec: gob.NewDecoder(outR)}
}

// TestServerThatEnded checks that the last output of a child that has ended becomes the error, and
// that the source is not blamed.
func TestServerThatEnded(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'distaff: too few threads' >&2; echo more >&2; exit 1": "the process that runs it has ended: distaff: too few threads",
		"exit 3": "the process that runs it has ended: exit status 3",
	} {
		s := &Server{cmd: exec.Command("sh", "-c", script), said: &bytes.Buffer{}}
		s.cmd.Stderr = s.said
		var err error
		if s.in, err = s.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := s.cmd.StdoutPipe()
		if err == nil {
			err = s.cmd.Start()
		}
		if err != nil {
			t.Skip(err)
		}
		s.enc, s.dec = gob.NewEncoder(s.in), gob.NewDecoder(out)
		_, err = s.Run(context.Background(), cc.Command{Argv: []string{"/bin/true"}})
		var unstarted *cc.StartError
		if !errors.As(err, &unstarted) || unstarted.Why != want {
			t.Errorf("%s: got %v, want %q", script, err, want)
		}
		s.Close()
	}
}

func TestCompileServer(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	s := served(t)
	dir := filepath.Join(t.TempDir(), "leaf")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		script, said, err string
	}{
		{"echo $WORD", "hello\n", ""},
		{"echo bad >&2; exit 3", "bad\n", "exit status 3"},
		{"echo again", "again\n", ""},
	} {
		said, err := s.Run(context.Background(),
			cc.Command{Argv: []string{sh, "-c", k.script}, Env: []string{"WORD=hello"}, Dir: dir})
		if said != k.said || (err == nil) != (k.err == "") || (err != nil && err.Error() != k.err) {
			t.Errorf("%s: said %q, %v; want %q, %q", k.script, said, err, k.said, k.err)
		}
	}
	var unstarted *cc.StartError
	if _, err := s.Run(context.Background(),
		cc.Command{Argv: []string{"/no/such/compiler"}, Dir: dir}); !errors.As(err, &unstarted) ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the folder of a job that goes on: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := filepath.Join(t.TempDir(), "begun")
	go func() {
		for {
			if _, err := os.Stat(begun); err == nil {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		cancel()
	}()
	if _,
		err := s.Run(ctx, cc.Command{Argv: []string{sh, "-c", "echo > " + begun + "; sleep 1000000"},
		Dir: dir}); err == nil {
		t.Error("a compiler that is stopped gives no error")
	}
	for tries := 0; ; tries++ { // it is removed after the compiler has ended
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			break
		}
		if tries == 1000 {
			t.Fatal("the folder of a job that is gone stays")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestPool checks that the children of a pool run compilers concurrently, and that one more request
// waits.
func TestPool(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	p := &Pool{free: make(chan *Server, 2)}
	for range 2 {
		p.free <- served(t)
	}
	dir := t.TempDir()
	// Each request waits for the other one.
	met := func(mine, other string) string {
		return "echo > " + mine + "; while ! test -e " + other + "; do sleep 0.01; done; echo met"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	said := make(chan string)
	for _, script := range []string{met("a", "b"), met("b", "a"), "echo met"} {
		go func() {
			out, err := p.Run(ctx, cc.Command{Argv: []string{sh, "-c", "cd " + dir + "; " + script}})
			if err != nil {
				out = err.Error()
			}
			said <- out
		}()
	}
	for range 3 {
		if out := <-said; out != "met\n" {
			t.Errorf("got %q", out)
		}
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := (&Pool{}).Run(ended, cc.Command{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v where none is free and the job has ended", err)
	}
}
