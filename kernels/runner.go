package kernels

import "runtime"

// Runner is a thread that runs one function at a time. A rank of several threads calls its leaves
// through a Runner if its goroutine is not locked to a thread, because OpenMP makes a separate pool
// of threads for each thread that calls a leaf.
type Runner struct {
	work chan func()
	done chan struct{}
}

// NewRunner starts a thread. Close ends it.
func NewRunner() *Runner {
	r := &Runner{make(chan func()), make(chan struct{})}
	go func() {
		// The goroutine is never unlocked, so the thread ends with the goroutine, and OpenMP's pool
		// ends with the thread.
		runtime.LockOSThread()
		for f := range r.work {
			f()
			r.done <- struct{}{}
		}
		close(r.done)
	}()
	return r
}

// Do runs f on the thread and waits for it. Calls from several goroutines take turns. f must not
// call Do.
func (r *Runner) Do(f func()) {
	r.work <- f
	<-r.done
}

// Close ends the thread when the function that it is running has returned. Do must not be called
// after Close.
func (r *Runner) Close() {
	close(r.work)
	<-r.done
}
