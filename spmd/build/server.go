package build

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"distaff/kernels/cc"
)

// The C compiler runs in a child of this process. The child executes the same program, which
// receives requests to compile over a pipe. There are two reasons. First, when the pipe is closed,
// the child stops the compiler and all processes that the compiler started, so that a killed job
// leaves nothing running. Second, an MPI may forbid a process to fork after MPI_Init: the process
// may hang, or its data may be damaged. A rank that may have to compile therefore starts the child
// before.

// serverVar is the environment variable that makes a child process run as the compile server. The
// parent process sets it when it starts the child.
const serverVar = "DISTAFF_COMPILE_SERVER"

// serves reports whether main has called Serve. Only then can a child of this program run the
// compiler.
var serves bool

type compileReply struct {
	Said, Err string
	Failed    bool
	Unstarted bool // Err is the Why of a cc.StartError
}

// Serve turns this process into a compile server if it was started as one. Otherwise it returns at
// once. It must be called at the beginning of main; see spmd.ServeCompiler.
func Serve() {
	if os.Getenv(serverVar) == "" {
		serves = true
		return
	}
	os.Unsetenv(serverVar)
	serveCompiles(os.Stdin, os.Stdout)
	os.Exit(0)
}

// serveCompiles answers requests until their stream ends. It then stops a running compiler.
func serveCompiles(in io.Reader, out io.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	requests := make(chan cc.Command)
	go func() {
		defer close(requests)
		defer cancel() // the job has ended
		for d := gob.NewDecoder(in); ; {
			var q cc.Command
			if d.Decode(&q) != nil {
				return
			}
			requests <- q
		}
	}()
	e := gob.NewEncoder(out)
	for q := range requests {
		said, err := cc.Run(ctx, q)
		if ctx.Err() != nil && q.Dir != "" {
			os.RemoveAll(q.Dir)
		}
		a := compileReply{Said: said, Failed: err != nil}
		var unstarted *cc.StartError
		if a.Unstarted = errors.As(err, &unstarted); a.Unstarted {
			a.Err = unstarted.Why
		} else if err != nil {
			a.Err = err.Error()
		}
		if e.Encode(a) != nil {
			return
		}
	}
}

// Server is the parent's end of the connection to a child that compiles.
type Server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	// said is the standard error output of the child. It may be read only after the child has
	// ended.
	said *bytes.Buffer

	mu  sync.Mutex // serializes requests
	enc *gob.Encoder
	dec *gob.Decoder
}

// Start starts a child process that runs C compilers for this process. It returns nil if main of
// this program does not call Serve, because a child could not run as a compile server then. It also
// returns nil if the path of this program is unknown.
func Start() (*Server, error) {
	if !serves {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil
	}
	s := &Server{cmd: exec.Command(self), said: &bytes.Buffer{}}
	s.cmd.Stderr = s.said
	s.cmd.Args[0] = os.Args[0]
	s.cmd.Env = append(os.Environ(), serverVar+"=1")
	// A signal to this process's group must not reach the child, which must live longer than this
	// process.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, &cc.StartError{Why: "starting the process that runs it: " + err.Error()}
	}
	s.enc, s.dec = gob.NewEncoder(s.in), gob.NewDecoder(out)
	return s, nil
}

// Run implements cc.Config.Run by a request to the child.
func (s *Server) Run(ctx context.Context, c cc.Command) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.in.Close() }) // the child then stops the compiler
	defer stop()
	err := s.enc.Encode(c)
	var a compileReply
	if err == nil {
		err = s.dec.Decode(&a)
	}
	if err != nil {
		return "", errors.Join(ctx.Err(), s.gone(err))
	}
	if a.Unstarted {
		return "", &cc.StartError{Why: a.Err}
	}
	if a.Failed {
		return a.Said, errors.New(a.Err)
	}
	return a.Said, nil
}

// gone returns an error that explains why the child does not answer. It contains the first line of
// the child's output. If the output is empty, it says how the child ended, or contains err, the
// error of the pipe.
func (s *Server) gone(err error) error {
	why := err.Error()
	if s.cmd != nil {
		s.in.Close()
		if ended := s.cmd.Wait(); ended != nil {
			why = ended.Error()
		}
		if line, _, _ := strings.Cut(strings.TrimSpace(s.said.String()), "\n"); line != "" {
			why = line
		}
	}
	return &cc.StartError{Why: "the process that runs it has ended: " + why}
}

// Close ends the child.
func (s *Server) Close() {
	s.in.Close()
	s.cmd.Wait() // the exit code has no meaning
}

// CompileInChild implements cc.Config.Run: it runs the compiler from a new child process. If this
// program cannot be started as a compile server, CompileInChild runs the compiler from this
// process.
func CompileInChild(ctx context.Context, c cc.Command) (string, error) {
	s, err := Start()
	if err != nil || s == nil {
		return cc.Run(ctx, c)
	}
	defer s.Close()
	return s.Run(ctx, c)
}

// Pool is a set of child processes that compile C sources. Each child compiles one source at a
// time.
type Pool struct {
	servers []*Server
	free    chan *Server
}

// StartPool starts n child processes that run C compilers for this process. It returns nil if main
// of this program does not call Serve.
func StartPool(n int) (*Pool, error) {
	p := &Pool{free: make(chan *Server, n)}
	for range n {
		s, err := Start()
		if err != nil || s == nil {
			p.Close()
			return nil, err
		}
		p.servers = append(p.servers, s)
		p.free <- s
	}
	return p, nil
}

// Run implements cc.Config.Run in a free child. If all are busy, it waits.
func (p *Pool) Run(ctx context.Context, c cc.Command) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case s := <-p.free:
		defer func() { p.free <- s }()
		return s.Run(ctx, c)
	}
}

// Close ends the children.
func (p *Pool) Close() {
	for _, s := range p.servers {
		s.Close()
	}
}
