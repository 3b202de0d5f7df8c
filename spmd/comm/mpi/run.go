package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"distaff/codegen/diag"
	"distaff/spmd/comm"
)

// Options are the settings of a job. Zero values mean the defaults.
type Options struct {
	// Getenv reads an environment variable. The default is os.Getenv.
	Getenv func(string) string
	// Stuck is the time that all ranks may wait while nothing moves, before the watchdog ends the
	// job. It is longer for long messages. The default is 60 s; a negative value turns the watchdog
	// off.
	Stuck time.Duration
	// Opening is the time that MPI may take to open, including the wait for all ranks to start. The
	// default is 3 minutes; a negative value means no limit.
	Opening time.Duration
	// Threads is the number of threads that each rank computes with; the default is 1. It decides
	// how waits poll, and which notes Info has.
	Threads int
	// OnFail is called with the failure that ends the job, in the one process that prints it.
	// Usually that is the rank that failed. Ranks that get no answer from rank 0 after a failure
	// call OnFail too. The default prints to standard error.
	OnFail func(error)
	// Note is called with a line that the user should read although nothing failed.
	Note func(string)
}

// Job is a rank that is ready to open MPI.
type Job struct {
	Launcher Launcher
	Wrapper  *Wrapper
	o        Options
	e        *engine
}

// Info describes an open job.
type Info struct {
	Library string // the library's own name and version
	Threads string // the thread level that the library grants
	Places  []comm.Place
	Notes   []string // bindings and shared cores that slow the job down, in words
}

// Prepare finds or builds the wrapper for the launcher's MPI, and loads it. A program must start
// its child processes before it calls Run, because an MPI may forbid a process to fork when it is
// open.
func Prepare(ctx context.Context, l Launcher, o Options) (*Job, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Stuck == 0 {
		o.Stuck = 60 * time.Second
	}
	if o.Opening == 0 {
		o.Opening = 3 * time.Minute
	}
	o.Threads = max(o.Threads, 1)
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.OnFail == nil {
		o.OnFail = func(err error) { fmt.Fprintln(os.Stderr, diag.Lines(words(err))) }
	}
	if l.Bare {
		return nil, l.singletonsError(1, "")
	}
	w, err := find(ctx, l, o.Getenv, o.Note)
	if err != nil {
		return nil, err
	}
	e, err := w.load()
	if err != nil {
		return nil, err
	}
	return &Job{Launcher: l, Wrapper: w, o: o, e: e}, nil
}

// words returns the text to print for a failure. The text for a failure of a rank starts with the
// rank's number or, if the number is not shown, with the program's name. Other text is unchanged.
func words(err error) string {
	var rank *comm.RankError
	var agreed *comm.AgreedError
	if errors.As(err, &agreed) {
		rank = &agreed.RankError
	}
	if rank == nil && !errors.As(err, &rank) || rank.Numbered() {
		return err.Error()
	}
	return filepath.Base(os.Args[0]) + ": " + err.Error()
}

// Run opens MPI and runs f as this process's rank. It returns nil if f returned nil at every rank
// and closing MPI did not fail. It returns an error if opening or closing MPI fails, or if f
// returned the same *comm.AgreedError at every rank.
//
// After any other failure of any rank, Run does not return: the functions that comm.OnExit
// registered run, and the process ends with the job's exit code. Run can be called once.
func (j *Job) Run(ctx context.Context, f func(c comm.Comm, info Info) error) error {
	e := j.e
	opening.Store(true)
	opened, started := endOnSignal(), j.watchOpening(ctx)
	err := e.init()
	opened()
	started()
	if err != nil {
		return err
	}
	if err := j.check(); err != nil {
		// Each rank is a job by itself, which ends in order.
		return errors.Join(err, e.finalize())
	}
	t := &transport{e: e, board: comm.NewBoard(e.rank, e.size), kick: make(chan struct{}, 1)}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	defer t.cancel(nil)
	t.mon = newMonitor(t, j.o)
	t.mon.exits = strings.HasPrefix(j.Launcher.Kind, "srun")
	if t.world, err = e.openLink(); err != nil {
		return err
	}
	if t.mon.link, err = e.openLink(); err != nil {
		return err
	}
	go t.mon.run()
	quit := make(chan struct{})
	go t.progress(quit)
	err = t.call(j, f)
	t.mon.finish(err)
	<-t.mon.quit
	close(quit)
	var agreed *comm.AgreedError
	if errors.As(err, &agreed) && agreed.Rank == e.rank {
		j.o.OnFail(err)
	}
	return errors.Join(err, j.finalize())
}

// call runs f as this process's rank. If f panics, call returns the panic as an error.
func (t *transport) call(j *Job, f func(comm.Comm, Info) error) (err error) {
	returned := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			err = &comm.PanicError{Value: v, Stack: debug.Stack()}
		case !returned:
			// Goexit ended this goroutine, so another one must end the job.
			go t.mon.finish(errors.New("the function of the rank called runtime.Goexit instead of " +
				"returning"))
		}
	}()
	// A separate view of the world, so that the job's collectives count from 1.
	places, err := comm.Places(comm.World(t, t.e.size, t.board))
	if err == nil {
		t.mon.watchLater(places)
		notes := comm.PlaceNotes(places, j.o.Threads)
		if _, here := comm.Local(places, t.e.rank); here*j.o.Threads <= cores(places, t.e.rank) {
			t.spin = 5 * time.Millisecond
		}
		err = f(comm.World(t, t.e.size, t.board),
			Info{Library: t.e.library, Threads: levelNames[t.e.level], Places: places, Notes: notes})
	}
	returned = true
	if n := t.pending.Load(); err == nil && n > 0 {
		err = fmt.Errorf("the function of the rank returned while %d messages were still being sent", n)
	}
	return err
}

// cores returns how many cores the ranks of rank's node may run on.
func cores(places []comm.Place, rank int) int {
	all := map[int]bool{}
	for _, p := range places {
		if p.Node == places[rank].Node {
			for _, c := range p.CPUs {
				all[c] = true
			}
		}
	}
	return len(all)
}

// check returns an error if MPI and the launcher report different numbers of ranks, or if the
// largest message tag that MPI allows is too small.
func (j *Job) check() error {
	l, e := j.Launcher, j.e
	if l.Size > 0 && e.size != l.Size {
		return l.singletonsError(e.size, e.library)
	}
	if e.tagLimit < comm.TagLimit-1 {
		return &LaunchError{fmt.Sprintf(
			"MPI (%s) must allow tags up to %[3]d; it allows only %[2]d", e.library, e.tagLimit,
			comm.TagLimit-1)}
	}
	return nil
}

// finalize closes MPI. It waits at most 10 seconds. All ranks have already ended in an orderly way,
// so nothing is lost if MPI does not end in this time.
func (j *Job) finalize() error {
	done := make(chan error, 1)
	go func() { done <- j.e.finalize() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		j.o.Note("MPI_Finalize did not return within 10 seconds, so the process ends without it")
		return nil
	}
}
