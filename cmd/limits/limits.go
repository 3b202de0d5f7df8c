// Package limits ends the program with exit code 1 and a message if the system gives it too little
// address space (ulimit -v) or too few threads (ulimit -u, or a cgroup's pids.max). Without this
// package, the Go runtime crashes with exit code 2, which for Distaff means that a statement is
// wrong. It is enough to import the package.
//
// Before the runtime starts, a constructor tests whether enough resources are available. Later, a
// crash of the runtime, a panic without recover, or an abort of the C library sends SIGABRT, which
// this package handles.
//
// The package also makes sure that reading a closed standard input, or writing to a closed standard
// output, fails. The runtime would open /dev/null instead.
package limits

/*
#cgo LDFLAGS: -lpthread
void dst_limits_arm(void);
int dst_limits_trial(void);
void dst_limits_passed(void);
*/
import "C"

import (
	"runtime"
	"runtime/debug"
	"sync"
)

func init() {
	if C.dst_limits_trial() != 0 {
		threads(8) // more threads than exist while init functions run
		C.dst_limits_passed()
	}
	C.dst_limits_arm()
	debug.SetTraceback("crash") // raises SIGABRT after the runtime's own message
}

// threads starts n threads. All of them exist at the same time, and they never end.
func threads(n int) {
	var ready, over sync.WaitGroup
	ready.Add(n)
	over.Add(1)
	for range n {
		go func() {
			runtime.LockOSThread()
			ready.Done()
			over.Wait()
		}()
	}
	ready.Wait()
}
