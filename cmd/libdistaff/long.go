package libdistaff

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// pollEvery is the time between two calls of distaff_options.interrupted.
const pollEvery = 20 * time.Millisecond

// threads are goroutines, each locked to a thread, that run calls while the caller's threads wait.
// OpenMP keeps a pool of threads for each such thread, so the threads are used again.
var threads struct {
	sync.Mutex
	free []chan func()
}

// onThread runs f on one of the threads.
func onThread(f func()) {
	threads.Lock()
	var c chan func()
	if n := len(threads.free); n > 0 {
		c, threads.free = threads.free[n-1], threads.free[:n-1]
	}
	threads.Unlock()
	if c == nil {
		c = make(chan func(), 1)
		go func() {
			runtime.LockOSThread()
			for f := range c {
				f()
				threads.Lock()
				threads.free = append(threads.free, c)
				threads.Unlock()
			}
		}()
	}
	c <- f
}

// tickets has the interrupted runs that have not ended.
var tickets struct {
	sync.Map
	last atomic.Int64
}

// long runs f on another thread. Meanwhile it calls the caller's functions for interruption and
// progress on this thread. If the caller interrupts, long calls cancel and returns an *interrupted
// error. If f does not end within a second after that, the error has a ticket, and later is called
// when f ends.
func (x *environment) long(f func() error, cancel, later func(), progress func() string) error {
	done := make(chan error, 1)
	onThread(func() { done <- protect(f) })
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		if progress != nil && x.c.progress != nil {
			if s := progress(); s != "" {
				c := C.CString(s)
				C.call_progress(x.c, c)
				C.free(unsafe.Pointer(c))
			}
		}
		if C.call_interrupted(x.c) == 0 {
			continue
		}
		cancel()
		select {
		case <-done:
			later()
			return &interrupted{}
		case <-time.After(time.Second):
		}
		n := tickets.last.Add(1)
		tickets.Store(n, true)
		go func() {
			<-done
			later()
			tickets.Delete(n)
		}()
		return &interrupted{ticket: n}
	}
}

//export goEnded
func goEnded(ticket C.int64_t) C.int32_t {
	if _, ok := tickets.Load(int64(ticket)); ok {
		return 0
	}
	return 1
}
