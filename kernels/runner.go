package kernels

import "runtime"

// Runner is a thread that runs functions, one at a time: one per rank whose own
// goroutine is not locked to a thread, so that OpenMP keeps one pool for it.
type Runner struct {
	work chan func()
	done chan struct{}
}

// NewRunner starts a thread. Close ends it.
func NewRunner() *Runner {
	r := &Runner{make(chan func()), make(chan struct{})}
	go func() {
		// Never unlocked: the thread ends with the goroutine, and OpenMP's
		// pool with the thread.
		runtime.LockOSThread()
		for f := range r.work {
			f()
			r.done <- struct{}{}
		}
		close(r.done)
	}()
	return r
}

// Do runs f on the thread and waits for it. Calls from several goroutines take
// turns. f must not call Do.
func (r *Runner) Do(f func()) {
	r.work <- f
	<-r.done
}

// Close ends the thread once what runs on it has ended. There is no Do after it.
func (r *Runner) Close() {
	close(r.work)
	<-r.done
}
