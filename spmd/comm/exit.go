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

// Whatever must not outlive the process, such as a temporary file, is registered here. A deferred
// call would not do, because it does not run if MPI or a signal ends the process.

var exits struct {
	mu   sync.Mutex
	next int
	f    map[int]func()
}

// OnExit registers f. If the process ends by Exit, f runs once, unless forget was called before.
// The function that was registered last runs first.
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

// Cleanup runs each function that OnExit registered, once. Exit calls it before it ends the
// process.
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

// End records the exit code that all ranks of this process's job have agreed on. If the code is not
// 0, a later signal does not change it. This is necessary because the launcher may send a signal to
// this process when another rank has ended.
func End(code int) { ending.CompareAndSwap(0, int32(code)) }

// Ending returns the exit code that End recorded, or 0.
func Ending() int { return int(ending.Load()) }

// Exit cleans up and ends the process with an exit code.
func Exit(code int) {
	ended := make(chan struct{})
	go func() { Cleanup(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Second): // a registered function that hangs must not block the exit
	}
	os.Exit(code)
}

// Grace is the time that an interrupted rank has to return by itself. After it the process cleans
// up and exits, because launchers may kill it soon afterwards.
const Grace = 700 * time.Millisecond

// Signals returns a context derived from ctx that is cancelled at SIGINT or SIGTERM, with an
// *Interrupted as the cause. If the process still runs after Grace, or gets a second signal, it
// ends by Exit with the code that End recorded, or else with 130 or 143. stop stops watching for
// signals and cancels the context.
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
