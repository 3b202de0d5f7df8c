package comm

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// What must not outlive the process, such as a temporary file, is registered
// here: deferred calls do not run where an MPI or a signal ends the process.

var exits struct {
	mu   sync.Mutex
	next int
	f    map[int]func()
}

// OnExit registers f to run once, if the process ends by Exit before forget is
// called; the last registered runs first.
func OnExit(f func()) (forget func()) {
	exits.mu.Lock()
	defer exits.mu.Unlock()
	if exits.f == nil {
		exits.f = map[int]func(){}
	}
	id := exits.next
	exits.next++
	exits.f[id] = f
	return func() {
		exits.mu.Lock()
		defer exits.mu.Unlock()
		delete(exits.f, id)
	}
}

// Cleanup runs what OnExit registered, each once, as Exit does before it ends
// the process.
func Cleanup() {
	exits.mu.Lock()
	defer exits.mu.Unlock()
	for id := exits.next - 1; id >= 0; id-- {
		if f := exits.f[id]; f != nil {
			delete(exits.f, id)
			f()
		}
	}
}

var ending atomic.Int32

// End notes the exit code that all ranks of this process's job have agreed on. A signal that comes
// later, such as the launcher's once another rank has ended, does not change it.
func End(code int) { ending.CompareAndSwap(0, int32(code)) }

// Ending is the code that End noted, or 0.
func Ending() int { return int(ending.Load()) }

// Exit cleans up and ends the process.
func Exit(code int) {
	ended := make(chan struct{})
	go func() { Cleanup(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Second): // a hook that hangs must not hold the job
	}
	os.Exit(code)
}

// Grace is how long an interrupted rank may take to return by itself, before
// the process cleans up and ends: launchers kill soon after.
const Grace = 700 * time.Millisecond

// Signals is ctx, cancelled with an *Interrupted cause at SIGINT or SIGTERM.
// If the process is still there Grace later, or at a second signal, it
// ends by Exit with 130 or 143. stop ends the watch.
func Signals(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 2)
	quit := make(chan struct{})
	var once atomic.Bool
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		var why *Interrupted
		select {
		case s := <-ch:
			why = &Interrupted{Signal: s}
		case <-quit:
			return
		}
		cancel(why)
		select {
		case <-ch:
		case <-time.After(Grace):
		case <-quit:
			return
		}
		code := why.ExitCode()
		if agreed := Ending(); agreed != 0 {
			code = agreed
		}
		Exit(code)
	}()
	return ctx, func() {
		if once.CompareAndSwap(false, true) {
			signal.Stop(ch)
			close(quit)
			cancel(nil)
		}
	}
}
